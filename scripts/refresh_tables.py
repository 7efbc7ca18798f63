"""Bring envkit/data/pytorch_releases.yaml up to what PyPI states: new releases, dates, Python versions, sizes.

Without an option it prints what the index says otherwise than the table, or beside it. --write fills in what the table
leaves open, and adds a row for each new release, in which all that the index does not state is null; --check ends with
1 when there is something to write. A value that stands in the table is never changed: where the index says otherwise,
somebody has to look. Only the project page of torch is read.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from envkit import fs
from envkit.installers.indexes import read_pip_config
from envkit.installers.pages import IndexFile, PageReader

TABLE = Path(__file__).resolve().parent.parent / "envkit" / "data" / "pytorch_releases.yaml"
MACHINES = {
    "linux_x86_64": re.compile(r"(?:many)?linux\S*_x86_64"),
    "windows_x86_64": re.compile(r"win_amd64"),
    "linux_aarch64": re.compile(r"(?:many)?linux\S*_aarch64"),
    "macos_x86_64": re.compile(r"macosx\S*_x86_64"),
    "macos_arm64": re.compile(r"macosx\S*_arm64"),
}
SAMPLE = "cp311"
"""Whose wheel stands for all of a release, where there is one."""
NEW_ROW = """\
- torch: {torch}
  released: {released}
  torchvision: null
  torchaudio: null
  pair_status: unknown
  pair_src: [pypi]
  requires_python: {requires_python}
  python: {{{python}, status: confirmed}}
  pypi_plain_wheel:
{plain}
  builds:
    linux_x86_64: {{}}
    windows_x86_64: {{}}
  index: {{option: --index-url, url: 'https://download.pytorch.org/whl/{{build}}'}}
  conda:
    channel: conda-forge
    cuda_package: null
    entries: []
  numpy: {{linux: null, windows: null, declared_dependency: false, status: unknown, src: [pypi]}}
  notes: [Only what PyPI states; not used before its pair and its builds are filled in.]
"""


@dataclass(slots=True)
class Stated:
    """What PyPI's page states of one release."""

    released: str | None = None
    requires_python: str | None = None
    python: dict[str, set[str]] = field(default_factory=dict)
    wheels: dict[str, dict[str, IndexFile]] = field(default_factory=dict)

    def sample(self, machine: str) -> IndexFile:
        """The wheel of a machine that stands for all."""
        wheels = self.wheels[machine]
        return wheels[SAMPLE] if SAMPLE in wheels else wheels[max(wheels, key=lambda tag: Version(_version(tag)))]


def main() -> int:
    """Compare, and write if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", nargs="?", help="by default the one of pip's configuration")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="end with 1 when there is something to write")
    choice.add_argument("--write", action="store_true", help="fill in what is open, add new releases")
    parser.add_argument("--table", type=Path, default=TABLE)
    options = parser.parse_args()
    config = read_pip_config()
    index = options.index or config.index_url
    if index is None:
        parser.error("pip's configuration names no index; name it: refresh_tables.py https://...")
    files = PageReader(config).files(index, "torch")
    if not files:
        raise SystemExit("The index has no torch.")
    text = options.table.read_text(encoding="utf-8")
    new_text, told = refreshed(text, stated(files))
    print("\n".join(told) or "The table has all that the index states.")
    if options.write and new_text != text:
        fs.write_text(options.table, new_text)
    return 1 if options.check and new_text != text else 0


def stated(files: list[IndexFile]) -> dict[str, Stated]:
    """What the page states, by release; yanked files and pre-releases are left out."""
    found: dict[str, Stated] = {}
    for file in files:
        try:
            _, version, _, tags = parse_wheel_filename(file.name)
        except InvalidWheelFilename:
            continue
        if version.is_prerelease or version.is_postrelease or version.local or file.get("yanked"):
            continue
        release = found.setdefault(str(version), Stated())
        uploaded = str(file.get("upload-time") or "")[:10] or None
        release.released = min(filter(None, (release.released, uploaded)), default=None)
        release.requires_python = file.get("requires-python") or release.requires_python
        for tag in tags:
            machine = next((name for name, pattern in MACHINES.items() if pattern.fullmatch(tag.platform)), None)
            if machine is not None and re.fullmatch(r"cp3\d+", tag.interpreter):
                free = "t" if tag.abi.endswith("t") else ""
                release.python.setdefault(machine, set()).add(_version(tag.interpreter) + free)
                if not free:
                    release.wheels.setdefault(machine, {})[tag.interpreter] = file
    return found


def refreshed(text: str, found: dict[str, Stated]) -> tuple[str, list[str]]:
    """The table's text with what was open filled in, and what is to be told about it."""
    rows = {row["torch"]: row for row in yaml.safe_load(text)["releases"]}
    oldest = min(rows, key=Version)
    told = []
    for version in sorted(found, key=Version):
        if version in rows:
            text, more = _fill(text, rows[version], found[version])
            told += [f"{version}: {line}" for line in more]
        elif Version(version) > Version(oldest):
            text = text.rstrip("\n") + "\n" + _new_row(version, found[version])
            told.append(f"{version}: new, released {found[version].released}, Python {_versions(found[version])}")
    told += [f"{version}: in the table, not on the index" for version in rows if version not in found]
    return text, told


