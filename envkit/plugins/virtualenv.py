"""virtualenv's plugin: ``virtualenv --cuda 11.3 DIR`` makes an environment whose activation switches the CUDA toolkit.

virtualenv loads it, and calls it, for every environment that it makes beside envkit, so nothing of envkit is imported
before there is something to do. Plugins are called before virtualenv's own activators, which write over what is there
(virtualenv 21, run/plugin/base.py and run/session.py): the work is done behind the last step of a run, the writing of
``pyvenv.cfg``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from virtualenv.activation.activator import Activator

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path
    from typing import Any

    from virtualenv.create.creator import Creator

    from envkit.errors import EnvkitError
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
            work.finish(creator.dest)

        settings.write = _write_and_finish  # type: ignore[method-assign]
        return []


class _Work:
    """What is to be done with the finished environment.

    Args:
        toolkit: "none": hooks are taken out.
        is_asked: whether the user has asked for it now, so that it must not fail in silence.
    """

    def __init__(self, toolkit: Toolkit | str, *, is_asked: bool) -> None:
        self._toolkit = toolkit
        self._is_asked = is_asked

    def finish(self, prefix: Path) -> None:
        """Do it."""
        from envkit.errors import EnvkitError
        from envkit.model.progress import Silent
        from envkit.operations.hooks_unmanaged import put_hooks, remove_unmanaged

        try:
            if isinstance(self._toolkit, str):
                remove_unmanaged(prefix, Silent())
            else:
                put_hooks(prefix, self._toolkit, Silent())
        except (EnvkitError, OSError) as error:
            text = _told(error) if isinstance(error, EnvkitError) else str(error)
            if self._is_asked:
                raise RuntimeError(f"{prefix} is made, but its activation switches no CUDA toolkit. {text}") from error
            _warn(f"the activation of {prefix} switches no CUDA toolkit. {text}")


def _work(asked: Toolkit | str | None, prefix: Path) -> _Work | None:
    """What there is to do; None for a plain environment, which is left as virtualenv makes it."""
    from envkit.model.hooks_record import HOOKS_RECORD

    if _is_managed(prefix):
        return None
    has_hooks = os.path.lexists(prefix / HOOKS_RECORD)
    if isinstance(asked, str):
        return _Work(asked, is_asked=True) if has_hooks else None
    if asked is not None:
        return _Work(asked, is_asked=True)
    toolkit = _recorded(prefix) if has_hooks else _configured()
    return None if toolkit is None else _Work(toolkit, is_asked=False)
