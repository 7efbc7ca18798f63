"""conda packages of a real Python, and of wheels: made of what lies on this machine."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.support.conda_archive import PLACEHOLDER, Content, Link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.support.channel import Channel

_LEFT_OUT = {"__pycache__", "site-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3"}
_LICENCE = "PSF-2.0"


def pythons() -> dict[str, Path]:
    """``3.11`` to the folder of the newest such Python of pyenv, or of the one that runs."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": Path(sys.base_prefix)}
    for folder in sorted(root.glob("3.*.*"), key=lambda path: [int(n) for n in path.name.split(".") if n.isdecimal()]):
        minor = ".".join(folder.name.split(".")[:2])
        if (folder / "bin" / f"python{minor}").is_file():
            found[minor] = folder
    return found


def python_package(channel: Channel, minor: str = "3.11", *, cache: Path) -> Path:
    """Put a real Python into a channel, as the package ``python`` that conda-forge has, and give its file.

    Its libraries (OpenSSL, SQLite) are the machine's, so it depends on nothing.

    Args:
        channel: gets it.
        minor: ``3.11``.
        cache: a folder where it is kept once made; other processes may use it at the same time.
    """
    home = pythons()[minor]
    version = _version(home / "bin" / f"python{minor}")
    build = f"h{version.replace('.', '')}_0_cpython"
    name = f"python-{version}-{build}.conda"
    with _only_one(cache / f"{name}.lock"):
        if not (cache / name).is_file():
            folder = cache / f"making-{name}"
            with TemporaryDirectory(dir=cache) as stripped:
                made = _make_python(type(channel)(folder), home, minor, version, build, Path(stripped))
            made.replace(cache / name)
            shutil.rmtree(folder)
    return channel.put(cache / name)


def _make_python(channel: Channel, home: Path, minor: str, version: str, build: str, stripped: Path) -> Path:
    return channel.add(
        "python",
        version,
        build=build,
        files=_python_files(home, minor, stripped),
        license=_LICENCE,
        python_site_packages_path=f"lib/python{minor}/site-packages",
    )


def _python_files(home: Path, minor: str, stripped: Path) -> dict[str, Content]:
    files: dict[str, Content] = {
        "bin/python": Link(f"python{minor}"),
        "bin/python3": Link(f"python{minor}"),
        f"lib/python{minor}/site-packages/README.txt": "Packages go here.\n",
    }
    chosen = [home / "bin" / f"python{minor}", *(home / "lib").glob("libpython*.so*")]
    for folder in (home / "lib" / f"python{minor}", home / "include" / f"python{minor}"):
        for top, names, found in os.walk(folder):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT)
            chosen += [Path(top, name) for name in found if not name.endswith((".a", ".whl", ".pyc"))]
    small = _without_debugging([path for path in chosen if ".so" in path.name and not path.is_symlink()], stripped)
    for path in chosen:
        name = str(path.relative_to(home))
        files[name] = Link(os.readlink(path)) if path.is_symlink() else _moved(small.get(path, path), home)
    return files


def _without_debugging(libraries: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Copies of libraries in ``folder`` without what debuggers need, which is most of a Python that was built here."""
    program = shutil.which("strip")
    if program is None:
        return {}
    copies = {path: Path(shutil.copy(path, folder)) for path in libraries}
    subprocess.run([program, "--strip-debug", *copies.values()], check=True, capture_output=True)
    return copies


def _moved(path: Path, home: Path) -> Content:
    """A file with the place that Python was built for replaced: in text by the prefix, in programs by ``$ORIGIN``."""
    data = path.read_bytes()
    if str(home).encode() not in data:
        return path
    if data.startswith(b"\x7fELF"):
        return _beside_its_library(data, home)
    return data.replace(str(home).encode(), PLACEHOLDER.encode())


def _beside_its_library(data: bytes, home: Path) -> bytes:
    """A program that looks for libpython in its own prefix: RUNPATH becomes shorter, in place."""
    before, after = f"{home}/lib".encode() + b"\0", b"$ORIGIN/../lib\0"
    return data.replace(before, after.ljust(len(before), b"\0")) if len(before) >= len(after) else data


def _version(python: Path) -> str:
    return subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """One process at a time in the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def bundled_wheels(minor: str = "3.11") -> dict[str, Path]:
    """``pip`` and, up to Python 3.11, ``setuptools`` to the wheels that Python brings for ensurepip."""
    folder = pythons()[minor] / "lib" / f"python{minor}" / "ensurepip" / "_bundled"
    return {path.name.split("-")[0]: path for path in sorted(folder.glob("*.whl"))}


def wheel_package(
    channel: Channel,
    wheel: Path,
    *,
    name: str | None = None,
    build: str = "pyhd8ed1ab_0",
    depends: Sequence[str] = ("python",),
    python: str | None = None,
    **options: Any,
) -> Path:
    """Put a wheel into a channel as a conda package, with ``INSTALLER`` conda, and give its file.

    Args:
        channel: gets it.
        wheel: a wheel.
        name: of the conda package; the wheel's by default. Its version is the wheel's without a local label.
        build: the build string.
        depends: match specs.
        python: ``3.11`` for a package of that Python on linux-64; a noarch one without.
        options: for ``Channel.add``.
    """
    project, version = wheel.name.split("-")[:2]
    site = f"lib/python{python}/site-packages" if python else "site-packages"
    files: dict[str, Content] = {}
    info, entry_points = "", []
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if re.fullmatch(r"[^/]+\.dist-info/entry_points\.txt", member):  # not of a vendored project
                entry_points = _console_scripts(archive.read(member).decode())
            if re.fullmatch(r"[^/]+\.dist-info/WHEEL", member):
                info = member.rsplit("/", 1)[0]
            if not member.endswith("/") and ".data/" not in member:
                files[f"{site}/{member}"] = archive.read(member)
    files[f"{site}/{info}/INSTALLER"] = "conda\n"
    record = f"{site}/{info}/RECORD"
    files[record] = files[record] + f"{info}/INSTALLER,,\n".encode()  # type: ignore[operator]  # bytes, from the wheel
    if python:
        files |= {f"bin/{line.split(' = ')[0]}": _script(line) for line in entry_points}
        kind: dict[str, Any] = {}
    else:
        kind = {"noarch": "python", "entry_points": entry_points}
    named = name or project.lower().replace("_", "-")
    return channel.add(named, version.split("+")[0], build=build, depends=depends, files=files, **kind, **options)


def _console_scripts(text: str) -> list[str]:
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.strip() == "[console_scripts]"
        elif inside and "=" in line:
            name, target = (part.strip() for part in line.split("=", 1))
            lines.append(f"{name} = {target.split('[')[0].strip()}")
    return lines


def _script(entry_point: str) -> str:
    module, function = entry_point.split(" = ")[1].split(":")
    return f"#!{PLACEHOLDER}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
