"""conda-lock.yml and pixi.lock, read and written."""

from __future__ import annotations

import copy

import pytest
import yaml

from envkit.errors import InvalidFileError
from envkit.model.conda_record import CondaRecord
from envkit.model.formats.condalock import is_conda_lock, read_conda_lock, stated_python
from envkit.model.formats.condalock_text import conda_lock_text
from envkit.model.formats.parts import MixedFileError, beyond_base, check_unmixed, source_of_url
from envkit.model.formats.pixi import is_pixi_lock, read_pixi_lock
from envkit.model.formats.pixi_text import pixi_lock_text
from envkit.model.lock import Lock, LockedPlatform
from envkit.model.locked import LockedPackage
from envkit.model.yamltext import parse_yaml

FORGE = "https://conda.anaconda.org/conda-forge"
SHA256, MD5 = "ab" * 32, "cd" * 16
HASHED = "https://files.example/packages/a1/b2/" + "0" * 60
TORCH = "torch-1.12.1+cu113-cp39-cp39-linux_x86_64.whl"
NUMPY = "numpy-1.26.4-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
URLS = {"torch": f"https://download.pytorch.org/whl/cu113/{TORCH.replace('+', '%2B')}", "numpy": f"{HASHED}/{NUMPY}"}


def conda_lock(**changes):
    """As conda-lock 4 writes it."""
    python = {
        "name": "python",
        "version": "3.9.18",
        "manager": "conda",
        "platform": "linux-64",
        "dependencies": {"libffi": ">=3.4,<4.0a0", "__glibc": ">=2.17,<3.0.a0", "pip": ""},
        "url": f"{FORGE}/linux-64/python-3.9.18-h0_cpython.conda",
        "hash": {"md5": MD5, "sha256": SHA256},
        "category": "main",
        "optional": False,
    }
    libffi = python | {
        "name": "libffi", "version": "3.4.2", "dependencies": {}, "hash": {"md5": MD5},
        "url": f"{FORGE}/linux-64/libffi-3.4.2-h7f98852_5.tar.bz2",
    }  # fmt: skip
    torch = python | {
        "name": "torch", "version": "1.12.1+cu113", "manager": "pip", "dependencies": {"typing-extensions": "*"},
        "url": URLS["torch"], "hash": {"sha256": SHA256},
    }  # fmt: skip
    metadata = {
        "content_hash": {"linux-64": "0" * 64},
        "channels": [{"url": "conda-forge", "used_env_vars": []}],
        "platforms": ["linux-64"],
        "sources": ["environment.yml"],
    }
    return {"version": 1, "metadata": metadata, "package": [python, libffi, torch]} | changes


def pixi_lock(version=7, **changes):
    """As pixi writes it."""
    python, numpy = f"{FORGE}/linux-64/python-3.9.18-h0_cpython.conda", URLS["numpy"]
    packages = [
        {"conda": python, "sha256": SHA256, "md5": MD5, "depends": ["pip"], "license": "Python-2.0", "size": 12},
        {"conda": f"{FORGE}/noarch/pip-24.0-pyhd_0.conda", "sha256": SHA256, "depends": ["python >=3.8"], "size": 3},
        {"pypi": numpy, "name": "numpy", "version": "1.26.4", "sha256": SHA256, "requires_python": ">=3.9"},
    ]
    references = [{key: value} for item in packages for key, value in item.items() if key in {"conda", "pypi"}]
    environment = {
        "channels": [{"url": f"{FORGE}/"}],
        "indexes": ["https://index.example/simple"],
        "packages": {"linux-64": references},
    }
    head = {"version": version} | ({"platforms": [{"name": "linux-64"}]} if version > 6 else {})
    return head | {"environments": {"default": environment}, "packages": packages} | changes


def document(content, source="file"):
    return parse_yaml(yaml.safe_dump(content, sort_keys=False), source)


def changed(content, *path, value):
    """A copy with another value at ``path``; None takes the key away."""
    content = copy.deepcopy(content)
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return content


def test_they_are_told_by_what_stands_in_them():
    assert is_conda_lock(conda_lock())
    assert is_pixi_lock(pixi_lock())
    for other in (None, [], {"version": 1}, {"schema": 1, "packages": []}):
        assert not is_conda_lock(other)
        assert not is_pixi_lock(other)


