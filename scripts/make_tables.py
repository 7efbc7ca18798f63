"""Write envkit/data/json/ from the tables in envkit/data/*.yaml, or with --check say whether that is there already.

The YAML is what people write; envkit reads the JSON, which takes a hundredth of the time.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import yaml

from envkit import fs

DATA = Path(__file__).resolve().parent.parent / "envkit" / "data"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def main() -> int:
    """Write or check all tables; the exit status is 1 when --check finds one that differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    wanted = tables()
    there = {path.stem: path.read_text(encoding="utf-8") for path in (DATA / "json").glob("*.json")}
    different = sorted(name for name, text in wanted.items() if there.get(name) != text)
    left = sorted(there.keys() - wanted.keys())
    for name in different:
        print(f"{name}: {'differs' if options.check else 'written'}")
        if not options.check:
            fs.write_text(DATA / "json" / f"{name}.json", wanted[name])
    for name in left:
        print(f"{name}: there is no such table; remove json/{name}.json")
    print(f"{len(wanted)} tables, {len(different) + len(left)} to look at")
    return 1 if left or (options.check and different) else 0


def tables() -> dict[str, str]:
    """The JSON of each table by its name; a value on a line, so that changes can be read."""
    return {path.stem: json_text(path) for path in sorted(DATA.glob("*.yaml"))}


def json_text(path: Path) -> str:
    """The JSON of one table; an error for what JSON would change: a date, or a key that is no text."""
    table = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)  # noqa: S506 - a safe loader, and our own file
    text = json.dumps(table, indent=0, ensure_ascii=False)
    if json.loads(text) != table:
        raise ValueError(f"{path.name} holds a key that is no text.")
    return text + "\n"


if __name__ == "__main__":
    sys.exit(main())
