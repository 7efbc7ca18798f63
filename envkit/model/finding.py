"""What a diagnosis found: one thing that is wrong, why, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that ``envkit doctor`` found.

    Attributes:
        id: kebab-case words that stay the same; docs/doctor.md lists them.
        severity: error: something is broken. warning: it may break. note: good to know.
        message: what it is.
        why: how it comes, or what follows.
        fix: commands or steps, the best first.
        evidence: what was seen: files, versions.
    """

    id: str
    severity: Severity
    message: str
    why: str | None = None
    fix: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The finding as an object of ``findings`` (docs/json.md)."""
        return {
            "id": self.id,
            "severity": self.severity,
            "message": self.message,
            "why": self.why,
            "fix": list(self.fix),
            "evidence": list(self.evidence),
        }
