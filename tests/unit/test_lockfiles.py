"""The specs and locks that ship: they parse, agree with each other and with their schemas, and invent nothing."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from envkit import resources
from envkit.installers.tags import wheel_rank
from envkit.model.lock import parse_lock
from envkit.model.lock_text import render_lock
from envkit.model.spec import parse_spec
from envkit.operations.lock import lock_path_of, lock_platform

SPECS = sorted(path for path in resources.lockfiles_dir().glob("*.yaml") if not path.name.endswith(".lock.yaml"))
LOCKED = [path for path in SPECS if lock_path_of(path).is_file()]
WHEELS = Path(__file__).parents[2] / "scripts" / "wheels.yaml"
REGISTRIES = re.compile("|".join(re.escape(".".join(parts)) for parts in (("pypi", "org"), ("pythonhosted", "org"))))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def lock_of(path: Path):
    return parse_lock(read(lock_path_of(path)), lock_path_of(path).name)


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(read(resources.data_file(f"{name}.schema.json")))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def load(path: Path):
    return yaml.load(read(path), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def test_the_promised_specs_ship():
    assert {path.stem for path in SPECS} >= {
        "torch111-cu102",
        "torch111-cu113",
        "torch112-cu113",
        "torch113-cu117",
        "torch213-cpu",
    }


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.stem)
def test_spec_and_lock_agree(path):
    spec = parse_spec(read(path), path.name)
    lock = lock_of(path)
    assert spec.name == path.stem == lock.spec
    assert lock.spec_sha256 == spec.sha256
    assert (lock.python, lock.cuda, lock.toolkit, lock.installer) == (spec.python, spec.cuda, spec.toolkit, "pip")
    assert set(lock.platforms) <= set(spec.platforms)
    assert render_lock(lock) == read(lock_path_of(path))
    for platform, locked in lock.platforms.items():
        assert lock.environment_name(platform) == spec.environment_name
        assert locked == lock_platform(spec, platform, locked.packages)
        names = [package.name for package in locked.packages]
        assert names == sorted(names)
        for requirement in map(Requirement, spec.packages):
            package = lock.package(platform, canonicalize_name(requirement.name))
            assert package is not None
            assert requirement.specifier.contains(package.version)
        assert {"torch", "pip", "setuptools"} <= set(names)
        for package in locked.packages:
            source = spec.on(platform).source_of(package.name)
            assert package.source == (source.url if source is not None else None)
            assert parse_wheel_filename(package.file)[0] == package.name
            assert wheel_rank(package.file, platform, spec.python) is not None


@pytest.mark.parametrize("name", ["torch111-cu113", "torch213-cpu", "torch24-cu121", "torch215-cu132"])
def test_lock_has_the_form_that_its_schema_says(name):
    assert list(validator("lock").iter_errors(load(resources.lockfiles_dir() / f"{name}.lock.yaml"))) == []


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_spec_has_the_form_that_its_schema_says(path):
    assert list(validator("spec").iter_errors(load(path))) == []


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.stem)
def test_lock_names_no_registry_and_no_machine(path):
    for text in (read(path), read(lock_path_of(path))):
        assert not REGISTRIES.search(text)
        assert not re.search(r"127\.0\.0\.1|localhost|file:/|/opt/|/home/", text)


def test_no_data_file_names_a_registry():
    for path in filter(Path.is_file, resources.data_file("").rglob("*")):
        assert not REGISTRIES.search(read(path)), path.name
    assert not REGISTRIES.search(read(WHEELS))


def test_hashes_of_sources_are_those_of_the_table_and_none_is_invented():
    table = yaml.safe_load(read(WHEELS))
    known = {file["file"]: file for index in table["indexes"] for p in index["projects"] for file in p["files"]}
    seen = set()
    for path in LOCKED:
        lock = lock_of(path)
        for locked in lock.platforms.values():
            for package in locked.packages:
                if package.source is not None:
                    row = known[package.file]
                    assert package.sha256 == row["sha256"]
                    assert package.size == row.get("size")
                    assert package.known == (row["known"] if row["sha256"] else None)
                    seen.add(package.file)
    assert seen == set(known), "a row that no lock uses"
    for row in known.values():
        assert (row["known"] == "unknown") == (row["sha256"] is None)
        assert bool(row["src"]) == (row["sha256"] is not None)
        assert set(row["src"]) <= set(table["sources"])


def test_torch213_cpu_is_the_file_that_public_locks_name():
    lock = lock_of(resources.lockfiles_dir() / "torch213-cpu.yaml")
    torch = lock.package("linux-64", "torch")
    assert torch is not None
    assert torch.sha256 == "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
    assert lock.environment_name("linux-64") == "torch213_cpu_py311"
