"""Putting locked wheels into an environment, by uv or by pip: hash-checked, each name from one place only.

Each package is asked for in exactly one of these calls: from folders on this disk; from the source that the lock names
for it; from the user's default index. No call knows two of these places, so no name is looked for in two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import DownloadError, ProgramError, UnfitMachineError
from envkit.installers.diagnose import download_error
from envkit.installers.evidence import examine
from envkit.installers.indexes import (
    for_uv,
    pip_index_arguments,
    pip_index_environment,
    uv_default_arguments,
    uv_index_environment,
)
from envkit.installers.own_pip import unpacked_pip
from envkit.installers.uv import literal_dollars, uv_environment, uv_program
from envkit.installers.uv_settings import write_connection_settings
from envkit.model.addresses import redacted
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from envkit.errors import EnvkitError
    from envkit.installers.indexes import PipConfig
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress

_TIMEOUT_S = 4 * 3600.0
"""2 GB over a slow line; uv and pip have their own, shorter limits for a connection that says nothing."""
_OFFLINE_TIMEOUT_S = 1200.0
_OF_THE_DEFAULT = {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS"}
"""Variables that lead uv to the user's own index."""
_PATHS = {"CACHE_DIR", "CERT", "CLIENT_CERT"}
_KEPT = _PATHS | {
    "DEFAULT_TIMEOUT",
    "KEYRING_PROVIDER",
    "NO_CACHE_DIR",
    "PROXY",
    "RESUME_RETRIES",
    "RETRIES",
    "TIMEOUT",
    "TRUSTED_HOST",
}
"""pip's settings that say how an index is reached and where things are kept."""
_PIP_INSTALL = ("install", "--no-deps", "--require-hashes", "--no-compile", "--no-warn-script-location")


