"""Reading conda's records: real ones of conda and py-rattler, and damaged ones."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import installed_records, is_conda_prefix, record_files
from envkit.model.formats.addresses import channel_name

DATA = Path(__file__).parents[2] / "data" / "conda-meta"
SHA256 = "ab" * 32


@pytest.fixture
def prefix(tmp_path):
    (tmp_path / "conda-meta").mkdir()
    return tmp_path


def put(prefix, file, **changes):
    """A real record in the prefix, with other values; None takes one away."""
    content = json.loads((DATA / file).read_text(encoding="utf-8")) | changes
    content = {key: value for key, value in content.items() if value is not None}
    (prefix / "conda-meta" / file).write_text(json.dumps(content), encoding="utf-8")


def only(prefix, **options):
    (record,) = installed_records(prefix, **options)
    return record


def test_a_record_of_conda(prefix):
    put(prefix, "conda-app-2.0-py_1.json")
    record = only(prefix)
    assert (record.name, record.version, record.build, record.build_number) == ("app", "2.0", "py_1", 1)
    assert (record.channel, record.subdir, record.file) == ("conda-forge", "noarch", "app-2.0-py_1.conda")
    assert record.sha256 == "eb24273aa10334cc5b0107cf6ad2ef4813058259b457d6eb178a39b54bfb1c83"
    assert (record.md5, record.size) == ("7d880029b83cea11e1964f3b4d5f2b9e", 1053)
    assert (record.depends, record.noarch, record.requested) == (("lib >=1.0", "python >=3.9"), "python", "app")
    assert (record.timestamp, record.license) == (1_660_000_000_000, "BSD-3-Clause")


def test_conda_and_rattler_say_the_same(tmp_path):
    found = {}
    for writer in ("conda", "rattler"):
        (tmp_path / writer / "conda-meta").mkdir(parents=True)
        put(tmp_path / writer, f"{writer}-app-2.0-py_1.json")
        found[writer] = only(tmp_path / writer)
    assert found["conda"] == found["rattler"]


def test_records_come_by_name_and_without_a_folder_none(prefix, tmp_path):
    for file in ("conda-lib-1.0-h1_0.json", "conda-app-2.0-py_1.json"):
        put(prefix, file)
    assert [record.name for record in installed_records(prefix)] == ["app", "lib"]
    assert installed_records(tmp_path / "nothing") == ()


@pytest.mark.parametrize("writer", ["conda", "rattler"])
def test_files_lie_where_they_were_linked(prefix, writer):
    put(prefix, f"{writer}-app-2.0-py_1.json")
    files = {file.path: file for file in record_files(prefix)["app"]}
    module = files["lib/python3.9/site-packages/app/__init__.py"]
    assert (module.sha256, module.size_bytes, module.kind) == (
        "fe3209d6d4f51935b391288a43df48d9ddece1a992597ae53387ca16611a9179", 4, "hardlink",
    )  # fmt: skip
    assert files["bin/app"].kind == "unix_python_entry_point"


def test_a_file_with_the_prefix_in_it_has_the_hash_of_what_was_written(prefix):
    put(prefix, "conda-lib-1.0-h1_0.json")
    files = {file.path: file for file in record_files(prefix)["lib"]}
    assert files["etc/a.conf"].sha256 == "73658f2a27abb1e8efb61dc50390a13003e279a802be552730020d5fdf13f518"
    assert files["etc/a.conf"].size_bytes is None
    assert files["lib/liba.so"].size_bytes == 2


def test_without_the_hash_of_what_was_written_none_is_given(prefix):
    paths = [{"_path": "a.conf", "path_type": "hardlink", "sha256": SHA256, "prefix_placeholder": "/opt/x"}]
    put(prefix, "conda-lib-1.0-h1_0.json", paths_data={"paths": paths})
    (file,) = record_files(prefix)["lib"]
    assert (file.path, file.sha256) == ("a.conf", None)


def test_old_records_list_files_only(prefix):
    put(prefix, "conda-lib-1.0-h1_0.json", paths_data=None)
    assert [file.path for file in record_files(prefix)["lib"]] == ["etc/a.conf", "lib/liba.so"]


@pytest.mark.parametrize(
    ("url", "channel"),
    [
        ("https://conda.anaconda.org/nvidia/label/cuda-11.3.0/linux-64/F", "nvidia/label/cuda-11.3.0"),
        ("https://conda.anaconda.org/t/aa-12/private/linux-64/F", "private"),
        ("https://ada:secret@mirror.example/conda-forge/linux-64/F", "conda-forge"),
        ("https://elsewhere.example/conda-forge/linux-64/F", "https://elsewhere.example/conda-forge"),
        ("https://elsewhere.example/main/linux-64/F", "pkgs/main"),
        ("file:///srv/my%20channel/linux-64/F", "file:///srv/my%20channel"),
        ("file:///srv/t/team/channel/linux-64/F", "file:///srv/t/team/channel"),
    ],
)
def test_the_channel_is_that_of_the_address(prefix, url, channel):
    put(prefix, "conda-lib-1.0-h1_0.json", url=url.replace("F", "lib-1.0-h1_0.conda"))
    names = {"https://elsewhere.example/main/": "pkgs/main"}
    assert only(prefix, channel_alias="https://mirror.example", names=names).channel == channel


@pytest.mark.parametrize(
    "noted",
    [
        "https://conda.anaconda.org/conda-forge/linux-64",
        "https://conda.anaconda.org/conda-forge/",
        "conda-forge/linux-64",
        "conda-forge",
    ],
)
def test_without_an_address_the_channel_is_as_noted(prefix, noted):
    put(prefix, "conda-lib-1.0-h1_0.json", url=None, channel=noted)
    assert only(prefix).channel == "conda-forge"


def test_a_channel_that_no_name_fits_keeps_its_address():
    assert channel_name("https://conda.anaconda.org/a b", {}) == "https://conda.anaconda.org/a b"


def test_what_a_record_does_not_state_is_empty(prefix):
    put(
        prefix,
        "conda-lib-1.0-h1_0.json",
        sha256=None,
        md5=None,
        size=None,
        license=None,
        constrains=None,
        fn="lib-1.0-h1_0",
    )
    record = only(prefix)
    assert (record.sha256, record.md5, record.size, record.license, record.constrains) == ("", None, None, None, ())
    assert record.file == "lib-1.0-h1_0.tar.bz2"


@pytest.mark.parametrize(
    ("changes", "requested"),
    [
        ({"requested_specs": ["lib >=1", "lib"], "requested_spec": "lib"}, "lib >=1"),
        ({"requested_spec": "lib=1"}, "lib=1"),
        ({"requested_spec": "None", "requested_specs": []}, None),
    ],
)
def test_who_asked_for_it(prefix, changes, requested):
    put(prefix, "conda-lib-1.0-h1_0.json", **changes)
    assert only(prefix).requested == requested


@pytest.mark.parametrize(("value", "features"), [("mkl, old", ("mkl", "old")), (["mkl"], ("mkl",)), (None, ())])
def test_track_features(prefix, value, features):
    put(prefix, "conda-lib-1.0-h1_0.json", track_features=value)
    assert only(prefix).track_features == features


@pytest.mark.parametrize("value", [True, "generic"])
def test_noarch_of_old_packages(prefix, value):
    put(prefix, "conda-lib-1.0-h1_0.json", noarch=value)
    assert only(prefix).noarch == "generic"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"name": "lib"}', '{"name": 3}', "[" * 100_000])
@pytest.mark.parametrize("read", [installed_records, record_files])
def test_a_damaged_record_is_named(prefix, text, read):
    path = prefix / "conda-meta" / "lib-1.0-h1_0.json"
    path.write_text(text, encoding="utf-8")
    if read is record_files and text == '{"name": "lib"}':
        assert read(prefix) == {"lib": ()}
        return
    with pytest.raises(InvalidFileError) as error:
        read(prefix)
    assert error.value.path == str(path)


@pytest.mark.parametrize("damage", ["folder", "bytes", "pipe"])
def test_what_is_no_text_is_named(prefix, damage):
    path = prefix / "conda-meta" / "lib-1.0-h1_0.json"
    if damage == "pipe":  # it would be waited for
        os.mkfifo(path)
    else:
        path.mkdir() if damage == "folder" else path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidFileError, match=r"lib-1\.0-h1_0\.json"):
        installed_records(prefix)


def test_a_damaged_list_of_files_is_named(prefix):
    put(prefix, "conda-lib-1.0-h1_0.json", paths_data={"paths": [3]})
    with pytest.raises(InvalidFileError, match=r"conda-lib-1\.0-h1_0\.json"):
        record_files(prefix)


def test_copies_of_a_file_server_do_not_count(prefix):
    shutil.copy(DATA / "conda-lib-1.0-h1_0.json", prefix / "conda-meta" / ".nfs01.json")
    assert installed_records(prefix) == ()


def test_history_makes_a_conda_prefix(prefix):
    assert not is_conda_prefix(prefix)
    (prefix / "conda-meta" / "history").touch()
    assert is_conda_prefix(prefix)
