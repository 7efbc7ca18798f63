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
TORCH = "torch-1.12.1+cu113-cp39-cp39-linux_x86_64.whl"
AUDIO = "torchaudio-0.12.1+cu113-cp39-cp39-linux_x86_64.whl"
SIX = f"    - {{name: six, version: '1.16', file: six-1.16.0.tar.gz, sha256: {HASH}}}\n"
PYTHON = (
    "    - {name: python, version: 3.9.18, build: h0755675_0_cpython, channel: conda-forge, subdir: win-64, "
    f"file: python-3.9.18-h0755675_0_cpython.conda, sha256: {HASH}, size: 1, depends: ['tzdata'], timestamp: 1}}\n"
)
TEXT = f"""schema: 1
spec: torch112-cu113
spec_sha256: {"cd" * 32}
created_by: envkit 0.1.0, uv 0.13.9
installer: pip
python: '3.9'
cuda: '11.3'
toolkit: none
library_path: true
host_compiler: false
platforms:
  linux-64:
    needs:
      driver: {{minimum: 450.80.02, toolkit: 465.19.01, known: confirmed}}
      compute_capability: {{list: ['3.7', '8.6'], known: single}}
    packages:
    - {{name: numpy, version: 1.26.4, file: numpy-1.26.4-cp39-cp39-linux_x86_64.whl, sha256: {HASH}, size: 18241873}}
    - {{name: torch, version: 1.12.1+cu113, source: 'https://h/cu113', file: {TORCH}, sha256: {HASH}, known: single}}
    - {{name: torchaudio, version: 0.12.1+cu113, source: 'https://h/cu113', file: {AUDIO}, sha256: null}}
    base: []
  win-64:
    needs: {{}}
    packages:
{SIX}    base:
{PYTHON}drift:
- {{name: numpy, locked: 1.26.4, installed: null}}
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


WRONG_FOR_THE_PARSER_ONLY = {
    "file-of-another": (changed("numpy-1.26.4-cp39", "nunpy-1.26.4-cp39"), "is nunpy 1.26.4, but the entry says numpy"),
    "file-version": (changed("numpy-1.26.4-cp39", "numpy-1.26.3-cp39"), "the entry says numpy 1.26.4"),
    "version-line-end": (changed("version: 1.26.4", 'version: "1.26.4\\n"'), "control character"),
    "file-dots": (changed("numpy-1.26.4-cp39-cp39-linux_x86_64.whl", "'..'"), "no name of a wheel"),
    "file-kind": (changed("six-1.16.0.tar.gz", "six-1.16.0.exe"), "no name of a wheel or sdist"),
    "version-word": (changed("version: 1.26.4", "version: newest"), "no version of a package"),
    "source-port": (changed("https://h/cu113", "https://h:99999/cu113"), "no address"),
    "source-address": (changed("https://h/cu113", "https://[::1::]/cu113"), "no address"),
}
"""What a schema cannot say."""

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
    "file-path": (changed(f"file: {TORCH}", f"file: ../{TORCH}"), "is a path"),
    "file-backslash": (changed(f"file: {TORCH}", 'file: "a\\\\b.whl"'), "is a path"),
    "size-negative": (changed("size: 18241873", "size: -1"), "whole number"),
    "known-word": (
        changed("known: single}\n    - {name: torchaudio", "known: surely}\n    - {name: torchaudio"),
        "none of",
    ),
    "needs-list": (changed("    needs: {}", "    needs: []"), "expected a mapping of facts"),
    "needs-flat": (changed("    needs: {}", "    needs: {a: b}"), "expected a mapping of facts"),
    "glibc-word": (changed("    needs: {}", "    needs: {glibc: {minimum: x.y, known: single}}"), "no major and minor"),
    "glibc-null": (changed("    needs: {}", "    needs: {glibc: {minimum: null}}"), "expected text"),
    "glibc-empty": (changed("    needs: {}", "    needs: {glibc: {}}"), "'minimum' is missing"),
    "driver-known": (changed("    needs: {}", '    needs: {driver: {known: "5"}}'), "'minimum' is missing"),
    "driver-word": (changed("465.19.01", "newest"), "is no version"),
    "driver-known-word": (changed("465.19.01, known: confirmed", '465.19.01, known: "5"'), "none of"),
    "needs-key": (changed("toolkit: 465.19.01", "tookit: 465.19.01"), "unknown key 'tookit'"),
    "capability-word": (changed("['3.7', '8.6']", "['3.7', sm_86]"), "no major and minor"),
    "capability-absent": (changed("list: ['3.7', '8.6'], ", ""), "'list' is missing"),
    "name-option": (changed("name: numpy", "name: -r /etc/passwd"), "no name of a package"),
    "name-lines": (changed("name: numpy", 'name: "numpy\\n-r x"'), "control character"),
    "name-kelvin": (changed("name: numpy", 'name: "\\u212A"'), "no name of a package"),
    "version-options": (
        changed("version: 1.26.4", 'version: "1.26.4 --no-binary numpy"'),
        "no version of a package",
    ),
    "version-lines": (changed("version: 1.26.4", 'version: "1.26.4\\n--find-links http://h/"'), "control character"),
    "file-nul": (changed("numpy-1.26.4-cp39-cp39-linux_x86_64.whl", '"numpy-1.26.4\\0.whl"'), "control character"),
    "file-long": (changed("numpy-1.26.4-cp39-cp39", f"numpy-1.26.4-cp39-{'x' * 255}"), "no name of a wheel"),
    "size-endless": (changed("size: 18241873", f"size: {10**400}"), "whole number"),
    "source-backslash": (changed("'https://h/cu113'", "'https://h\\@localhost/cu113'"), "user name"),
    "source-backslash-alone": (changed("'https://h/cu113'", "'https://h\\localhost/cu113'"), "no address"),
    "source-secret": (changed("https://h/cu113", "https://me:pw@h/cu113"), "user name or password"),
    "source-blank": (changed("https://h/cu113", "https://h /cu113"), "no address"),
    "source-host-empty": (changed("https://h/cu113", "https:///cu113"), "no address"),
    "source-scheme": (changed("https://h/cu113", "ftp://h/cu113"), "no address"),
    "source-share": (changed("https://h/cu113", "file://h/cu113"), "no address"),
    "source-query": (changed("https://h/cu113", "https://h/cu113?a"), "no address"),
    "source-bracket": (changed("https://h/cu113", "https://[::1"), "no address"),
    "packages-empty": (TEXT.replace(SIX, ""), "holds no packages for win-64"),
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
    assert (lock.cuda, lock.toolkit, lock.library_path, lock.host_compiler) == ("11.3", None, True, False)
    assert lock.environment_name("linux-64") == "torch112_cu113_py39"
    assert lock.environment_name("win-64") is None


def test_versions_that_look_like_numbers_survive():
    lock = parse_lock(TEXT, "x")
    numpy = replace(lock.platforms["linux-64"].packages[0], version="3.20", file="numpy-3.20-py3-none-any.whl")
    lock = lock.with_packages("linux-64", (numpy,))
    assert "version: '3.20'" in render_lock(lock)
    assert parse_lock(render_lock(lock), "x").package("linux-64", "numpy") == numpy


def test_older_locks_without_cuda_take_it_from_torchs_label():
    text = changed("cuda: '11.3'\n", "").replace("toolkit: none\n", "")
    lock = parse_lock(text, "x")
    assert (lock.cuda, lock.toolkit) == ("11.3", "11.3")


def test_names_are_canonical_and_locked_once():
    text = changed("name: torchaudio", "name: Torch_Audio").replace(AUDIO, AUDIO.replace("hau", "h_au"))
    assert parse_lock(text, "x").package("linux-64", "torch-audio")
    with pytest.raises(InvalidFileError, match="torch is locked twice"):
        parse_lock(
            changed("name: torchaudio, version: 0.12.1", "name: Torch, version: 1.12.1").replace(AUDIO, TORCH), "x"
        )


@pytest.mark.parametrize(
    ("text", "match"), [*WRONG.values(), *WRONG_FOR_THE_PARSER_ONLY.values()], ids=[*WRONG, *WRONG_FOR_THE_PARSER_ONLY]
)
def test_parse_lock_refuses(text, match):
    with pytest.raises(InvalidFileError, match=match) as caught:
        parse_lock(text, "x.lock.yaml")
    assert caught.value.exit_code == 4
    assert "me:pw" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8080/simple",
        "https://[::1]:80/a",
        "https://h",
        "https://h/%40x/@y/",
        "file:///a/\u00e4/b",
        "file://localhost/a",
        "file:/a",
    ],
)
def test_addresses_of_indexes_that_every_program_reads_alike(address):
    text = changed("source: 'https://h/cu113', file: torch-", f"source: '{address}', file: torch-")
    torch = parse_lock(text, "x").package("linux-64", "torch")
    assert torch is not None
    assert torch.source == address
    schema().validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("name", "version", "file"),
    [
        ("Some.Thing", "1.0.0", "some_thing-1.0-2-py2.py3-none-any.whl"),
        ("a", "2023.07.22", "a-2023.7.22.tar.gz"),
        ("b", "1!2.0rc1.post3", "b-1!2.0rc1.post3.zip"),
    ],
)
def test_spellings_of_names_and_versions(name, version, file):
    text = changed(
        "name: six, version: '1.16', file: six-1.16.0.tar.gz", f"name: {name}, version: '{version}', file: '{file}'"
    )
    assert parse_lock(text, "x").platforms["win-64"].packages[0].file == file


def test_schema_agrees_on_what_is_right():
    schema().validate(yaml.safe_load(TEXT))


@pytest.mark.parametrize("text", [text for text, _ in WRONG.values()], ids=list(WRONG))
def test_schema_agrees_on_what_is_wrong(text):
    assert not schema().is_valid(yaml.safe_load(text))


def test_digest_is_about_what_is_installed_on_one_platform():
    lock = parse_lock(TEXT, "x")
    digest = lock.digest("linux-64")
    assert replace(lock, created_by="other", spec_sha256=None, path="y").digest("linux-64") == digest
    assert parse_lock(changed("465.19.01", "470.1.1"), "x").digest("linux-64") == digest
    assert parse_lock(changed(HASH, "cd" * 32), "x").digest("linux-64") != digest
    assert parse_lock(changed("toolkit: none", "toolkit: '11.3'"), "x").digest("linux-64") != digest
    assert parse_lock(changed("host_compiler: false\n", ""), "x").digest("linux-64") != digest


def test_same_files_passes_over_a_hash_that_was_not_known():
    lock = parse_lock(TEXT, "x")
    settled = parse_lock(changed("sha256: null", f"sha256: {HASH}"), "x")
    assert lock.same_files(settled, "linux-64")
    assert settled.same_files(lock, "linux-64")
    assert not lock.same_files(parse_lock(changed(HASH, "cd" * 32), "x"), "linux-64")
    assert not lock.same_files(settled, "osx-64")


def test_a_driver_may_be_a_branch_alone():
    lock = parse_lock(changed("minimum: 450.80.02", "minimum: '580'"), "l")
    assert lock.platforms["linux-64"].needs["driver"]["minimum"] == "580"
    assert parse_lock(render_lock(lock), "l").platforms["linux-64"].needs == lock.platforms["linux-64"].needs
