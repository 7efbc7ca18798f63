from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest
import yaml

from envkit import resources
from envkit.errors import InvalidFileError
from envkit.model.conda_record import CondaRecord
from envkit.model.lock import parse_lock
from envkit.model.lock_text import render_lock
from envkit.model.spec import parse_spec
from tests.support.spec_samples import CONDA

HASH = "ab" * 32
FILE = "pytorch-1.12.1-py3.9_cuda11.3_cudnn8.3.2_0.tar.bz2"
TORCH = (
    f"{{name: pytorch, version: 1.12.1, build: py3.9_cuda11.3_cudnn8.3.2_0, channel: pytorch, subdir: linux-64, "
    f"file: {FILE}, sha256: {HASH}, size: 7, md5: {'cd' * 16}, depends: [python >=3.9, cudatoolkit 11.3.*], "
    "constrains: [cpuonly <0], timestamp: 1659000000000, license: BSD, requested: pytorch=1.12.1}"
)
TEXT = f"""schema: 1
spec: torch112-cu113-conda
spec_sha256: null
created_by: envkit 0.1.0, py-rattler 0.28.0
installer: conda
python: '3.9'
cuda: '11.3'
toolkit: '11.3'
channels: [pytorch, conda-forge]
platforms:
  linux-64:
    needs: {{}}
    packages:
    - {{name: _libgcc_mutex, version: '0.1', build: conda_forge, channel: 'https://h/a', subdir: noarch, file: _libgcc_mutex-0.1-conda_forge.conda, sha256: {HASH}, depends: [], noarch: generic}}
    - {TORCH}
    base: []
"""  # noqa: E501 - one line for each package


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(resources.data_file("lock.schema.json").read_text("utf-8")))


def test_a_conda_lock_round_trips_byte_for_byte():
    lock = parse_lock(TEXT, "x")
    assert render_lock(lock) == TEXT
    assert lock.channels == ("pytorch", "conda-forge")
    assert lock.platforms["linux-64"].packages == ()
    assert [record.name for record in lock.platforms["linux-64"].base] == ["_libgcc_mutex", "pytorch"]
    assert (lock.torch_version("linux-64"), lock.torch_version("win-64")) == ("1.12.1", None)
    assert lock.environment_name("linux-64") == "torch112_cu113_py39"
    schema().validate(yaml.safe_load(TEXT))


def test_a_record_survives_its_dict():
    for record in parse_lock(TEXT, "x").platforms["linux-64"].base:
        assert CondaRecord.from_dict(record.to_dict()) == record
        assert CondaRecord.from_dict({**record.to_dict(), "unknown": 1, "build_number": None}) == record


def test_the_digest_counts_the_bytes_and_no_more():
    lock = parse_lock(TEXT, "x")
    digest = lock.digest("linux-64")
    assert parse_lock(changed("license: BSD", "license: MIT"), "x").digest("linux-64") == digest
    assert parse_lock(changed("channel: pytorch", "channel: other"), "x").digest("linux-64") != digest
    other = parse_lock(TEXT.replace(HASH, "cd" * 32, 1), "x")
    assert other.digest("linux-64") != digest
    assert not lock.same_files(other, "linux-64")
    assert lock.same_files(parse_lock(TEXT, "y"), "linux-64")


def test_the_base_of_a_pip_lock_is_settled_at_creation():
    numpy = f"{{name: numpy, version: 1.26.4, file: numpy-1.26.4-cp39-cp39-linux_x86_64.whl, sha256: {HASH}}}"
    text = TEXT.replace("installer: conda", "installer: pip").replace("base: []", f"base:\n    - {TORCH}")
    text = "\n".join(line for line in text.splitlines() if "_libgcc" not in line)
    with_base = parse_lock(text.replace(f"- {TORCH}", f"- {numpy}", 1), "x")
    without = with_base.with_base("linux-64", ())
    assert [record.name for record in with_base.platforms["linux-64"].base] == ["pytorch"]
    assert parse_lock(render_lock(with_base), "x") == with_base
    assert with_base.same_files(without, "linux-64")
    assert without.same_files(with_base, "linux-64")
    other = tuple(replace(record, sha256="ef" * 32) for record in with_base.platforms["linux-64"].base)
    assert not with_base.same_files(with_base.with_base("linux-64", other), "linux-64")


