"""Makes two wheels out of envkit's: all but the plugin for conda, and the plugin alone.

    python recipe/split_wheel.py WHEEL FOLDER

The two have no file in common, so that both conda packages made of them can be in one environment. The plugin's wheel
has no ``envkit/__init__.py``: alone, ``envkit`` is a namespace package there.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

PLUGIN = "conda_envkit_plugin"
"""Another name than the whole has: pip must not take the plugin for envkit."""
_OF_PLUGIN = ("envkit/plugins/conda.py", "envkit/plugins/conda_work/")
_GROUP = re.compile(r"\n*\[conda\]\n[^\[]*")


def split(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """Write both wheels and give their paths: the rest, and the plugin."""
    name, version, tags = wheel.stem.split("-", 2)
    with zipfile.ZipFile(wheel) as archive:
        files = {member: archive.read(member) for member in archive.namelist() if not member.endswith("/")}
    info = f"{name}-{version}.dist-info"
    files.pop(f"{info}/RECORD")
    entry_points = files[f"{info}/entry_points.txt"].decode()
    group = _GROUP.search(entry_points)
    if group is None:
        raise SystemExit(f"{wheel} registers no plugin for conda.")
    plugin = {member: files.pop(member) for member in list(files) if member.startswith(_OF_PLUGIN)}
    files[f"{info}/entry_points.txt"] = (_GROUP.sub("\n\n", entry_points).strip() + "\n").encode()
    own = f"{PLUGIN}-{version}.dist-info"
    plugin |= {
        f"{own}/METADATA": _metadata(files[f"{info}/METADATA"].decode()).encode(),
        f"{own}/WHEEL": files[f"{info}/WHEEL"],
        f"{own}/entry_points.txt": (group[0].strip() + "\n").encode(),
        f"{own}/licenses/LICENSE": files[f"{info}/licenses/LICENSE"],
    }
    return (
        _write(folder / wheel.name, files, info),
        _write(folder / f"{PLUGIN}-{version}-{tags}.whl", plugin, own),
    )


def _metadata(whole: str) -> str:
    kept = ("Metadata-Version", "Version", "License-Expression", "License-File", "Requires-Python")
    head = [line for line in whole.partition("\n\n")[0].splitlines() if line.split(":")[0] in kept]
    own = [f"Name: {PLUGIN.replace('_', '-')}", "Summary: envkit's plugin for conda, alone"]
    return "\n".join([*head, *own]) + "\n"


def _write(path: Path, files: dict[str, bytes], info: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    record = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, f"{info}/RECORD": record.encode()}.items():
            entry = zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0))  # the same wheel gives the same bytes
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    for _made in split(Path(sys.argv[1]), Path(sys.argv[2])):
        pass
