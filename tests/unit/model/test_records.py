"""Records and manifests that somebody changed by hand: a clear error, never another exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envkit.errors import InvalidFileError
from envkit.model.environment import parse_record
from envkit.model.snapshot import parse_manifest

RECORD: dict[str, Any] = {
    "schema": 1,
    "id": "0123abcd",
    "name": "torch112_cu113_py39",
    "prefix": "/envs/torch112_cu113_py39",
    "spec": "torch112-cu113",
    "lock_sha256": "ab" * 32,
    "installer": "pip",
    "backend": "venv",
    "engine": "uv",
    "python": "3.9.18",
    "build_cuda": "11.3",
    "toolkit": {"version": "11.3.1", "release": "11.3", "path": "/usr/local/cuda-11.3", "has_nvcc": True},
    "created_at": "2026-11-30T14:59:01Z",
    "verified_at": None,
    "last_verify": "pass",
    "guard": True,
    "envkit_version": "0.1.0",
}
MANIFEST: dict[str, Any] = {
    "schema": 1,
    "id": "20261130T145901Z",
    "taken_at": "2026-11-30T14:59:01Z",
    "verified": True,
    "environment": {"name": "torch112_cu113_py39"},
    "driver_version": None,
    "torch_version": "1.12.1+cu113",
    "gpus": ["Tesla T4"],
    "host": {"name": "here"},
    "files": {"lock.yaml": "ab" * 32},
}
DEEP = '{"schema": ' + "[" * 100_000
WRONG_VALUES = ([1], {"a": 1}, 1, "\ud800", "a\nb")


def test_right_ones_are_read_and_written_alike():
    environment = parse_record(json.dumps(RECORD), Path("/envs/torch112_cu113_py39"))
    assert environment.to_record() == RECORD
    assert parse_manifest(json.dumps(MANIFEST), Path("/s")).to_manifest() == MANIFEST


@pytest.mark.parametrize("key", [key for key in RECORD if key != "schema"])
@pytest.mark.parametrize("value", WRONG_VALUES, ids=ascii)
def test_a_record_with_a_value_of_the_wrong_type(key, value):
    with pytest.raises(InvalidFileError, match="the environment's record cannot be read"):
        parse_record(json.dumps(RECORD | {key: value}), Path("/envs/x"))


@pytest.mark.parametrize("key", ["version", "release", "path", "has_nvcc"])
def test_a_record_with_a_toolkit_of_the_wrong_type(key):
    with pytest.raises(InvalidFileError, match="cannot be read"):
        parse_record(json.dumps(RECORD | {"toolkit": RECORD["toolkit"] | {key: [1]}}), Path("/envs/x"))


@pytest.mark.parametrize("text", ["", "[]", "1", '"x"', "null", "{}", '{"schema": true}', '{"schema": "1"}', DEEP])
def test_other_shapes_are_no_record_and_no_manifest(text):
    with pytest.raises(InvalidFileError):
        parse_record(text, Path("/envs/x"))
    with pytest.raises(InvalidFileError):
        parse_manifest(text, Path("/s"))


@pytest.mark.parametrize("name", ["../../x", "..", "a/b", "a\\b", ""])
def test_names_that_become_parts_of_paths_are_no_paths(name):
    for key in ("name", "id"):
        with pytest.raises(InvalidFileError):
            parse_record(json.dumps(RECORD | {key: name}), Path("/envs/x"))
    for changes in ({"id": name}, {"environment": {"name": name}}, {"files": {name: "ab" * 32}}):
        with pytest.raises(InvalidFileError):
            parse_manifest(json.dumps(MANIFEST | changes), Path("/s"))


@pytest.mark.parametrize("key", [key for key in MANIFEST if key not in {"schema", "host", "files"}])
@pytest.mark.parametrize("value", [*WRONG_VALUES, [[1]], [None]], ids=ascii)
def test_a_manifest_with_a_value_of_the_wrong_type(key, value):
    with pytest.raises(InvalidFileError, match="manifest cannot be read"):
        parse_manifest(json.dumps(MANIFEST | {key: value}), Path("/s"))


def test_a_newer_schema_says_so():
    with pytest.raises(InvalidFileError, match="reads up to 1"):
        parse_record(json.dumps(RECORD | {"schema": 2}), Path("/envs/x"))
    with pytest.raises(InvalidFileError, match="reads up to 1"):
        parse_manifest(json.dumps(MANIFEST | {"schema": 2}), Path("/s"))
