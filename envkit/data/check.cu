// The program of `envkit cuda check`: what the driver and the GPUs say, and a kernel whose result is compared.
// One fact per line, "name value", so that what was found before a crash is known. C++03 and CUDA 9.2 are enough.
// Exit status: 0 fine, 2 no GPU can be used (the line "error" tells why), 3 the kernel gave an error or a wrong result.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

static const int COUNT = 4096;

__global__ void square(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) out[i] = in[i] * in[i] + 1;
}

static int failed(const char *what, cudaError_t error, int status) {
    std::printf("error %s\nerror_text %s: %s\n", cudaGetErrorName(error), what, cudaGetErrorString(error));
    return status;
}

static int devices() {
    int driver = 0, runtime = 0, count = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    std::printf("driver %d\nruntime %d\n", driver, runtime);
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) return failed("cudaGetDeviceCount", error, 2);
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties;
        error = cudaGetDeviceProperties(&properties, i);
        if (error != cudaSuccess) return failed("cudaGetDeviceProperties", error, 2);
        std::printf("device %d.%d %s\n", properties.major, properties.minor, properties.name);
    }
    std::fflush(stdout);
    return 0;
}

static int kernel() {
    static int in[COUNT], out[COUNT];
    int *device_in = 0, *device_out = 0;
    for (int i = 0; i < COUNT; ++i) in[i] = i;
    cudaError_t error = cudaMalloc(&device_in, sizeof in);
    if (error == cudaSuccess) error = cudaMalloc(&device_out, sizeof out);
    if (error == cudaSuccess) error = cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return failed("copy to the GPU", error, 3);
    square<<<(COUNT + 255) / 256, 256>>>(device_in, device_out);
    error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (error != cudaSuccess) return failed("kernel", error, 3);
    error = cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) return failed("copy from the GPU", error, 3);
    for (int i = 0; i < COUNT; ++i)
        if (out[i] != i * i + 1) {
            std::printf("error wrong_result\nerror_text element %d is %d, not %d\n", i, out[i], i * i + 1);
            return 3;
        }
    std::printf("compared %d\n", COUNT);
    return 0;
}

int main(int count, char **words) {
    int status = devices();
    if (status == 0 && count > 1 && std::strcmp(words[1], "kernel") == 0) status = kernel();
    return status;
}
