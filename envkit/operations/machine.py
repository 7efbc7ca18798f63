"""The machine that something is to run on: this one, or one that the user describes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.compat.card_checks import DriverEnd
from envkit.compat.gpus import gpu_fact
from envkit.compat.tables import MACHINES, compiled_range, served_cuda
from envkit.errors import UsageError
from envkit.model.driver import DriverVersion, Gpu
from envkit.model.fit import Card
from envkit.probes.host import current_platform, glibc_version, this_system
from envkit.probes.nvidia_smi import query_gpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from envkit.model.driver import SmiReport


_PLATFORMS = (*MACHINES, "osx-64", "osx-arm64")
_SHORT = {"linux": "linux-64", "windows": "win-64"}
"""What people call the usual platforms."""
_SMALLEST_BRANCH = 100
"""Branches of drivers have had three digits since before CUDA; CUDA's versions begin with one or two."""
DRIVER_HINT = "Write all of it, as in --driver 535.104.05: nvidia-smi shows it there."


@dataclass(frozen=True, slots=True)
class Machine:
    """What matters of a machine to what fits it.

    Attributes:
        platform: conda's name, "linux-64".
        driver: its NVIDIA driver, None where not known.
        gpus: in nvidia-smi's order; empty where none is known.
        glibc: of its system, None where not known or none.
        is_described: whether the user told it; nothing of this machine counts then.
        smi: what nvidia-smi said here; None for a described one.
        is_wsl: whether it is Linux in Windows: its driver is then Windows', and has that one's numbers.
    """

    platform: str
    driver: DriverVersion | None
    gpus: tuple[Gpu, ...]
    glibc: tuple[int, int] | None
    is_described: bool
    smi: SmiReport | None
    is_wsl: bool = False

    @property
    def driver_platform(self) -> str:
        """The platform whose driver numbers count: https://docs.nvidia.com/cuda/wsl-user-guide/."""
        return "win-64" if self.is_wsl else self.platform

    @property
    def cards(self) -> tuple[Card, ...]:
        """The GPUs by kind."""
        return _by_kind(_card(gpu) for gpu in self.gpus)

    @property
    def driver_end(self) -> DriverEnd | None:
        """The newest GPUs that the driver knows, by the CUDA that it serves; this machine's tells its GPUs itself."""
        if self.driver is None or not self.is_described:
            return None
        return _driver_end(self.driver, self.driver_platform)

    def to_json(self) -> dict[str, Any]:
        """``machine`` in ``envkit preflight --json``."""
        return {
            "described": self.is_described,
            "platform": self.platform,
            "wsl": self.is_wsl,
            "driver_version": None if self.driver is None else str(self.driver),
            "cuda_version": None if self.smi is None else self.smi.cuda_version,
            "gpus": [
                {"name": card.name, "compute_capability": card.capability, "known": card.known}
                for card in map(_card, self.gpus)
            ],
            "glibc": None if self.glibc is None else f"{self.glibc[0]}.{self.glibc[1]}",
            "nvidia_smi": None if self.smi is None else self.smi.found_at,
            "error_kind": None if self.smi is None else self.smi.error_kind,
        }


def this_machine() -> Machine:
    """The machine that envkit runs on, by what nvidia-smi and the system say."""
    smi = query_gpus()
    return Machine(
        current_platform(),
        smi.driver_version,
        smi.gpus,
        glibc_version(),
        is_described=False,
        smi=smi,
        is_wsl=this_system().is_wsl,
    )


def described_machine(driver: str | None, gpus: Sequence[str], platform: str | None = None) -> Machine:
    """Another machine; what is not told of it is not known.

    Args:
        driver: version of its driver, "535.104".
        gpus: names of its GPUs; one that no table has is a GPU of which nothing is known.
        platform: conda's name; None: that of this machine.

    Raises:
        UsageError: ``driver`` is no version, or ``platform`` is not known.
    """
    platform = None if platform is None else _SHORT.get(platform, platform)
    if platform is not None and platform not in _PLATFORMS:
        raise UsageError(f"The platform {platform} is not known.", hint=f"Known: {', '.join(_PLATFORMS)}.")
    try:
        version = None if driver is None else DriverVersion.parse(driver)
    except ValueError as error:
        raise UsageError(f"--driver {driver} is no version of a driver.", hint=DRIVER_HINT) from error
    if version is not None:
        _check_is_driver(version)
    named = tuple(Gpu(index, name.strip() or None) for index, name in enumerate(gpus))
    return Machine(platform or current_platform(), version, named, None, is_described=True, smi=None)


def _check_is_driver(version: DriverVersion) -> None:
    """Refuse numbers that other things have: those of CUDA, and those that Windows gives to drivers."""
    windows = re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d?(\d)\.(\d{2})(\d{2})", version.text, re.ASCII)
    if windows is not None:
        raise UsageError(
            f"--driver {version} is the number that Windows' Device Manager shows.",
            hint=f"That is {windows[1]}{windows[2]}.{windows[3]}: the last five digits. Write --driver "
            f"{windows[1]}{windows[2]}.{windows[3]}.",
        )
    if version.parts[:1] < (_SMALLEST_BRANCH,):
        raise UsageError(
            f"--driver {version} is no NVIDIA driver that serves CUDA; it may be a version of CUDA.", hint=DRIVER_HINT
        )


def machine_here_or(driver: str | None, gpus: Sequence[str], platform: str | None) -> Machine:
    """This machine, or where anything is told of another one, that one.

    Raises:
        UsageError: it is described wrongly.
    """
    is_described = driver is not None or bool(gpus) or platform is not None
    return described_machine(driver, gpus, platform) if is_described else this_machine()


@functools.lru_cache(maxsize=16)
def _driver_end(driver: DriverVersion, platform: str) -> DriverEnd | None:
    cuda = served_cuda(driver, platform)
    compiled = None if cuda is None else compiled_range(cuda)
    return None if cuda is None or compiled is None else DriverEnd(cuda, compiled[1])


def _card(gpu: Gpu) -> Card:
    if gpu.compute_capability is not None:
        return Card(gpu.name, gpu.compute_capability)
    fact = gpu_fact(gpu.name)
    return Card(gpu.name, None, "unknown") if fact is None else Card(gpu.name, fact.capability, fact.known, fact.others)


def _by_kind(cards: Iterable[Card]) -> tuple[Card, ...]:
    found: dict[Card, int] = {}
    for card in cards:
        found[card] = found.get(card, 0) + 1
    return tuple(Card(card.name, card.capability, card.known, card.others, count) for card, count in found.items())
