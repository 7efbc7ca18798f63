"""The child process that alone imports py-rattler: one JSON object on standard input, one on standard output.

It is started as a script, isolated (``python -I -S``), and told where py-rattler and envkit lie. It ends by
``os._exit``: py-rattler's threads can crash an interpreter that takes itself apart.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import threading
import traceback
from typing import Any

_LEAVING = threading.Lock()
_CALLS = {"solve": "worker_solve", "install": "worker_install", "find": "worker_find"}


def main() -> None:
    """Answer the one request, and end the process."""
    request = json.loads(sys.stdin.buffer.read())
    sys.path[:0] = request["paths"]
    try:
        answer = asyncio.run(_answer(request))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent is told
        answer = {"error": {"kind": "bug", "said": f"{type(error).__name__}: {error}", "text": traceback.format_exc()}}
    leave(answer)


def leave(answer: dict[str, Any]) -> None:
    """Hand over the answer and end at once, whatever threads are still at work."""
    _LEAVING.acquire()  # for good: another thread may find something as well
    out = json.dumps(answer).encode()
    with os.fdopen(1, "wb", closefd=False) as stream:
        stream.write(out)
    os._exit(0)


async def _answer(request: dict[str, Any]) -> dict[str, Any]:
    module = importlib.import_module(f"envkit.installers.rattler.{_CALLS[request['call']]}")
    answer: dict[str, Any] = await module.answer(request, leave)
    return answer


if __name__ == "__main__":
    main()
