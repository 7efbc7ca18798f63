"""What a torch needs of a machine, as far as the tables tell it without a lock."""

from __future__ import annotations

from typing import Any, Literal

from envkit.compat.needs import needed_glibc
from envkit.compat.releases import build_cuda, release_of
from envkit.compat.tables import MACHINES, arch_list, compiled_range, driver_need

Package = Literal["wheel", "conda", "other"]
"""Whose torch: PyTorch's wheels, the channel pytorch's packages, or another channel's, whose GPU code is not known."""

_WHEELS = "the names of PyPI's wheels"


def table_needs(
    torch: str | None, cuda: str | None, platform: str, driver_platform: str, package: Package = "wheel"
) -> tuple[dict[str, dict[str, Any]], dict[str, str | None]]:
    """Needs in the form that a lock has, and where each comes from; what is not known is left out.

    Of a CUDA build of which no list of GPU code is known, the need ``compute_capability`` has an empty one.

    Args:
        torch: full version, or None where it is not known.
        cuda: build CUDA, or None for a CPU build.
        platform: conda's name.
        driver_platform: that of which the driver is; Windows in WSL.
        package: whose torch.
    """
    needs: dict[str, dict[str, Any]] = {}
    sources: dict[str, str | None] = {}
    if cuda is not None:
        driver = driver_need(cuda, driver_platform)
        if driver is not None:
            toolkit = {} if driver.toolkit is None else {"toolkit": driver.toolkit}
            needs["driver"] = {"minimum": driver.minimum, **toolkit, "known": driver.known}
            sources["driver"] = driver.source
        needs["compute_capability"], sources["compute_capability"] = _code(torch, cuda, platform, package)
    glibc = _glibc(torch, cuda, platform) if torch is not None and package == "wheel" else None
    if glibc is not None:
        needs["glibc"], sources["glibc"] = glibc, _WHEELS
    return needs, sources


def _code(torch: str | None, cuda: str, platform: str, package: Package) -> tuple[dict[str, Any], str | None]:
    code = arch_list(torch, cuda, platform, package) if torch is not None and package != "other" else None
    if code is not None:
        ptx = {"ptx": list(code.ptx)} if code.ptx else {}
        return {"list": list(code.capabilities), **ptx, "known": code.known}, code.source
    compiled = compiled_range(cuda)
    if compiled is None:
        return {"list": [], "known": "unknown"}, None
    oldest, newest, known = compiled
    return {"list": [], "compiled": [oldest, newest], "known": known}, f"what nvcc of CUDA {cuda} compiles for"


def _glibc(torch: str, cuda: str | None, platform: str) -> dict[str, Any] | None:
    """The glibc of PyPI's own wheel; the other builds of a release are made on the same system."""
    release = release_of(torch)
    plain = {} if release is None else (release.row.get("pypi_plain_wheel") or {}).get(MACHINES.get(platform, ""), {})
    found = needed_glibc(plain["sample_wheel"]) if plain.get("sample_wheel") else None
    if found is None:
        return None
    is_that_build = build_cuda(plain["build"]) == cuda
    return {"minimum": f"{found[0]}.{found[1]}", "known": "confirmed" if is_that_build else "derived"}
