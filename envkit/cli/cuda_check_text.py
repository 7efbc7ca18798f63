"""A check of a toolkit as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from envkit.cli.colours import paint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.toolkit_report import CheckStep, ToolkitReport

_COLOURS = {"pass": "green", "fail": "red", "skip": "yellow"}


def check_lines(report: ToolkitReport) -> list[str]:
    """What ``cuda check`` says: the verdict, then a line per step."""
    toolkit = report.toolkit
    if report.failure is not None:
        verdict = "does not work"
    elif all(step.status == "pass" for step in report.steps):
        verdict = "works: it compiles, links and computes"
    else:
        verdict = "compiles and links; nothing was run on a GPU"
    return [f"CUDA {toolkit.version or '?'} in {toolkit.path}: {verdict}", *(_line(step) for step in report.steps)]


def _line(step: CheckStep) -> str:
    told = (step.reason or "").splitlines()[:1] or [_facts(step.facts)]
    line = f"  {step.step:<8} {paint(step.status, _COLOURS[step.status])}  {step.seconds:5.1f} s  {told[0]}"
    return line.rstrip()


def _facts(facts: Mapping[str, Any]) -> str:
    if "nvcc" in facts:
        return f"nvcc {facts['nvcc'] or facts['release']}"
    if "host_compiler" in facts:
        version = f" {facts['host_version']}" if facts.get("host_version") else ""
        chosen = {"NVCC_CCBIN": ", from NVCC_CCBIN", "envkit": ", the system's own is too new"}
        return (
            f"for {facts['architecture'] or 'its default GPU'}, host compiler {facts['host_compiler']}{version}"
            + chosen.get(facts.get("host_chosen_by", ""), "")
        )
    if "devices" in facts:
        names = ", ".join(f"{item['name']} ({item['compute_capability']})" for item in facts["devices"])
        return f"{names}; driver for CUDA {facts['driver_cuda']}, runtime {facts['runtime_cuda']}"
    if "compared" in facts:
        return f"{facts['compared']} numbers are right ({facts['code']})"
    return ""
