"""Whether a build has code for GPUs: machine code, or PTX that the driver compiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from envkit.compat.needs import number_pair
from envkit.compat.tables import MAY_REFUSE, jetson_capabilities
from envkit.model.fit import FitCheck, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from envkit.model.fit import Card

CARD = "compute-capability"
_FORCE = "--force goes on all the same"


@dataclass(frozen=True, slots=True)
class DriverEnd:
    """Where a driver's knowledge of GPUs ends, as far as the CUDA that it serves tells it.

    Attributes:
        cuda: the newest that it serves, "12.2".
        capability: the newest that nvcc of that CUDA compiles for, "9.0".
    """

    cuda: str
    capability: str


@dataclass(frozen=True, slots=True)
class CardsNeed:
    """What a build has for GPUs.

    Attributes:
        code: the capabilities that it has machine code for.
        ptx: those of its PTX.
        compiled: the oldest and newest that its nvcc compiles for, where the lists are empty: they are not known.
        known: how well.
        source: where it is from.
        is_old_driver: whether the driver is older than the build's toolkit, so that it does not compile its PTX.
        driver_end: where the driver's knowledge ends; None: not known, or the driver itself has told of the GPUs.
    """

    code: tuple[str, ...]
    ptx: tuple[str, ...]
    compiled: tuple[str, ...]
    known: str
    source: str | None
    is_old_driver: bool = False
    driver_end: DriverEnd | None = None

    @property
    def needed(self) -> str | None:
        """For people."""
        if self.code or self.ptx:
            return ", ".join([*self.code, *(f"{entry} and newer by PTX" for entry in self.ptx)])
        return f"{self.compiled[0]} or newer" if self.compiled else None

    def check(self, status: Status, card: Card, why: str | None, hint: str | None = None) -> FitCheck:
        """The check of a GPU; a warning stands for what does not work as far as is known."""
        weakest = self.known if card.known in MAY_REFUSE else card.known
        return FitCheck(
            CARD, status, card.title, self.needed, why, hint, self.source, weakest, is_doubtful=status == "warn"
        )

    def refusal(self, card: Card) -> Literal["fail", "warn"]:
        """What is said of a GPU for which there is nothing, by how well that is known."""
        return "fail" if self.known in MAY_REFUSE and card.known in MAY_REFUSE else "warn"


def check_cards(need: CardsNeed, cards: Sequence[Card]) -> tuple[FitCheck, ...]:
    """One check for each kind of GPU.

    Where one of several runs the build, the others only warn: the build works on that one.
    """
    if not cards:
        return (FitCheck(CARD, "unknown", None, need.needed, "No GPU is known.", source=need.source, known=need.known),)
    return _together([_check_card(card, need) for card in cards])


def _check_card(card: Card, need: CardsNeed) -> FitCheck:
    candidates = [item for item in (card.capability, *card.others) if item and number_pair(item) is not None]
    if not candidates:
        why = "Its compute capability is not known: neither nvidia-smi nor the table of GPUs tells it."
        hint = "`nvidia-smi --query-gpu=compute_cap --format=csv` tells it, with a newer driver."
        return need.check("unknown", card, why, hint)
    if not need.code and not need.ptx:
        return _check_unlisted(card, candidates, need)
    if card.capability in jetson_capabilities() and card.capability not in need.code:
        why = "It is the GPU of a Jetson module: PyTorch's wheels are made for servers and have no code for it."
        hint = "Take NVIDIA's own wheels for JetPack, by a spec of your own that names their index."
        return need.check("warn", card, why, hint)
    runs = [_has_code(item, need.code) or _newest_ptx(item, need.ptx) is not None for item in candidates]
    if all(runs):
        return _check_running(card, candidates, need)
    if any(runs):
        return need.check(
            "unknown", card, "GPUs of that name have different chips, and not all of them run this build."
        )
    told = " or ".join(candidates)
    why = f"The build has no kernels for compute capability {told}{_side(candidates, [*need.code, *need.ptx])}."
    hint = f"Take a build that has code for this GPU; {_FORCE}."
    return need.check(need.refusal(card), card, why, hint)


def _check_running(card: Card, candidates: list[str], need: CardsNeed) -> FitCheck:
    """A GPU that the build has something for: whether the driver can do with it what is needed."""
    by_ptx = [item for item in candidates if not _has_code(item, need.code)]
    if by_ptx and need.is_old_driver:
        why = "It could only run by PTX, which this driver, older than the build's toolkit, cannot compile."
        return need.check("warn", card, why, "Take a newer driver, or a build with code for this GPU.")
    for item in by_ptx:
        ptx = _newest_ptx(item, need.ptx)
        if ptx is not None and _pairs([ptx])[0][0] < _pairs([item])[0][0]:
            why = (
                f"The build has no kernels for compute capability {item}. Its PTX of {ptx} would be compiled for it at "
                "first use, which takes minutes, and libraries of that CUDA, such as cuDNN and cuBLAS, may have no "
                "code for this GPU."
            )
            return need.check("warn", card, why, f"Take a build that has code for this GPU; {_FORCE}.")
    return _strange(card, candidates, need) or need.check("ok", card, None)


def _strange(card: Card, candidates: list[str], need: CardsNeed) -> FitCheck | None:
    """A GPU that is newer than all that the CUDA of the driver knows."""
    end = need.driver_end
    if end is None or min(_pairs(candidates)) <= _pairs([end.capability])[0]:
        return None
    why = (
        f"A driver of that branch probably does not know this GPU: nvcc of CUDA {end.cuda}, which is what it serves, "
        f"ends at {end.capability}."
    )
    return need.check("warn", card, why, "Take a newer driver, and see with nvidia-smi whether it lists the GPU.")


def _check_unlisted(card: Card, candidates: list[str], need: CardsNeed) -> FitCheck:
    """A build whose GPU code is not known: what its nvcc cannot compile for at all is not in it."""
    mine, ends = _pairs(candidates), _pairs(need.compiled)
    if ends and max(mine) < ends[0]:
        why = f"The build's compiler makes no code for GPUs older than {need.compiled[0]}."
        return need.check(need.refusal(card), card, why, f"Take a build for an older CUDA; {_FORCE}.")
    if ends and min(mine)[0] > ends[-1][0]:  # of the same major number it has code that runs there too
        why = (
            f"The build's compiler makes no code for GPUs newer than {need.compiled[-1]}: at best it runs by PTX, "
            "compiled at first use."
        )
        return need.check("warn", card, why, f"Take a build for a newer CUDA; {_FORCE}.")
    strange = _strange(card, candidates, need)
    if strange is not None:
        return strange
    why = "For which GPUs this build has code is not known."
    return FitCheck(CARD, "unknown", card.title, need.needed, why, source=need.source, known="unknown")


def _side(candidates: list[str], code: Sequence[str]) -> str:
    """Whether the GPU is too old or too new for the build; empty where it is neither."""
    pairs, mine = sorted(_pairs(code)), _pairs(candidates)
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


def _newest_ptx(capability: str, ptx: Sequence[str]) -> str | None:
    """The PTX that is compiled for a GPU: of its capability or an older one."""
    mine = _pairs([capability])[0]
    older = [entry for entry in ptx if _pairs([entry])[0] <= mine]
    return max(older, key=_pair, default=None)


def _pair(text: str) -> tuple[int, int]:
    return number_pair(text) or (0, 0)


def _pairs(texts: Iterable[str]) -> list[tuple[int, int]]:
    return [pair for pair in map(number_pair, texts) if pair is not None]
