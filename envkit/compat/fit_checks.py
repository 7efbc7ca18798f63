"""Whether a machine has what a build needs: driver, GPU code, C library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from envkit.compat.card_checks import CardsNeed, check_cards
from envkit.compat.needs import number_pair
from envkit.compat.tables import MAY_REFUSE, version_key
from envkit.model.fit import FitCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from envkit.compat.card_checks import DriverEnd
    from envkit.compat.needs import Needs
    from envkit.model.driver import DriverVersion
    from envkit.model.fit import Card

LOCK = "the lock"
"""The source of needs that stand in a lock."""
_FORCE = "--force goes on all the same"


def check_needs(
    needs: Needs,
    *,
    driver: DriverVersion | None,
    cards: Sequence[Card],
    glibc: tuple[int, int] | None,
    sources: Mapping[str, str | None] | None = None,
    driver_end: DriverEnd | None = None,
) -> tuple[FitCheck, ...]:
    """Compare each need with a machine, GPUs of different kinds one by one.

    A fact of the need or of the machine that cannot be read is unknown: it never ends in an exception.

    Args:
        needs: of one platform of a lock, or from the tables.
        driver: of the machine; None for one that is not known, as with the others.
        cards: its GPUs.
        glibc: of the machine.
        sources: where each need comes from; left out: from a lock.
        driver_end: the newest GPUs that the driver knows, where that has to be concluded from its CUDA.
    """
    checks: dict[str, Callable[[Mapping[str, Any], str | None], tuple[FitCheck, ...]]] = {
        "driver": lambda need, source: (_check_driver(need, driver, source),),
        "compute_capability": lambda need, source: check_cards(
            _cards_need(need, source, driver, _toolkit_of(needs), driver_end), cards
        ),
        "glibc": lambda need, source: (_check_glibc(need, glibc, source),),
    }
    found: list[FitCheck] = []
    for name, check in checks.items():
        if name in needs:
            source = LOCK if sources is None else sources.get(name)
            is_readable = _is_readable(name, needs[name])
            found += check(needs[name], source) if is_readable else (_unreadable(name, needs[name]),)
    return tuple(found)


def _is_readable(name: str, need: object) -> bool:
    """Whether a need has the facts that the comparison takes, as a lock that was read has them."""
    if not isinstance(need, Mapping):
        return False
    if name == "driver":
        return all(re.search(r"\d", str(need.get(key, "0"))) for key in ("minimum", "toolkit")) and "minimum" in need
    if name == "glibc":
        return number_pair(str(need.get("minimum"))) is not None
    code, ptx = need.get("list"), need.get("ptx", ())
    if not isinstance(code, list | tuple) or not isinstance(ptx, list | tuple):
        return False
    return all(number_pair(str(entry)) is not None for entry in (*code, *ptx))


def _unreadable(name: str, need: object) -> FitCheck:
    why = "The lock says this in a way that cannot be read."
    return FitCheck(name.replace("_", "-"), "unknown", None, str(need)[:200], why, source=LOCK, known="unknown")


def _toolkit_of(needs: Needs) -> str | None:
    need = needs.get("driver")
    if not isinstance(need, Mapping) or not _is_readable("driver", need) or need.get("toolkit") is None:
        return None
    return str(need["toolkit"])


def _cards_need(
    need: Mapping[str, Any],
    source: str | None,
    driver: DriverVersion | None,
    toolkit: str | None,
    driver_end: DriverEnd | None,
) -> CardsNeed:
    """What a build has for GPUs; only a driver of the build's toolkit or a newer one compiles its PTX."""
    code, ptx, compiled = (tuple(map(str, need.get(name, ()))) for name in ("list", "ptx", "compiled"))
    is_old = driver is not None and toolkit is not None and driver.parts < version_key(toolkit)
    return CardsNeed(code, ptx, compiled, _known(need), source, is_old, driver_end)


def _check_driver(need: Mapping[str, Any], driver: DriverVersion | None, source: str | None) -> FitCheck:
    minimum, known = str(need["minimum"]), _known(need)
    needed = f"{minimum} or newer"
    if driver is None:
        why = "No NVIDIA driver answers, or its version is not known."
        return FitCheck("driver", "unknown", None, needed, why, source=source, known=known)
    found = str(driver)
    if driver.parts < version_key(minimum):
        return FitCheck(
            "driver",
            _verdict(known),
            found,
            needed,
            f"The CUDA build does not run with a driver older than {minimum}.",
            hint=f"Upgrade the driver, or take a build for an older CUDA; {_FORCE}.",
            source=source,
            known=known,
            is_doubtful=known not in MAY_REFUSE,
        )
    toolkit = need.get("toolkit")
    if toolkit is not None and driver.parts < version_key(str(toolkit)):
        why = (
            f"It runs, by CUDA's minor-version compatibility. The toolkit of that build came with driver {toolkit}: "
            "what needs a newer driver than yours, such as PTX of that toolkit, does not work."
        )
        hint = f"Nothing has to be done. A driver of {toolkit} or newer serves all of it."
        return FitCheck("driver", "warn", found, needed, why, hint=hint, source=source, known=known)
    return FitCheck("driver", "ok", found, needed, source=source, known=known)


def _check_glibc(need: Mapping[str, Any], glibc: tuple[int, int] | None, source: str | None) -> FitCheck:
    minimum, known = str(need["minimum"]), _known(need)
    needed = f"{minimum} or newer"
    if glibc is None:
        why = "Which glibc the system has is not known, or it has none."
        return FitCheck("glibc", "unknown", None, needed, why, source=source, known=known)
    found = f"{glibc[0]}.{glibc[1]}"
    if glibc < (number_pair(minimum) or (0, 0)):
        return FitCheck(
            "glibc",
            _verdict(known),
            found,
            needed,
            f"The wheels were built for glibc {minimum}; this system has {found}.",
            "Use a newer system (a container has its own glibc), or an older release of torch.",
            source,
            known,
        )
    return FitCheck("glibc", "ok", found, needed, source=source, known=known)


def _known(need: Mapping[str, Any]) -> str:
    return str(need.get("known", "unknown"))


def _verdict(known: str) -> Literal["warn", "fail"]:
    return "fail" if known in MAY_REFUSE else "warn"
