"""Shipped specs by the torch and the build that they give."""

from __future__ import annotations

import functools

from envkit.compat.tables import build_label
from envkit.operations.specs import shipped_names


def spec_named(torch: str, cuda: str | None, installer: str = "pip") -> str | None:
    """The name of the shipped spec for a torch ("1.12.1") and build CUDA, or None."""
    major, minor = torch.split(".")[:2]
    end = "-conda" if installer == "conda" else ""
    name = f"torch{major}{minor}-{build_label(cuda)}{end}"
    return name if name in _names() else None


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(shipped_names())
