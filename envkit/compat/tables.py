"""Typed answers from the tables in ``envkit/data``; a fact that is not known is None or absent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from envkit import resources

if TYPE_CHECKING:
    from envkit.model.driver import DriverVersion

MACHINES = {"linux-64": "linux_x86_64", "linux-aarch64": "linux_aarch64", "win-64": "windows_x86_64"}
"""The tables' names of conda's platforms; CUDA builds exist for these alone."""

MAY_REFUSE = ("confirmed", "single")
"""How well a fact must be known to refuse on its ground; whatever is known less well only warns."""


@dataclass(frozen=True, slots=True)
class DriverNeed:
    """What a CUDA build needs of the NVIDIA driver.

    Attributes:
        minimum: below it the build does not run.
        toolkit: the driver that the toolkit was released with; between the two, newer features do not work.
        known: how well ``minimum`` is known.
        source: an address, or None.
    """

    minimum: str
    toolkit: str | None
    known: str
    source: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ArchList:
    """GPU code in a torch wheel.

    Attributes:
        capabilities: compute capabilities it has machine code for, ascending.
        ptx: those it has PTX for, compiled at first use on this or any newer capability.
        known: how well.
        source: an address or the name of what was read, or None.
    """

    capabilities: tuple[str, ...]
    ptx: tuple[str, ...]
    known: str
    source: str | None = field(default=None, compare=False)


def preload() -> None:
    """Read all tables that a lock needs; to be done while another program works."""
    for name in ("cuda_toolkits", "arch_lists", "pytorch_releases"):
        resources.table(name)


def version_key(text: str) -> tuple[int, ...]:
    """A version for comparison part by part; zeros at the end do not count: 470.82 is 470.82.00."""
    parts = [int(part) for part in re.findall(r"\d+", text)]
    while parts[-1:] == [0]:
        parts.pop()
    return tuple(parts)


def build_label(cuda: str | None) -> str:
    """``cu113`` for build CUDA 11.3, ``cpu`` for None."""
    return "cpu" if cuda is None else "cu" + "".join(cuda.split(".")[:2])


def toolkit_row(release: str) -> dict[str, Any] | None:
    """The row of a toolkit's release ("11.3") in ``cuda_toolkits.yaml``, or None."""
    return next((row for row in resources.table("cuda_toolkits")["toolkits"] if row["toolkit"] == release), None)


def driver_need(cuda: str, platform: str) -> DriverNeed | None:
    """What a build for ``cuda`` needs of the driver, by the rules in ``cuda_toolkits.yaml``.

    The floor is that of minor-version compatibility (from 11.0 on), or the oldest driver that the toolkit itself was
    released with where that is older (11.0) or the only rule there is (10.2 and before).
    """
    system = "windows" if platform == "win-64" else "linux"
    row = toolkit_row(cuda)
    if row is None or platform not in MACHINES:
        return None
    released: dict[str, str] = {
        update[f"driver_{system}"]: update["driver_status"]
        for update in row["updates"]
        if update.get(f"driver_{system}") and update.get("driver_status") in MAY_REFUSE and not is_candidate(update)
    }
    rule = row["minor_version_minimum"]
    floors = dict(released)
    if rule[system] is not None:
        floors[rule[system]] = rule.get(f"{system}_status", rule["status"])
    if not floors:
        return None
    minimum = min(floors, key=version_key)
    return DriverNeed(minimum, row["toolkit_driver_ga"][system], floors[minimum], _source("cuda_toolkits", rule["src"]))


def is_candidate(update: dict[str, Any]) -> bool:
    """Whether an update of a toolkit's row is a release candidate, which is no release: 11.0.1."""
    return str(update["update"]).endswith(" RC")


def served_cuda(driver: DriverVersion, platform: str) -> str | None:
    """The newest CUDA that a driver serves, by the drivers that the toolkits were released with; None: none known.

    That is what nvidia-smi shows as its CUDA version. A newer minor version of the same major one may work as well.
    """
    system = "windows" if platform == "win-64" else "linux"
    served = [
        row["toolkit"]
        for row in resources.table("cuda_toolkits")["toolkits"]
        for update in row["updates"]
        if update.get(f"driver_{system}")
        and not is_candidate(update)
        and version_key(update[f"driver_{system}"]) <= driver.parts
    ]
    return max(served, key=version_key, default=None)


