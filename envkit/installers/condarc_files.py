"""conda's configuration files: where they lie, what stands in them, and how conda merges them.

conda's rules: https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/use-condarc.html, and
``conda/common/configuration.py`` and ``conda/base/constants.py`` of conda 26.7 (checked 2026-12-01).
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.backends.conda import find_conda
from envkit.errors import InvalidFileError
from envkit.model.yamltext import RawNumber, YamlDocument, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SYSTEM = ("/etc/conda", "/var/lib/conda")
_NAMES = (".condarc", "condarc")
_YAML = (".yml", ".yaml")
_MARK = re.compile(r"#!(final|top|bottom)\b")
_VARIABLE = re.compile(r"\$(?P<named>[A-Za-z_]\w*)|\$\{(?P<braced>[^{}]+)\}|%(?P<padded>[A-Za-z_]\w*)%")

ALIASES = {
    "whitelist_channels": "allowlist_channels",
    "verify_ssl": "ssl_verify",
    "client_cert": "client_ssl_cert",
    "client_cert_key": "client_ssl_cert_key",
    "envs_path": "envs_dirs",
    "root_dir": "root_prefix",
    "add_binstar_token": "add_anaconda_token",
}
"""Names that conda takes for another one."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of one file, or of the environment.

    Attributes:
        value: text, truth value, number, list or mapping, as YAML has it.
        source: the file, or ``the variable CONDA_X``.
        line: 1-based line of the file, or None.
        mark: ``final`` where later files are not to change it.
        marks: of list items (by index) and mapping values (by key): ``top``, ``bottom``, ``final``.
    """

    value: Any
    source: str
    line: int | None = None
    mark: str | None = None
    marks: Mapping[int | str, str] | None = None

    def error(self, key: str, problem: str) -> InvalidFileError:
        """An error about this setting; what stands there is not shown, it may be a password."""
        return InvalidFileError(self.source, f"{key} {problem}.", line=self.line)


def find_root(environ: Mapping[str, str]) -> Path | None:
    """The folder of the conda installation on this machine, or None."""
    for name in ("CONDA_ROOT", "_CONDA_ROOT", "MAMBA_ROOT_PREFIX"):
        if environ.get(name):
            return Path(environ[name])
    program = find_conda(environ)
    return None if program is None else program.root


def config_files(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """The configuration files that there are, in conda's order: later ones win."""
    home = Path(environ.get("USERPROFILE" if platform == "win32" else "HOME") or Path.home())
    system = ("C:/ProgramData/conda",) if platform == "win32" else _SYSTEM
    root, prefix, config = find_root(environ), environ.get("CONDA_PREFIX"), environ.get("XDG_CONFIG_HOME")
    folders = [Path(folder) for folder in system]
    folders += [root] if root is not None else []
    folders += [Path(config) / "conda"] if config else []
    folders += [home / ".config/conda", home / ".conda"]
    candidates = [path for folder in folders for path in _in_folder(folder)]
    candidates.append(home / ".condarc")
    candidates += _in_folder(Path(prefix)) if prefix else []
    candidates += [Path(environ["CONDARC"]).expanduser()] if environ.get("CONDARC") else []
    # os.path: Path.is_file raises where a folder is closed to this user
    found = (path for path in candidates if os.path.isfile(path) and (path.name in _NAMES or path.suffix in _YAML))  # noqa: PTH113
    return tuple(dict.fromkeys(found))


def _in_folder(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _NAMES)
    try:
        entries = sorted((folder / "condarc.d").iterdir())
    except OSError:
        return
    yield from (entry for entry in entries if entry.suffix in _YAML)


def read_settings(
    files: Sequence[Path], environ: Mapping[str, str], keys: Sequence[str], separators: Mapping[str, str]
) -> dict[str, list[Setting]]:
    """The settings named by ``keys``, each with its values in the order in which later ones win.

    Args:
        files: as ``config_files`` gives them.
        environ: whose ``CONDA_*`` variables come last.
        keys: which settings; others are ignored.
        separators: what parts the items of a list in a variable, by key.

    Raises:
        InvalidFileError: a file is no YAML, or no mapping.
    """
    found: dict[str, list[Setting]] = {key: [] for key in keys}
    for path in files:
        for key, setting in _read(path).items():
            if key in found:
                found[key].append(setting)
    for variable, text in environ.items():
        if not variable.startswith("CONDA_"):
            continue
        key = _name(variable[len("CONDA_") :].lower())
        if key in found:
            found[key].append(_of_variable(variable, text, separators.get(key)))
    return found


