"""Environment files of other tools: recognised by what stands in them, and made locks or specs of (docs/formats.md)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit import __version__
from envkit.compat.needs import needs_of, needs_of_records
from envkit.compat.tables import plain_wheel_build
from envkit.errors import DownloadError, InvalidFileError
from envkit.installers.condarc import read_conda_settings
from envkit.installers.rattler.calls import find_records
from envkit.model.conda_record import CondaRecord
from envkit.model.formats.addresses import public_address
from envkit.model.formats.conda_cuda import NO_CUDA_STATED, stated_cuda
from envkit.model.formats.condalock import is_conda_lock, read_conda_lock, stated_python
from envkit.model.formats.environment_yml import is_environment_yml, read_environment_yml
from envkit.model.formats.explicit import is_explicit, read_explicit
from envkit.model.formats.parts import check_unmixed
from envkit.model.formats.pixi import is_pixi_lock, read_pixi_lock
from envkit.model.lock import CONDA_TORCH, Lock, LockedPlatform
from envkit.operations.conda_lock import build_cuda_of
from envkit.operations.trust import check_sources
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from envkit.model.formats.parts import ForeignLock, Parts
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress
    from envkit.model.spec import Spec
    from envkit.model.yamltext import YamlDocument
    from envkit.operations.options import CreateOptions

_FIND_TIMEOUT_S = 900.0
_RUNTIMES = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?")
_MINOR = re.compile(r"\d+\.\d+", re.ASCII)
_TAG = re.compile(r"-cp(\d)(\d+)-", re.ASCII)
_ANY_MINOR = re.compile(r"-cp\d+-abi3-", re.ASCII)


def read_foreign_text(text: str, shown: str, progress: Progress) -> Lock | None:
    """The lock of a file that is no YAML, or None where it is none of these.

    Args:
        text: the file's content.
        shown: the file as the user named it.
        progress: told what in it does not count.

    Raises:
        InvalidFileError: anything in it is wrong.
    """
    if not is_explicit(text):
        return None
    return _lock(read_explicit(text, shown, current_platform()), shown, progress, python=None)


def read_foreign(document: YamlDocument, progress: Progress) -> Lock | Spec | None:
    """The lock or spec of another tool's YAML file, or None where it is none of these.

    Raises:
        InvalidFileError: anything in it is wrong; MixedFileError (exit code 7) where it mixes installers.
    """
    if is_conda_lock(document.data):
        found, python = read_conda_lock(document), stated_python(document)
    elif is_pixi_lock(document.data):
        found, python = read_pixi_lock(document), None
    elif is_environment_yml(document.data):
        spec, notes = read_environment_yml(document, current_platform(), plain_wheel_build)
        for note in notes:
            progress.note(note)
        return spec
    else:
        return None
    for parts in found.platforms.values():
        check_unmixed(document, parts)
    return _lock(found, document.source, progress, python=python)


def _lock(found: ForeignLock, shown: str, progress: Progress, *, python: str | None) -> Lock:
    installer = "pip" if any(parts.pip for parts in found.platforms.values()) else "conda"
    kept = {name: parts for name, parts in found.platforms.items() if parts.pip or installer == "conda"}
    left_out = sorted(found.platforms.keys() - kept.keys())
    for note in [*found.notes, *(f"{name} has none of pip's packages, and is left out." for name in left_out)]:
        progress.note(note)
    cuda = _cuda(kept)
    platforms = {name: _platform(parts, cuda, name) for name, parts in kept.items()}
    return Lock(
        spec=shown.rpartition("/")[2],
        spec_sha256=None,
        created_by=f"envkit {__version__}, read from {found.format}",
        installer=installer,
        python=_python(kept, python, shown),
        cuda=cuda,
        toolkit=cuda,
        platforms=platforms,
        path=shown,
    )


def _platform(parts: Parts, cuda: str | None, platform: str) -> LockedPlatform:
    needs = needs_of(parts.pip, cuda, platform) if parts.pip else needs_of_records(parts.conda, cuda, platform)
    return LockedPlatform(packages=parts.pip, needs=needs, base=parts.conda)


def _python(platforms: Mapping[str, Parts], stated: str | None, shown: str) -> str:
    """The Python that the packages are for, by major and minor version."""
    records = (record for parts in platforms.values() for record in parts.conda if record.name == "python")
    found = next((_MINOR.match(record.version) for record in records), None)
    if found is not None:
        return found[0]
    if stated is not None and _MINOR.match(stated):
        return stated
    files = [item.file for parts in platforms.values() for item in parts.pip]
    tags = {f"{tag[1]}.{tag[2]}" for file in files if not _ANY_MINOR.search(file) and (tag := _TAG.search(file))}
    if len(tags) == 1:
        return tags.pop()
    raise InvalidFileError(
        shown,
        f"for which Python it is stays open: {', '.join(sorted(tags))}." if tags else "it holds no Python.",
        hint="Add python to what the file was made from.",
    )


def _cuda(platforms: Mapping[str, Parts]) -> str | None:
    """The build CUDA of the file's torch, from the first platform where there is one for CUDA."""
    found = (
        _cuda_of_wheels(parts.pip, name) if parts.pip else _cuda_of_records(parts.conda, name)
        for name, parts in platforms.items()
    )
    return next((cuda for cuda in found if cuda is not None), None)


