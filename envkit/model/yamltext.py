"""YAML text to plain values, with the line of each, and nothing that YAML can be abused for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from envkit.errors import InvalidFileError

if TYPE_CHECKING:
    from collections.abc import Hashable

MAXIMUM_NODES = 200_000
"""A lock of 500 packages on five platforms has about 40,000; a YAML bomb has billions."""
MAXIMUM_DEPTH = 40

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_VALUE = "tag:yaml.org,2002:"
_SCALARS = frozenset({_VALUE + "str", _VALUE + "int", _VALUE + "bool", _VALUE + "null", _VALUE + "float"})

Path = tuple["str | int", ...]


@dataclass(frozen=True, slots=True)
class RawNumber:
    """A YAML number as it was written. ``3.10`` is the number 3.1, so a version must not be one."""

    text: str


@dataclass(slots=True)
class YamlDocument:
    """The content of one YAML file.

    Attributes:
        data: dicts, lists, strings, booleans, None, integers, and ``RawNumber`` for numbers with a point.
        source: the file as the user named it, for messages.
    """

    data: Any
    source: str
    _lines: dict[Path, int] = field(default_factory=dict)
    _written: dict[Path, str] = field(default_factory=dict)

    def at(self, path: Path) -> Any:  # noqa: ANN401 - YAML holds any value
        """The value at ``path``, which must be there."""
        value = self.data
        for step in path:
            value = value[step]
        return value

    def line(self, path: Path) -> int | None:
        """1-based line where the value at ``path`` stands, or its nearest parent's."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)

    def written(self, path: Path) -> str | None:
        """The text of a scalar as it stands in the file."""
        return self._written.get(path)

    def error(self, path: Path, problem: str, *, why: str | None = None, hint: str | None = None) -> InvalidFileError:
        """An error about the value at ``path``."""
        return InvalidFileError(self.source, problem, line=self.line(path), why=why, hint=hint)


def parse_yaml(text: str, source: str) -> YamlDocument:
    """Read one YAML document.

    Raises:
        InvalidFileError: broken YAML, several documents, tags, duplicate keys, keys that are no text, or an alias bomb.
    """
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else None
        raise InvalidFileError(
            source,
            f"broken YAML: {error.problem or error.context}.",
            line=line,
            hint="Check indentation and quotes there.",
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidFileError(source, f"broken YAML: {error}.") from error
    document = YamlDocument(None, source)
    if root is not None:
        document.data = _Builder(document).build(root, (), 0)
    return document


class _Builder:
    """Turns YAML nodes into values; counts what it visits, so that nested aliases end in an error."""

    def __init__(self, document: YamlDocument) -> None:
        self._document = document
        self._visited = 0

    def build(self, node: yaml.Node, path: Path, depth: int) -> Any:  # noqa: ANN401 - YAML holds any value
        self._visited += 1
        document = self._document
        document._lines[path] = node.start_mark.line + 1  # noqa: SLF001 - the builder fills the document
        if self._visited > MAXIMUM_NODES or depth > MAXIMUM_DEPTH:
            raise InvalidFileError(
                document.source,
                "the file grows beyond measure when its aliases are expanded, or is nested too deeply.",
                line=node.start_mark.line + 1,
                why=f"envkit reads at most {MAXIMUM_NODES} values, {MAXIMUM_DEPTH} levels deep.",
            )
        if isinstance(node, yaml.MappingNode) and node.tag == _VALUE + "map":
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == _VALUE + "seq":
            return [self.build(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        raise self._tag_error(node)

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag not in _SCALARS:
                raise InvalidFileError(self._document.source, "a key must be plain text.", line=line)
            key: str = key_node.value
            if key in result:
                raise InvalidFileError(
                    self._document.source, f"the key {key!r} is there twice.", line=line, hint="Keep one of the two."
                )
            result[key] = self.build(value_node, (*path, key), depth + 1)
            entry = (*path, key)
            self._document._lines[entry] = line  # noqa: SLF001
        return result

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:  # noqa: ANN401
        kind, text = node.tag.removeprefix(_VALUE), node.value
        self._document._written[path] = text  # noqa: SLF001
        if kind == "str" or kind == "timestamp":  # noqa: PLR1714 - two YAML types that envkit reads as text
            return text
        if kind == "bool":
            return text.lower() in {"true", "yes", "on"}
        if kind == "null":
            return None
        if kind == "int":
            return _integer(text)
        if kind == "float":
            return RawNumber(text)
        raise self._tag_error(node)

    def _tag_error(self, node: yaml.Node) -> InvalidFileError:
        return InvalidFileError(
            self._document.source,
            f"the YAML tag {node.tag!r} is not allowed.",
            line=node.start_mark.line + 1,
            why="Specs and locks hold text, numbers, lists and mappings only.",
        )


def _integer(text: str) -> int | RawNumber:
    try:
        return int(text)
    except ValueError:  # octal, hexadecimal, sexagesimal: nobody means these
        return RawNumber(text)


def plain(value: Any) -> Hashable | Any:  # noqa: ANN401 - any YAML value
    """``value`` with each ``RawNumber`` as its text, for canonical JSON."""
    if isinstance(value, RawNumber):
        return value.text
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
