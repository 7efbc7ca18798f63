"""Put the guard's hooks into a prefix: while it is active, its locked versions hold for uv."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation.quoting import check_path
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.activation.hooks import Slot

GUARD_NAME = "envkit-guard"


def install_guard_hooks(prefix: Path, *, slot: Slot, constraints: Path, entry: str) -> tuple[Path, ...]:
    """Write ``<prefix>/etc/conda/activate.d/envkit-guard.*`` and ``deactivate.d``'s; gives the files.

    Args:
        prefix: the environment's folder.
        slot: which variables hold the state, as for the hooks that switch the toolkit.
        constraints: the file; where it has gone, activation leaves ``UV_CONSTRAINT`` alone.
        entry: how ``UV_CONSTRAINT`` names it.

    Raises:
        UsageError: the name of the prefix holds a line break.
        OSError: a file could not be written.
    """
    files = guard_hooks(prefix, slot=slot, constraints=constraints, entry=entry)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        fs.write_bytes(path, text)
    return tuple(files)


def guard_hooks(prefix: Path, *, slot: Slot, constraints: Path, entry: str) -> dict[Path, bytes]:
    """The files that ``install_guard_hooks`` writes, and what it writes into them.

    Raises:
        UsageError: the name of the prefix holds a line break.
    """
    values = {"FILE": (check_path(str(constraints)),), "ENTRY": (entry,)}
    files = {}
    for direction in ("activate", "deactivate"):
        for shell in SHELLS:
            template = (hooks_dir("guard") / f"{direction}.{shell.extension}").read_bytes()
            path = prefix / "etc" / "conda" / f"{direction}.d" / f"{GUARD_NAME}.{shell.extension}"
            files[path] = render(template, identifiers={"SLOT": slot}, values=values, quote=shell.quote)
    return files
