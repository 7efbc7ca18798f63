"""Write envkit/data/cudnn_wheels.yaml: the wheels of cuDNN on the default index, with the hashes that its pages state.

Nothing is downloaded but the project pages. Pre-releases and yanked files are left out.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path

from packaging.utils import BuildTag, parse_wheel_filename
from packaging.version import Version

from envkit import fs
from envkit.installers.indexes import read_pip_config
from envkit.installers.pages import IndexFile, PageReader

TABLE = Path(__file__).resolve().parent.parent / "envkit" / "data" / "cudnn_wheels.yaml"
PROJECTS = ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11")
PLATFORMS = {
    "linux-64": re.compile(r"manylinux\S*_x86_64\.whl$"),
    "linux-aarch64": re.compile(r"manylinux\S*_aarch64\.whl$"),
    "win-64": re.compile(r"-win_amd64\.whl$"),
}
FIRST = Version("8")  # 0.0.1 and the like are placeholders

HEADER = """\
# Wheels of PyPI that hold cuDNN. Written by scripts/make_cudnn_wheels.py; see README.md in this folder.
schema: 1
generated: '{today}'
sources:
  pages:
    url: null
    name: 'PyPI, projects nvidia-cudnn-cu11, -cu12 and -cu13, read {today}'
    note: as these pages state them
status: confirmed
src: [pages]
wheels:
"""


def main() -> int:
    """Read the index, write the table."""
    config = read_pip_config()
    index = config.index_url or sys.argv[1]
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    text = HEADER.format(today=today)
    for project in PROJECTS:
        files = [file for file in PageReader(config).files(index, project) or [] if _is_wanted(file)]
        for platform, pattern in PLATFORMS.items():
            text += _rows(project, platform, [file for file in files if pattern.search(file.name)])
    fs.write_text(TABLE, text)
    return 0


def _is_wanted(file: IndexFile) -> bool:
    if not file.name.endswith(".whl") or file.get("yanked") or file.sha256 is None:
        return False
    version = parse_wheel_filename(file.name)[1]
    return version >= FIRST and not version.is_prerelease


def _key(file: IndexFile) -> tuple[Version, BuildTag]:
    _, version, build, _ = parse_wheel_filename(file.name)
    return version, build


def _rows(project: str, platform: str, files: list[IndexFile]) -> str:
    """One file per cuDNN: of several uploads (a build number, .post1) the newest."""
    newest: dict[tuple[int, ...], IndexFile] = {}
    for file in sorted(files, key=_key):
        newest[_key(file)[0].release] = file
    lines = []
    for release in sorted(newest, reverse=True):
        file = newest[release]
        version = _key(file)[0]
        lines.append(
            f"- {{project: {project}, version: {version}, platform: {platform}, file: {file.name}, "
            f"sha256: {file.sha256}, size: {file['size']}}}\n"
        )
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
