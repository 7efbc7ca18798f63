"""Trying packages in an environment of their own, inside the one they are for, before anything is changed there.

So everything that can fail for reasons of the network, of a hash or of a build fails there; and it shows which files
will come.
"""

from __future__ import annotations

import filecmp
import os
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from envkit.backends.pythons import Interpreter
from envkit.backends.venv import make_venv
from envkit.errors import ExistsError, UsageError
from envkit.installers import pip
from envkit.installers.editable import install_editable
from envkit.installers.files import local_files
from envkit.installers.indexes import find_local_wheel_dirs
from envkit.installers.installed import distributions, files_of
from envkit.operations.add_undo import add_folder, clear_add_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from envkit.installers.indexes import PipConfig
    from envkit.model.environment import Environment
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress


@dataclass(frozen=True, slots=True)
class Stage:
    """Where packages are tried.

    Attributes:
        environment: what they are for.
        folder: the environment that they are tried in.
        python: its interpreter.
        config: the user's index settings.
        offline: whether only this disk and uv's cache count.
        files: locked files that lie on this disk, by package name.
    """

    environment: Environment
    folder: Path
    python: Path
    config: PipConfig
    offline: bool
    files: Mapping[str, Path]

    def install_editable(self, folder: Path, progress: Progress) -> tuple[str, str, Path]:
        """Try a project's folder; gives its name, its version and its dist-info."""
        known = {name for name, _, _ in distributions(self.folder)}
        install_editable(self.python, folder, self.config, offline=self.offline, progress=progress)
        new = [item for item in distributions(self.folder) if item[0] not in known]
        if len(new) != 1:
            raise UsageError(f"The project in {folder} was named before.", hint="Name each project once.")
        return new[0]

    def install(self, packages: Sequence[LockedPackage], progress: Progress) -> Stage:
        """Try packages; gives the stage with their files as far as these are on this disk now."""
        files = local_files(packages, find_local_wheel_dirs(self.config), wheelhouse=None)
        missing = [item for item in packages if item.name not in files]
        environment = self.environment
        if environment.engine == "pip" and missing:
            wheels = add_folder(environment.prefix) / "wheels"
            pip.download(
                self.python,
                missing,
                wheels,
                python_version=environment.python,
                config=self.config,
                offline=self.offline,
                progress=progress,
            )
            files |= local_files(missing, [wheels], wheelhouse=None)
        staged = replace(self, files=files)
        staged.into(self.python, packages, progress, replace_others=False)
        return staged

    def into(
        self, python: Path, packages: Sequence[LockedPackage], progress: Progress, *, replace_others: bool
    ) -> None:
        """Install packages into an environment, this one or the real one."""
        pip.install(
            python,
            packages,
            self.files,
            python_version=self.environment.python,
            engine=self.environment.engine,
            config=self.config,
            offline=self.offline,
            progress=progress,
            replace=replace_others,
        )

    def coming(self) -> dict[str, set[str]]:
        """The files of each package that was tried, relative to the prefix."""
        return {
            name: {item for item in files_of(info, self.folder) if (self.folder / item).is_file()}
            for name, _, info in distributions(self.folder)
        }

    def leaving(self, names: set[str]) -> set[str]:
        """The files of the packages ``names`` in the real environment, which other versions of them replace."""
        prefix = self.environment.prefix
        return {item for name, _, info in distributions(prefix) if name in names for item in files_of(info, prefix)}

    def check_collisions(self, coming: Mapping[str, set[str]], leaving: set[str]) -> None:
        """Refuse a package that would write over a file of another one, or of the user's own; the same bytes are fine.

        Raises:
            ExistsError: so.
        """
        prefix = self.environment.prefix
        for name, paths in sorted(coming.items()):
            self._check_links(name, paths | leaving)
            for relative in sorted(paths - leaving):
                there = prefix / relative
                if not os.path.lexists(there):
                    continue
                if there.is_file() and filecmp.cmp(there, self.folder / relative, shallow=False):
                    continue
                owner = self._owner(relative)
                raise ExistsError(
                    f"{name} would write over {relative}, which belongs to {owner or 'no package'}.",
                    why="Nothing was changed: what is installed stays as it is.",
                    hint="Move that file away if it is yours, or make another environment.",
                )

    def _check_links(self, name: str, paths: set[str]) -> None:
        """Refuse to write through a folder that is a link: what it leads to is the user's own."""
        folders = {
            parent for path in paths for parent in PurePosixPath(path).parents if str(parent) not in {".", "lib64"}
        }
        for folder in sorted(folders):
            there = self.environment.prefix / folder
            if there.is_symlink():
                raise ExistsError(
                    f"{name} would write through {folder}, which is a link to {os.readlink(there)}.",  # noqa: PTH115 - as it is
                    why="Nothing was changed: what lies there is no part of the environment.",
                    hint="Move that link away, or make another environment.",
                )

    def _owner(self, relative: str) -> str | None:
        prefix = self.environment.prefix
        owners = (name for name, _, info in distributions(prefix) if relative in files_of(info, prefix))
        return next(owners, None)


def new_stage(environment: Environment, config: PipConfig, *, offline: bool) -> Stage:
    """An empty stage for ``environment``; what an earlier one left goes."""
    clear_add_folder(environment.prefix)
    folder = add_folder(environment.prefix) / "stage"
    folder.parent.mkdir()
    interpreter = Interpreter(environment.executable, environment.python, "given")
    python = make_venv(folder, interpreter, engine="pip" if environment.engine == "pip" else "uv")
    return Stage(environment, folder, python, config, offline, {})
