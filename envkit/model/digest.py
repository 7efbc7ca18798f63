"""Digests of values: of a spec's content, of what a lock installs."""

from __future__ import annotations

import hashlib
import json


def canonical_sha256(value: object) -> str:
    """sha256 of ``value`` as canonical JSON: keys sorted, no spaces, UTF-8 (RFC 8785 for what envkit stores)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