def _fill(text: str, row: dict[str, Any], release: Stated) -> tuple[str, list[str]]:
    told = []
    for key in ("released", "requires_python"):
        value = getattr(release, key)
        if value is None or row[key] == value:
            continue
        if row[key] is None:
            text = _replaced(text, row["torch"], f"  {key}: null\n", f"  {key}: {_quoted(value)}\n")
            told.append(f"{key} is {value}")
        elif key == "requires_python":
            told.append(f"{key} is {row[key]} in the table, {value} on the index")
    for machine, versions in release.python.items():
        there = set(row["python"].get(machine, ()))
        if there != versions:
            only = ", ".join(sorted(versions - there)) or "nothing"
            other = ", ".join(sorted(there - versions)) or "nothing"
            told.append(f"Python on {machine}: only the index has {only}, only the table has {other}")
        told += _sample_differences(row, machine, release)
    return text, told


def _sample_differences(row: dict[str, Any], machine: str, release: Stated) -> list[str]:
    wheel = row.get("pypi_plain_wheel", {}).get(machine)
    if wheel is None or wheel["sample_wheel"] is None:
        return []
    sizes = {file.name: file.get("size") for file in release.wheels.get(machine, {}).values()}
    size = sizes.get(wheel["sample_wheel"])
    if size is None or size == wheel["sample_size"]:
        return []
    return [f"{wheel['sample_wheel']} has {wheel['sample_size']} bytes in the table, {size} on the index"]


def _replaced(text: str, torch: str, old: str, new: str) -> str:
    """``text`` with a line of one release's row changed."""
    start = text.index(f"- torch: {torch}\n")
    end = text.find("\n- torch: ", start)
    row = text[start : None if end < 0 else end]
    return text.replace(row, row.replace(old, new, 1), 1)


def _new_row(version: str, release: Stated) -> str:
    python = ", ".join(
        f"{machine}: [{_listed(release.python[machine])}]" for machine in MACHINES if machine in release.python
    )
    plain = []
    for machine in ("linux_x86_64", "windows_x86_64", "linux_aarch64"):
        if machine in release.wheels:
            file = release.sample(machine)
            plain.append(
                f"    {machine}: {{build: null, build_status: unknown, version_string: null, "
                f"sample_wheel: {file.name}, sample_size: {file.get('size') or 'null'}}}"
            )
    return NEW_ROW.format(
        torch=version,
        released=_quoted(release.released),
        requires_python=_quoted(release.requires_python),
        python=python,
        plain="\n".join(plain),
    )


def _versions(release: Stated) -> str:
    return ", ".join(sorted(set().union(*release.python.values()), key=_order))


def _listed(versions: set[str]) -> str:
    ordered = sorted(versions, key=_order)
    return ", ".join(version if version.endswith("t") else f"'{version}'" for version in ordered)


def _order(version: str) -> tuple[Version, str]:
    return Version(version.rstrip("t")), version


def _version(tag: str) -> str:
    return f"3.{tag.removeprefix('cp3')}"


def _quoted(value: str | None) -> str:
    return "null" if value is None else f"'{value}'"


if __name__ == "__main__":
    sys.exit(main())
