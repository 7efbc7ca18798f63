"""What people read of a preflight: a table, what is not in order and why, ways out, the verdict."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from envkit.cli.colours import paint
from envkit.cli.render import table

if TYPE_CHECKING:
    from envkit.model.fit import FitCheck, Route
    from envkit.operations.driver_plan import DriverPlan
    from envkit.operations.preflight import PreflightResult

_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red"), "unknown": ("?", "yellow")}
_WIDTH = 100
"""Of a column; what is longer is told in full below the table where something is wrong with it."""
_VERDICTS = {True: ("fits", "green"), False: ("does not fit", "red"), None: ("cannot be told", "yellow")}


def preflight_lines(result: PreflightResult) -> list[str]:
    """All of it; the verdict is the last line."""
    lines = _table(result.checks) if result.checks else []
    for check in result.checks:
        if check.status != "ok":
            lines += ["", *_reason(check)]
    if result.routes:
        lines += ["", "What fits:" if result.spec is None else "Ways out:", *_routes(result.routes)]
    if result.driver_plan is not None:
        lines += ["", *_plan(result.driver_plan)]
    if result.notes:
        lines += ["", *result.notes]
    return [*lines, "", _verdict(result)]


def _table(checks: tuple[FitCheck, ...]) -> list[str]:
    rows = [
        (_MARKS[check.status][0], check.id, _short(check.found) or "not known", _short(check.needed) or "")
        for check in checks
    ]
    head, *body = table(("", "what", "found", "needed"), rows)
    painted = [
        paint(_MARKS[check.status][0], _MARKS[check.status][1]) + line[len(_MARKS[check.status][0]) :]
        for check, line in zip(checks, body, strict=True)
    ]
    return [head, *painted]


def _short(text: str | None) -> str | None:
    return None if text is None else textwrap.shorten(text, _WIDTH, placeholder=" ...")


def _reason(check: FitCheck) -> list[str]:
    known = f" ({check.known}: {check.source})" if check.known and check.source else ""
    word, colour = _MARKS[check.status]
    found = "" if check.found is None or check.found == _short(check.found) else f"Found: {check.found}. "
    lines = [f"{paint(word, colour)} {check.id}: {found}{check.why or ''}{known}"]
    return [*lines, f"  {check.hint}"] if check.hint else lines


def _routes(routes: tuple[Route, ...]) -> list[str]:
    lines = []
    for number, route in enumerate(routes, start=1):
        what = f"envkit create {route.spec}" if route.spec is not None else "Upgrade the driver"
        lines += [f"  {number}. {what}", f"     {route.why}"]
    return lines


def _plan(plan: DriverPlan) -> list[str]:
    usual = "" if plan.known in {"confirmed", "single"} else " usually"
    source = f" ({plan.source})" if plan.source else ""
    lines = [f"A newer driver on {plan.system}{usual}{source}; envkit runs none of this:"]
    lines += [f"    {command}" for command in plan.commands]
    return [*lines, *(f"  {note}" for note in plan.notes)]


def _verdict(result: PreflightResult) -> str:
    where = "the machine that you described" if result.machine.is_described else "this machine"
    if result.spec is None:
        if any(check.status == "fail" for check in result.checks):
            return f"Verdict: {where} {paint('cannot make environments', 'red', bold=True)} as it is."
        return f"Verdict: no spec was named; `envkit preflight SPEC` judges one for {where}."
    told, colour = _VERDICTS[result.fits]
    whether = "whether " if result.fits is None else ""
    warned = sum(check.status == "warn" for check in result.checks)
    notes = f", with {warned} warning{'s' if warned > 1 else ''}" if warned and result.fits else ""
    if result.fits is None:
        return f"Verdict: {whether}{result.spec} fits {where} {paint(told, colour, bold=True)}."
    return f"Verdict: {result.spec} {paint(told, colour, bold=True)} {where}{notes}."
