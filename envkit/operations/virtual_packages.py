"""What a machine tells conda's solver of itself: its system, its C library, the CUDA that its driver serves.

Source: CEP 30, https://conda.org/learn/ceps/cep-0030/.
"""

from __future__ import annotations

import os
import platform as host
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.tables import served_cuda
from envkit.errors import UsageError
from envkit.probes.host import current_platform, glibc_version
from envkit.probes.nvidia_smi import query_gpus

if TYPE_CHECKING:
    from envkit.model.driver import DriverVersion
    from envkit.model.progress import Progress

VirtualPackage = tuple[str, str, str]
"""Name, version and build."""
_BUILD = "0"
_SYSTEMS = {"linux": ("__unix", "__linux"), "osx": ("__unix", "__osx"), "win": ("__win",)}
_ARCHITECTURES = {"64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}
_USUAL_GLIBC = "2.28"
"""For another machine: what conda-lock assumes as well; that of RHEL 8.

Source: https://github.com/conda/conda-lock, conda_lock/default-virtual-packages.yaml, at commit e29d5cf."""
_USUAL_OSX = "11.0"
_USUAL_LINUX = "4.18"


def virtual_packages(platform: str, *, cuda: str | None) -> tuple[VirtualPackage, ...]:
    """The virtual packages of a machine of ``platform``: this machine's where it is one, else usual ones.

    Args:
        platform: conda's name, "linux-64".
        cuda: the CUDA that the driver serves, or None for a machine without.
    """
    system, _, architecture = platform.partition("-")
    is_here = platform == current_platform()
    versions = {"__linux": _linux(is_here=is_here), "__osx": _osx(is_here=is_here)}
    found = [(name, versions.get(name, "0"), _BUILD) for name in _SYSTEMS[system]]
    if system == "linux":
        glibc = _override("GLIBC") or (_glibc() if is_here else None) or _USUAL_GLIBC
        found.append(("__glibc", glibc, _BUILD))
    found.append(("__archspec", "1", _override("ARCHSPEC") or _ARCHITECTURES[architecture]))
    if cuda is not None:
        found.append(("__cuda", cuda, _BUILD))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Target:
    """What the user says of the machine that will run the environment.

    Attributes:
        cuda: ``--cuda``: the CUDA that its driver serves, "auto" for this machine's, or None.
        driver: ``--driver``: its driver, or None.
    """

    cuda: str | None = None
    driver: DriverVersion | None = None


ANY_TARGET = Target()


def target_cuda(build_cuda: str | None, platform: str, target: Target, progress: Progress) -> str | None:
    """The version of ``__cuda`` to solve with; None for a CPU build, so that none for CUDA is chosen.

    What the user says counts before this machine's driver; where there is neither, the target is taken to serve the
    build's own CUDA, and that is told.

    Args:
        build_cuda: the spec's ``cuda``.
        platform: of the target; this machine's driver counts for its own platform alone.
        target: what the user says of it.
        progress: told what is assumed.

    Raises:
        UsageError: CONDA_OVERRIDE_CUDA is no version.
    """
    if build_cuda is None:
        return None
    if target.cuda not in {None, "auto"}:
        return target.cuda
    if target.driver is not None:
        return served_cuda(target.driver, platform)
    if "CONDA_OVERRIDE_CUDA" in os.environ:
        return _override("CUDA")
    is_here = platform == current_platform()
    served = query_gpus().cuda_version if is_here else None
    if served is not None:
        return served
    why = "No NVIDIA driver answers here" if is_here else f"The driver of the {platform} machine is not known"
    progress.note(
        f"{why}: the packages are chosen for one that serves CUDA {build_cuda}. "
        "State the target machine's with --driver V of create and lock, or CONDA_OVERRIDE_CUDA=V."
    )
    return build_cuda


def _override(name: str) -> str | None:
    """What the user's variable says.

    Raises:
        UsageError: that is no version (of ARCHSPEC: no name), which the solver would take for one.
    """
    variable = f"CONDA_OVERRIDE_{name}"
    text = os.environ.get(variable, "").strip()
    if text and (re.fullmatch(r"[A-Za-z0-9_.]+", text) is None or (name != "ARCHSPEC" and not text[0].isdigit())):
        raise UsageError(f"{variable} is {text!r}, which is no version.", hint="Write it as in 12.4, or unset it.")
    return text or None


def _linux(*, is_here: bool) -> str:
    release = host.release().split("-")[0] if is_here else ""
    return _override("LINUX") or (release if release.replace(".", "").isdigit() else _USUAL_LINUX)


def _osx(*, is_here: bool) -> str:
    return _override("OSX") or (host.mac_ver()[0] if is_here else "") or _USUAL_OSX


def _glibc() -> str | None:
    found = glibc_version()
    return None if found is None else f"{found[0]}.{found[1]}"
