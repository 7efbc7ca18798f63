"""A diagnosis as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.colours import paint

if TYPE_CHECKING:
    from envkit.model.finding import Finding
    from envkit.operations.doctor import DoctorResult

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_SHOWN = 5


def doctor_lines(result: DoctorResult) -> list[str]:
    """What doctor says: the facts in a few lines, then each finding with its fix."""
    facts = result.facts
    lines = []
    if result.subject is not None:
        build = f" ({'CUDA ' + facts.build_cuda if facts.build_cuda else 'CPU'})" if facts.torch_version else ""
        lines.append(f"{result.subject}: torch {facts.torch_version or 'none'}{build}, Python {facts.python or '?'}")
    if result.toolkit is not None:
        lines.append(f"Its activation switches to CUDA {result.toolkit.version or '?'} in {result.toolkit.path}")
    driver = f"driver {facts.driver_version}" if facts.driver_version else "no NVIDIA driver"
    lines.append(f"This machine: {driver}, {', '.join(facts.gpus) or 'no GPU'}")
    for finding in result.findings:
        lines += ["", *_finding_lines(finding)]
    if not result.findings and result.subject is None and not result.looked_at:
        lines.append("There is no environment yet.")
    elif not result.findings:
        whole = "1 environment" if result.looked_at == 1 else f"{result.looked_at} environments"
        lines.append(f"Nothing is wrong with {result.subject or whole}.")
    if result.subject is None and result.looked_at:
        lines.append("Files and packages were not looked at: `envkit doctor ENV` does.")
    return lines


def _finding_lines(finding: Finding) -> list[str]:
    lines = [f"{paint(finding.severity, _COLOURS[finding.severity], bold=True)}: {finding.message} [{finding.id}]"]
    lines += [f"  {finding.why}"] if finding.why else []
    lines += [f"    {item}" for item in finding.evidence[:_SHOWN]]
    rest = len(finding.evidence) - _SHOWN
    lines += [f"    and {rest} more; --json tells them"] if rest > 0 else []
    return [*lines, *(f"  -> {item}" for item in finding.fix[:_SHOWN])]
