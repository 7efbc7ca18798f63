"""YAML text that is the same for the same content, laid out as the tools themselves write it."""

from __future__ import annotations

from typing import Any

import yaml


def block(value: object) -> str:
    """A document in block style; keys stay in their order."""
    return yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=1_000_000
    )


class _Dumper(yaml.SafeDumper):
    """Lists that are values stand two columns in, as conda and pixi write them; nothing becomes an anchor."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ANN401, ARG002, FBT001, FBT002 - its signature
        return super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - its signature
        return True
