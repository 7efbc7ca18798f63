"""Put cuDNN's files into a toolkit, all or none, and take exactly these out again.

In ``<toolkit>/.envkit`` lie: ``cudnn.yaml``, the manifest of what is in force; while something is put, the manifest of
that as ``cudnn-journal.yaml``, its files in ``cudnn-new`` until each is moved to its place, and what they replace in
``cudnn-old``. The change holds from the moment that the manifest is written; one that was cut off before is undone.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from typing import TYPE_CHECKING

from envkit import fs
from envkit.errors import ExistsError, InstallerRuleError, InvalidFileError
from envkit.model.cudnn_manifest import FOLDER, MANIFEST, CudnnManifest, PlacedFile, parse_cudnn_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from envkit.model.toolkit import Toolkit

_JOURNAL = f"{FOLDER}/cudnn-journal.yaml"
_NEW = f"{FOLDER}/cudnn-new"
_OLD = f"{FOLDER}/cudnn-old"
_SHOWN = 5
_FLUSH_LIMIT_S = 30.0


def read_manifest(toolkit: Path, name: str = MANIFEST) -> CudnnManifest | None:
    """The manifest of the cuDNN that envkit has put into a toolkit, or None.

    Raises:
        InvalidFileError: it is not what envkit writes.
    """
    try:
        text = (toolkit / name).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(toolkit / name), "the manifest is no text.") from error
    return parse_cudnn_manifest(text, str(toolkit / name))


def staging_folder(toolkit: Path) -> Path:
    """An empty folder in the toolkit, on its disk, for the files that are to be put."""
    folder = toolkit / _NEW
    fs.remove_tree(folder)
    folder.mkdir(parents=True)
    return folder


def described(source: Path, path: str) -> PlacedFile:
    """A file that is to be put at ``path`` of a toolkit."""
    if source.is_symlink():
        return PlacedFile(path, link=str(source.readlink()))
    return PlacedFile(path, sha256=fs.file_sha256(source))


def is_unchanged(toolkit: Path, item: PlacedFile) -> bool:
    """Whether a file is there and is what was put."""
    path = toolkit / item.path
    if item.link is not None:
        return path.is_symlink() and str(path.readlink()) == item.link
    return path.is_file() and not path.is_symlink() and fs.file_sha256(path) == item.sha256


def check_stands_alone(toolkit: Toolkit) -> None:
    """Refuse a toolkit that packages of an environment are: what is put there would belong to none of them.

    Raises:
        InstallerRuleError: it is a part of a conda prefix or of a virtual environment.
    """
    prefix = toolkit.environment
    if prefix is None:
        return
    word = shlex.quote(str(prefix))
    by_conda = f"`conda install -p {word} cudnn`" if os.path.lexists(prefix / "conda-meta") else "its own installer"
    raise InstallerRuleError(
        f"{toolkit.path} is a part of the environment {prefix}; nothing was changed.",
        why="Its files belong to packages; a lock, a snapshot and the installer would not know of others.",
        hint=f"Install cuDNN as a package: `envkit add {word} ...` where envkit made the environment, else {by_conda}.",
    )


def check_none(toolkit: Path, folders: Iterable[Path]) -> None:
    """Refuse where files of any cuDNN are: commands that overwrite nothing would mix two.

    Raises:
        ExistsError: there are such files.
    """
    patterns = ("cudnn*.h", "libcudnn*", "cudnn*.dll", "cudnn*.lib")
    found = [path for folder in folders for pattern in patterns for path in folder.glob(pattern)]
    if found:
        raise ExistsError(
            f"There is a cuDNN in {toolkit} already.",
            why=f"In the way: {_few(sorted(str(path.relative_to(toolkit)) for path in found))}.",
            hint="Whoever may change the toolkit has to take it out first, the way it came; then run again.",
        )


def check_free(toolkit: Path, wanted: CudnnManifest, old: CudnnManifest | None) -> None:
    """Make sure that nothing but envkit's own unchanged cuDNN is replaced.

    Raises:
        ExistsError: another cuDNN is there, or envkit's own was changed.
    """
    changed = [item.path for item in old.files if _is_changed(toolkit, item)] if old is not None else []
    if changed:
        raise ExistsError(
            f"The cuDNN that envkit has put into {toolkit} was changed since.",
            why=f"Changed: {_few(changed)}.",
            hint="Move these files away, then run again.",
        )
    own = {item.path for item in old.files} if old is not None else set()
    taken = [item.path for item in wanted.files if item.path not in own and os.path.lexists(toolkit / item.path)]
    if taken:
        raise ExistsError(
            f"There is another cuDNN in {toolkit}, which envkit has not put there.",
            why=f"In the way: {_few(taken)}.",
            hint="Remove it the way it came, or move these files away; nothing was changed.",
        )


def _is_changed(toolkit: Path, item: PlacedFile) -> bool:
    return os.path.lexists(toolkit / item.path) and not is_unchanged(toolkit, item)


def _few(paths: list[str]) -> str:
    rest = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def put(toolkit: Path, sources: dict[str, Path], wanted: CudnnManifest, old: CudnnManifest | None) -> None:
    """Move files to their places; on any failure everything is as it was.

    Args:
        toolkit: the folder.
        sources: where each file lies now, below ``staging_folder``, by its path in the toolkit.
        wanted: the new manifest.
        old: that of the cuDNN that is replaced, all of it, or None.

    Raises:
        OSError: the disk is full, or the like.
    """
    staged = toolkit / _NEW
    for path, source in sources.items():  # now the name in the staging folder tells where it goes
        (staged / "placed" / path).parent.mkdir(parents=True, exist_ok=True)
        source.rename(staged / "placed" / path)
    fs.flush(staged, limit_s=_FLUSH_LIMIT_S)
    fs.write_text(toolkit / _JOURNAL, wanted.to_text())
    try:
        for item in old.files if old is not None else ():
            if os.path.lexists(toolkit / item.path):
                (toolkit / _OLD / item.path).parent.mkdir(parents=True, exist_ok=True)
                (toolkit / item.path).rename(toolkit / _OLD / item.path)
        for item in wanted.files:
            _move_new(staged / "placed" / item.path, toolkit / item.path)
        fs.write_text(toolkit / MANIFEST, wanted.to_text())
    except BaseException:
        recover(toolkit)
        raise
    recover(toolkit)


def _move_new(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise ExistsError(f"{target} has come to be there meanwhile.", hint="Nothing was changed; run again.")
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def recover(toolkit: Path) -> bool:
    """End what was begun: tidy up after a change that is in force, undo one that was cut off; gives whether one was.

    It may itself be cut off anywhere: what is moved back once is never taken for something else the next time.
    """
    begun, in_force = read_manifest(toolkit, _JOURNAL), read_manifest(toolkit)
    is_cut_off = begun is not None and begun != in_force
    if begun is not None and is_cut_off:
        _move_back(toolkit, begun, in_force)
    (toolkit / _JOURNAL).unlink(missing_ok=True)
    for name in (_NEW, _OLD):
        fs.remove_tree(toolkit / name)
    return is_cut_off


def _move_back(toolkit: Path, begun: CudnnManifest, in_force: CudnnManifest | None) -> None:
    for item in begun.files:
        staged = toolkit / _NEW / "placed" / item.path
        # one that still lies there was never moved, or is back: what is at its place is somebody else's
        if not os.path.lexists(staged) and is_unchanged(toolkit, item):
            staged.parent.mkdir(parents=True, exist_ok=True)
            (toolkit / item.path).rename(staged)
    for item in in_force.files if in_force is not None else ():
        kept = toolkit / _OLD / item.path
        if os.path.lexists(kept) and not os.path.lexists(toolkit / item.path):
            kept.rename(toolkit / item.path)


def take_out(toolkit: Path, manifest: CudnnManifest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove the files of a manifest that are unchanged; gives these, and those that were changed and stay."""
    removed, kept = [], []
    for item in manifest.files:
        if is_unchanged(toolkit, item):
            (toolkit / item.path).unlink()
            removed.append(item.path)
        elif os.path.lexists(toolkit / item.path):
            kept.append(item.path)
    (toolkit / MANIFEST).unlink()
    with contextlib.suppress(OSError):  # it holds other things of envkit's
        (toolkit / FOLDER).rmdir()
    return tuple(removed), tuple(kept)
