"""A package in a conda prefix that the environment's installer did not put there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mixed:
    """Such a package, of the other installer or of both.

    Attributes:
        name: the project's; of conda's packages, theirs.
        conda: name, version and build of conda's package, or None where pip alone has it.
        pip: name and version of pip's, or None where conda alone has it.
    """

    name: str
    conda: str | None
    pip: str | None

    @property
    def is_of_both(self) -> bool:
        """Whether conda and pip have both written it, so that which file is whose is left to chance."""
        return self.conda is not None and self.pip is not None

    def __str__(self) -> str:
        origins = [f"{text} of {whose}" for text, whose in ((self.conda, "conda"), (self.pip, "pip")) if text]
        return f"{self.name}: {' and '.join(origins)}" if self.is_of_both else origins[0]

    def to_json(self) -> dict[str, str | None]:
        """The entry in JSON output."""
        return {"name": self.name, "conda": self.conda, "pip": self.pip}
