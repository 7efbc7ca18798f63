"""Put the guard's hooks into a prefix: while it is active, locked versions hold for uv, and the user site is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.model.texts import check_path
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.activation.slots import Slot

GUARD_NAME = "envkit-guard"


def install_guard_hooks(
    prefix: Path, *, slot: Slot, constraints: Path | None, entry: str = "", user_site_off: bool
) -> tuple[Path, ...]:
    """Write ``<prefix>/etc/conda/activate.d/envkit-guard.*`` and ``deactivate.d``'s; gives the files.

    Args:
        prefix: the environment's folder.
        slot: which variables hold the state, as for the hooks that switch the toolkit.
        constraints: the file; where it has gone, activation leaves ``UV_CONSTRAINT`` alone. None: it always does.
        entry: how ``UV_CONSTRAINT`` names it.
        user_site_off: whether Python does not look into the user's own site-packages while the prefix is active. In
            virtual environments it never does.

    Raises:
        UsageError: the name of the prefix holds a line break.
        OSError: a file could not be written.
    """
    files = guard_hooks(prefix, slot=slot, constraints=constraints, entry=entry, user_site_off=user_site_off)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        fs.write_bytes(path, text)
    return tuple(files)


def guard_hooks(
    prefix: Path, *, slot: Slot, constraints: Path | None, entry: str = "", user_site_off: bool
) -> dict[Path, bytes]:
    """The files that ``install_guard_hooks`` writes, and what it writes into them.

    Raises:
        UsageError: the name of the prefix holds a line break.
    """
    values = {
        "FILE": ("" if constraints is None else check_path(str(constraints)),),
        "ENTRY": (entry,),
        "USER_SITE_OFF": ("yes" if user_site_off else "",),
    }
    files = {}
    for direction in ("activate", "deactivate"):
        for shell in SHELLS:
            template = (hooks_dir("guard") / f"{direction}.{shell.extension}").read_bytes()
            path = prefix / "etc" / "conda" / f"{direction}.d" / f"{GUARD_NAME}.{shell.extension}"
            files[path] = render(template, identifiers={"SLOT": slot}, values=values, quote=shell.quote)
    return files
