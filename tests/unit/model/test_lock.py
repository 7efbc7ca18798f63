from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest
import yaml

from envkit import resources
from envkit.errors import InvalidFileError
from envkit.model.lock import Drift, parse_lock
from envkit.model.lock_text import render_lock

HASH = "ab" * 32
TEXT = f"""schema: 1
spec: torch112-cu113
spec_sha256: {"cd" * 32}
created_by: envkit 0.1.0, uv 0.13.9
installer: pip
python: '3.9'
cuda: '11.3'
toolkit: none
library_path: true
platforms:
  linux-64:
    needs:
      driver: {{minimum: 450.80.02, toolkit: 465.19.01, known: confirmed}}
      compute_capability: {{list: ['3.7', '8.6'], known: single}}
    packages:
    - {{name: numpy, version: 1.26.4, file: numpy-1.26.4-cp39-cp39-linux_x86_64.whl, sha256: {HASH}, size: 18241873}}
    - {{name: torch, version: 1.12.1+cu113, source: 'https://h/cu113', file: t-1.whl, sha256: {HASH}, known: single}}
    - {{name: torchaudio, version: 0.12.1+cu113, source: 'https://h/cu113', file: torchaudio-1.whl, sha256: null}}
    base: []
  win-64:
    needs: {{}}
    packages:
    base:
    - {{name: python, version: 3.9.18, sha256: {HASH}}}
drift:
- {{name: numpy, locked: 1.26.4, installed: null}}
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


WRONG = {
    "no-mapping": ("[]\n", "a lock is a mapping"),
    "unknown-key": (changed("library_path", "libary_path"), "unknown key 'libary_path'"),
    "unknown-platform-key": (changed("    base: []", "    bases: []"), "unknown key 'bases'"),
    "unknown-package-key": (changed("size: 1", "sise: 1"), "unknown key 'sise'"),
    "schema-newer": (changed("schema: 1", "schema: 3"), "reads up to 1"),
    "installer": (changed("installer: pip", "installer: apt"), "neither pip nor conda"),
    "python-number": (changed("python: '3.9'", "python: 3.9"), "YAML number"),
    "cuda": (changed("cuda: '11.3'", "cuda: banana"), "is no build CUDA"),
    "toolkit": (changed("toolkit: none", "toolkit: banana"), "is no release"),
    "platforms-missing": (TEXT.partition("platforms:")[0], "'platforms' is missing"),
    "platforms-empty": (TEXT.partition("platforms:")[0] + "platforms: {}\n", "at least one platform"),
    "platform-unknown": (changed("  win-64:", "  win-32:"), "unknown platform 'win-32'"),
    "version-number": (changed("version: 1.26.4", "version: 1.26"), "YAML number"),
    "hash-short": (changed(HASH, "ab"), "not 64 hexadecimal digits"),
    "hash-upper": (changed(HASH, HASH.upper()), "not 64 hexadecimal digits"),
    "hash-absent-default": (changed(f"sha256: {HASH}, size", "size"), "must come from a named https source"),
    "hash-null-http": (
        changed("source: 'https://h/cu113', file: torchaudio", "source: 'http://h/cu113', file: torchaudio"),
        "must come from a named https source",
    ),
    "file-path": (changed("file: t-1.whl", "file: ../t-1.whl"), "is a path"),
    "file-backslash": (changed("file: t-1.whl", 'file: "a\\\\b.whl"'), "is a path"),
    "size-negative": (changed("size: 18241873", "size: -1"), "whole number"),
    "known-word": (
        changed("known: single}\n    - {name: torchaudio", "known: surely}\n    - {name: torchaudio"),
        "none of",
    ),
    "needs-list": (changed("    needs: {}", "    needs: []"), "expected a mapping of facts"),
    "needs-flat": (changed("    needs: {}", "    needs: {a: b}"), "expected a mapping of facts"),
    "drift-key": (changed("{name: numpy, locked", "{nam: numpy, locked"), "unknown key 'nam'"),
}


def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads(resources.data_file("lock.schema.json").read_text(encoding="utf-8"))
    )


def test_lock_round_trips_byte_for_byte():
    lock = parse_lock(TEXT, "x.lock.yaml")
    text = render_lock(lock)
    assert parse_lock(text, "x.lock.yaml") == lock
    assert render_lock(parse_lock(text, "x.lock.yaml")) == text
    assert lock.drift == (Drift("numpy", "1.26.4", None),)
    assert (lock.cuda, lock.toolkit, lock.library_path) == ("11.3", None, True)
    assert lock.environment_name("linux-64") == "torch112_cu113_py39"
    assert lock.environment_name("win-64") is None


def test_versions_that_look_like_numbers_survive():
    lock = parse_lock(TEXT, "x")
    numpy = replace(lock.platforms["linux-64"].packages[0], version="3.20")
    lock = lock.with_packages("linux-64", (numpy,))
    assert "version: '3.20'" in render_lock(lock)
    assert parse_lock(render_lock(lock), "x").package("linux-64", "numpy") == numpy


def test_older_locks_without_cuda_take_it_from_torchs_label():
    text = changed("cuda: '11.3'\n", "").replace("toolkit: none\n", "")
    lock = parse_lock(text, "x")
    assert (lock.cuda, lock.toolkit) == ("11.3", "11.3")


def test_names_are_canonical_and_locked_once():
    assert parse_lock(changed("name: torchaudio", "name: Torch_Audio"), "x").package("linux-64", "torch-audio")
    with pytest.raises(InvalidFileError, match="torch is locked twice"):
        parse_lock(changed("name: torchaudio", "name: Torch"), "x")


@pytest.mark.parametrize(("text", "match"), list(WRONG.values()), ids=list(WRONG))
def test_parse_lock_refuses(text, match):
    with pytest.raises(InvalidFileError, match=match) as caught:
        parse_lock(text, "x.lock.yaml")
    assert caught.value.exit_code == 4


def test_schema_agrees_on_what_is_right():
    schema().validate(yaml.safe_load(TEXT))


@pytest.mark.parametrize("text", [text for text, _ in WRONG.values()], ids=list(WRONG))
def test_schema_agrees_on_what_is_wrong(text):
    assert not schema().is_valid(yaml.safe_load(text))


def test_digest_is_about_what_is_installed_on_one_platform():
    lock = parse_lock(TEXT, "x")
    digest = lock.digest("linux-64")
    assert replace(lock, created_by="other", spec_sha256=None, path="y").digest("linux-64") == digest
    assert parse_lock(changed("465.19.01", "470.1"), "x").digest("linux-64") == digest
    assert parse_lock(changed(HASH, "cd" * 32), "x").digest("linux-64") != digest
    assert parse_lock(changed("toolkit: none", "toolkit: '11.3'"), "x").digest("linux-64") != digest


def test_same_files_passes_over_a_hash_that_was_not_known():
    lock = parse_lock(TEXT, "x")
    settled = parse_lock(changed("sha256: null", f"sha256: {HASH}"), "x")
    assert lock.same_files(settled, "linux-64")
    assert settled.same_files(lock, "linux-64")
    assert not lock.same_files(parse_lock(changed(HASH, "cd" * 32), "x"), "linux-64")
    assert not lock.same_files(settled, "osx-64")
