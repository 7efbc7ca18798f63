"""Which slot of state hooks use: there is one for conda prefixes, one for virtual environments and one for a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from envkit.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

Slot = Literal["VENV", "CONDA", "WINDOW"]
"""``WINDOW`` is what ``envkit cuda use`` has switched; environments come over it, never the other way round."""

PREFIX_VARIABLES: dict[Slot, str] = {"VENV": "VIRTUAL_ENV", "CONDA": "CONDA_PREFIX"}
"""What names the active prefix, by slot."""

OTHER_SLOTS: dict[Slot, Slot] = {"VENV": "CONDA", "CONDA": "VENV", "WINDOW": "CONDA"}
"""Both may be in force at once: a virtual environment inside a conda environment, a window's toolkit over it."""


def slot_of(prefix: Path) -> Slot:
    """The slot of ``prefix``: ``CONDA`` for what conda calls an environment, ``VENV`` for a virtual environment.

    A virtual environment that was made over a conda prefix is a conda prefix: conda activates it.
    (A conda environment has ``conda-meta/history``: https://github.com/conda/ceps/blob/main/cep-0032.md)

    Raises:
        NotFoundError: it is neither.
    """
    if (prefix / "conda-meta" / "history").is_file():
        return "CONDA"
    if (prefix / "pyvenv.cfg").is_file():
        return "VENV"
    raise NotFoundError(
        f"{prefix} is no environment.",
        why="It has neither `conda-meta/history`, as conda environments have, nor `pyvenv.cfg`, as virtual ones.",
    )
