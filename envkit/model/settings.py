"""What users and sites set for envkit: ``config.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA = 1
_KEYS = {"schema", "toolkits", "virtualenv_cuda"}


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of configuration files.

    Attributes:
        toolkits: more places of toolkits: folders, or patterns with ``*``; ``~`` is the home folder. Module and Spack
            trees: ``/apps/cuda/*``, ``/opt/spack/*/*/cuda-*``.
        virtualenv_cuda: release of the toolkit that the activation of a plain ``virtualenv DIR`` switches to, or None.
    """

    toolkits: tuple[str, ...] = ()
    virtualenv_cuda: str | None = None


def parse_settings(text: str, path: str) -> Settings:
    """Read a configuration file.

    Raises:
        InvalidFileError: it is not what envkit reads.
    """
    from envkit.model.fields import Fields  # noqa: PLC0415 - YAML costs start-up time, and most have no such file
    from envkit.model.yamltext import parse_yaml  # noqa: PLC0415

    document = parse_yaml(text, path)
    fields = Fields(document, (), _KEYS)
    fields.schema(SCHEMA)
    asked = fields.version("virtualenv_cuda") if fields.optional_text("virtualenv_cuda") is not None else None
    return Settings(fields.texts("toolkits"), asked)


def merged(settings: Iterable[Settings]) -> Settings:
    """The settings of several files, the user's first: places of all of them, the first of everything else."""
    every = tuple(settings)
    places = dict.fromkeys(place for item in every for place in item.toolkits)
    asked = next((item.virtualenv_cuda for item in every if item.virtualenv_cuda is not None), None)
    return Settings(tuple(places), asked)