WRONG = {
    "no-hash": (changed(f"sha256: {HASH}, size", "sha256: null, size"), "sha256: expected text"),
    "short-hash": (changed(f"sha256: {HASH}, size", "sha256: abcd, size"), "64 hexadecimal digits"),
    "md5": (changed("cd" * 16, "cd"), "32 hexadecimal digits"),
    "path": (changed(f"file: {FILE}", f"file: ../{FILE}"), "is not pytorch-1.12.1"),
    "other-file": (changed(f"file: {FILE}", "file: numpy-1-0.conda"), "is not pytorch-1.12.1"),
    "subdir": (changed("subdir: linux-64", "subdir: ../linux-64"), "no subdir"),
    "name": (changed("name: pytorch,", "name: ../pytorch,"), "no name of a conda package"),
    "capital": (changed("name: pytorch,", "name: PyTorch,"), "no name of a conda package"),
    "version": (changed("version: 1.12.1", "version: 1/2"), "no version of a conda package"),
    "number": (changed("version: 1.12.1", "version: 1.12"), "YAML number"),
    "build": (changed("build: conda_forge", "build: a b"), "no build of a conda package"),
    "channel": (changed("channel: pytorch", "channel: ../pytorch"), "is no channel"),
    "channel-secret": (changed("https://h/a", "https://me:pw@h/a"), "must not hold a user name"),
    "channel-scheme": (changed("https://h/a", "ftp://h/a"), "no address"),
    "channels": (changed("[pytorch, conda-forge]", "[pytorch, ../x]"), "is no channel"),
    "channels-twice": (changed("[pytorch, conda-forge]", "[pytorch, pytorch]"), "named twice"),
    "noarch": (changed("noarch: generic", "noarch: ruby"), "noarch"),
    "outside": (changed("license: BSD", "python_site_packages_path: lib/../../x"), "leads out of a prefix"),
    "other-platform": (changed("subdir: linux-64", "subdir: win-64"), "is for win-64, not linux-64"),
    "unknown-key": (changed("license: BSD", "licence: BSD"), "unknown key 'licence'"),
    "depends": (changed("depends: []", "depends: python"), "expected a list"),
    "twice": (changed("name: _libgcc_mutex", "name: pytorch").replace("_libgcc_mutex-0.1", "pytorch-0.1"), "twice"),
    "pip-package": (changed(", build: conda_forge", ""), "'build' is missing"),
    "nothing": (TEXT[: TEXT.index("    - ")] + "    base: []\n", "holds no packages"),
}
BEYOND_THE_SCHEMA = {"path", "other-file", "twice", "outside", "other-platform"}


@pytest.mark.parametrize(("text", "match"), WRONG.values(), ids=WRONG)
def test_parse_lock_refuses(text, match):
    with pytest.raises(InvalidFileError, match=match) as caught:
        parse_lock(text, "x.lock.yaml")
    assert caught.value.exit_code == 4
    assert "me:pw" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(WRONG.keys() - BEYOND_THE_SCHEMA))
def test_the_schema_refuses_too(name):
    assert not schema().is_valid(yaml.safe_load(WRONG[name][0]))


SPECS = {
    "no-channels": ("channels: [pytorch, conda-forge]\n", "", "name at least one"),
    "channel-twice": ("[pytorch, conda-forge]", "[pytorch, pytorch]", "named twice"),
    "channel-path": ("[pytorch, conda-forge]", "[../x]", "is no channel"),
    "channel-secret": ("[pytorch, conda-forge]", '["https://me:pw@h/a"]', "must not hold a user name"),
    "pip-name": ("pytorch=1.12.1", "torch=1.12.1", "call it pytorch"),
    "pip-label": ("pytorch=1.12.1", "pytorch==1.12.1+cu113", "is no MatchSpec"),
    "no-spec": ("pytorch=1.12.1", "'-c pytorch'", "no MatchSpec"),
    "with-channel": ("pytorch=1.12.1", "'nvidia::pytorch=1.12.1'", "names a channel"),
}


@pytest.mark.parametrize(("old", "new", "match"), SPECS.values(), ids=SPECS)
def test_parse_spec_refuses(old, new, match):
    assert old in CONDA
    with pytest.raises(InvalidFileError, match=match) as caught:
        parse_spec(CONDA.replace(old, new), "c.yaml")
    assert "me:pw" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["pytorch", "pytorch=1.12.1=py3.9*", "'pytorch ==1.12.1'", "numpy<2", "'numpy[version=1]'", "python_abi"]
)
def test_parse_spec_takes_match_specs(text):
    assert parse_spec(CONDA.replace("pytorch=1.12.1", text), "c.yaml").packages == (text.strip("'"),)


def test_the_name_of_a_conda_specs_environment():
    assert parse_spec(CONDA, "c.yaml").environment_name == "torch112_cu113_py39"
    loose = CONDA.replace("pytorch=1.12.1", "pytorch==1.12.*")
    assert parse_spec(loose, "c.yaml").environment_name == "torch112_cu113_py39"