def _of_variable(variable: str, text: str, separator: str | None) -> Setting:
    if separator is not None:
        items = [item.strip() for item in text.split(separator) if item.strip()]
        return Setting(items, f"the variable {variable}")
    value, _, rest = text.partition("!important")
    return Setting(value.strip(), f"the variable {variable}", mark="final" if rest or "!important" in text else None)


def _read(path: Path) -> dict[str, Setting]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(path), "conda's configuration is not UTF-8.") from error
    except OSError:  # not for us to read
        return {}
    document = parse_yaml(text, str(path))
    if document.data is None:
        return {}
    if not isinstance(document.data, dict):
        raise InvalidFileError(str(path), "conda's configuration is no mapping.", line=1)
    lines = text.splitlines()
    found: dict[str, Setting] = {}
    for key, value in document.data.items():
        line = document.line((key,))
        marks = _marks(document, key, value, lines)
        found[_name(key)] = Setting(value, str(path), line=line, mark=_mark(lines, line), marks=marks)
    return found


def _name(key: str) -> str:
    return ALIASES.get(key, key)


def _marks(document: YamlDocument, key: str, value: object, lines: Sequence[str]) -> dict[int | str, str]:
    steps: list[int | str] = [*range(len(value))] if isinstance(value, list) else []
    steps += list(value) if isinstance(value, dict) else []
    own = document.line((key,))
    places = {step: document.line((key, step)) for step in steps}
    return {step: mark for step, line in places.items() if line != own and (mark := _mark(lines, line)) is not None}


def _mark(lines: Sequence[str], line: int | None) -> str | None:
    match = _MARK.search(lines[line - 1]) if line is not None and line <= len(lines) else None
    return match[1] if match is not None else None


def merge(settings: Sequence[Setting]) -> Setting | None:
    """One setting of several: the last text wins, lists join with the last in front, mappings by key.

    ``#!final`` ends the row; ``#!top`` and ``#!bottom`` move a list's items to its ends. None when there is none.

    Raises:
        InvalidFileError: a list, a mapping and a text meet.
    """
    if not settings:
        return None
    final = next((index for index, setting in enumerate(settings) if setting.mark == "final"), len(settings) - 1)
    row = [setting for setting in settings[: final + 1] if setting.value is not None]
    if not row:
        return settings[-1]
    if isinstance(row[-1].value, list):
        return Setting(_merge_lists(row), row[-1].source, row[-1].line)
    if isinstance(row[-1].value, dict):
        return Setting(_merge_mappings(row), row[-1].source, row[-1].line)
    return row[-1]


def _merge_lists(row: Sequence[Setting]) -> list[Any]:
    pairs = [
        (item, (setting.marks or {}).get(index))
        for setting in reversed(row)
        for index, item in enumerate(setting.value if isinstance(setting.value, list) else [setting.value])
    ]
    top = [
        item
        for setting in row
        for index, item in enumerate(setting.value if isinstance(setting.value, list) else ())
        if (setting.marks or {}).get(index) == "top"
    ]
    bottom = [item for item, mark in pairs if mark == "bottom"]
    rest = [item for item, _ in pairs if item not in bottom]
    front = [item for item in [*top, *rest] if item not in bottom]
    return [*_unique(front), *_unique(bottom)]


def _unique(items: Sequence[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


def _merge_mappings(row: Sequence[Setting]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    final: dict[str, Any] = {}
    for setting in row:
        values = setting.value if isinstance(setting.value, dict) else {}
        for key, value in values.items():
            earlier = merged.get(key)
            if isinstance(value, list) and isinstance(earlier, list):
                merged[key] = _unique([*value, *earlier])
            else:
                merged[key] = value
        marked = {key: value for key, value in values.items() if (setting.marks or {}).get(key) == "final"}
        final = {**marked, **final}
    return merged | final


def expanded(text: str, environ: Mapping[str, str]) -> str:
    """``text`` with ``$NAME``, ``${NAME}`` and ``%NAME%`` replaced; what is not set stays as it is."""
    return _VARIABLE.sub(
        lambda match: environ.get(match["named"] or match["braced"] or match["padded"], match[0]), text
    )


def as_text(value: object) -> str | None:
    """A scalar of YAML as text, None for anything else."""
    if isinstance(value, RawNumber):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def home_path(text: str, environ: Mapping[str, str]) -> Path:
    """A path with ``~`` and variables resolved, absolute."""
    path = expanded(text, environ)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if home and (path == "~" or path.startswith(("~/", "~\\"))):
        path = home + path[1:]
    return Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100,PTH111 - keeps symbolic links
