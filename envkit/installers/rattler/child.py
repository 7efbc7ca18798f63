"""Starting the worker, the one process that imports py-rattler."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import process
from envkit.errors import EnvkitError, ProgramError
from envkit.installers.rattler.network import rattler_cache

if TYPE_CHECKING:
    from envkit.installers.condarc import CondaSettings
    from envkit.installers.rattler.network import Network
    from envkit.model.progress import Progress

_SIGKILL = 9
_WORKER = Path(__file__).with_name("worker.py")


def ask(
    request: dict[str, Any],
    network: Network,
    settings: CondaSettings,
    *,
    timeout_s: float,
    progress: Progress,
    cache_dir: Path | None = None,
) -> dict[str, Any]:
    """Start the worker with a request, give its answer.

    Args:
        request: what is to be done; what every call needs is added.
        network: how the channels are reached.
        settings: of ``.condarc``.
        timeout_s: after which the worker is killed.
        progress: who is told.
        cache_dir: folder of the caches, by default py-rattler's own.

    Raises:
        ProgramError: it did not end in time, or died.
    """
    for note in network.notes:
        progress.note(note)
    screen = progress.screen()
    request |= {
        "paths": _paths(),
        "config": network.config,
        "passwords": network.passwords,
        "retries": settings.retries,
        "idle_s": max(settings.read_timeout_s, settings.connect_timeout_s),
        "cache": str(cache_dir if cache_dir is not None else rattler_cache()),
        "draws": screen is not None,
    }
    try:
        done = process.run(
            [sys.executable, "-I", "-S", _WORKER],
            timeout_s=timeout_s,
            env=network.environment,
            stdin=json.dumps(request),
            screen=screen,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except ProgramError as error:
        raise _hidden(error, network) from error
    except ValueError as error:
        raise ProgramError(
            "py-rattler ended without an answer.",
            argv=done.argv,
            returncode=done.returncode,
            stderr=network.hide(done.stderr),
        ) from error
    return answer


def _hidden(error: ProgramError, network: Network) -> EnvkitError:
    """A worker that died: nothing secret in what it wrote."""
    if error.returncode == -_SIGKILL:
        return ProgramError(
            "py-rattler was killed while it worked.",
            argv=error.argv,
            returncode=error.returncode,
            stderr=network.hide(error.stderr),
            why="Somebody did, or the system, as it does when memory is short.",
            hint="`dmesg` tells whether it was for memory. Run the command again.",
        )
    return ProgramError(
        "py-rattler did not finish: " + error.message,
        argv=error.argv,
        returncode=error.returncode,
        stdout=network.hide(error.stdout),
        stderr=network.hide(error.stderr),
        why=network.hide(error.why or ""),
        hint=error.hint,
    )


def _paths() -> list[str]:
    """Where the worker finds envkit and py-rattler: it reads no variables, no site-packages and no working folder."""
    spec = importlib.util.find_spec("rattler")
    if spec is None or spec.origin is None:
        raise ProgramError(
            "py-rattler is not installed beside envkit.",
            argv=("py-rattler",),
            returncode=None,
            hint="Install conda-envkit anew.",
        )
    folders = [Path(spec.origin).parent.parent, Path(process.__file__).parent.parent]
    return list(dict.fromkeys(str(folder) for folder in folders))
