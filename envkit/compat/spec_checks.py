"""Whether the packages beside torch go with it: torchvision, torchaudio, numpy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envkit.compat.releases import releases
from envkit.compat.tables import MAY_REFUSE
from envkit.model.fit import FitCheck

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.compat.releases import Release

_WHEELS = "the metadata of the wheels on PyPI"
_NUMPY_2 = "2.0.0"


def check_set(release: Release, packages: Iterable[str]) -> list[FitCheck]:
    """Whether the pinned torchvision and torchaudio are those of the release; only what is pinned is looked at.

    A version of which the table says that it goes with another torch is wrong; one that the table does not have may be
    right.

    Args:
        release: of torch.
        packages: requirements, or pins of a lock.
    """
    pins = dict(filter(None, map(_pin, packages)))
    expected = {"torchvision": release.torchvision, "torchaudio": release.torchaudio}
    found = {name: pins[name] for name in expected if name in pins}
    if not found:
        return []
    wrong = {name: version for name, version in found.items() if not _is_of(release, name, version)}
    told = ", ".join(f"{name} {version}" for name, version in found.items())
    needed = ", ".join(f"{name} {version}" for name, version in expected.items() if version is not None)
    known = release.pair_known if release.pair_known in MAY_REFUSE else "single"
    if not wrong:
        return [FitCheck("torch-set", "ok", told, needed, source=_WHEELS, known=known)]
    of_others = {name: _others(name, version) for name, version in wrong.items()}
    is_sure = any(torch for name, torch in of_others.items() if name == "torchvision") and known in MAY_REFUSE
    why = " ".join(
        f"{name} {wrong[name]} belongs to torch {' and '.join(torch)}."
        if torch
        else f"{name} {wrong[name]} is not known."
        for name, torch in of_others.items()
    )
    return [
        FitCheck(
            "torch-set",
            "fail" if is_sure else "warn",
            told,
            needed,
            f"{why} torch, torchvision and torchaudio are one set; another one fails with missing operators.",
            f"Pin {needed} beside torch {release.torch}.",
            _WHEELS,
            known if is_sure else "derived",
        )
    ]


def check_numpy(release: Release, packages: Iterable[str], platform: str) -> list[FitCheck]:
    """Whether numpy keeps below what the release was built for; nothing where it has no bound.

    Args:
        release: of torch.
        packages: requirements, or pins of a lock.
        platform: conda's name.
    """
    bound = release.numpy_bound(platform)
    if bound is None:
        return []
    asked = [wish for text in packages if (wish := _requirement(text)) and canonicalize_name(wish.name) == "numpy"]
    needed, known = f"numpy{bound}", str(release.row["numpy"]["status"])
    found = ", ".join(str(wish) for wish in asked) or None
    if asked and not any(_takes_2(wish) for wish in asked):
        return [FitCheck("numpy", "ok", found, needed, source=_WHEELS, known=known)]
    why = (
        f"torch {release.torch} was built with numpy 1 and does not declare it, so numpy 2 may come, "
        "with which it cannot exchange arrays."
    )
    return [FitCheck("numpy", "warn", found, needed, why, f'Add "{needed}" to the packages.', _WHEELS, known)]


def _takes_2(wish: Requirement) -> bool:
    """Whether a requirement lets a numpy of the second major version in; a pin to one does."""
    pins = [item.version for item in wish.specifier if item.operator == "=="]
    if pins:
        return any(not version.startswith(("0.", "1.")) for version in pins)
    return wish.specifier.contains(_NUMPY_2)


@functools.cache
def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _pin(text: str) -> tuple[str, str] | None:
    wish = _requirement(text)
    if wish is None:
        return None
    pins = [item.version for item in wish.specifier if item.operator == "=="]
    return (canonicalize_name(wish.name), pins[0].partition("+")[0]) if len(pins) == 1 else None


def _is_of(release: Release, name: str, version: str) -> bool:
    return version in {release.row.get(name), *release.row.get(f"{name}_also_listed", ())}


def _others(name: str, version: str) -> tuple[str, ...]:
    return tuple(release.torch for release in reversed(releases()) if _is_of(release, name, version))
