"""What Windows says of itself: registry, system functions. Written for Windows and never run there."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envkit.probes.hardware import Memory, Processor

RegistryReader = Callable[[str, str], "int | str | None"]
"""Gives a value below HKEY_LOCAL_MACHINE by the path of its key and its name; None where there is none."""

_PF_AVX, _PF_AVX2 = 39, 40
"""https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-isprocessorfeaturepresent"""
_FIRST_TO_TELL = 19041
"""Build of Windows 10 2004; older ones answer "no" for features that they do not know."""
_RUNTIME = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\x64"
_RUNTIME_OF_32_BITS = r"SOFTWARE\WOW6432Node\Microsoft\VisualStudio\14.0\VC\Runtimes\x64"
"""https://learn.microsoft.com/cpp/windows/redistributing-visual-cpp-files"""
_FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"
"""https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation"""


@dataclass(frozen=True, slots=True)
class WindowsFacts:
    """What matters to torch.

    Attributes:
        runtime: version of the Visual C++ runtime as its installer wrote it, or None.
        runtime_files: which of the files asked for lie in System32.
        bits: of the Python that runs envkit.
        has_long_paths: whether paths may be longer than 259 characters; None: not told.
        profile: the user's folder.
    """

    runtime: str | None
    runtime_files: tuple[str, ...]
    bits: int
    has_long_paths: bool | None
    profile: str


def windows_facts(
    names: tuple[str, ...],
    registry: RegistryReader | None = None,
    system_folder: Path | None = None,
    profile: str | None = None,
) -> WindowsFacts:
    """The facts of this Windows, or of what stands in for it.

    Args:
        names: files of the Visual C++ runtime.
        registry: by default this machine's.
        system_folder: by default System32.
        profile: by default the user's.
    """
    read = registry if registry is not None else read_registry
    folder = (
        system_folder if system_folder is not None else Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32")
    )
    long_paths = read(_FILE_SYSTEM, "LongPathsEnabled")
    return WindowsFacts(
        runtime=_runtime(read),
        runtime_files=tuple(name for name in names if os.path.isfile(folder / name)),  # noqa: PTH113 - no error
        bits=64 if sys.maxsize > 1 << 32 else 32,
        has_long_paths=None if long_paths is None else long_paths == 1,
        profile=profile if profile is not None else os.environ.get("USERPROFILE", ""),
    )


def _runtime(read: RegistryReader) -> str | None:
    for key in (_RUNTIME, _RUNTIME_OF_32_BITS):
        if read(key, "Installed") == 1:
            version = read(key, "Version")
            return str(version).lstrip("v") if version else "of an unknown version"
    return None


def read_registry(key: str, name: str) -> int | str | None:
    """A value below HKEY_LOCAL_MACHINE, in the view of 64-bit programs."""
    if sys.platform != "win32":
        return None
    import winreg  # noqa: PLC0415 - on Windows alone

    with (
        contextlib.suppress(OSError),
        winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY) as handle,
    ):
        value = winreg.QueryValueEx(handle, name)[0]
        return value if isinstance(value, int | str) else None
    return None


def read_windows_processor() -> Processor | None:
    """The processor, where this Windows is new enough to tell."""
    if sys.platform != "win32" or sys.getwindowsversion().build < _FIRST_TO_TELL:
        return None
    import ctypes  # noqa: PLC0415 - on Windows alone

    present = ctypes.windll.kernel32.IsProcessorFeaturePresent
    return Processor(os.environ.get("PROCESSOR_IDENTIFIER"), bool(present(_PF_AVX)), bool(present(_PF_AVX2)))


def read_windows_memory() -> Memory | None:
    """Main memory; limits of job objects are not looked at."""
    if sys.platform != "win32":
        return None
    import ctypes  # noqa: PLC0415 - on Windows alone

    size_kib = ctypes.c_ulonglong()  # https://learn.microsoft.com/windows/win32/api/sysinfoapi/
    if not ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(size_kib)):
        return None
    return Memory(size_kib.value * 1024, None)
