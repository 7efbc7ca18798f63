"""The lock of an environment: its own, or one written of conda's records (docs/spec-and-lock.md)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from envkit.plugins.conda_work.lock_file import looks_like_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from envkit.plugins.conda_work.record import Managed

PLATFORMS = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64")
"""What envkit makes environments for."""
_KEYS = (
    "name",
    "version",
    "build",
    "channel",
    "subdir",
    "file",
    "sha256",
    "size",
    "md5",
    "build_number",
    "depends",
    "constrains",
    "noarch",
    "timestamp",
    "track_features",
    "python_site_packages_path",
    "license",
    "requested",
)
_CUDA = (re.compile(r"cuda(\d+)\.(\d+)"), re.compile(r"cuda_?(\d{1,2})(\d)(?!\d)"))


class NotExportableError(Exception):
    """A lock cannot hold this environment. The text says why."""


def managed_lock(managed: Managed, platforms: Iterable[str]) -> str:
    """The text of an environment's own lock.

    Args:
        managed: the environment.
        platforms: what the lock has to hold.

    Raises:
        NotExportableError: it cannot be read, or does not hold them.
    """
    try:
        text = managed.lock.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise NotExportableError(f"its own lock, {managed.lock}, cannot be read: {error}") from error
    if not looks_like_lock(text):
        raise NotExportableError(f"its own lock, {managed.lock}, is damaged. `envkit doctor` tells more.")
    after = text.partition("\nplatforms:")[2]
    held = re.findall(r"^  ([a-z0-9]+-[a-z0-9_]+):", after, re.MULTILINE)
    missing = [platform for platform in platforms if platform not in held]
    if missing:
        raise NotExportableError(
            f"its own lock holds {', '.join(held)}, and not {', '.join(missing)}. "
            "`envkit lock SPEC --platform P` makes one for other platforms."
        )
    return text


def conda_only(pip: Iterable[object]) -> None:
    """Stop where pip has put packages into an environment that conda made.

    Raises:
        NotExportableError: it has.
    """
    names = sorted({str(item) for item in pip})
    if names:
        raise NotExportableError(
            f"pip has put packages into it ({', '.join(names)}), and conda knows neither their files nor hashes.\n"
            "Write a spec and make a lock of it: `envkit lock SPEC`."
        )


def render_lock(name: str, created_by: str, platforms: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The text of a lock with installer conda; all text is quoted, so that YAML 1.1 and 1.2 read the same.

    Args:
        name: of the environment; stands where the spec's name would.
        created_by: the program with its version.
        platforms: each platform's records, with the fields of docs/spec-and-lock.md.

    Raises:
        NotExportableError: a record has no sha256, there is no Python, or envkit does not know the platform.
    """
    for platform, records in platforms.items():
        _check(platform, records)
    everything = [record for records in platforms.values() for record in records]
    versions = {str(record["version"]) for record in everything if record["name"] == "python"}
    pythons = sorted({".".join(version.split(".")[:2]) for version in versions})
    if len(pythons) > 1:
        raise NotExportableError(f"its platforms have different Pythons: {', '.join(pythons)}; a lock has one.")
    head = {
        "schema": 1,
        "spec": name,
        "spec_sha256": None,
        "created_by": created_by,
        "installer": "conda",
        "python": pythons[0],
        "cuda": build_cuda(everything) or "cpu",
    }
    lines = [f"{key}: {_text(value)}" for key, value in head.items()]
    lines.append("platforms:")
    for platform in sorted(platforms):
        lines += [f"  {platform}:", "    needs: {}", "    packages:"]
        lines += [f"    - {_entry(record)}" for record in sorted(platforms[platform], key=lambda item: item["name"])]
        lines.append("    base: []")
    return "\n".join(lines) + "\n"


def build_cuda(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The CUDA that the environment's torch was compiled for, by its build string; None for a CPU build or none at all.

    ``py3.9_cuda11.3_cudnn8.2.0_0`` (channel pytorch) and ``cuda112py39h13de421_1`` (conda-forge) are such.
    """
    builds = [str(record["build"]) for record in records if record["name"] == "pytorch"]
    found = next((match for build in builds for pattern in _CUDA if (match := pattern.search(build))), None)
    return None if found is None else f"{found[1]}.{found[2]}"


def _check(platform: str, records: Sequence[Mapping[str, Any]]) -> None:
    if platform not in PLATFORMS:
        raise NotExportableError(f"envkit makes no environments for {platform}, only for {', '.join(PLATFORMS)}.")
    if not any(record["name"] == "python" for record in records):
        raise NotExportableError("the environment holds no Python, and envkit's environments have one.")
    without = sorted(str(record["name"]) for record in records if not record.get("sha256"))
    if without:
        raise NotExportableError(f"the sha256 of {', '.join(without)} is not known, and a lock holds each file's.")


def _entry(record: Mapping[str, Any]) -> str:
    values = ((key, record.get(key)) for key in _KEYS)
    return "{" + ", ".join(f"{key}: {_text(value)}" for key, value in values if value not in (None, "", [], 0)) + "}"


def _text(value: object) -> str:
    """JSON, which is YAML."""
    return json.dumps(value, ensure_ascii=False)