def pip_environment(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Changes of variables under which pip does what it is told; how an index is reached stays the user's choice.

    pip takes every option from a variable ``PIP_NAME``, in any case of letters; all others go.
    """
    environ = os.environ if environ is None else environ
    changes: dict[str, str | None] = {}
    for name, value in environ.items():
        option = name[4:].upper().replace("-", "_")
        if name.startswith("PIP_") and option not in _KEPT:
            changes[name] = None
        elif name.startswith("PIP_") and option in _PATHS and value:
            changes[name] = str(Path(value).absolute())  # pip starts in a folder of its own
    return changes | {
        "PIP_CONFIG_FILE": os.devnull,  # pip reads no configuration file then
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }


@dataclass(frozen=True, slots=True)
class _Group:
    """Packages that come from one place.

    Attributes:
        place: for people.
        packages: what comes from there.
        uv, pip: arguments that lead the two engines there, and nowhere else.
        uses_default: whether the user's own index settings count.
        is_local: whether it is folders on this disk.
        indexes: addresses of the indexes that are asked, as far as they are known.
    """

    place: str
    packages: tuple[LockedPackage, ...]
    uv: tuple[str, ...]
    pip: tuple[str, ...]
    uses_default: bool = False
    is_local: bool = False
    indexes: tuple[str, ...] = ()


def install(
    python: Path,
    packages: Sequence[LockedPackage],
    files: Mapping[str, Path],
    *,
    python_version: str,
    engine: str,
    config: PipConfig,
    offline: bool,
    progress: Progress,
    replace: bool = False,
    fresh_cache: Path | None = None,
    target: Path | None = None,
) -> None:
    """Install exactly ``packages`` into the environment of the interpreter ``python``, or into ``target``.

    Args:
        python: the environment's interpreter; with ``target`` any.
        packages: all with a hash.
        files: those that lie on this disk, by package name.
        python_version: of that interpreter.
        engine: "uv" or "pip".
        config: the user's settings for the default index.
        offline: whether only this disk and uv's cache may be used.
        progress: told what happens.
        replace: whether other versions of them may be there and give way; otherwise the environment is a new one.
        fresh_cache: an empty folder that uv uses instead of its cache, so that nothing of that gets in; the packages
            are put in the place of those that are there. pip copies files anyway, and checks those of its cache.
        target: a folder that uv puts the packages into, as files of its own that share nothing with the cache.

    Raises:
        DownloadError: a file could not be had, or is not the locked one.
        ProgramError: the engine failed otherwise.
    """
    for group in _groups(packages, files, for_uv(config) if engine == "uv" else config):
        with scratch_folder() as folder:
            requirements = folder / "requirements.txt"
            requirements.write_text(_requirements(group), encoding="utf-8")
            if engine == "uv":
                how: tuple[str | Path, ...] = ("--reinstall",) if replace or fresh_cache is not None else ()
                how += () if fresh_cache is None else ("--cache-dir", fresh_cache)
                how += () if target is None else ("--target", target, "--link-mode", "copy")
                _by_uv(python, group, requirements, config, how=how, offline=offline, progress=progress)
            else:
                program = pip_program(python, python_version)
                options = (*_PIP_INSTALL, "--force-reinstall" if replace else "--ignore-installed")
                _by_pip(program, options, group, requirements, config, offline=offline, progress=progress)


def download(
    python: Path,
    packages: Sequence[LockedPackage],
    folder: Path,
    *,
    python_version: str,
    config: PipConfig,
    offline: bool,
    progress: Progress,
) -> None:
    """Let pip put the files of ``packages``, none of which is on this disk, into ``folder``, hash-checked.

    Raises:
        DownloadError: a file could not be had, or is not the locked one.
        ProgramError: pip failed otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for group in _groups(packages, {}, config):
        requirements = folder / "requirements.txt"
        requirements.write_text(_requirements(group), encoding="utf-8")
        options = ("download", "--no-deps", "--require-hashes", "--dest", str(folder))
        program = pip_program(python, python_version)
        _by_pip(program, options, group, requirements, config, offline=offline, progress=progress)


def _requirements(group: _Group) -> str:
    return "".join(f"{item.name}=={item.version} --hash=sha256:{item.sha256}\n" for item in group.packages)


def _groups(packages: Sequence[LockedPackage], files: Mapping[str, Path], config: PipConfig) -> list[_Group]:
    local = tuple(item for item in packages if item.name in files)
    remote = [item for item in packages if item.name not in files]
    groups = []
    if local:
        folders = list(dict.fromkeys(str(files[item.name].parent) for item in local))
        links = tuple(part for folder in folders for part in ("--find-links", folder))
        groups.append(_Group(", ".join(folders), local, ("--no-index", *links), ("--no-index", *links), is_local=True))
    for source in dict.fromkeys(item.source for item in remote if item.source is not None):
        claimed = tuple(item for item in remote if item.source == source)
        arguments = ("--default-index", source), ("--index-url", source)
        groups.append(_Group(source, claimed, *arguments, indexes=(source,)))
    default = tuple(item for item in remote if item.source is None)
    if default:
        place = redacted(config.index_url) if config.index_url else "your default index (PyPI or your mirror)"
        uv = tuple(uv_default_arguments(config))
        indexes = tuple(filter(None, (config.index_url, *config.extra_index_urls)))
        pip = tuple(pip_index_arguments(config))
        groups.append(_Group(place, default, uv, pip, uses_default=True, indexes=indexes))
    return groups


def _by_uv(
    python: Path,
    group: _Group,
    requirements: Path,
    config: PipConfig,
    *,
    how: tuple[str | Path, ...],
    offline: bool,
    progress: Progress,
) -> None:
    command: list[str | Path] = [uv_program(), "pip", "install", "--no-deps", "--require-hashes", "--python", python]
    command += [*how, "-r", requirements, *_wheels_only(group), *group.uv]
    command += write_connection_settings(requirements.parent)  # which index it is, the group says
    environment = uv_environment()
    reach = uv_index_environment(config)
    environment |= reach if group.uses_default else {name: reach[name] for name in reach.keys() - _OF_THE_DEFAULT}
    environment |= literal_dollars(python.parent.parent)
    # uv's cache may hold everything, and then nothing is asked of any index
    cached = process.run(
        [*command, "--offline", "--quiet"],
        timeout_s=_OFFLINE_TIMEOUT_S,
        env=environment,
        cwd=requirements.parent,
        check=False,
    )
    if cached.returncode == 0:
        return
    if offline or group.is_local:
        raise download_error(process.failure(cached), group.packages, group.place, offline=offline)
    try:
        process.run(command, timeout_s=_TIMEOUT_S, env=environment, cwd=requirements.parent, screen=progress.screen())
    except ProgramError as error:
        raise _explained(error, group, config) from error


def _explained(error: ProgramError, group: _Group, config: PipConfig) -> EnvkitError:
    found = examine(error, group.packages, group.indexes, config) if group.indexes else None
    return found or download_error(error, group.packages, group.place, offline=False)


def _by_pip(
    pip: tuple[str | Path, ...],
    how: tuple[str, ...],
    group: _Group,
    requirements: Path,
    config: PipConfig,
    *,
    offline: bool,
    progress: Progress,
) -> None:
    if offline and not group.is_local:
        missing = ", ".join(item.file for item in group.packages)
        raise DownloadError(
            f"Offline, and these files are not on this disk: {missing}.",
            hint="Name a folder that holds them with --wheelhouse DIR; with --engine uv its cache counts too.",
        )
    command: list[str | Path] = [*pip, *how, *_wheels_only(group), "-r", requirements, *group.pip]
    try:
        environment = pip_environment() | literal_dollars(Path(pip[0]).parent.parent)
        environment |= pip_index_environment(config) if group.uses_default else {}
        process.run(command, timeout_s=_TIMEOUT_S, env=environment, cwd=requirements.parent, screen=progress.screen())
    except ProgramError as error:
        raise _explained(error, group, config) from error


def _wheels_only(group: _Group) -> list[str]:
    """Nothing is built but what the lock holds as an sdist."""
    wheels = [item.name for item in group.packages if item.file.endswith(".whl")]
    if len(wheels) == len(group.packages):
        return ["--only-binary", ":all:"]
    return [part for name in wheels for part in ("--only-binary", name)]


def pip_program(python: Path, version: str) -> tuple[str | Path, ...]:
    """The command that runs pip with the interpreter ``python``, from the wheel that virtualenv brings along.

    The environment itself may hold no pip, or an old one; nothing but what the lock says goes into it.

    Raises:
        UnfitMachineError: virtualenv has no pip for that version of Python.
    """
    from virtualenv.seed.wheels.embed import get_embed_wheel  # noqa: PLC0415 - only for the pip engine

    minor = ".".join(version.split(".")[:2])
    wheel = get_embed_wheel("pip", minor)
    if wheel is None:
        raise UnfitMachineError(
            f"virtualenv brings no pip for Python {minor}.",
            why="Its newer releases dropped 3.8 and older.",
            hint="Use --engine uv.",
        )
    return python, "-I", unpacked_pip(Path(wheel.path))
