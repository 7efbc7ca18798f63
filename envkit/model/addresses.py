"""Addresses of package indexes: which ones a spec or lock may name, and how any address is shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envkit.errors import InvalidFileError

if TYPE_CHECKING:
    from envkit.model.fields import Fields
    from envkit.model.yamltext import Path, YamlDocument

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_INDEX = re.compile(rf"https?://{_HOST}(?::[0-9]{{1,5}})?(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?", re.ASCII)
_FILE = re.compile(r"file:(?://(?:localhost)?)?/(?!/)[^\s\\?#\x00-\x1f\x7f-\x9f]*")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@|(?<![^\s/\"'`(=])[^\s/:@\"'`(=]+:[^\s/@]+@(?=[\w.\[-])")

_TOKEN = re.compile(r"((?<!file)://[^\s/]+(?:/[^\s/]+)?/t/)(?=[^\s/]*[0-9])[A-Za-z0-9_.~-]{8,}")
"""A token as conda channels have it near the start of their path, ``https://HOST/t/TOKEN/CHANNEL``. It has a digit:
``/simple/t/torchvision`` is none."""


def redacted(text: str) -> str:
    """``text`` with ``***`` in place of user name, password and token of each address in it, a malformed one's too."""
    return _TOKEN.sub(r"\1***", _CREDENTIALS.sub("***@", text))


def without_secrets(address: str) -> str:
    """An address of an index's file without user name, password and token."""
    return _TOKEN.sub(lambda found: found[1].removesuffix("/t/"), re.sub(r"(?<=://)[^/\s]*@", "", address))


def has_credentials(address: str) -> bool:
    """Whether an address holds a user name, password or token."""
    return (_CREDENTIALS.search(address) or _TOKEN.search(address)) is not None


def checked_address(address: str, source: str) -> str:
    """An address or path of the user's own settings, which may hold credentials.

    Raises:
        InvalidFileError: no program can take it apart; ``source`` says where it stands.
    """
    if is_address(address) and ("://" in address or not has_credentials(address)):
        return address
    raise InvalidFileError(
        source,
        f"{redacted(address)} is no address.",
        hint="Write https://HOST/PATH, and what is unusual in a user name or password percent-encoded.",
    )


def is_address(address: str) -> bool:
    """Whether a user's address with a scheme can be taken apart at all; ``http://[::1`` cannot."""
    try:
        urlsplit(address).port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return False
    return True


def index_address(fields: Fields, key: str) -> str:
    """The address of an index under ``key``, of a form that every program reads alike.

    Programs disagree about backslashes, blanks, user names and more: where envkit reads one host and the installer
    another, the user would confirm the wrong one.

    Raises:
        InvalidFileError: it is no such address.
    """
    return checked_index_address(fields.document, (*fields.path, key), key, fields.text(key))


def checked_index_address(document: YamlDocument, path: Path, key: str, address: str) -> str:
    """``index_address`` of the text ``address``, which stands at ``path``."""
    if "@" in address.partition("://")[2].partition("/")[0] or has_credentials(address):
        raise document.error(
            path,
            f"{key}: an address in a spec or lock must not hold a user name or password.",
            why="Specs and locks are shared; what stands in them is no secret.",
            hint="Keep credentials in netrc or a keyring.",
        )
    if (_INDEX.fullmatch(address) or _FILE.fullmatch(address)) is None or not is_address(address):
        raise document.error(
            path,
            f"{key}: {address!r} is no address of an index.",
            hint="Write https://HOST/PATH (or http, or file:///FOLDER), anything unusual in PATH percent-encoded.",
        )
    return address
