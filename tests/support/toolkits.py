"""CUDA toolkits for tests: ones whose nvcc is a stub, and links to the real one of this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

STUB = """#!/bin/sh
# a stub of nvcc
case " $* " in
*" --version "*) {version} ;;
*" -c "*) printf '%s\\n' "$*" >>"{log}"; {compile} ;;
*) {link} ;;
esac
"""


def stub_toolkit(
    folder: Path,
    release: str,
    *,
    says: str | None = None,
    version: str | None = None,
    compile: str = "touch check.o",  # noqa: A002 - the step's name
    link: str = "false",
    program: str | None = None,
) -> Path:
    """A folder that looks like a toolkit; its nvcc is a script of shell code for each step.

    Args:
        folder: made.
        release: what its header says, "11.3".
        says: the release that nvcc says, by default the same.
        version, compile, link: shell code for each step.
        program: instead of ``link``: shell code of the program that linking makes.
    """
    major, minor = map(int, release.split("."))
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {major * 1000 + minor * 10}\n")
    if program is not None:
        link = f"cat >check <<'END'\n#!/bin/sh\n{program}\nEND\nchmod +x check"
    told = says or release
    version = version or f"echo 'Cuda compilation tools, release {told}, V{told}.109'"
    nvcc = folder / "bin" / "nvcc"
    nvcc.write_text(STUB.format(version=version, compile=compile, link=link, log=folder / "compiled.txt"))
    nvcc.chmod(0o755)
    return folder


def real_toolkit() -> Path | None:
    """The newest toolkit in ``/usr/local`` that has nvcc, or None."""
    found = [path for path in Path("/usr/local").glob("cuda-*") if (path / "bin" / "nvcc").is_file()]
    return max(found, key=lambda path: [int(part) for part in path.name[5:].split(".") if part.isdigit()], default=None)


def linked_toolkit(folder: Path, real: Path, *, without: str = "") -> Path:
    """The real toolkit once more, by links; nvcc is a copy, since it looks for all else beside itself.

    Args:
        folder: made.
        real: the toolkit.
        without: a name pattern of files that are left out.
    """
    for top, _, names in os.walk(real):
        here = Path(top).relative_to(real)
        if here.parts[:1] == ("dist-info",):
            continue
        (folder / here).mkdir(parents=True, exist_ok=True)
        for name in names:
            if not (without and Path(name).match(without)):
                (folder / here / name).symlink_to(real / here / name)
        for link in (path for path in Path(top).iterdir() if path.is_symlink() and path.is_dir()):
            (folder / here / link.name).symlink_to(os.readlink(link))
    (folder / "bin" / "nvcc").unlink()
    shutil.copy2(real / "bin" / "nvcc", folder / "bin" / "nvcc")
    return folder
