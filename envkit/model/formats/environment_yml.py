"""conda's ``environment.yml``: what is wanted, pinned more or less; it becomes a spec that is solved.

Source: https://github.com/conda/conda, conda/env/env.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from envkit.model.conda_record import channel_text
from envkit.model.digest import canonical_sha256
from envkit.model.fields import Fields, describe
from envkit.model.formats.conda_cuda import NO_CUDA_STATED, stated_cuda
from envkit.model.formats.parts import BASE_ROOTS, BESIDE_PYTHON, MixedFileError
from envkit.model.formats.pip_section import PipSection, read_pip_section
from envkit.model.spec import PLATFORMS, Spec
from envkit.model.yamltext import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from envkit.errors import InvalidFileError
    from envkit.model.yamltext import Path, YamlDocument

_KEYS = {"name", "channels", "dependencies", "prefix", "variables", "platforms"}
_MATCH_SPEC = re.compile(
    r"(?:(?P<channel>[^\s:\[]+)::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9._-]*)(?P<rest>(?:[\s=<>!~\[].*)?)", re.DOTALL
)
_PYTHON_PIN = re.compile(
    r"\s*={1,2}\s*(\d+\.\d+)(?:\.[\d*]+)*(?:[=\s].*)?|\s+(\d+\.\d+)(?:\.[\d*]+)*(?:\s.*)?", re.DOTALL
)
_EXACT = re.compile(r"\s*(={1,2})\s*([A-Za-z0-9.!+]+?)(\.\*)?(=.*)?", re.ASCII)
_NAME = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_PIP_NAME = re.compile(r"[\s\[=<>!~;@]")
_PIP_TOOLS = ("pip", "setuptools", "wheel")


@dataclass(frozen=True, slots=True)
class _Dependency:
    """A MatchSpec in the file."""

    name: str
    rest: str
    text: str
    path: Path


def is_environment_yml(data: object) -> bool:
    """Whether a YAML document is such a file."""
    return isinstance(data, dict) and "dependencies" in data and "schema" not in data


def read_environment_yml(
    document: YamlDocument, platform: str, plain_build: Callable[[str, str], str | None]
) -> tuple[Spec, tuple[str, ...]]:
    """The spec that a file amounts to, and what in it does not count, for the user.

    Args:
        document: the file.
        platform: this machine's, for which it is solved unless the file names platforms.
        plain_build: the build label of a version of torch that the default index has, by version and platform.

    Raises:
        InvalidFileError: anything in it is wrong, or it leaves open what envkit has to know.
        MixedFileError: it takes packages of conda's and of pip's.
    """
    fields = Fields(document, (), _KEYS)
    platforms = _platforms(fields) or (platform,)
    channels = _channels(fields)
    _check_base(fields)
    conda, pip = _dependencies(fields, channels)
    by_name = {item.name: item for item in conda}
    if pip is not None:
        cuda = _cuda_of_pip(document, pip, platforms[0], plain_build)
        packages = (*pip.packages, *(text for name, text in _tools(by_name) if name not in pip.names))
    else:
        _check_channels(document, channels)
        cuda = stated_cuda({item.name: item.rest for item in conda}, platforms[0])
        packages = tuple(item.text for item in conda)
    if cuda is NO_CUDA_STATED:
        raise _no_cuda(document, by_name)
    spec = Spec(
        name=_NAME.sub("-", PurePath(document.source).stem).strip("._-") or "environment",
        summary=None,
        python=_python(document, by_name),
        installer="conda" if pip is None else "pip",
        cuda=cuda,
        packages=packages,
        sources=() if pip is None else pip.sources,
        channels=channels if pip is None else (),
        toolkit=cuda,
        platforms=platforms,
        sdist=(),
        library_path=False,
        host_compiler=True,
        sha256=canonical_sha256([plain(document.data), list(platforms)]),
        path=document.source,
    )
    return spec, tuple(_notes(fields, by_name, pip))


def _platforms(fields: Fields) -> tuple[str, ...]:
    """conda-lock's key."""
    return tuple(name for name in fields.texts("platforms") if name in PLATFORMS)


def _channels(fields: Fields) -> tuple[str, ...]:
    names = [(name, ("channels", index)) for index, name in enumerate(fields.texts("channels")) if name != "nodefaults"]
    return tuple(dict.fromkeys(channel_text(fields, "channels", name, path) for name, path in names))


def _check_channels(document: YamlDocument, channels: tuple[str, ...]) -> None:
    if not channels:
        raise document.error(
            ("channels",),
            "the file names no channels.",
            why="conda would take those of the machine's .condarc, and give something else on another machine.",
            hint="Write channels: [conda-forge].",
        )


def _dependencies(fields: Fields, channels: tuple[str, ...]) -> tuple[list[_Dependency], PipSection | None]:
    document, conda, pip = fields.document, [], None
    for path, item in fields.items("dependencies"):
        if isinstance(item, str):
            conda.append(_dependency(document, path, item, channels))
        elif isinstance(item, dict) and set(item) == {"pip"}:
            found = read_pip_section(document, (*path, "pip")) if item["pip"] else None
            if found is not None and pip is not None:
                raise document.error(path, "dependencies: a second pip section.", hint="Put all into one.")
            pip = found if found is not None else pip
        else:
            raise document.error(
                path,
                f"dependencies: expected a package or a pip section, found {describe(item)}.",
                hint="Selectors of other tools are not known here: write what is for this platform.",
            )
    if not conda and pip is None:
        raise document.error(("dependencies",), "dependencies: the list is empty.")
    seen: set[str] = set()
    for dependency in conda:
        if dependency.name in seen:
            raise document.error(dependency.path, f"dependencies: {dependency.name} is there twice.")
        seen.add(dependency.name)
    return conda, pip if pip is not None and pip.requirements else None


