"""Settings of the caller that would change what a locked call does, or show a password."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envkit import process
from envkit.backends.venv import virtualenv_environment
from envkit.errors import InvalidFileError, ProgramError
from envkit.installers.diagnose import download_error
from envkit.installers.files import local_files, with_local_hashes
from envkit.installers.indexes import PipConfig, read_pip_config
from envkit.installers.pip import pip_environment
from envkit.installers.uv import uv_environment
from envkit.installers.uv_settings import read_uv_settings
from envkit.model.locked import LockedPackage
from tests.support.wheels import file_hash, make_wheel

DROPPED_BY_UV = ["LINK_MODE", "WORKING_DIRECTORY", "WORKING_DIR", "TARGET", "NO_VERIFY_HASHES", "COMPILE_BYTECODE"]
DROPPED_BY_UV += [
    "INDEX",
    "DEFAULT_INDEX",
    "FIND_LINKS",
    "NO_BUILD_ISOLATION",
    "FORK_STRATEGY",
    "CONFIG_FILE",
    "PREVIEW",
]
DROPPED_BY_UV += ["A_SETTING_OF_TOMORROW", "VENV_RELOCATABLE", "NO_CONFIG", "DRY_RUN", "PREVIEW"]
KEPT_BY_UV = ["CACHE_DIR", "HTTP_TIMEOUT", "INSECURE_HOST", "INDEX_MINE_PASSWORD", "NATIVE_TLS", "CONCURRENT_DOWNLOADS"]
DROPPED_BY_PIP = [
    "DRY_RUN",
    "PLATFORM",
    "ABI",
    "IMPLEMENTATION",
    "PYTHON_VERSION",
    "EDITABLE",
    "GROUP",
    "REPORT",
    "dry_run",
]
DROPPED_BY_PIP += ["INDEX_URL", "TARGET", "A_SETTING_OF_TOMORROW"]
KEPT_BY_PIP = [
    "CLIENT_CERT",
    "PROXY",
    "TIMEOUT",
    "RETRIES",
    "TRUSTED_HOST",
    "NO_CACHE_DIR",
    "KEYRING_PROVIDER",
    "timeout",
]


def test_uv_keeps_how_an_index_is_reached_and_nothing_else():
    changes = uv_environment({f"UV_{name}": "symlink" for name in (*DROPPED_BY_UV, *KEPT_BY_UV)})
    assert {name for name, value in changes.items() if value is None} == {f"UV_{name}" for name in DROPPED_BY_UV}
    assert changes["UV_PYTHON_DOWNLOADS"] == "never"


@pytest.mark.parametrize("mode", ["clone", "copy", "hardlink"])
def test_uv_keeps_ways_to_install_that_leave_whole_files(mode):
    assert "UV_LINK_MODE" not in uv_environment({"UV_LINK_MODE": mode})


def test_pip_keeps_how_an_index_is_reached_and_nothing_else():
    changes = pip_environment({f"PIP_{name}": "1" for name in (*DROPPED_BY_PIP, *KEPT_BY_PIP)})
    assert {name for name, value in changes.items() if value is None} == {f"PIP_{name}" for name in DROPPED_BY_PIP}
    assert changes["PIP_CLIENT_CERT"] == str(Path("1").absolute())


def test_virtualenv_keeps_where_its_data_lies_and_nothing_else(monkeypatch, tmp_path):
    for name in ("SYSTEM_SITE_PACKAGES", "ACTIVATORS", "DISCOVERY", "CREATOR", "PIP"):
        monkeypatch.setenv(f"VIRTUALENV_{name}", "1")
    changes = virtualenv_environment(tmp_path / "virtualenv.ini")
    assert changes.pop("VIRTUALENV_CONFIG_FILE") == str(tmp_path / "virtualenv.ini")
    assert changes.pop("VIRTUALENV_CUDA") == "none"  # the hooks are envkit's own work
    assert set(changes.values()) == {None}
    assert "VIRTUALENV_SYSTEM_SITE_PACKAGES" in changes
    assert "VIRTUALENV_OVERRIDE_APP_DATA" not in changes


def test_a_file_without_a_locked_hash_is_taken_from_the_wheelhouse_alone(tmp_path):
    wheel = make_wheel(tmp_path / "links", "torch", "1.0")
    house = make_wheel(tmp_path / "house", "torch", "1.0", files={"mine.py": ""})
    nameless = LockedPackage("torch", "1.0", wheel.name, None, source="https://h/x")
    locked = replace(nameless, sha256=file_hash(wheel))
    links = tmp_path / "links"
    assert local_files([nameless], [links], wheelhouse=None) == {}
    assert local_files([locked], [links], wheelhouse=None) == {"torch": wheel}
    found = local_files([nameless], [house.parent, links], wheelhouse=house.parent)
    assert found == {"torch": house}
    assert with_local_hashes([nameless], found)[0][0].sha256 == file_hash(house)
    assert local_files([nameless], [tmp_path / "empty", links], wheelhouse=tmp_path / "empty") == {}


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe",
        b"pip = 5",
        b"index = 5",
        b"index = [5]",
        b"[[index]]\nname = 'x'",
        b"[pip]\nindex-url = 5",
        b"find-links = 'x'",
        b"no-index = 'yes'",
        b"cache-dir = 2026-11-30",
        b"index-url = 'https://me:s3cr3t@h/' 'broken",
        b"index-url = 'http://[::1'",
        b"a = " + b"[" * 100_000,
    ],
    ids=lambda data: ascii(data[:30]),
)
def test_a_broken_uv_toml_is_a_clear_error_without_secrets(tmp_path, data):
    write(tmp_path / "uv/uv.toml", data)
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "none"), "HOME": str(tmp_path)}
    with pytest.raises(InvalidFileError) as caught:
        read_uv_settings(environ)
    assert "s3cr3t" not in f"{caught.value} {caught.value.why} {caught.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        "index-url = https://me:s3cr3t@h/\n",
        "[global]\ns3cr3t\n",
        "[global]\na = s3cr3t\na = s3cr3t\n",
        "[global]\nindex-url = me:s3cr3t@h/simple\n",
        "[global]\nindex-url = http://me:s3cr3t@[::1\n",
        "[global]\nfind-links = http://[::1\n",
    ],
)
def test_a_broken_pip_conf_is_a_clear_error_without_secrets(tmp_path, text):
    write(tmp_path / "pip/pip.conf", text.encode())
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "none"), "HOME": str(tmp_path)}
    with pytest.raises(InvalidFileError) as caught:
        read_pip_config(environ)
    assert "s3cr3t" not in f"{caught.value} {caught.value.why} {caught.value.hint}"


def test_folders_of_find_links_are_absolute_since_installers_start_elsewhere():
    config = read_pip_config({"PIP_FIND_LINKS": "wheels https://h/x", "PIP_CONFIG_FILE": "/dev/null", "PIP_CERT": "c"})
    expected = PipConfig(find_links=(str(Path("wheels").absolute()), "https://h/x"), cert=str(Path("c").absolute()))
    assert config == expected


def test_what_a_failing_program_said_is_shown_without_secrets():
    done = process.CompletedProgram(
        ("uv", "http://a:s3cr3t@h"), 2, "", "error: http://a:s3cr3t@s3cr3t@h/ failed to fetch"
    )
    error = process.failure(done)
    assert "s3cr3t" not in f"{error} {error.why} {error.hint}"
    assert "s3cr3t" not in str(process.failure(replace(done, stderr="")).why)
    package = LockedPackage("a", "1", "a-1-py3-none-any.whl", "ab" * 32)
    told = download_error(error, [package], "http://***@h/", offline=False)
    assert "s3cr3t" not in f"{told} {told.why} {told.hint}"
    assert isinstance(error, ProgramError)
