"""What conda may not do in an environment of envkit, and what its user does instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.plugins.conda_work.record import has_pip_torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.plugins.conda_work.record import Managed

TORCH = frozenset({"pytorch", "pytorch-cpu", "pytorch-gpu", "libtorch"})
"""conda packages that bring torch's own files; the two in the middle lead to the first.

Source: https://github.com/conda-forge/pytorch-cpu-feedstock/blob/main/recipe/meta.yaml
"""


def frozen_hint(managed: Managed, word: str) -> str:
    """What to do when conda says that an environment of envkit is frozen."""
    if managed.problem is not None:
        return f"This environment belongs to envkit, and its record is damaged: `envkit doctor {word}` tells more."
    return (
        f"{managed.name} belongs to envkit, and its packages come by {managed.installer} alone: "
        f"`envkit add {word} PACKAGE` adds one and keeps what is locked."
    )


def torch_veto(managed: Managed, word: str, coming: Iterable[str]) -> str | None:
    """Why conda must not go on; None when it may.

    Args:
        managed: the environment.
        word: what a user types for it.
        coming: names of the packages that conda is about to link.
    """
    torch = sorted(TORCH.intersection(coming))
    if not torch or managed.installer != "pip" or not has_pip_torch(managed.prefix):
        return None
    return (
        f"{', '.join(torch)} would be a second torch in {managed.name}.\n\n"
        "That environment belongs to envkit, which has put torch there by pip. With two of them, programs load files "
        "of both and crash.\n"
        "Another torch goes into another environment: `envkit create SPEC`, or `conda create`.\n"
        f"Other packages: `envkit add {word} PACKAGE`.\n"
        "To do it all the same: `conda --no-plugins install --solver classic --override-frozen ...`."
    )
