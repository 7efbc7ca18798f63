"""Options that several commands share."""

from __future__ import annotations

import math
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from envkit.cli.progress import make_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from envkit.model.driver import DriverVersion
    from envkit.model.progress import Progress
    from envkit.operations.options import CreateOptions

LOCK_TIMEOUT_S = 1800.0
"""As long as ``operations.locking`` waits by itself; not imported from there, since help has to be quick."""
_F = TypeVar("_F", bound="Callable[..., Any]")


def json_option(function: _F) -> _F:
    """``--json``: one object on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object on stdout.")(function)


def yes_option(function: _F) -> _F:
    """``--yes``: what would be asked is answered."""
    return click.option("-y", "--yes", is_flag=True, help="Answer yes to what would be asked.")(function)


_MACHINE_OPTIONS = (
    click.option("--driver", metavar="V", help="Driver version of another machine, as in 535.54.03."),
    click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="Name of a GPU of it; may be repeated."),
    click.option("--platform", metavar="P", help="Platform of it: linux-64, win-64, linux-aarch64, linux, windows."),
)


def machine_options(function: _F) -> _F:
    """``--driver``, ``--gpu`` and ``--platform``: another machine is judged instead of this one."""
    for option in reversed(_MACHINE_OPTIONS):
        function = option(function)
    return function


def complete_env(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of environments, for the shell's completion."""
    from envkit.operations.environments import all_environments  # noqa: PLC0415 - only when completing

    return [item.name for item in all_environments() if item.name.startswith(incomplete)]


