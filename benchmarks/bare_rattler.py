"""The least that installs conda packages: records from a JSON file, ``rattler.install``, nothing else.

    python benchmarks/bare_rattler.py RECORDS.json PREFIX

The records are those of a lock, each with its ``url``; rattler's cache is where ``RATTLER_CACHE_DIR`` says.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import rattler
from rattler.package import BuildString
from rattler.repo_data.package_record import PackageRecord


def record_of(entry: dict[str, Any]) -> rattler.RepoDataRecord:
    """A record as rattler has it."""
    package = PackageRecord(
        entry["name"],
        entry["version"],
        BuildString(entry["build"]),
        entry.get("build_number", 0),
        entry["subdir"],
        noarch=entry.get("noarch"),
        depends=entry.get("depends", []),
        constrains=entry.get("constrains", []),
        sha256=bytes.fromhex(entry["sha256"]),
        md5=bytes.fromhex(entry["md5"]),
        size=entry["size"],
        python_site_packages_path=entry.get("python_site_packages_path"),
    )
    return rattler.RepoDataRecord(package, entry["file"], entry["url"], entry["url"].rsplit("/", 2)[0])


def main() -> None:
    """Install."""
    records = [record_of(entry) for entry in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))]
    asyncio.run(rattler.install(records, sys.argv[2], show_progress=False))
    os._exit(0)  # rattler's threads may crash an interpreter that ends in order


if __name__ == "__main__":
    main()
