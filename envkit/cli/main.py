"""The command ``envkit``: which commands there are, and the one place where errors end."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from envkit import __version__
from envkit.cli.lazy_group import LazyGroup

if TYPE_CHECKING:
    from envkit.errors import EnvkitError

COMMANDS = {
    "preflight": "Will a spec work on this machine, and if not, what will?",
    "gpu": "Show what nvidia-smi says: driver, GPUs, memory.",
    "matrix": "Show which torch goes with which CUDA, Python and installer.",
    "create": "Make an environment from a spec, verify it and take a snapshot.",
    "restore": "Make the same environment again, from a lock, an environment or a snapshot.",
    "add": "Add packages to an environment; what is locked in it stays as it is.",
    "lock": "Resolve a spec into a lock file.",
    "list": "Show all environments.",
    "info": "Show one environment: packages, toolkit, snapshots.",
    "remove": "Remove an environment; its snapshots stay.",
    "run": "Run a command in an environment.",
    "shell": "Start a shell in an environment.",
    "env": "Print the variables of an active environment, for IDEs and scripts.",
    "kernel": "Make a Jupyter kernel that runs in an environment.",
    "verify": "Prove that an environment computes, layer by layer.",
    "doctor": "Say what is wrong with an environment, or with all, and what to do.",
    "snapshot": "Take, list, show and export snapshots.",
    "export": "Write what an environment is locked to for another tool.",
    "hooks": "Show, write again and remove the hooks that switch the CUDA toolkit.",
    "cuda": "Find, add, install, check and switch CUDA toolkits.",
    "specs": "Show the specs that ship with envkit.",
    "completion": "Print the completion script of a shell.",
}
"""Every command and its help line; its module is ``envkit.cli.NAME_command``, imported only when it is used."""


_OF_RUN = (125, 126, 127, 130)
"""The exit codes of envkit's own failures in ``envkit run``: any other one is the command's."""

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
"""What stops envkit: it cleans up and ends with 130."""


@click.group(
    cls=LazyGroup,
    commands=COMMANDS,
    module="envkit.cli.{}_command",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="envkit", message="%(prog)s %(version)s")
def cli() -> None:
    """Create, activate, verify, record and restore CUDA + PyTorch environments.

    \b
    envkit create torch213-cpu            make, verify, snapshot
    envkit run torch213_cpu_py311 -- CMD  run a command in it
    envkit verify torch213_cpu_py311      does it still compute?
    envkit restore torch213_cpu_py311     make it again
    envkit doctor torch213_cpu_py311      what is wrong with it
    """  # noqa: D301 - click reads a backspace character


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command line and exit; the only place where ``EnvkitError`` is caught."""
    arguments = sys.argv[1:] if argv is None else argv
    _open_closed_streams()
    for name in _STOPPING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as nohup and `&` set it
            signal.signal(number, _stop)
    sys.exit(_run(arguments))


def _stop(_number: int, _frame: object) -> NoReturn:
    for name in _STOPPING:  # cleaning up takes a moment, and must not be stopped half-way
        if hasattr(signal, name):
            # not SIG_IGN: Python complains with a traceback of a second signal that has come already
            signal.signal(getattr(signal, name), _go_on)
    raise KeyboardInterrupt


def _go_on(_number: int, _frame: object) -> None:
    """The second Ctrl-C changes nothing."""


def _open_closed_streams() -> None:
    """Standard streams that were closed (`>&-`) lead nowhere, instead of into the next file that is opened."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode still gets a message


def _run(arguments: list[str]) -> int:
    try:
        code = cli.main(arguments, prog_name="envkit", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2 and later: a group without a command
            click.echo(error.format_message(), err=True)
            return 2
        return _failure(_usage_error(error), arguments)
    except (Exception, KeyboardInterrupt) as error:
        told = _told(error)
        if told is None:  # a defect: it keeps its traceback
            _show_defect(error, arguments)
            raise
        return _failure(told, arguments)
    return code if isinstance(code, int) else 0


def _show_defect(error: BaseException, arguments: list[str]) -> None:
    """Programs that read JSON get one object in this case too."""
    if "--json" in arguments:
        from envkit.cli.render import show_error  # noqa: PLC0415
        from envkit.errors import EnvkitError  # noqa: PLC0415

        hint = "This is a defect of envkit; please report it with the traceback on stderr."
        show_error(EnvkitError(f"Unexpected: {type(error).__name__}: {error}", hint=hint), arguments)


def _told(error: BaseException) -> EnvkitError | None:
    """What an exception means for the user; None for a defect of envkit."""
    from envkit.errors import EnvkitError, StoppedError, StorageError  # noqa: PLC0415 - errors cost start-up time

    if isinstance(error, EnvkitError):
        return error
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return StoppedError("Stopped.")
    return StorageError.from_os_error(error) if isinstance(error, OSError) else None


def _failure(error: EnvkitError, arguments: list[str]) -> int:
    from envkit.cli.failure_log import keep_output  # noqa: PLC0415
    from envkit.cli.render import show_error  # noqa: PLC0415

    log = keep_output(error)
    if log is not None:
        error.hint = f"{error.hint or ''} Full output: {log}".strip()
    show_error(error, arguments)
    if arguments[:1] == ["run"] and error.exit_code not in _OF_RUN:
        return int(_OF_RUN[0])  # so that it cannot be taken for the command's own status
    return int(error.exit_code)


def _usage_error(error: click.ClickException) -> EnvkitError:
    from envkit.errors import UsageError  # noqa: PLC0415

    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return UsageError(error.format_message())
    hint = f"`{context.command_path} --help` tells more."
    return UsageError(error.format_message(), why=context.get_usage(), hint=hint)