@pytest.mark.parametrize("manager", ["pip", "pypi"])
def test_conda_lock(manager):
    found = read_conda_lock(document(changed(conda_lock(), "package", 2, "manager", value=manager)))
    (parts,) = found.platforms.values()
    python, libffi = parts.conda
    assert python.depends == ("libffi >=3.4,<4.0a0", "__glibc >=2.17,<3.0.a0", "pip")
    assert (python.sha256, python.md5, python.channel) == (SHA256, MD5, "conda-forge")
    assert (libffi.sha256, libffi.md5, libffi.build_number) == ("", MD5, 5)
    assert parts.pip == (
        LockedPackage("torch", "1.12.1+cu113", TORCH, SHA256, source="https://download.pytorch.org/whl/cu113"),
    )
    check_unmixed(document(conda_lock()), parts)


def test_only_the_main_category_is_taken():
    content = changed(conda_lock(), "package", 1, "category", value="dev")
    found = read_conda_lock(document(content))
    assert [item.name for item in found.platforms["linux-64"].conda] == ["python"]
    assert found.notes == ("Packages of the category dev are left out.",)


def test_platforms_that_envkit_does_not_know_are_left_out():
    content = changed(conda_lock(), "package", 1, "platform", value="linux-ppc64le")
    assert list(read_conda_lock(document(content)).platforms) == ["linux-64"]
    for index in range(3):
        content = changed(content, "package", index, "platform", value="linux-ppc64le")
    with pytest.raises(InvalidFileError, match="no packages for a platform"):
        read_conda_lock(document(content))


@pytest.mark.parametrize(
    ("path", "value", "line", "said"),
    [
        (("version",), 2, 1, "version: 2 of conda-lock.yml"),
        (("version",), "1", 1, "version: '1'"),
        (("package",), {}, None, "expected a list"),
        (("package", 0), 3, None, "expected a mapping"),
        (("package", 0, "url"), None, None, "url: expected text"),
        (("package", 0, "platform"), 3, None, "platform: expected text"),
        (("package", 0, "manager"), "npm", None, "neither conda nor pip"),
        (("package", 0, "hash"), [], None, "hash: expected a mapping"),
        (("package", 0, "dependencies"), [1], None, "dependencies: expected a mapping"),
        (("package", 0, "version"), "3.9.1", None, "python-3.9.1-h0_cpython"),
        (("package", 0, "hash", "sha256"), "AB" * 32, None, "64 hexadecimal digits"),
        (("package", 1, "name"), "python", None, "libffi-3.4.2"),
        (("package", 2, "hash"), {"md5": MD5}, None, "no sha256"),
        (("package", 2, "url"), "git+https://h.example/x@abc", None, "no file of an index"),
        (("package", 2, "url"), f"https://ada:secret@h.example/{TORCH}", None, "user name"),
        (("package", 2, "name"), "torchvision", None, "torch 1.12.1+cu113"),
    ],
)
def test_a_wrong_conda_lock(path, value, line, said):
    with pytest.raises(InvalidFileError) as error:
        read_conda_lock(document(changed(conda_lock(), *path, value=value)))
    assert said in error.value.message
    assert error.value.line is not None
    assert line in {None, error.value.line}
    assert "secret" not in error.value.message


def test_a_package_twice():
    content = conda_lock()
    content["package"].append(content["package"][2])
    with pytest.raises(InvalidFileError, match="torch is listed twice"):
        read_conda_lock(document(content))


@pytest.mark.parametrize("version", [6, 7])
def test_pixi(version):
    (parts,) = read_pixi_lock(document(pixi_lock(version))).platforms.values()
    python, pip = parts.conda
    assert (python.depends, python.size, python.md5, python.license) == (("pip",), 12, MD5, "Python-2.0")
    assert (pip.noarch, pip.subdir) == ("python", "noarch")
    assert parts.pip == (LockedPackage("numpy", "1.26.4", NUMPY, SHA256),)


def test_pixi_says_the_index():
    content = changed(pixi_lock(), "packages", 2, "pypi", value="https://i.example/files/" + NUMPY)
    content["environments"]["default"]["packages"]["linux-64"][2] = {"pypi": "https://i.example/files/" + NUMPY}
    (parts,) = read_pixi_lock(document(content)).platforms.values()
    assert parts.pip[0].source is None  # version 7 leaves out the default index alone
    content["packages"][2]["index"] = "https://i.example/simple/"
    (parts,) = read_pixi_lock(document(content)).platforms.values()
    assert parts.pip[0].source == "https://i.example/simple"
    (parts,) = read_pixi_lock(document(content | {"version": 6})).platforms.values()
    assert parts.pip[0].source == "https://i.example/simple"
    del content["packages"][2]["index"]
    (parts,) = read_pixi_lock(document(content | {"version": 6})).platforms.values()
    assert parts.pip[0].source == "https://i.example/files"


