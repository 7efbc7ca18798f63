/* A library for LD_PRELOAD that makes a folder look full: once FULL_AFTER bytes were written below FULL_UNDER, writing and
   making files fails there with the error number FULL_ERRNO. FULL_COUNTER is a file of 8 zero bytes that all processes share. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long *counter(void)
{
    static long *shared;
    if (shared == NULL) {
        const char *path = getenv("FULL_COUNTER");
        int handle = path ? REAL(open)(path, O_RDWR) : -1;
        void *map = handle < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
        static long none;
        shared = map == MAP_FAILED ? &none : map;
        if (handle >= 0)
            close(handle);
    }
    return shared;
}

static int is_below(const char *path)
{
    const char *folder = getenv("FULL_UNDER");
    size_t length = folder ? strlen(folder) : 0;
    return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int folder_is_below(int handle)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_below(path);
}

static int path_is_below(int folder, const char *path)
{
    return path[0] == '/' || folder == AT_FDCWD ? is_below(path) : folder_is_below(folder);
}

static int is_full(size_t size)
{
    if (__atomic_add_fetch(counter(), (long)size, __ATOMIC_SEQ_CST) <= atol(getenv("FULL_AFTER")))
        return 0;
    errno = atoi(getenv("FULL_ERRNO"));
    return 1;
}

ssize_t write(int handle, const void *data, size_t size)
{
    return folder_is_below(handle) && is_full(size) ? -1 : REAL(write)(handle, data, size);
}

ssize_t pwrite64(int handle, const void *data, size_t size, off64_t at)
{
    return folder_is_below(handle) && is_full(size) ? -1 : REAL(pwrite64)(handle, data, size, at);
}

ssize_t writev(int handle, const struct iovec *parts, int count)
{
    return folder_is_below(handle) && is_full(512) ? -1 : REAL(writev)(handle, parts, count);
}

ssize_t copy_file_range(int from, off64_t *here, int to, off64_t *there, size_t size, unsigned flags)
{
    return folder_is_below(to) && is_full(512) ? -1 : REAL(copy_file_range)(from, here, to, there, size, flags);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t size)
{
    extern ssize_t sendfile64(int, int, off64_t *, size_t);
    return folder_is_below(to) && is_full(512) ? -1 : REAL(sendfile64)(to, from, at, size);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    return path_is_below(to, new) && is_full(256) ? -1 : REAL(linkat)(from, old, to, new, flags);
}

int link(const char *old, const char *new)
{
    return is_below(new) && is_full(256) ? -1 : REAL(link)(old, new);
}

int symlink(const char *old, const char *new)
{
    return is_below(new) && is_full(256) ? -1 : REAL(symlink)(old, new);
}

int mkdir(const char *path, mode_t mode)
{
    return is_below(path) && is_full(4096) ? -1 : REAL(mkdir)(path, mode);
}

#define OPEN(name, path_of, ...)                                                                                   \
    {                                                                                                              \
        mode_t mode = 0;                                                                                           \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                                       \
            va_list more;                                                                                          \
            va_start(more, flags);                                                                                 \
            mode = va_arg(more, mode_t);                                                                           \
            va_end(more);                                                                                          \
        }                                                                                                          \
        if ((flags & O_CREAT) && path_of && is_full(256))                                                          \
            return -1;                                                                                             \
        return REAL(name)(__VA_ARGS__, flags, mode);                                                               \
    }

int open(const char *path, int flags, ...) OPEN(open, is_below(path), path)
int open64(const char *path, int flags, ...) OPEN(open64, is_below(path), path)
int openat(int folder, const char *path, int flags, ...) OPEN(openat, path_is_below(folder, path), folder, path)
int openat64(int folder, const char *path, int flags, ...) OPEN(openat64, path_is_below(folder, path), folder, path)
