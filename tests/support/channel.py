"""Real conda channels in folders: packages are written, py-rattler indexes them.

rattler is imported in a child process alone: its threads would outlive a test, and forking with them is an error here.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from envkit.model.conda_record import CondaRecord
from tests.support.conda_archive import TIMESTAMP, Content, write_package

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_INDEX = """
import asyncio, os, pathlib, sys
from rattler.index import index_fs
asyncio.run(index_fs(pathlib.Path(sys.argv[1]), write_zst=sys.argv[2] == "1", write_shards=sys.argv[3] == "1"))
sys.stdout.flush()
os._exit(0)  # its threads may crash an interpreter that ends in order
"""


class Channel:
    """A channel; its folder's name is the channel's.

    Args:
        folder: made when missing, with ``noarch``, which every channel must have.
        level: of zstandard; 1 is quick, conda-forge's packages have 19.
    """

    def __init__(self, folder: Path, *, level: int = 1) -> None:
        self.folder, self.level = folder, level
        (folder / "noarch").mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self.folder.name

    @property
    def url(self) -> str:
        """``file:///...``, without a slash at the end."""
        return self.folder.as_uri()

    def add(
        self,
        name: str,
        version: str,
        *,
        build: str = "0",
        build_number: int = 0,
        depends: Sequence[str] = (),
        constrains: Sequence[str] = (),
        noarch: str | None = None,
        files: Mapping[str, Content] | None = None,
        subdir: str = "linux-64",
        scripts: Mapping[str, str] | None = None,
        entry_points: Sequence[str] = (),
        extension: str = "conda",
        **index: Any,
    ) -> Path:
        """Write a package and give its file; ``index()`` has to follow.

        Args:
            name: of the package.
            version: of the package.
            build: the build string.
            build_number: the greatest of equal versions is preferred.
            depends: match specs.
            constrains: match specs.
            noarch: ``python`` or ``generic``; the subdir is ``noarch`` then. The files of a noarch Python package lie
                below ``site-packages`` and ``python-scripts``.
            files: what it installs, ``share/NAME/version.txt`` by default. Where a file holds ``PLACEHOLDER``, the
                prefix comes in its place. What lies in ``bin`` is executable.
            subdir: the platform.
            scripts: ``post-link`` and the like to the text of the script.
            entry_points: ``tool = module:function``, of a noarch Python package.
            extension: ``conda`` or ``tar.bz2``.
            index: more of ``info/index.json``, as ``license`` and ``track_features``.
        """
        content = dict({f"share/{name}/version.txt": f"{version}\n"} if files is None else files)
        for kind, text in (scripts or {}).items():
            content[f"bin/.{name}-{kind}.sh"] = text
        subdir = "noarch" if noarch else subdir
        stated: dict[str, Any] = {
            "name": name,
            "version": version,
            "build": build,
            "build_number": build_number,
            "depends": list(depends),
            "constrains": list(constrains),
            "subdir": subdir,
            "timestamp": TIMESTAMP,
            "license": "BSD-3-Clause",
            **({"noarch": noarch} if noarch else _of_platform(subdir)),
            **index,
        }
        info = {"about.json": b'{"summary": "made for a test"}'}
        if noarch:
            python = {"entry_points": list(entry_points)} if noarch == "python" else {}
            link = {"noarch": {"type": noarch, **python}, "package_metadata_version": 1}
            info["link.json"] = json.dumps(link).encode()
        path = self.folder / subdir / f"{name}-{version}-{build}.{extension}"
        path.parent.mkdir(exist_ok=True)
        write_package(path, stated, content, info, level=self.level)
        return path

    def put(self, package: Path, subdir: str = "linux-64") -> Path:
        """Take a package that is there already: a link to it, or a copy where that cannot be."""
        path = self.folder / subdir / package.name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        try:
            os.link(package, path)
        except OSError:
            shutil.copy2(package, path)
        return path

    def index(self, *, zst: bool = True, shards: bool = False) -> Channel:
        """Write ``repodata.json`` of every subdir (and of linux-64, also when it holds nothing).

        Args:
            zst: ``repodata.json.zst`` too.
            shards: sharded repodata too.
        """
        (self.folder / "linux-64").mkdir(exist_ok=True)
        for cached in self.folder.glob("*/repodata*"):
            cached.unlink()
        command = [sys.executable, "-c", _INDEX, str(self.folder), str(int(zst)), str(int(shards))]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"no index of {self.folder}: {done.stderr}")
        return self

    def records(self, subdir: str = "linux-64") -> dict[str, dict[str, Any]]:
        """File name to record, as ``repodata.json`` of that subdir has them."""
        repodata = json.loads((self.folder / subdir / "repodata.json").read_text(encoding="utf-8"))
        return {**repodata["packages"], **repodata["packages.conda"]}

    def locked(self, *names: str) -> list[dict[str, Any]]:
        """Records as a lock has them, by subdir and file; ``channel`` is this folder's name.

        Args:
            names: file names, or names of packages of which there is one; all packages when there are none.
        """
        found = []
        for subdir in sorted(path.parent.name for path in self.folder.glob("*/repodata.json")):
            for file, record in sorted(self.records(subdir).items()):
                if not names or file in names or record["name"] in names:
                    stated = record | {"channel": self.name, "subdir": subdir, "file": file}
                    found.append(CondaRecord.from_dict(stated).to_dict())
        return found


def corrupted(package: Path) -> bytes:
    """The bytes of a package with one changed in the middle: as long as it was, another hash."""
    data = bytearray(package.read_bytes())
    data[len(data) // 2] ^= 0xFF
    return bytes(data)


def sha256_of(path: Path) -> str:
    """Of a file, as ``repodata.json`` states it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of_platform(subdir: str) -> dict[str, str]:
    system, _, machine = subdir.partition("-")
    return {"platform": system, "arch": {"64": "x86_64"}.get(machine, machine)}
