"""What verification found, layer by layer, and the verdict that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Status = Literal["pass", "fail", "skip"]
"""How a layer ended; a layer that was not tried is ``skip`` and says why."""

Level = Literal["import", "device", "full"]
"""How far verification goes."""

LAYERS = ("import", "device", "compute", "memory")
"""The layers that must all pass for an environment to be verified, in their order."""

FILES = "files"
"""The layer that compares the packages' files with their RECORDs; envkit itself runs it, not the environment."""

INSTALLER = "installer"
"""The layer that looks, in conda prefixes, for packages of another installer than the environment's; by their names."""

LAYERS_OF_LEVEL: Mapping[Level, tuple[str, ...]] = MappingProxyType(
    {"import": LAYERS[:1], "device": LAYERS, "full": (*LAYERS, FILES)}
)
"""The layers that each level runs."""


@dataclass(frozen=True, slots=True)
class LayerResult:
    """How one layer of verification ended.

    Attributes:
        layer: ``import``, ``device``, ``compute``, ``memory``, ...
        status: pass, fail or skip.
        reason: why it failed or was skipped; None when it passed.
        facts: what was measured, as JSON values.
        seconds: wall time.
    """

    layer: str
    status: Status
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The layer as an object of ``layers`` in a JSON report."""
        return {
            "layer": self.layer,
            "status": self.status,
            "reason": self.reason,
            "facts": dict(self.facts),
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, value: object) -> LayerResult:
        """The layer that ``to_json`` wrote; fields that are not known here are left aside.

        Raises:
            ValueError: ``value`` is no such object.
        """
        match value:
            case {
                "layer": str(layer),
                "status": "pass" | "fail" | "skip" as status,
                "reason": str() | None as reason,
                "facts": dict(facts),
                "seconds": int() | float() as seconds,
            }:
                return cls(layer, status, reason, facts, float(seconds))
            case _:
                raise ValueError(f"not a layer of a verify report: {value!r}")


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """One verification of one environment.

    ``verified``, ``failed`` and ``not_verifiable`` exclude each other; all three are false when level import passed.

    Attributes:
        level: what was asked for.
        layers: the results, in the order of the layers.
    """

    level: Level
    layers: tuple[LayerResult, ...]

    @property
    def verified(self) -> bool:
        """Whether the layers import, device, compute and memory have all passed, and no other layer failed."""
        passed = {result.layer for result in self.layers if result.status == "pass"}
        return passed.issuperset(LAYERS) and not self.failed

    @property
    def failed(self) -> bool:
        """Whether a layer failed: something is broken."""
        return any(result.status == "fail" for result in self.layers)

    @property
    def is_mixed_only(self) -> bool:
        """Whether all that is wrong is a package of the wrong installer."""
        return {result.layer for result in self.layers if result.status == "fail"} == {INSTALLER}

    @property
    def not_verifiable(self) -> bool:
        """Whether nothing failed, but a layer that ``verified`` needs could not be tried here: no GPU, or hidden."""
        return not self.failed and any(result.status == "skip" for result in self.layers if result.layer in LAYERS)

    @property
    def telling(self) -> LayerResult | None:
        """The layer that tells most: the first that failed, or else the first that was skipped; None when all passed.

        Packages of the wrong installer and changed files come before all: that an import crashes follows from them.
        """
        for status in ("fail", "skip"):
            found = {result.layer: result for result in self.layers if result.status == status}
            if found:
                return found.get(INSTALLER) or found.get(FILES) or next(iter(found.values()))
        return None

    @property
    def reason(self) -> str | None:
        """The reason of the layer that tells most."""
        return None if self.telling is None else self.telling.reason

    def facts(self, layer: str) -> Mapping[str, Any]:
        """The facts of ``layer``; empty when it is not in this report."""
        return next((result.facts for result in self.layers if result.layer == layer), {})

    def to_json(self) -> dict[str, Any]:
        """The fields ``level``, ``layers`` and ``verified`` of ``envkit verify --json``."""
        return {
            "level": self.level,
            "layers": [result.to_json() for result in self.layers],
            "verified": self.verified,
        }

    @classmethod
    def from_json(cls, value: object) -> VerifyReport:
        """The report that ``to_json`` wrote; the verdict is worked out again from the layers.

        Raises:
            ValueError: ``value`` is no such object.
        """
        match value:
            case {"level": "import" | "device" | "full" as level, "layers": list(layers)}:
                return cls(level, tuple(LayerResult.from_json(layer) for layer in layers))
            case _:
                raise ValueError(f"not a verify report: {value!r}")
