"""Write envkit/data/toolkit_wheels.yaml: which wheels of the default index make which CUDA toolkit.

What belongs to a toolkit is what NVIDIA's own metapackage cuda-toolkit of that version requires; names, hashes and
sizes of the files are those that the project pages state. Only the metapackages are downloaded, of 3 kB each.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import re
import sys
import urllib.request
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from envkit import fs
from envkit.installers.indexes import read_pip_config
from envkit.installers.pages import IndexFile, PageReader

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE = Path(__file__).resolve().parent.parent / "envkit" / "data" / "toolkit_wheels.yaml"
PLATFORMS = {
    "linux-64": ("linux", "x86_64", re.compile(r"manylinux\S*_x86_64\.whl$")),
    "linux-aarch64": ("linux", "aarch64", re.compile(r"manylinux\S*_aarch64\.whl$")),
    "win-64": ("win32", "AMD64", re.compile(r"-win_amd64\.whl$")),
}
COMPILER = (
    "nvcc nvvm crt cccl cudart culibos cuobjdump nvdisasm cuxxfilt profiler nvtx nvml".split()  # noqa: SIM905 - words
)
"""Extras of the metapackage that are always installed; those that a version does not have are left out."""
LIBRARIES = "cublas cufft cupti curand cusolver cusparse nvjitlink nvrtc".split()  # noqa: SIM905 - words
"""Extras that are installed when they are asked for."""
LEFT_OUT = {"13.0.0": "its wheels hold no crt/link.stub, without which nvcc links nothing (tried on linux-64)"}
FIRST = Version("13.0")  # before, the wheels hold no nvcc: https://docs.nvidia.com/cuda/cuda-installation-guide-linux/

HEADER = """\
# Wheels of PyPI that make a CUDA toolkit. Written by scripts/make_toolkit_wheels.py; see README.md in this folder.
schema: 1
generated: '{today}'
sources:
  ctk: {{url: null, name: 'PyPI, project cuda-toolkit, read {today}', note: requirements of its extras}}
  pages: {{url: null, name: 'PyPI, project pages, read {today}', note: names, hashes and sizes}}
rules:
- 'A range of versions, as in nvidia-nvjitlink<14,>=13.2.86, means its lower bound: what that toolkit has.'
- 'compiler: extras that are always installed. libraries: extras that are installed when they are asked for.'
compiler: [{compiler}]
libraries: [{libraries}]
left_out:
{left_out}
toolkits:
"""


def main() -> int:
    """Read the index, write the table."""
    reader = PageReader(read_pip_config())
    index = read_pip_config().index_url or sys.argv[1]
    pages: dict[str, list[IndexFile]] = {}

    def files(project: str) -> list[IndexFile]:
        if project not in pages:
            pages[project] = reader.files(index, project) or []
        return pages[project]

    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    text = HEADER.format(
        today=today,
        compiler=", ".join(COMPILER),
        libraries=", ".join(LIBRARIES),
        left_out="\n".join(f"- {{toolkit: '{version}', why: '{why}'}}" for version, why in LEFT_OUT.items()),
    )
    found = {_release_of(file): file for file in files("cuda-toolkit") if _is_wanted(file)}
    for release in sorted(found, key=Version, reverse=True):
        text += _toolkit(release, found[release], files)
    fs.write_text(TABLE, text)
    return 0


def _release_of(file: IndexFile) -> str:
    """The toolkit of a metapackage: 13.0.3.0 is a second upload for 13.0.3."""
    return ".".join(map(str, parse_wheel_filename(file.name)[1].release[:3]))


def _is_wanted(file: IndexFile) -> bool:
    version = parse_wheel_filename(file.name)[1] if file.name.endswith(".whl") else None
    if version is None or _release_of(file) in LEFT_OUT:
        return False
    return version >= FIRST and not version.is_prerelease and not file.get("yanked")


def _toolkit(release: str, file: IndexFile, files: Any) -> str:  # noqa: ANN401 - a function of main
    requirements = _requirements(file)
    lines = [f"- toolkit: '{release}'", f"  package: {file.name}", "  status: confirmed", "  src: [ctk, pages]"]
    lines.append("  platforms:")
    for platform in PLATFORMS:
        chosen = {extra: _of_extra(requirements, extra, platform) for extra in (*COMPILER, *LIBRARIES)}
        lines += [f"    {platform}:", "      extras:"]
        lines += [f"        {extra}: [{', '.join(sorted(names))}]" for extra, names in chosen.items() if names]
        lines.append("      packages:")
        needed = {name: specifier for names in chosen.values() for name, specifier in names.items()}
        lines += [f"      - {_entry(name, needed[name], platform, files(name))}" for name in sorted(needed)]
    return "\n".join(lines) + "\n"


def _requirements(file: IndexFile) -> list[Requirement]:
    with urllib.request.urlopen(file["url"]) as response:  # noqa: S310 - the index's own address
        data: bytes = response.read()
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise SystemExit(f"{file.name} is not the file that its page states.")
    archive = zipfile.ZipFile(io.BytesIO(data))
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
    return [Requirement(line) for line in metadata.get_all("Requires-Dist") or ()]


def _of_extra(requirements: Iterable[Requirement], extra: str, platform: str) -> dict[str, Any]:
    system, machine, _ = PLATFORMS[platform]
    facts = {"sys_platform": system, "platform_machine": machine, "extra": extra}
    return {
        item.name: item.specifier for item in requirements if item.marker is not None and item.marker.evaluate(facts)
    }


def _entry(name: str, specifier: Any, platform: str, files: list[IndexFile]) -> str:  # noqa: ANN401 - SpecifierSet
    bound = next((item.version for item in specifier if item.operator == ">="), None)
    pattern = PLATFORMS[platform][2]
    fitting: dict[Version, list[IndexFile]] = {}
    for file in files:
        if not pattern.search(file.name) or file.get("yanked"):
            continue
        version = parse_wheel_filename(file.name)[1]
        is_it = str(version).startswith(bound) if bound is not None else specifier.contains(version)
        if is_it:
            fitting.setdefault(version, []).append(file)
    if not fitting:
        raise SystemExit(f"{name}{specifier} has no wheel for {platform}.")
    newest = max(fitting)
    file = max(fitting[newest], key=lambda item: item.name)
    if file.sha256 is None:
        raise SystemExit(f"The page of {name} states no hash for {file.name}.")
    return f"{{name: {name}, version: {newest}, file: {file.name}, sha256: {file.sha256}, size: {file['size']}}}"


if __name__ == "__main__":
    sys.exit(main())
