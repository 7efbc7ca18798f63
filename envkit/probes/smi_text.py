"""Facts out of any text in which somebody pasted what nvidia-smi printed, or what was said instead.

A fact is only what the text states; what is cut off, a placeholder or unclear is None.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from envkit.model.driver import SmiReport
from envkit.model.smi_failures import MISMATCH
from envkit.probes.smi_csv import parse_bare_csv, parse_csv
from envkit.probes.smi_failures import OF_ONE_GPU, Failure, find_failure, find_shell_failure, library_version
from envkit.probes.smi_lines import clean_lines
from envkit.probes.smi_list import parse_list, parse_other, parse_version
from envkit.probes.smi_query import parse_query, parse_xml
from envkit.probes.smi_table import parse_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.driver import Gpu
    from envkit.probes.smi_part import Part

_Value = TypeVar("_Value")


def parse_smi(text: str) -> SmiReport:
    """What a text tells that holds nvidia-smi's output in any of its layouts; nothing is raised for any text.

    Where it holds several outputs, the GPUs are those of one of them, with the versions that stand there.
    """
    lines = clean_lines(text)
    layouts = (parse_table, parse_query, parse_csv, parse_list, parse_version, parse_other)
    found = [part for part in (parse_xml("\n".join(lines)), *(layout(lines) for layout in layouts)) if part is not None]
    failure = find_failure(lines)
    if failure is None and not any(part.gpus for part in found):
        failure = find_shell_failure(lines)
    if not found and failure is None:
        bare = parse_bare_csv(lines)
        found = [bare] if bare is not None else []
    if not found:
        return _failed(failure, lines)
    main = next(iter([part for part in found if part.gpus] or sorted(found, key=lambda part: not part.is_complete)))
    driver = main.driver_version or _agreed(part.driver_version for part in found)
    cuda = main.cuda_version or _agreed(part.cuda_version for part in found if part.driver_version == driver)
    status, kind = _status(main, failure)
    message = None if failure is None else failure.message
    return SmiReport(status, kind, message, driver, _named(main, found), cuda_version=cuda)


def _named(main: Part, found: list[Part]) -> tuple[Gpu, ...]:
    """The GPUs with names from a list of the same GPUs, where the layout had none."""
    indices = [gpu.index for gpu in main.gpus]
    if any(gpu.name for gpu in main.gpus):
        return main.gpus
    same = [part for part in found if [gpu.index for gpu in part.gpus] == indices and part.is_complete]
    names = _agreed(tuple((gpu.name, gpu.name_truncated) for gpu in part.gpus) for part in same if part is not main)
    if names is None:
        return main.gpus
    return tuple(
        replace(gpu, name=name, name_truncated=is_cut) for gpu, (name, is_cut) in zip(main.gpus, names, strict=True)
    )


def _status(main: Part, failure: Failure | None) -> tuple[Literal["ok", "partial"], str | None]:
    kind = main.error_kind
    if failure is not None and (failure.kind in OF_ONE_GPU or not main.gpus):
        kind = failure.kind
    return ("ok" if main.is_complete and kind is None else "partial"), kind


def _failed(failure: Failure | None, lines: list[str]) -> SmiReport:
    if failure is None:
        return SmiReport("error", "unknown-text", "The text holds nothing that nvidia-smi prints.")
    library = library_version(lines) if failure.kind == MISMATCH else None
    return SmiReport("error", failure.kind, failure.message, library_version=library)


def _agreed(values: Iterable[_Value | None]) -> _Value | None:
    """The one value that is told; None where there is none, or where two differ."""
    told = {value for value in values if value is not None}
    return told.pop() if len(told) == 1 else None
