"""How shells say that there is no such command, in their own languages: the words are in ``data/shell_words.yaml``."""

from __future__ import annotations

import functools
import re

from envkit import resources

_QUOTES = r"\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb\u201e\u300c\u300d\u2039\u203a"
_ENOUGH_LETTERS = 6


@functools.cache
def not_found(program: str) -> re.Pattern[str]:
    """Finds that a shell does not know ``program`` (a regular expression)."""
    between = rf"[\s:\uff1a,{_QUOTES}]"
    return re.compile(
        rf"{program}{between}{{0,8}}(?:{_any_of('behind')})"
        rf"|{program}[{_QUOTES}][^\n]{{0,90}}?(?:{_any_of('at_the_end')})"
        rf"|(?:{_any_of('before')}){between}{{0,4}}(?:[\w/]+/)?{program}",
        re.IGNORECASE,
    )


@functools.cache
def denied(program: str) -> re.Pattern[str]:
    """Finds that a shell may not start ``program``."""
    return re.compile(rf"{program}[\s:\uff1a{_QUOTES}]{{1,6}}(?:{_any_of('denied')})", re.IGNORECASE)


def _any_of(place: str) -> str:
    return "|".join(_loose(words) for group in resources.table("shell_words")[place] for words in group["words"])


def _loose(words: str) -> str:
    """The words also where letters beyond ASCII were lost on the way, as in "n\ufffdo \ufffd reconhecido"."""
    if len(re.findall(r"[a-z]", words)) < _ENOUGH_LETTERS or "[" in words:
        return words
    return re.sub(r"[^\x00-\x7f]", lambda found: rf"(?:{found[0]}|[^\x00-\x7f]{{1,3}}|\?)", words)
