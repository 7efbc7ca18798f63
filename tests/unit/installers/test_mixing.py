"""Who has put what into a conda prefix: names of records and dist-infos, and where they may mislead."""

from __future__ import annotations

import json

import pytest

from envkit.installers.content import check_content
from envkit.installers.installed import conda_packages, pip_packages, site_packages, unowned_files
from envkit.installers.mixing import find_mixed
from envkit.model.conda_record import CondaRecord
from envkit.model.lock import Drift, Lock, LockedPlatform
from envkit.model.locked import LockedPackage
from envkit.operations.drift import drift_of

SITE = "lib/python3.11/site-packages"
SHA_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def prefix(tmp_path):
    """A conda prefix with Python's record, and the link that conda-forge's Python brings."""
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "history").touch()
    (tmp_path / SITE).mkdir(parents=True)
    (tmp_path / "lib" / "python3.1").symlink_to("python3.11")
    record(tmp_path, "python-3.11.7-h1_0", [])
    return tmp_path


def record(prefix, dist, files, *, paths=None, links=()):
    name, version, build = dist.rsplit("-", 2)
    for file in files:
        (prefix / file).parent.mkdir(parents=True, exist_ok=True)
        (prefix / file).write_text("abc")
    entries = [{"_path": file, "path_type": "hardlink", "sha256": SHA_OF_ABC, "size_in_bytes": 3} for file in files]
    content = {"name": name, "version": version, "build": build, "files": [*files, *links]}
    content["paths_data"] = {"paths_version": 1, "paths": [*entries, *(paths or [])]}
    path = prefix / "conda-meta" / f"{dist}.json"
    path.write_text(json.dumps(content))
    return path


def dist_info(prefix, name, installer="pip"):
    folder = prefix / SITE / f"{name}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("M")
    (folder / "RECORD").write_text(f"{name}.dist-info/METADATA,,\n")
    if installer:
        (folder / "INSTALLER").write_text(f"{installer}\n")


def mixed(prefix, installer, **options):
    return [str(item) for item in find_mixed(prefix, installer, **({"base": {}} | options))]


def test_dist_infos_belong_to_who_says_so_or_to_conda(prefix):
    dist_info(prefix, "one-1.0", "conda")
    dist_info(prefix, "two-1.0", None)
    dist_info(prefix, "three-1.0", "uv")
    dist_info(prefix, "Four.X-1.0", "poetry 1.8")
    assert pip_packages(prefix) == {"three": "1.0", "four-x": "1.0"}
    assert mixed(prefix, "conda") == ["four-x 1.0 of pip", "three 1.0 of pip"]
    assert mixed(prefix, "conda", editables={"three"}) == ["four-x 1.0 of pip"]
    assert mixed(prefix, None) == []
    (prefix / "conda-meta" / "history").unlink()  # a folder that only looks so: all is pip's
    assert set(pip_packages(prefix)) == {"one", "two", "three", "four-x"}
    assert mixed(prefix, "conda") == []


@pytest.mark.parametrize("tool", ["pip", "setuptools", "wheel"])
def test_tools_that_build_are_anybody_s(prefix, tool):
    record(prefix, f"{tool}-1.0-0", [f"{SITE}/{tool}/a.py"])
    dist_info(prefix, f"{tool}-2.0")
    (prefix / SITE / tool / "a.py").unlink()
    assert mixed(prefix, "conda") == mixed(prefix, None) == []
    assert check_content(prefix).findings == ()


@pytest.mark.parametrize(
    ("conda", "files", "pip"),
    [
        ("numpy-1.26-0", [f"{SITE}/numpy/a.py"], "numpy-2.0"),
        ("pytorch-1.12.1-0", [f"{SITE}/torch/a.py"], "torch-2.4.1+cu121"),
        ("py-opencv-4-0", [f"{SITE}/opencv_python-4.dist-info/METADATA"], "opencv_python-5"),
        ("pyyaml-6-0", [f"{SITE}/PyYAML-6.0-py3.11.egg-info"], "PyYAML-7"),
    ],
)
def test_a_package_of_both_is_found_under_either_name(prefix, conda, files, pip):
    record(prefix, conda, files)
    dist_info(prefix, pip)
    for installer in ("conda", "pip", None):
        (found,) = find_mixed(prefix, installer, base={"python": "3.11.7 h1_0"})
        assert found.is_of_both
        assert found.conda == " ".join(conda.rsplit("-", 2))


def test_conda_packages_beside_a_pip_environment_s_base_are_told(prefix):
    base = conda_packages(prefix)
    assert base == {"python": "3.11.7 h1_0"}
    assert mixed(prefix, "pip", base=base) == []
    record(prefix, "zlib-1.3-h2_0", [])
    assert mixed(prefix, "pip", base=base) == ["zlib 1.3 h2_0 of conda"]
    told = ["python 3.11.7 h1_0 of conda", "zlib 1.3 h2_0 of conda"]
    assert mixed(prefix, "pip", base={"python": "3.11.7 h9_9"}) == told
    assert mixed(prefix, "pip") == []  # a base that nobody knows
    assert mixed(prefix, "conda") == []


def test_conda_s_tzdata_is_another_thing_than_pip_s(prefix):
    record(prefix, "tzdata-2024a-h0_0", ["share/zoneinfo/UTC"])
    dist_info(prefix, "tzdata-2024.1")
    assert mixed(prefix, None) == mixed(prefix, "pip", base=conda_packages(prefix)) == []