def _cuda_of_records(records: Sequence[CondaRecord], platform: str) -> str | None:
    torch = next((record for record in records if record.name == CONDA_TORCH), None)
    if torch is None:
        return None
    build = build_cuda_of(torch)
    if build is not None and build != "cpu":
        return build
    stated = stated_cuda({record.name: f"={record.version}={record.build}" for record in records}, platform)
    return None if stated == NO_CUDA_STATED else stated


def _cuda_of_wheels(packages: Iterable[LockedPackage], platform: str) -> str | None:
    """By torch's label, else by what the default index has under that version, else by the CUDA runtime beside it."""
    by_name = {item.name: item for item in packages}
    torch = by_name.get("torch")
    if torch is None:
        return None
    label = torch.version.partition("+")[2] or plain_wheel_build(torch.version, platform)
    if label is not None and re.fullmatch(r"cu\d{2,3}", label):
        return f"{label[2:-1]}.{label[-1]}"
    runtime = next((item.version for name, item in by_name.items() if _RUNTIMES.fullmatch(name)), None)
    found = _MINOR.match(runtime) if runtime is not None and label is None else None
    return found[0] if found is not None else None


def complete(lock: Lock, options: CreateOptions, progress: Progress) -> Lock:
    """A lock whose conda records say all that a channel says of the packages.

    Other tools' files leave out much of a record, an explicit list all but its address. What is left out is taken from
    the channels; where these are out of reach, what the file says is enough if it states each hash.

    Raises:
        DownloadError: the channels are out of reach, or do not have a package.
        InvalidFileError: a channel's host is not known here and was not confirmed.
    """
    platform = current_platform()
    locked = lock.platforms.get(platform)
    missing = [record for record in locked.base if record.size is None or not record.sha256] if locked else []
    if lock.spec_sha256 is not None or locked is None or not missing:
        return lock
    check_sources(
        (record.channel for record in missing if "://" in record.channel),
        lock.path,
        trusted_hosts=options.trusted_hosts,
        confirm=options.confirm,
        remember=not options.dry_run,
    )
    try:
        found = find_records(
            [_wanted(record) for record in missing],
            settings=read_conda_settings(),
            platform=platform,
            offline=options.offline,
            timeout_s=_FIND_TIMEOUT_S,
            progress=progress,
        )
    except DownloadError as error:
        if not all(record.sha256 for record in missing):
            raise
        progress.note(f"{error.message} What {lock.path} says of its packages is taken as it is.")
        return lock
    by_file = {record["file"]: CondaRecord.from_dict(record) for record in found}
    base = tuple(_completed(record, by_file.get(record.file)) for record in locked.base)
    return replace(lock, platforms={**lock.platforms, platform: replace(locked, base=base)})


def _wanted(record: CondaRecord) -> str | tuple[str, str, str]:
    """A package as ``find_records`` is asked for it: a channel that has a name is looked for where the user has it."""
    if "://" not in record.channel:
        return record.channel, record.subdir, record.file
    digest = f"sha256:{record.sha256}" if record.sha256 else record.md5
    return public_address(record) + (f"#{digest}" if digest else "")


def _completed(record: CondaRecord, found: CondaRecord | None) -> CondaRecord:
    """The channel's record under the name that the file has for the channel.

    Raises:
        DownloadError: the channel has another file by that name than the list says.
    """
    if found is None and not record.sha256:
        raise DownloadError(
            f"{record.channel} does not say which file {record.file} is.", hint="Take it out of the list."
        )
    if found is None:
        return record
    for kind, stated, there in (("sha256", record.sha256, found.sha256), ("MD5 sum", record.md5, found.md5)):
        if stated and there and stated != there:
            raise DownloadError(
                f"{record.file} of {record.channel} is another file than the list says.",
                why=f"Its {kind} is {there} in the channel, {stated} in the list.",
                hint="Make the list again, or take the package out of it.",
            )
    return replace(found, channel=record.channel, requested=record.requested)
