"""Whether a machine has what a build needs: driver, GPU code, C library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from envkit.compat.needs import number_pair
from envkit.compat.tables import MAY_REFUSE, jetson_capabilities, version_key
from envkit.model.fit import FitCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from envkit.compat.needs import Needs
    from envkit.model.driver import DriverVersion
    from envkit.model.fit import Card

CARD = "compute-capability"
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
) -> tuple[FitCheck, ...]:
    """Compare each need with a machine, GPUs of different kinds one by one.

    A fact of the need or of the machine that cannot be read is unknown: it never ends in an exception.

    Args:
        needs: of one platform of a lock, or from the tables.
        driver: of the machine; None for one that is not known, as with the others.
        cards: its GPUs.
        glibc: of the machine.
        sources: where each need comes from; left out: from a lock.
    """
    checks: dict[str, Callable[[Mapping[str, Any], str | None], tuple[FitCheck, ...]]] = {
        "driver": lambda need, source: (_check_driver(need, driver, source),),
        "compute_capability": lambda need, source: check_cards(
            need, cards, source=source, driver=driver, toolkit=_toolkit_of(needs)
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


def check_cards(
    need: Mapping[str, Any],
    cards: Sequence[Card],
    *,
    source: str | None,
    driver: DriverVersion | None = None,
    toolkit: str | None = None,
) -> tuple[FitCheck, ...]:
    """One check for each kind of GPU.

    Where one of several runs the build, the others only warn: the build works on that one.

    Args:
        need: capabilities under ``list``, those of PTX under ``ptx``, and ``known``.
        cards: the GPUs.
        source: of the need.
        driver: of the machine.
        toolkit: the driver that the build's toolkit came with: only that one or a newer one compiles its PTX.
    """
    known, ptx = _known(need), [str(entry) for entry in need.get("ptx", ())]
    code = [str(entry) for entry in need["list"]]
    if not code and not ptx:
        return _check_unlisted(need, cards, known, source)
    needed = ", ".join([*code, *(f"{entry} and newer by PTX" for entry in ptx)])
    if not cards:
        why = "No GPU is known."
        return (FitCheck(CARD, "unknown", None, needed, why, source=source, known=known),)
    is_old = driver is not None and toolkit is not None and driver.parts < version_key(toolkit)
    judged = [_check_card(card, code, ptx, needed, known, source, is_old_driver=is_old) for card in cards]
    return _together(judged)


def _check_unlisted(
    need: Mapping[str, Any], cards: Sequence[Card], known: str, source: str | None
) -> tuple[FitCheck, ...]:
    """A build whose GPU code is not known: what its nvcc cannot compile for at all is not in it."""
    compiled = [str(entry) for entry in need.get("compiled", ())]
    needed = f"{compiled[0]} or newer" if compiled else None
    open_question = "For which GPUs this build has code is not known."
    if not cards:
        return (FitCheck(CARD, "unknown", None, needed, "No GPU is known.", source=source, known=known),)
    found = []
    for card in cards:
        mine = _pairs(item for item in (card.capability, *card.others) if item)
        if compiled and mine and max(mine) < _pairs(compiled)[0]:
            is_sure = known in MAY_REFUSE and card.known in MAY_REFUSE
            why = f"The build's compiler makes no code for GPUs older than {compiled[0]}."
            status: Literal["fail", "warn"] = "fail" if is_sure else "warn"
            hint = f"Take a build for an older CUDA; {_FORCE}."
            found.append(
                FitCheck(CARD, status, card.title, needed, why, hint, source, known, is_doubtful=status == "warn")
            )
        else:
            found.append(FitCheck(CARD, "unknown", card.title, needed, open_question, source=source, known="unknown"))
    return _together(found)


def _check_card(
    card: Card, code: list[str], ptx: list[str], needed: str, known: str, source: str | None, *, is_old_driver: bool
) -> FitCheck:
    def told(status: Literal["ok", "warn", "fail", "unknown"], why: str | None, hint: str | None = None) -> FitCheck:
        weakest = known if card.known in MAY_REFUSE else card.known
        return FitCheck(CARD, status, card.title, needed, why, hint, source, weakest, is_doubtful=status == "warn")

    candidates = [item for item in (card.capability, *card.others) if item and number_pair(item) is not None]
    if not candidates:
        why = "Its compute capability is not known: neither nvidia-smi nor the table of GPUs tells it."
        return told("unknown", why, "`nvidia-smi --query-gpu=compute_cap --format=csv` tells it, with a newer driver.")
    if card.capability in jetson_capabilities() and card.capability not in code:
        why = "It is the GPU of a Jetson module: PyTorch's wheels are made for servers and have no code for it."
        return told("warn", why, "Take NVIDIA's own wheels for JetPack, by a spec of your own that names their index.")
    by_code = [_has_code(item, code) for item in candidates]
    runs = [mine or _has_ptx(item, ptx) for mine, item in zip(by_code, candidates, strict=True)]
    if all(runs):
        if is_old_driver and not all(by_code):
            why = "It could only run by PTX, which this driver, older than the build's toolkit, cannot compile."
            return told("warn", why, "Take a newer driver, or a build with code for this GPU.")
        return told("ok", None)
    if any(runs):
        return told("unknown", "GPUs of that name have different chips, and not all of them run this build.")
    why = f"The build has no kernels for compute capability {' or '.join(candidates)}{_side(candidates, code, ptx)}."
    hint = f"Take a build that has code for this GPU; {_FORCE}."
    return told("fail" if known in MAY_REFUSE and card.known in MAY_REFUSE else "warn", why, hint)


def _side(candidates: list[str], code: list[str], ptx: list[str]) -> str:
    """Whether the GPU is too old or too new for the build; empty where it is neither."""
    pairs = sorted(_pairs([*code, *ptx]))
    mine = _pairs(candidates)
    if pairs and max(mine) < pairs[0]:
        return ": the GPU is older than what it was made for"
    if pairs and min(mine) > pairs[-1]:
        return ": the GPU is newer than the build"
    return ""


def _together(judged: Sequence[FitCheck]) -> tuple[FitCheck, ...]:
    """GPUs on which a build does not run refuse it only where there is no other."""
    if all(check.status == "fail" for check in judged):
        return tuple(judged)
    return tuple(_beside_others(check, judged) if check.status == "fail" else check for check in judged)


def _beside_others(check: FitCheck, judged: Sequence[FitCheck]) -> FitCheck:
    fit = next((other.found for other in judged if other.status == "ok"), None)
    beside = f"{fit} runs it." if fit is not None else "Another GPU may run it."
    return FitCheck(
        CARD,
        "warn",
        check.found,
        check.needed,
        f"{check.why} {beside}",
        "Choose the GPU that fits with CUDA_VISIBLE_DEVICES.",
        check.source,
        check.known,
        is_doubtful=True,
    )


def _has_code(capability: str, code: Sequence[str]) -> bool:
    """The rule of ``arch_lists.yaml``: code of the same major number and no newer minor one."""
    mine = _pairs([capability])[0]
    return any(entry[0] == mine[0] and entry <= mine for entry in _pairs(code))


def _has_ptx(capability: str, ptx: Sequence[str]) -> bool:
    """PTX of this capability or an older one is compiled at first use."""
    mine = _pairs([capability])[0]
    return any(entry <= mine for entry in _pairs(ptx))


def _pairs(texts: Iterable[str]) -> list[tuple[int, int]]:
    return [pair for pair in map(number_pair, texts) if pair is not None]


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