def test_a_damaged_record_hides_no_other(prefix):
    record(prefix, "numpy-1.26-0", [f"{SITE}/numpy-1.26.dist-info/METADATA"])
    record(prefix, "a-1-0", []).write_text("{")
    dist_info(prefix, "numpy-2.0")
    assert mixed(prefix, "conda") == ["numpy: numpy 1.26 0 of conda and numpy 2.0 of pip"]
    (finding,) = [item for item in check_content(prefix).findings if item.kind == "record"]
    assert finding.path == "conda-meta/a-1-0.json"


def test_conda_s_files_are_checked_as_conda_notes_them(prefix):
    files = [f"{SITE}/tool/a.py", "bin/tool"]
    paths = [
        {"_path": "lib/link.so", "path_type": "softlink", "sha256": "0" * 64, "size_in_bytes": 0},
        {"_path": f"{SITE}/tool/__pycache__/a.pyc", "path_type": "pyc_file", "size_in_bytes": 3},
        {"_path": "share/empty", "path_type": "directory"},
        {"_path": "../outside", "path_type": "hardlink", "sha256": SHA_OF_ABC},
    ]
    record(prefix, "tool-1.0-0", files, paths=paths)
    (prefix / "lib" / "link.so").symlink_to("nowhere.so")
    assert [(item.path, item.kind) for item in check_content(prefix).findings] == [("../outside", "outside")]
    (prefix / "lib" / "link.so").unlink()
    (prefix / "bin" / "tool").write_text("abd")
    (prefix / SITE / "tool" / "a.py").unlink()
    found = [(item.path, item.kind) for item in check_content(prefix).findings]
    assert found == [
        ("../outside", "outside"),
        ("bin/tool", "changed"),
        ("lib/link.so", "missing"),
        (f"{SITE}/tool/a.py", "missing"),
    ]


def test_a_record_that_conda_brings_along_counts_for_nothing(prefix):
    dist_info(prefix, "one-1.0", "conda")
    (prefix / SITE / "one-1.0.dist-info" / "RECORD").write_text("gone.py,sha256=xxx,3\n")
    assert check_content(prefix).findings == ()
    (prefix / SITE / "one-1.0.dist-info" / "INSTALLER").write_text("pip")
    assert [item.kind for item in check_content(prefix).findings] == ["record"]


def test_what_conda_s_records_list_is_nobody_else_s(prefix):
    record(prefix, "tool-1.0-0", ["bin/tool", f"{SITE}/tool/a.py"])
    (prefix / "mine.txt").touch()
    own = {"conda-meta/history"}
    found = [str(path.relative_to(prefix)) for path in unowned_files(prefix, own)]
    assert found == ["conda-meta/python-3.11.7-h1_0.json", "conda-meta/tool-1.0-0.json", "lib/python3.1", "mine.txt"]


def test_the_folder_of_packages_is_that_of_the_python_that_is_there(prefix):
    (prefix / "lib/python3.10/site-packages").mkdir(parents=True)
    assert site_packages(prefix) == prefix / SITE
    (prefix / "conda-meta" / "python-3.11.7-h1_0.json").unlink()
    record(prefix, "python-3.10.2-h1_0", [])
    assert site_packages(prefix) == prefix / "lib/python3.10/site-packages"


def conda_record(name, version, build):
    file = f"{name}-{version}-{build}.conda"
    return CondaRecord(name, version, build, "conda-forge", "linux-64", file, "0" * 64)


def lock_of(installer, base, packages=()):
    platform = LockedPlatform(tuple(packages), base=tuple(base))
    return Lock("demo", None, "a test", installer, "3.11", None, None, {"linux-64": platform})


def test_drift_of_conda_s_packages_tells_the_build_too(prefix):
    base = [conda_record("python", "3.11.7", "h2_0"), conda_record("zlib", "1.3", "h1_0")]
    record(prefix, "numpy-1.26-0", [])
    dist_info(prefix, "six-1.0")
    dist_info(prefix, "pip-1.0")
    assert drift_of(prefix, lock_of("conda", base), "linux-64") == (
        Drift("numpy", None, "1.26 0"),
        Drift("python", "3.11.7 h2_0", "3.11.7 h1_0"),
        Drift("zlib", "1.3 h1_0", None),
        Drift("six", None, "1.0", "pip"),
    )


def test_drift_of_a_pip_environment_in_a_conda_prefix_names_conda_s_as_such(prefix):
    dist_info(prefix, "six-1.0")
    dist_info(prefix, "pip-23.0", "conda")
    packages = [LockedPackage("six", "1.0", "f", "0"), LockedPackage("pip", "23.0", "f", "0")]
    lock = lock_of("pip", [conda_record("python", "3.11.7", "h1_0")], packages)
    assert drift_of(prefix, lock, "linux-64") == ()
    record(prefix, "numpy-1.26-0", [])
    (drift,) = drift_of(prefix, lock, "linux-64")
    assert drift == Drift("numpy", None, "1.26 0", "conda")
    assert str(drift) == "numpy 1.26 0 of conda (not in the lock)"
    assert drift.to_dict() == {"name": "numpy", "locked": None, "installed": "1.26 0", "installer": "conda"}
    assert drift_of(prefix, lock_of("pip", [], packages), "linux-64") == ()
