"""The size of a download, as far as a lock states it."""

from __future__ import annotations

from dataclasses import dataclass

from envkit.operations.download import download_of


@dataclass
class Sized:
    size: int | None


def test_what_is_not_known_is_said():
    assert download_of([Sized(None)]) is None
    assert str(download_of([])) == "0 B to download"
    assert str(download_of([Sized(5), Sized(6)])) == "11 B to download"
    one, two = download_of([Sized(5), Sized(None)]), download_of([Sized(5), Sized(None), Sized(None)])
    assert one.size == "at least 5 B"
    assert str(one) == "at least 5 B to download (of one file the size is not known)"
    assert str(two).endswith("(of 2 files the size is not known)")