def test_pixi_names_of_platforms():
    content = pixi_lock(platforms=[{"name": "gpu-box", "subdir": "linux-64", "virtual-packages": ["__cuda=12"]}])
    references = content["environments"]["default"]["packages"]
    references["gpu-box"] = references.pop("linux-64")
    references["wasi"] = []
    assert list(read_pixi_lock(document(content)).platforms) == ["linux-64"]


def test_pixi_environments():
    content = pixi_lock()
    content["environments"]["test"] = content["environments"]["default"]
    assert read_pixi_lock(document(content)).notes == ("The environment default is taken; test is not.",)
    content["environments"] = {"gpu": content["environments"]["default"]}
    assert read_pixi_lock(document(content)).notes == ()
    content["environments"]["cpu"] = content["environments"]["gpu"]
    with pytest.raises(InvalidFileError, match="gpu, cpu, and none is called default"):
        read_pixi_lock(document(content))


REFERENCES = ("environments", "default", "packages", "linux-64")


@pytest.mark.parametrize(
    ("path", "value", "said", "hint"),
    [
        (("version",), 5, "version: 5 of pixi.lock", "newer pixi"),
        (("version",), 8, "version: 8 of pixi.lock", "Update envkit"),
        (("version",), "7", "version: '7'", "Update envkit"),
        (("environments",), [], "environments: expected a mapping", None),
        (("environments", "default"), [], "packages: expected a mapping", None),
        (("environments", "default", "packages"), {"wasi": []}, "no packages for a platform", None),
        (REFERENCES, {}, "expected a list", None),
        ((*REFERENCES, 0), {"conda": "https://h.example/c/linux-64/x-1-0.conda"}, "not among the file's", None),
        ((*REFERENCES, 0), {"conda_source": "x @ ."}, "not among the file's", None),
        ((*REFERENCES, 0), {"npm": "x"}, "expected the address", None),
        (("packages",), {}, "packages: expected a list", None),
        (("packages", 0), 3, "expected the address", None),
        (("packages", 2, "sha256"), None, "no sha256", "newer ones"),
        (("packages", 2, "name"), "scipy", "numpy 1.26.4", None),
        (("packages", 0, "sha256"), "x", "64 hexadecimal digits", None),
        (("platforms",), {}, "platforms: expected a list", None),
    ],
)
def test_a_wrong_pixi_lock(path, value, said, hint):
    with pytest.raises(InvalidFileError) as error:
        read_pixi_lock(document(changed(pixi_lock(), *path, value=value)))
    assert said in error.value.message
    assert error.value.line is not None
    assert hint is None or hint in error.value.hint


@pytest.mark.parametrize("kind", ["conda", "conda_source", "pypi"])
def test_what_is_built_here_is_refused(kind):
    content = pixi_lock()
    url = "./mine"
    content["packages"].append({kind: url, "name": "mine", "version": "1"})
    content["environments"]["default"]["packages"]["linux-64"].append({kind: url})
    with pytest.raises(InvalidFileError) as error:
        read_pixi_lock(document(content))
    assert "./mine" in error.value.message
    assert error.value.hint


def test_a_base_is_python_and_what_it_needs():
    (parts,) = read_conda_lock(document(conda_lock())).platforms.values()
    assert beyond_base(parts.conda) == set()
    extra = changed(conda_lock(), "package", 0, "dependencies", value={})
    (parts,) = read_conda_lock(document(extra)).platforms.values()
    assert beyond_base(parts.conda) == {"libffi"}
    with pytest.raises(MixedFileError) as error:
        check_unmixed(document(extra, "x.yml"), parts)
    assert error.value.exit_code == 7
    assert "libffi from conda and torch from pip" in error.value.message
    assert "spec" in error.value.hint


@pytest.mark.parametrize(
    ("url", "source"),
    [
        (URLS["torch"], "https://download.pytorch.org/whl/cu113"),
        ("https://download-r2.pytorch.org/whl/cu128/x.whl", "https://download.pytorch.org/whl/cu128"),
        (f"{HASHED}/x.whl", None),
        (f"http://mirror.example/pypi{HASHED.partition('.example')[2]}/x.whl", None),
        ("https://h.example/wheels/x.whl", "https://h.example/wheels"),
    ],
)
def test_where_a_file_comes_from(url, source):
    assert source_of_url(url) == source


