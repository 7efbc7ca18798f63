"""Archives and wheels laid out as NVIDIA's cuDNN is, with libraries of a few bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

LIBRARIES = ("libcudnn", "libcudnn_ops_infer")


def version_header(version: str) -> str:
    """``cudnn_version.h``."""
    major, minor, patch = version.split(".")[:3]
    return f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"


def headers(version: str) -> dict[str, str]:
    return {"cudnn.h": f"/* {version} */\n", "cudnn_version.h": version_header(version)}


def cudnn_tar(
    path: Path, version: str, *, root: str, lib: str = "lib", extra: tuple[tarfile.TarInfo, ...] = ()
) -> Path:
    """A tar as NVIDIA packs it: real libraries with the full version, two links each.

    Args:
        path: its suffix tells the compression.
        version: "8.9.7".
        root: the folder that all is in.
        lib: the folder of the libraries.
        extra: members of one's own, added at the end.
    """
    major = version.split(".", maxsplit=1)[0]
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as archive:
        for name, text in {"LICENSE": "licence", **{f"include/{k}": v for k, v in headers(version).items()}}.items():
            _add(archive, f"{root}/{name}", text.encode())
        for name in LIBRARIES:
            _add(archive, f"{root}/{lib}/{name}.so.{version}", f"{name} {version}".encode(), mode=0o755)
            _add_link(archive, f"{root}/{lib}/{name}.so.{major}", f"{name}.so.{version}")
            _add_link(archive, f"{root}/{lib}/{name}.so", f"{name}.so.{major}")
        for member in extra:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))


def _add_link(archive: tarfile.TarFile, name: str, target: str) -> None:
    archive.addfile(tar_member(name, tarfile.SYMTYPE, target))


def tar_member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    """One member of a tar."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, link, size
    return member


def cudnn_zip(path: Path, version: str, *, root: str, lib: str = "lib/x64") -> Path:
    """A zip for Windows."""
    major = version.split(".", maxsplit=1)[0]
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in headers(version).items():
            archive.writestr(f"{root}/include/{name}", text)
        archive.writestr(f"{root}/bin/cudnn64_{major}.dll", "dll")
        archive.writestr(f"{root}/{lib}/cudnn.lib", "lib")
    return path


def cudnn_wheel_file(folder: Path, version: str, cuda: str, *, platform: str = "manylinux1_x86_64") -> Path:
    """A wheel as PyPI has it: no links, the names with the major version alone."""
    major = version.split(".", maxsplit=1)[0]
    files = {f"nvidia/cudnn/include/{name}": text for name, text in headers(version).items()}
    files["nvidia/cudnn/include/__init__.py"] = ""
    files |= {f"nvidia/cudnn/lib/{name}.so.{major}": f"{name} {version}" for name in LIBRARIES}
    return make_wheel(folder, f"nvidia-cudnn-cu{cuda}", f"{version}.1", tags=f"py3-none-{platform}", files=files)
