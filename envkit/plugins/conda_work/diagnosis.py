"""``conda doctor`` for an environment of envkit: envkit's own findings, and its hooks written again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from envkit.plugins.conda_work.command import NoEnvkitError, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from envkit.plugins.conda_work.record import Managed

    _Findings = Sequence[dict[str, Any]]

CHECK_TIMEOUT_S = 600.0
"""Doctor reads every file of an environment: seconds on a disk of its own, minutes on a busy network file system."""
HOOKS_TIMEOUT_S = 120.0
_SEVERITIES = ("error", "warning", "note")
_SHOWN = 5


def check_lines(managed: Managed, find: Callable[[], str], marks: tuple[str, str], *, verbose: bool) -> list[str]:
    """What the check prints of an environment.

    Args:
        managed: the environment.
        find: gives the command's path, or raises NoEnvkitError.
        marks: conda's marks for good and bad.
        verbose: whether notes and all of the evidence are shown.
    """
    try:
        findings = _findings(find(), managed.prefix)
    except NoEnvkitError as error:
        return [f"{marks[1]} {_title(managed)} was not checked: {error}", ""]
    return _report(managed, findings, marks, verbose=verbose)


def mend(
    prefix: str, find: Callable[[], str], confirm: Callable[[str], None], say: Callable[[Iterable[str]], None]
) -> int:
    """Have the hooks and the guard written again, if envkit finds that they are damaged.

    Args:
        prefix: of an environment of envkit.
        find: gives the command's path, or raises NoEnvkitError.
        confirm: asks the user; raises where the answer is no.
        say: shows lines.

    Returns:
        conda's exit status.
    """
    try:
        command = find()
        damages = _mendable(_findings(command, prefix))
        if not damages:
            say(["envkit's hooks and guard are as they should be."])
            return 0
        say([*damages, ""])
        confirm("Write envkit's hooks and guard again?")
        answer = ask(command, ["hooks", "install", prefix], timeout_s=HOOKS_TIMEOUT_S)
    except NoEnvkitError as error:
        say([str(error)])
        return 1
    finally:
        _findings.cache_clear()
    say(["envkit's hooks and guard were written again." if answer["ok"] else _failure(answer)])
    return 0 if answer["ok"] else 1


@lru_cache(maxsize=1)
def _findings(command: str, prefix: str) -> list[dict[str, Any]]:
    """Kept for the fixer, which conda runs after the check: a large environment is read once."""
    answer = ask(command, ["doctor", prefix], timeout_s=CHECK_TIMEOUT_S)
    findings = answer.get("findings")
    if not isinstance(findings, list) or (not answer["ok"] and not findings):
        raise NoEnvkitError(_failure(answer))
    return [finding for finding in findings if isinstance(finding, dict)]


def _report(
    managed: Managed, findings: Sequence[dict[str, Any]], marks: tuple[str, str], *, verbose: bool
) -> list[str]:
    ok, bad = marks
    counts = {kind: sum(item.get("severity") == kind for item in findings) for kind in _SEVERITIES}
    told = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count)
    broken = bool(counts["error"] or counts["warning"])
    lines = [f"{bad if broken else ok} {_title(managed)}: {told or 'nothing is wrong'}.", ""]
    for finding in findings:
        if verbose or finding.get("severity") != "note":
            lines += [*_lines(finding, verbose=verbose), ""]
    return lines


def _title(managed: Managed) -> str:
    by = f" (installer {managed.installer})" if managed.installer else ""
    return f"envkit's environment {managed.name or managed.prefix}{by}"


def _mendable(findings: _Findings) -> list[str]:
    """What of the findings ``envkit hooks install`` can put right."""
    ids = ((str(finding.get("id")), finding) for finding in findings)
    return [str(finding.get("message")) for name, finding in ids if name.startswith(("hooks-", "guard-"))]


def _lines(finding: dict[str, Any], *, verbose: bool) -> list[str]:
    why, evidence, fix = (finding.get(key) or () for key in ("why", "evidence", "fix"))
    shown = evidence if verbose else evidence[:_SHOWN]
    lines = [f"{finding.get('severity')}: {finding.get('message')} [{finding.get('id')}]"]
    lines += [f"  {why}"] if why else []
    lines += [f"    {item}" for item in shown]
    lines += [f"    and {len(evidence) - len(shown)} more; --verbose tells them"] if len(evidence) > len(shown) else []
    return [*lines, *(f"  -> {item}" for item in fix)]


def _failure(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    parts = [error.get(key) for key in ("message", "why", "hint")] if isinstance(error, dict) else []
    return " ".join(str(part) for part in parts if part) or "envkit failed and did not say why."