def _dependency(document: YamlDocument, path: Path, text: str, channels: tuple[str, ...]) -> _Dependency:
    found = _MATCH_SPEC.fullmatch(text.strip()) if "://" not in text else None
    if found is None:
        raise document.error(
            path, f"dependencies: {text!r} is no MatchSpec.", hint='Write it as in pytorch=1.12.1 or "numpy<2".'
        )
    if found["channel"] is not None and found["channel"] not in channels:
        raise document.error(
            path,
            f"dependencies: {text!r} is from {found['channel']}, which is not among the channels.",
            hint=f"Write {found['channel']} under channels.",
        )
    return _Dependency(found["name"].lower(), found["rest"], text.strip(), path)


def _check_base(fields: Fields) -> None:
    """Refuse what two installers would have to install; that comes before anything else that may be wrong."""
    pip: set[str] = set()
    more: dict[str, Path] = {}
    for path, item in fields.items("dependencies"):
        found = _MATCH_SPEC.fullmatch(item.strip()) if isinstance(item, str) else None
        if isinstance(item, dict) and isinstance(item.get("pip"), list):
            lines = [line.strip() for line in item["pip"] if isinstance(line, str)]
            pip |= {_PIP_NAME.split(line)[0] for line in lines if line and not line.startswith("-")}
        elif found is not None and found["name"].lower() not in BASE_ROOTS | BESIDE_PYTHON:
            more[found["name"]] = path
    if pip and more:
        line = fields.document.line(more[min(more)])
        raise MixedFileError(fields.document.source, more, pip, line=line)


def _python(document: YamlDocument, by_name: Mapping[str, _Dependency]) -> str:
    found = by_name.get("python")
    pin = _PYTHON_PIN.fullmatch(found.rest) if found is not None else None
    if pin is None:
        where: Path = found.path if found is not None else ("dependencies",)
        raise document.error(
            where,
            f"dependencies: {found.text!r} does not pin Python." if found is not None else "dependencies: no Python.",
            why="Which files there are depends on Python's minor version.",
            hint="Write python=3.11.",
        )
    return pin[1] or pin[2]


def _tools(by_name: Mapping[str, _Dependency]) -> Iterator[tuple[str, str]]:
    """pip and its kind by name, as requirements, since the installer pip brings them then."""
    for name in _PIP_TOOLS:
        rest = by_name[name].rest if name in by_name else None
        exact = _EXACT.fullmatch(rest) if rest else None
        if exact is not None:
            is_exact = exact[1] == "==" or exact[4] is not None
            yield name, f"{name}=={exact[2]}" if is_exact and not exact[3] else f"{name}=={exact[2]}.*"
        elif rest and re.fullmatch(r"\s*[<>!~][^\s\[|]*", rest):
            yield name, f"{name}{rest.strip()}"
        elif rest is not None:
            yield name, name


def _cuda_of_pip(
    document: YamlDocument, pip: PipSection, platform: str, plain_build: Callable[[str, str], str | None]
) -> str | None:
    labels = set(pip.labels)
    torch = next(((item, path) for item, path in pip.requirements if canonicalize_name(item.name) == "torch"), None)
    if torch is None:
        return None
    if not labels:
        pins = [pin.version for pin in torch[0].specifier if pin.operator == "=="]
        label = plain_build(pins[0], platform) if pins else None
        labels = {label} if label is not None else labels
    if len(labels) != 1:
        said = " and ".join(sorted(labels))
        raise document.error(
            torch[1],
            f"pip: the packages are built for {said}."
            if said
            else f"pip: for which CUDA {torch[0]} is built stays open.",
            hint="Write the build, as in torch==2.1.0+cu118, and its index: "
            "--extra-index-url https://download.pytorch.org/whl/cu118",
        )
    label = labels.pop()
    return None if label == "cpu" else f"{label[2:-1]}.{label[-1]}"


def _no_cuda(document: YamlDocument, by_name: Mapping[str, _Dependency]) -> InvalidFileError:
    torch = next(item for name, item in by_name.items() if "torch" in name)
    return document.error(
        torch.path,
        f"dependencies: for which CUDA {torch.text!r} is to be built stays open.",
        why="A solver takes what suits the machine it runs on, so that the file gives something else elsewhere.",
        hint="Say it as the channel has it: cuda-version=12.6 or pytorch-cpu (conda-forge), pytorch-cuda=11.8, "
        "cudatoolkit=11.3 or cpuonly (pytorch).",
    )


def _notes(fields: Fields, by_name: Mapping[str, _Dependency], pip: PipSection | None) -> Iterator[str]:
    if "name" in fields or "prefix" in fields:
        yield (
            "The name and prefix in the file do not count: an environment is called by its versions, or as --name or "
            "--prefix say."
        )
    if "variables" in fields:
        yield "variables: in the file is left out; envkit sets no variables but those of its hooks."
    beside = sorted(by_name.keys() & BESIDE_PYTHON) if pip is not None else []
    if beside:
        yield f"What comes with Python is not pinned: {', '.join(beside)}."
