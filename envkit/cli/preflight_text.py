"""What people read of a preflight: the verdict, what is not in order and why, ways out, the verdict again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.colours import paint
from envkit.cli.fit_words import known_words, needed_words
from envkit.cli.paragraphs import cut, terminal_width, wrapped
from envkit.cli.preflight_verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from envkit.model.fit import FitCheck, Route
    from envkit.operations.driver_plan import DriverPlan
    from envkit.operations.preflight import PreflightResult

_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red"), "unknown": ("?", "yellow")}
_ASKED_FOR = {"driver", "compute-capability", "gpu", "build", "python"}
"""What people want to see even where it is in order."""
_BY_NVIDIA_SMI = {"driver", "compute-capability"}
_LEAST_ROOM = 40
"""Of what was found and what is needed together, however narrow the terminal is."""


def preflight_lines(result: PreflightResult, *, is_whole: bool = False) -> list[str]:
    """The verdict comes first and last; between them what it rests on.

    Args:
        result: to be shown.
        is_whole: whether the checks that are in order are all shown.
    """
    width = terminal_width()
    checks = [check for check in result.checks if not _is_left_out(check, result)]
    shown = [check for check in checks if is_whole or _is_telling(check, result)]
    lines = [verdict(result), ""]
    lines += _table(shown, width) if shown else []
    lines += _others(len(checks) - len(shown))
    for paragraph in (_toolkit(checks, width), _notes(result.notes, width), *_reasons(checks, width)):
        lines += ["", *paragraph] if paragraph else []
    if result.routes:
        lines += ["", "What fits:" if result.spec is None else "Ways out:", *_routes(result.routes, width)]
    if result.driver_plan is not None:
        lines += ["", *_plan(result.driver_plan, width)]
    return [*lines, "", verdict(result)]


def _is_left_out(check: FitCheck, result: PreflightResult) -> bool:
    """What nobody can state of another machine; a note says so."""
    return result.machine.is_described and check.id == "glibc" and check.status == "unknown"


def _is_telling(check: FitCheck, result: PreflightResult) -> bool:
    return check.status != "ok" or check.id in _ASKED_FOR or (result.spec is None and check.id == "nvidia-smi")


def _others(count: int) -> list[str]:
    if not count:
        return []
    return ["1 other check is ok: --all shows it." if count == 1 else f"{count} other checks are ok: --all shows them."]


def _table(checks: Sequence[FitCheck], width: int) -> list[str]:
    found, needed = [_found(check) for check in checks], [needed_words(check) for check in checks]
    marks = [_MARKS[check.status][0] for check in checks]
    names = [check.id for check in checks]
    of_mark, of_name = max(map(len, marks)), max(map(len, names))
    room = max(width - of_mark - of_name - 6, _LEAST_ROOM)
    beside = [len(left) for left, right in zip(found, needed, strict=True) if right]
    of_needed = min(max(map(len, needed)), max(room // 2, room - max(beside, default=0)))
    of_found = min(max(beside, default=len("found")), room - of_needed)
    lines = [f"{'':<{of_mark}}  {'what':<{of_name}}  {'found':<{of_found}}  {'needed' if beside else ''}".rstrip()]
    for check, left, right in zip(checks, found, needed, strict=True):
        mark, colour = _MARKS[check.status]
        cells = f"{cut(left, of_found):<{of_found}}  {cut(right, of_needed)}" if right else cut(left, room + 2)
        lines.append(f"{paint(mark, colour)}{'':<{of_mark - len(mark)}}  {check.id:<{of_name}}  {cells}")
        if check.id == "nvidia-smi" and check.status == "ok" and left not in cells:
            lines.append(f"{'':<{of_mark}}  {left}")  # its place is what somebody wants to know who has several
    return lines


def _found(check: FitCheck) -> str:
    if check.found is not None and check.id == "compute-capability":
        return check.found.replace(", compute capability ", ", ")  # the row's name says it
    return check.found or ("not known" if check.status == "unknown" else "none")


def _toolkit(checks: Sequence[FitCheck], width: int) -> list[str]:
    """How somebody who compiles gets a toolkit, where the lack of one is no problem otherwise."""
    missing = (check for check in checks if check.id == "toolkit" and check.status == "ok" and check.found is None)
    return [line for check in missing if check.hint for line in wrapped(check.hint, width)]


def _notes(notes: Sequence[str], width: int) -> list[str]:
    """Commands stand alone, so that they can be copied."""
    return [line for note in notes for line in ([note] if note.startswith("envkit ") else wrapped(note, width))]


def _reasons(checks: Sequence[FitCheck], width: int) -> Iterator[list[str]]:
    """A paragraph for each check that is not in order; what nvidia-smi did not tell is told once."""
    has_failed = any(check.id == "nvidia-smi" and check.status == "unknown" for check in checks)
    for check in checks:
        is_told = has_failed and check.id in _BY_NVIDIA_SMI and check.status == "unknown" and check.found is None
        if check.status != "ok" and not is_told:
            yield _reason(check, width)


def _reason(check: FitCheck, width: int) -> list[str]:
    word, colour = _MARKS[check.status]
    found = "" if check.found is None or len(check.found) <= _LEAST_ROOM else f"Found: {check.found}. "
    first, *rest = wrapped(f"{word} {check.id}: {found}{check.why or ''}{known_words(check)}", width)
    return [paint(word, colour) + first[len(word) :], *rest, *wrapped(_hint(check), width, "  ")]


def _hint(check: FitCheck) -> str:
    """The hints speak to whoever creates; this command has no --force."""
    return (check.hint or "").replace("--force goes on", "`envkit create --force` goes on")


def _routes(routes: tuple[Route, ...], width: int) -> list[str]:
    lines = []
    for number, route in enumerate(routes, start=1):
        what = f"envkit create {route.spec}" if route.spec is not None else "Upgrade the driver"
        lines += [f"  {number}. {what}", *wrapped(route.why, width, "     ")]
    return lines


def _plan(plan: DriverPlan, width: int) -> list[str]:
    usual = "" if plan.known in {"confirmed", "single"} else " usually"
    source = f" ({plan.source})" if plan.source else ""
    lines = wrapped(f"A newer driver on {plan.system}{usual}{source}; envkit runs none of this:", width)
    lines += [f"    {command}" for command in plan.commands]
    return [*lines, *(line for note in plan.notes for line in wrapped(note, width, "  "))]
