"""virtualenv's plugin: ``virtualenv --cuda 11.3 DIR`` makes an environment whose activation switches the CUDA toolkit.

virtualenv loads it, and calls it, for every environment that it makes beside envkit, so nothing of envkit is imported
before there is something to do. Plugins are called before virtualenv's own activators, which write over what is there
(virtualenv 21, run/plugin/base.py and run/session.py): the work is done behind the last step of a run, the writing of
``pyvenv.cfg``.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from virtualenv.activation.activator import Activator

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from virtualenv.create.creator import Creator

    from envkit.model.toolkit import Toolkit

NONE = "none"


class CudaActivator(Activator):
    """Lets the scripts of the other activators switch to a toolkit; writes none of its own."""

    def __init__(self, options: Any) -> None:  # noqa: ANN401 - a namespace of virtualenv's
        super().__init__(options)
        self._asked: Toolkit | str | None = options.cuda
        if self._asked not in {None, NONE} and _is_managed(options.dest):
            raise RuntimeError(
                f"{options.dest} is an environment of envkit; `envkit hooks install` gives it another CUDA toolkit."
            )

    @classmethod
    def add_parser_arguments(cls, parser: ArgumentParser, interpreter: object) -> None:  # noqa: ARG003 - virtualenv's
        """The option ``--cuda``; as every option it can come from ``VIRTUALENV_CUDA`` and virtualenv's own file."""
        parser.add_argument(
            "--cuda",
            metavar="V|DIR|none",
            default=None,
            type=_toolkit,
            help="CUDA toolkit that activation switches to (envkit); by default what virtualenv_cuda of envkit's "
            "config.yaml says",
        )

    def generate(self, creator: Creator) -> list[Path]:
        """Puts off the work until all scripts are there; gives no files."""
        work = _work(self._asked, creator.dest)
        if work is None:
            return []
        settings, write = creator.pyenv_cfg, creator.pyenv_cfg.write

        def _write_and_finish() -> None:
            write()
            settings.write = write  # type: ignore[method-assign]  # once is enough
            work(creator.dest)

        settings.write = _write_and_finish  # type: ignore[method-assign]
        return []


def _work(asked: Toolkit | str | None, prefix: Path) -> Callable[[Path], None] | None:
    """What there is to do when all is written; None for a plain environment, which is left as virtualenv makes it."""
    if _is_managed(prefix):  # virtualenv is run over it, or envkit runs virtualenv: then the option is "none"
        return _attach if asked is None else None
    has_hooks = os.path.lexists(prefix / ".envkit" / "hooks.json")
    if isinstance(asked, str):
        return _take_out if has_hooks else None
    if asked is not None:
        return partial(_put_in_and_say, asked)
    toolkit = _recorded(prefix) if has_hooks else _configured()
    return None if toolkit is None else partial(_put_in_if_possible, toolkit)


def _put_in(toolkit: Toolkit, prefix: Path) -> None:
    from envkit.cli.options import NotesOnStderr
    from envkit.errors import EnvkitError
    from envkit.operations.hooks_unmanaged import put_hooks

    try:
        put_hooks(prefix, toolkit, NotesOnStderr())
    except (EnvkitError, OSError) as error:
        raise RuntimeError(f"The activation of {prefix} switches no CUDA toolkit. {_told(error)}") from error


def _put_in_and_say(toolkit: Toolkit, prefix: Path) -> None:
    """As virtualenv tells what it has made: on stdout, and not with ``--quiet``."""
    import logging

    _put_in(toolkit, prefix)
    text = "%s switches to CUDA %s in %s when it is activated (envkit hooks remove takes that out)"
    logging.getLogger(__name__).warning(text, prefix, toolkit.version or "?", toolkit.path)


def _put_in_if_possible(toolkit: Toolkit, prefix: Path) -> None:
    try:
        _put_in(toolkit, prefix)
    except RuntimeError as error:
        _warn(str(error))


def _take_out(prefix: Path) -> None:
    from envkit.cli.options import NotesOnStderr
    from envkit.errors import EnvkitError
    from envkit.operations.hooks_unmanaged import remove_unmanaged

    try:
        remove_unmanaged(prefix, NotesOnStderr())
    except (EnvkitError, OSError) as error:
        raise RuntimeError(_told(error)) from error


def _attach(prefix: Path) -> None:
    """The scripts of one of envkit's environments are new."""
    from envkit.activation import attach_hooks
    from envkit.errors import EnvkitError

    try:
        attach_hooks(prefix)
    except (EnvkitError, OSError) as error:
        _warn(f"The activation of {prefix} runs no hooks any more. {_told(error)}")


def _recorded(prefix: Path) -> Toolkit | None:
    """What the hooks of an environment switch to over which virtualenv is run again; its scripts are new."""
    from envkit.errors import EnvkitError
    from envkit.operations.hooks_unmanaged import recorded_hooks

    try:
        record = recorded_hooks(prefix)
    except EnvkitError as error:
        _warn(_told(error))
        return None
    return None if record is None else record.toolkit


def _configured() -> Toolkit | None:
    """The toolkit that ``config.yaml`` names; what is wrong with it is told and stops nothing."""
    from envkit import settings

    if not settings.are_there():
        return None
    from envkit.errors import EnvkitError
    from envkit.operations.toolkits import toolkit_for

    try:
        release = settings.read_settings().virtualenv_cuda
        return None if release is None else toolkit_for(None, release, folder="its folder: --cuda DIR")
    except EnvkitError as error:
        _warn(f"The setting virtualenv_cuda does not count. {_told(error)}")
        return None


def _toolkit(text: str) -> Toolkit | str:
    """What ``--cuda`` names; "none" stays that."""
    from argparse import ArgumentTypeError

    from envkit.errors import EnvkitError
    from envkit.operations.toolkits import toolkit_for

    try:
        return toolkit_for(None, text, folder="its folder: --cuda DIR") or NONE
    except EnvkitError as error:
        told = _told(error)
        if not text[:1].isdigit() and os.sep not in text:  # what was meant for the new folder, most likely
            told = f"{told} --cuda wants a value before the folder: virtualenv --cuda 13.2 {text}"
        raise ArgumentTypeError(told) from error


def _is_managed(prefix: Path | str) -> bool:
    """Whether envkit has made the environment: it is no business of virtualenv's, which may be its engine."""
    return os.path.lexists(os.path.join(prefix, ".envkit", "environment.json"))  # noqa: PTH118 - text, of virtualenv's


def _told(error: Exception) -> str:
    """An error in one line, the hint of one of envkit's too."""
    texts = [str(error), getattr(error, "why", None), getattr(error, "hint", None)]
    return " ".join(text for text in texts if text)


def _warn(text: str) -> None:
    sys.stderr.write(f"envkit: {text}\n")
