"""What was probably meant by a name that no spec has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.compat.releases import build_cuda, releases
from envkit.compat.tables import MACHINES, version_key
from envkit.operations.spec_index import spec_named
from envkit.operations.wanted_build import CPU, near_ones

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEW = 8
_OLDEST = (9,)
"""Before it there is no CUDA that a torch was built for: a number like that was cut off."""
_NAME = re.compile(
    r"(?:py)?torch[-_=]*(?P<torch>\d[\d.]*)?(?:[-_+]+(?:cuda|cu)?[-_]?(?P<cuda>\d{2,3}|\d+\.\d+))?(?P<rest>[-_].*)?"
)


def hint_for(name: str, shipped_names: Iterable[str]) -> str | None:
    """A hint for what is nearly the name of a spec, by its torch and its CUDA; None where it is nothing like that.

    Args:
        name: as the user wrote it: "pytorch", "torch112", "torch112-cu121", "torch-1.12.1".
        shipped_names: of the specs that ship.
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    if match["torch"] is None:
        return "Write `torch` for the newest that fits, or torch==V: `envkit matrix` shows which there are."
    cuda = match["cuda"]
    asked = cuda if cuda is None or "." in cuda else build_cuda(f"cu{cuda}")
    written = match["torch"].strip(".")
    release = next((item for item in releases() if written in {item.torch, item.minor, _short(item.minor)}), None)
    if release is None:
        torch = written if "." in written else f"{written[:1]}.{written[1:]}"
        near = near_ones(torch, {item.minor for item in releases()})
        return f"There is no torch {torch}. Near: {' and '.join(near)}, as in torch=={near[-1]}." if near else None
    prefix = (spec_named(release.torch, None) or f"torch{_short(release.minor)}-cpu").removesuffix(CPU)
    builds = {build.cuda for platform in MACHINES for build in release.builds(platform) if build.cuda is not None}
    shipped = [name for name in shipped_names if name.startswith(prefix)]
    if not shipped:
        return None
    if asked is None or asked in builds or version_key(asked) < _OLDEST:
        return f"Specs of torch {release.torch}: {', '.join(shipped[:_FEW])}."
    names = [spec_named(release.torch, build) for build in near_ones(asked, builds)]
    told = " and ".join(item for item in names if item is not None)
    return f"Nearest for torch {release.torch}: {told}." if told else None


def _short(minor: str) -> str:
    return minor.replace(".", "")