def complete_spec(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of specs and files, for the shell's completion."""
    from envkit.operations.specs import shipped_names  # noqa: PLC0415

    names = [CompletionItem(name) for name in shipped_names() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def env_argument(function: _F) -> _F:
    """``ENV``: a name, or a path when it holds a separator."""
    return click.argument("env", shell_complete=complete_env)(function)


def prefix_argument(function: _F) -> _F:
    """``ENV|PREFIX``: an environment of envkit, or any other one by its folder or by its name for conda."""
    return click.argument("env", metavar="ENV|PREFIX", shell_complete=complete_prefix)(function)


def complete_prefix(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of environments, and folders."""
    names = complete_env(context, parameter, incomplete)
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="dir")]


def confirmer(*, yes: bool) -> Callable[[str], bool]:
    """Asks on a terminal; without one nothing is asked and the safe answer, no, is taken."""

    def ask(question: str) -> bool:
        if yes:
            return True
        if sys.stdin is None or not sys.stdin.isatty():
            click.echo(f"{question} Nobody can be asked here: no.", err=True)
            return False
        return click.confirm(question, err=True)

    return ask


class NotesOnStderr:
    """Tells notes alone: the screen belongs to the command that is run."""

    def step(self, text: str) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """A line on stderr."""
        click.echo(f"envkit: {text}", err=True)

    def screen(self) -> None:
        """No terminal."""

    def close(self) -> None:
        """Nothing."""


@contextmanager
def progress(steps: int) -> Iterator[Progress]:
    """Progress on stderr while the block runs."""
    shown = make_progress(steps)
    try:
        yield shown
    finally:
        shown.close()


class _Seconds(click.FloatRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value} is no number.", param, ctx)
        return seconds


def lock_timeout_option(function: _F) -> _F:
    """``--lock-timeout``: how long another envkit is waited for."""
    option = click.option(
        "--lock-timeout",
        type=_Seconds(min=0),
        default=LOCK_TIMEOUT_S,
        metavar="S",
        help="Seconds to wait for another envkit that works on the same environment. Default: half an hour.",
    )
    return option(function)


def break_lock_option(function: _F) -> _F:
    """``--break-lock``: a change by another machine counts as cut off."""
    option = click.option(
        "--break-lock",
        is_flag=True,
        help="Take a change by another machine for cut off when it shows no sign of life; says whose it was.",
    )
    return option(function)


_CREATE_OPTIONS = (
    click.option("--name", metavar="N", help="Name of the environment, instead of its version name."),
    click.option(
        "--prefix", type=click.Path(), metavar="DIR", help="Folder of the environment, instead of envkit's own."
    ),
    click.option(
        "--backend",
        type=click.Choice(["auto", "conda", "venv"]),
        default="auto",
        help="What makes the prefix: conda's layout or a virtual environment. Default: conda's where conda is here.",
    ),
    click.option("--engine", type=click.Choice(["uv", "pip"]), default="uv", help="What installs. Default: uv."),
    click.option("--python", metavar="V|EXE", help="Python to use: a version that is here, or a program."),
    click.option(
        "--cuda",
        metavar="V|auto",
        help="CUDA that the target machine's driver serves. With torch==V: the build or cpu; auto: the best that fits.",
    ),
    click.option("--driver", metavar="V", help="Driver version of the target machine, as in 535.54.03."),
    click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="Name of a GPU of it; may be repeated."),
    click.option("--toolkit", metavar="V|DIR|none", help="Toolkit that activation switches to."),
    click.option("--offline", is_flag=True, help="Use only what is on this disk."),
    click.option(
        "--wheelhouse", type=click.Path(), metavar="DIR", help="Folder with packages; a file there is used by its hash."
    ),
    click.option("--replace", is_flag=True, help="Replace the environment that is at that place."),
    click.option("--update-lock", is_flag=True, help="Make the lock again when it is older than its spec."),
    click.option("--no-guard", is_flag=True, help="Let pip and uv change what is locked."),
    click.option("--no-verify", is_flag=True, help="Do not verify the new environment."),
    click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing."),
    click.option("--force", is_flag=True, help="Go on although this machine does not fit."),
    click.option("--trust-source", multiple=True, metavar="HOST", help="A source's host that you trust."),
    lock_timeout_option,
    break_lock_option,
)


def create_options(function: _F) -> _F:
    """All options of create and restore."""
    for option in reversed(_CREATE_OPTIONS):
        function = option(function)
    return json_option(yes_option(function))


def wheelhouse_folder(text: str | None) -> Path | None:
    """``--wheelhouse``.

    Raises:
        UsageError: it is no folder.
    """
    from envkit.operations.environments import prefix_from  # noqa: PLC0415 - start-up counts

    folder = None if text is None else prefix_from(text)
    if folder is not None and not folder.is_dir():
        raise click.UsageError(f"--wheelhouse {text} is no folder.")
    return folder


def driver_version(text: str | None) -> DriverVersion | None:
    """``--driver``.

    Raises:
        UsageError: it is no version of a driver.
    """
    from envkit.model.driver import DriverVersion  # noqa: PLC0415 - start-up counts
    from envkit.operations.machine import DRIVER_HINT  # noqa: PLC0415

    try:
        return None if text is None else DriverVersion.parse(text)
    except ValueError as error:
        raise click.UsageError(f"--driver {text} is no version of a driver. {DRIVER_HINT}") from error


def to_create_options(values: dict[str, Any]) -> CreateOptions:
    """The options as the operations take them.

    Raises:
        UsageError: a folder that is none, or a --cuda that is no version.
    """
    from envkit.operations.environments import prefix_at  # noqa: PLC0415 - start-up counts
    from envkit.operations.options import CreateOptions  # noqa: PLC0415

    cuda = values["cuda"]
    if cuda not in {None, "auto", "cpu"} and re.fullmatch(r"\d+\.\d+", cuda, re.ASCII) is None:
        raise click.UsageError(
            f"--cuda {cuda} is no version. Write it as in --cuda 12.4, --cuda auto, or with torch==V --cuda cpu."
        )
    return CreateOptions(
        name=values["name"],
        prefix=None if values["prefix"] is None else prefix_at(values["prefix"]),
        backend=values["backend"],
        engine=values["engine"],
        python=values["python"],
        cuda=cuda,
        driver=driver_version(values["driver"]),
        gpus=tuple(values["gpus"]),
        toolkit=values["toolkit"],
        offline=values["offline"],
        wheelhouse=wheelhouse_folder(values["wheelhouse"]),
        replace=values["replace"],
        update_lock=values["update_lock"],
        guard=not values["no_guard"],
        verify=not values["no_verify"],
        dry_run=values["dry_run"],
        force=values["force"],
        trusted_hosts=tuple(values["trust_source"]),
        confirm=confirmer(yes=values["yes"]),
        lock_timeout_s=values["lock_timeout"],
        break_lock=values["break_lock"],
    )
