"""The text of a lock file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from envkit.model.lock import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.conda_record import CondaRecord
    from envkit.model.lock import Lock
    from envkit.model.locked import LockedPackage


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's, which is ten times as fast, where PyYAML was built with it. It says the same; it escapes letters beyond
U+FFFF."""


def render_lock(lock: Lock) -> str:
    """The text of a lock file: the same lock gives the same bytes, one line per package."""
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "spec": lock.spec,
        "spec_sha256": lock.spec_sha256,
        "created_by": lock.created_by,
        "installer": lock.installer,
        "python": lock.python,
        "cuda": lock.cuda or "cpu",
        "toolkit": lock.toolkit or "none",
    }
    if lock.channels:
        head["channels"] = list(lock.channels)
    if lock.library_path:
        head["library_path"] = True
    if not lock.host_compiler:
        head["host_compiler"] = False
    lines = [f"{key}: {flow_text(value)}" for key, value in head.items()]
    lines.append("platforms:")
    for name in sorted(lock.platforms):
        platform = lock.platforms[name]
        lines.append(f"  {name}:")
        lines.append("    needs:" if platform.needs else "    needs: {}")
        lines += [f"      {key}: {flow_text(dict(fact))}" for key, fact in platform.needs.items()]
        files = platform.packages if lock.installer == "pip" else platform.base
        lines += ["    packages:", *_entries(files)]
        base = platform.base if lock.installer == "pip" else ()
        lines += ["    base:" if base else "    base: []", *_entries(base)]
    if lock.drift:
        lines.append("drift:")
        lines += [f"- {flow_text(item.to_dict())}" for item in lock.drift]
    for key, items in lock.additions.to_dict().items():
        lines += [f"{key}:", *(f"- {flow_text(item)}" for item in items)]
    return "\n".join(lines) + "\n"


def outline(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Digest of the spec, and platforms, of a lock that ``render_lock`` wrote, without reading its packages.

    A list of all specs would take seconds otherwise. Not for files of the user's own, which YAML can write otherwise.
    """
    digest = re.search(r"^spec_sha256: ([0-9a-f]{64})$", text, re.MULTILINE)
    platforms = text.partition("\nplatforms:\n")[2]
    return digest and digest[1], tuple(sorted(re.findall(r"^  ([a-z0-9-]+):$", platforms, re.MULTILINE)))


def _entries(files: Iterable[LockedPackage | CondaRecord]) -> list[str]:
    return [f"    - {flow_text(file.to_dict())}" for file in sorted(files, key=lambda item: item.name)]


def flow_text(value: object) -> str:
    """A value in YAML's flow style, on one line."""
    text = yaml.dump(
        value, Dumper=_DUMPER, default_flow_style=True, width=1_000_000, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
