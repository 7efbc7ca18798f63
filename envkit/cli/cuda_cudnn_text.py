"""What was done with a toolkit's cuDNN, as lines of text."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.operations.cudnn import CudnnResult


def cudnn_lines(result: CudnnResult) -> list[str]:
    """The result; a plan is lines that a shell can read."""
    toolkit, count = result.toolkit, len(result.files)
    if result.what == "planned":
        return [f"# cuDNN {result.version} into {toolkit.path}: to be run in an empty folder.", *result.plan]
    if result.what == "there":
        return [f"cuDNN {result.version} is in {toolkit.path} already."]
    if result.what == "removed":
        lines = [f"Took cuDNN {result.version} out of {toolkit.path}: {count} files."]
        lines += [f"  stays, for it was changed: {toolkit.path / path}" for path in result.kept]
        return lines
    undo = f"envkit cuda cudnn --undo --into {shlex.quote(str(toolkit.path))}"
    return [f"cuDNN {result.version} is in {toolkit.path}: {count} files.", f"Undo:  {undo}"]
