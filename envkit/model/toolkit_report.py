"""What a check of a CUDA toolkit found, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.report import Status
    from envkit.model.toolkit import Toolkit

STEPS = ("version", "compile", "link", "device", "kernel")
"""The steps in their order: nvcc runs, it compiles, its program links, sees a GPU, and computes there."""

_OF_THE_TOOLKIT = ("version", "compile", "link")
"""The steps that need no GPU."""


@dataclass(frozen=True, slots=True)
class CheckStep:
    """How one step ended.

    Attributes:
        step: one of ``STEPS``.
        status: pass, fail or skip.
        reason: why it failed or was skipped; None when it passed.
        hint: what to do about it, or None.
        facts: what was found, as JSON values.
        seconds: wall time.
    """

    step: str
    status: Status
    reason: str | None = None
    hint: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The step as an object of ``steps`` in ``envkit cuda check --json``."""
        return {
            "step": self.step,
            "status": self.status,
            "reason": self.reason,
            "hint": self.hint,
            "facts": dict(self.facts),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class ToolkitReport:
    """One check of one toolkit.

    Attributes:
        toolkit: what was checked.
        steps: the results, in the order of ``STEPS``.
    """

    toolkit: Toolkit
    steps: tuple[CheckStep, ...]

    @property
    def failure(self) -> CheckStep | None:
        """The step that failed, or None; there is one at most, for what comes after it is skipped."""
        return next((step for step in self.steps if step.status == "fail"), None)

    @property
    def compiles(self) -> bool:
        """Whether the toolkit itself works: its programs compile and link. A GPU is not needed for that."""
        passed = {step.step for step in self.steps if step.status == "pass"}
        return passed.issuperset(_OF_THE_TOOLKIT)

    def facts(self, step: str) -> Mapping[str, Any]:
        """The facts of a step; empty when it is not in this report."""
        return next((item.facts for item in self.steps if item.step == step), {})