def record(name, version, build, *depends, **changes):
    values = {
        "channel": "conda-forge", "subdir": "linux-64", "file": f"{name}-{version}-{build}.conda", "sha256": SHA256,
        "md5": MD5, "size": 5, "build_number": 1, "constrains": ("x <2",), "timestamp": 1_660_000_000_000,
    }  # fmt: skip
    return CondaRecord(name, version, build, depends=depends, **(values | changes))


PYTHON = record("python", "3.9.18", "h0_cpython", "lib >=1,<2", "lib <1.5", "__glibc >=2.17")
RECORDS = (
    PYTHON,
    record("lib", "1.0", "h7_0", track_features=("old",), license="MIT"),
    record("pip", "24.0", "pyhd_0", "python >=3.8", subdir="noarch", noarch="python", python_site_packages_path="x"),
    record("tool", "1.0", "py_0", subdir="noarch", noarch="generic", channel="https://h.example/c"),
)
WHEELS = (
    LockedPackage("torch", "1.12.1+cu113", TORCH, SHA256, source="https://download.pytorch.org/whl/cu113"),
    LockedPackage("numpy", "1.26.4", NUMPY, SHA256),
)
NEEDS = {"glibc": {"minimum": "2.17", "known": "confirmed"}}


def lock(packages, base):
    platform = LockedPlatform(packages, NEEDS, base)
    return Lock("x", None, "", "pip" if packages else "conda", "3.9", "11.3", None, {"linux-64": platform})


@pytest.mark.parametrize("packages", [(), WHEELS], ids=["no-pip", "pip"])
@pytest.mark.parametrize("base", [(), RECORDS[:3], RECORDS], ids=["no-base", "base", "all"])
def test_pixi_written_and_read_again(packages, base):
    text = pixi_lock_text(lock(packages, base), "linux-64", URLS)
    assert text == pixi_lock_text(lock(packages[::-1], base[::-1]), "linux-64", URLS)
    found = read_pixi_lock(parse_yaml(text, "x")).platforms["linux-64"]
    assert sorted(found.conda, key=lambda item: item.name) == sorted(base, key=lambda item: item.name)
    assert sorted(found.pip, key=lambda item: item.name) == sorted(packages, key=lambda item: item.name)
    assert yaml.safe_load(text)["platforms"] == [
        {"name": "linux-64", "virtual-packages": ["__cuda=11.3", "__glibc=2.17"]}
    ]


@pytest.mark.parametrize("packages", [(), WHEELS], ids=["no-pip", "pip"])
@pytest.mark.parametrize("base", [RECORDS[:3], RECORDS], ids=["base", "all"])
def test_conda_lock_written_and_read_again(packages, base):
    text = conda_lock_text(lock(packages, base), "linux-64", URLS)
    assert text == conda_lock_text(lock(packages[::-1], base[::-1]), "linux-64", URLS)
    read = parse_yaml(text, "x")
    found = read_conda_lock(read).platforms["linux-64"]
    assert sorted(item.identity for item in found.conda) == sorted(item.identity for item in base)
    python = next(item for item in found.conda if item.name == "python")
    assert python.depends == ("lib >=1,<2,<1.5", "__glibc >=2.17")
    assert sorted(found.pip, key=lambda item: item.name) == sorted(packages, key=lambda item: item.name)
    assert stated_python(read) == ("3.9" if packages else None)


def test_what_envkit_noted_in_a_conda_lock_is_checked():
    content = yaml.safe_load(conda_lock_text(lock(WHEELS, RECORDS[:3]), "linux-64", URLS))
    content["metadata"]["custom_metadata"]["envkit_sources"] = "[]"
    with pytest.raises(InvalidFileError, match="envkit_sources"):
        read_conda_lock(document(content))
    content["metadata"]["custom_metadata"] = []
    assert stated_python(document(content)) is None
    assert read_conda_lock(document(content)).platforms


def test_a_wheel_below_a_folder_called_t_holds_no_token():
    content = conda_lock()
    content["package"][2]["url"] = f"https://wheels.example/packages/t/torch/{TORCH.replace('+', '%2B')}"
    (torch,) = read_conda_lock(parse_yaml(yaml.safe_dump(content), "x")).platforms["linux-64"].pip
    assert torch.source == "https://wheels.example/packages/t/torch"
