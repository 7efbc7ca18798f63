"""Requirements as they stand on a command line."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement

from envkit.errors import UsageError
from envkit.model.texts import hiding_character

_FILES = (".whl", ".tar.gz", ".zip", ".txt")


def parse_requirement(text: str) -> Requirement:
    """A requirement of a package by its name (PEP 508), which an index serves and a lock can hold.

    Raises:
        UsageError: it is none, or a path, an address or an option.
    """
    hint = "Write a name, as in scipy, 'scipy>=1.10' or 'tqdm[notebook]'; a project's own folder is added with -e DIR."
    if text.startswith("-"):
        raise UsageError(f"{text!r} is an option, no requirement.", hint=hint)
    if hiding_character(text) or "\n" in text:
        raise UsageError(f"{text!a} is no requirement: it holds a control character.", hint=hint)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        what = "is a path or an address" if _is_place(text) else "is no requirement"
        why = None if _is_place(text) else str(error).splitlines()[0]
        raise UsageError(f"{text!r} {what}.", why=why, hint=hint) from error
    if requirement.name.lower().endswith(_FILES):  # uv would look for such a file
        raise UsageError(f"{text!r} is a path or an address.", hint=hint)
    if requirement.url is not None:
        raise UsageError(
            f"{text!r} names an address.",
            why="A lock holds names, versions and hashes: what an address serves tomorrow is not known.",
            hint=hint,
        )
    return requirement


def _is_place(text: str) -> bool:
    return "/" in text or "\\" in text or text == "." or text.lower().endswith(_FILES)