def toolkit_update(nvcc: str) -> str | None:
    """The full version of the toolkit whose nvcc has that number: "11.3.1" of 11.3.109.

    None where none or several have it (13.0.88 is in 13.0.1 and 13.0.2), or where the table is not sure.
    """
    rows = [row for toolkit in resources.table("cuda_toolkits")["toolkits"] for row in toolkit["updates"]]
    found = [row for row in rows if row.get("nvcc") == f"V{nvcc}"]
    if len(found) != 1 or found[0]["nvcc_status"] not in MAY_REFUSE:
        return None
    match = re.fullmatch(r"(\d+\.\d+\.\d+)( \S+)?", found[0]["update"], re.ASCII)
    return match and match[1]


def _source(table: str, ids: list[str]) -> str | None:
    """The first address among the sources of a row, or else the name of what was read."""
    found = [resources.table(table)["sources"][name] for name in ids]
    return next(
        (row["url"] for row in found if row["url"]), next((row["name"] for row in found if "name" in row), None)
    )


def arch_list(torch: str, cuda: str, platform: str, package: str = "wheel") -> ArchList | None:
    """The GPU code of torch's package for a build CUDA and platform; where two rows tell, the better known one's.

    Args:
        torch: version, with or without a label.
        cuda: build CUDA.
        platform: conda's name.
        package: "wheel", or "conda" for that of the channel pytorch.
    """
    release, build, machine = torch.partition("+")[0], build_label(cuda), MACHINES.get(platform)
    rows = [
        row
        for row in resources.table("arch_lists")["entries"]
        if release in row["torch"]
        and row["build"] == build
        and row["platform"] == machine
        and row["package"].startswith(package)
    ]
    if not rows:
        return None
    best = min(rows, key=lambda row: row["status"] != "confirmed")
    code = {kind: _capabilities(best["arch_list"], kind) for kind in ("sm", "compute")}
    return ArchList(code["sm"], code["compute"], best["status"], _source("arch_lists", best["src"]))


def jetson_capabilities() -> tuple[str, ...]:
    """Those of Jetson's GPUs, which take only code that was made for exactly them."""
    return tuple(resources.table("arch_lists")["jetson"]["capabilities"])


def compiled_range(cuda: str) -> tuple[str, str, str] | None:
    """The oldest and newest compute capability that nvcc of a release compiles for, and how well that is known."""
    row = toolkit_row(cuda)
    sm = None if row is None else row.get("sm")
    if not sm or not sm.get("min") or not sm.get("max"):
        return None
    ends = _capabilities([sm["min"], sm["max"]], "sm")
    return ends[0], ends[-1], sm["status"]


def _capabilities(entries: list[str], kind: str) -> tuple[str, ...]:
    found = [match for entry in entries if (match := re.fullmatch(rf"{kind}_(\d+)(\d)", entry))]
    return tuple(sorted((f"{match[1]}.{match[2]}" for match in found), key=version_key))


def plain_wheel_build(torch: str, platform: str) -> str | None:
    """The build of the wheel without a label on PyPI, ``cu102`` or ``cpu``; None where that is not confirmed."""
    row = next((row for row in resources.table("pytorch_releases")["releases"] if row["torch"] == torch), None)
    plain = ((row or {}).get("pypi_plain_wheel") or {}).get(MACHINES.get(platform, ""), {})
    return str(plain["build"]) if plain.get("build_status") == "confirmed" else None


def toolkit_rows() -> tuple[dict[str, Any], ...]:
    """The toolkits of ``cuda_toolkits.yaml`` as they are written there, oldest first; not to be changed."""
    return tuple(resources.table("cuda_toolkits")["toolkits"])


def installers_table() -> dict[str, Any]:
    """``toolkit_installers.yaml`` as it is written; not to be changed."""
    return resources.table("toolkit_installers")


def cudnn_wheels_table() -> dict[str, Any]:
    """``cudnn_wheels.yaml`` as it is written; not to be changed."""
    return resources.table("cudnn_wheels")


def releases_table() -> tuple[dict[str, Any], ...]:
    """The releases of ``pytorch_releases.yaml`` as they are written; not to be changed."""
    return tuple(resources.table("pytorch_releases")["releases"])


def bounds_table() -> tuple[dict[str, Any], ...]:
    """The bounds of ``pytorch_releases.yaml`` for packages beside torch; not to be changed."""
    return tuple(resources.table("pytorch_releases")["bounds"])


def gpus_table() -> dict[str, Any]:
    """``gpus.yaml`` as it is written; not to be changed."""
    return resources.table("gpus")


def driver_plans_table() -> dict[str, Any]:
    """``driver_plans.yaml`` as it is written; not to be changed."""
    return resources.table("driver_plans")
