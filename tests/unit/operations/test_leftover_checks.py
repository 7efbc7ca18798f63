"""What other installations have left in variables, home folder and settings."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

import pytest

from envkit.installers.user_site import user_site_of
from envkit.operations.leftover_checks import (
    active_environment_check,
    library_path_check,
    path_check,
    python_variables_check,
    visible_devices_check,
)
from envkit.operations.planned_place import PlannedPlace
from envkit.operations.user_settings_checks import conda_check, pip_settings_check, user_site_check
from tests.support.programs import stub_program
from tests.support.toolkits import stub_toolkit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are Linux' own")


def test_several_toolkits_and_one_that_is_gone(tmp_path):
    one, other = stub_toolkit(tmp_path / "cuda-10.2", "10.2"), stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    good = path_check({"PATH": f"{one / 'bin'}:/usr/bin"})
    assert (good.status, good.found) == ("ok", f"nvcc of CUDA 10.2 ({one / 'bin' / 'nvcc'})")
    assert path_check({"PATH": "/nowhere"}).found == "no nvcc"
    both = path_check({"PATH": f"{one / 'bin'}:{other / 'bin'}:{tmp_path}/cuda-9.0/bin"})
    assert both.status == "warn"
    assert both.found.index("10.2") < both.found.index("11.3") < both.found.index("cuda-9.0")
    assert "Several toolkits" in both.why
    assert "are gone" in both.why


def test_library_path(tmp_path):
    (tmp_path / "lib").mkdir()
    assert library_path_check({"LD_LIBRARY_PATH": str(tmp_path / "lib")}).status == "ok"
    (tmp_path / "lib" / "libcudnn.so.8").touch()
    found = library_path_check({"LD_LIBRARY_PATH": f"{tmp_path}/lib:"})
    assert found.status == "warn"
    assert found.found == f"{tmp_path}/lib (cudnn); an empty entry: the working folder, whichever that is"
    assert library_path_check({}).found == "not set"


def test_python_variables(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "old" / "torch").mkdir(parents=True)
    assert python_variables_check({"PYTHONPATH": str(tmp_path / "mine")}).status == "ok"
    found = python_variables_check({"PYTHONPATH": f"{tmp_path}/old:{tmp_path}/lib/python3.8/site-packages"})
    assert found.status == "warn"
    assert "old holds torch" in found.why
    assert "another Python" in found.why
    assert "library" in python_variables_check({"PYTHONHOME": "/opt/python"}).why
    assert python_variables_check({}).found == "not set"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (None, "ok"),
        ("0", "ok"),
        ("1,0", "ok"),
        (" 2", "ok"),
        ("GPU-8932f937", "ok"),
        ("MIG-GPU-1/2/0", "ok"),
        ("0,-1", "ok"),
        ("", "warn"),
        ("-1", "warn"),
        ("-1,0", "warn"),
        ("NoDevFiles", "warn"),
        ("none", "warn"),
    ],
)
def test_hidden_gpus(value, status):
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert visible_devices_check(environ, is_cpu=False).status == status
    assert visible_devices_check(environ, is_cpu=True).status == "ok"


@pytest.mark.parametrize(
    ("value", "status", "words"),
    [
        ("7", "warn", "hides every GPU"),
        ("0,7", "warn", "only the GPUs before the entry 7"),
        ("1", "ok", ""),
        ("0,-1", "ok", ""),
    ],
)
def test_numbers_that_no_gpu_has(value, status, words):
    found = visible_devices_check({"CUDA_VISIBLE_DEVICES": value}, is_cpu=False, gpus=2)
    assert found.status == status
    assert words in (found.why or "")
    assert visible_devices_check({"CUDA_VISIBLE_DEVICES": value}, is_cpu=True, gpus=2).status == "ok"


def test_active_environments(tmp_path):
    here = str(tmp_path)
    assert active_environment_check({}).found == "none"
    base = active_environment_check({"CONDA_PREFIX": here, "CONDA_DEFAULT_ENV": "base"})
    assert (base.status, base.found) == ("ok", f"CONDA_PREFIX={here} (base)")
    assert active_environment_check({"VIRTUAL_ENV": here}).status == "ok"
    over_base = {"CONDA_PREFIX": here, "CONDA_DEFAULT_ENV": "base", "VIRTUAL_ENV": here}
    assert active_environment_check(over_base).status == "ok"
    both = active_environment_check({"CONDA_PREFIX": here, "CONDA_DEFAULT_ENV": "x", "VIRTUAL_ENV": here})
    assert both.status == "warn"
    gone = active_environment_check({"VIRTUAL_ENV": f"{here}/gone"})
    assert (gone.status, gone.why) == ("warn", f"{here}/gone is not there.")


def place(tmp_path, backend):
    return PlannedPlace(tmp_path / "env", True, backend, tmp_path / "cache", "UV_CACHE_DIR")


def test_user_site(tmp_path):
    environ = {"PYTHONUSERBASE": str(tmp_path / "base")}
    assert user_site_check("3.9", place(tmp_path, "conda"), None, environ) is None
    folder = tmp_path / "base" / "lib" / "python3.9" / "site-packages"
    for name in ("torch-1.8.0", "numpy-2.0.0", "black-24.1"):
        (folder / f"{name}.dist-info").mkdir(parents=True)
        (folder / f"{name}.dist-info" / "METADATA").write_text(
            f"Name: {name.split('-')[0]}\nVersion: {name.split('-')[1]}\n"
        )
    found = user_site_check("3.9.18", place(tmp_path, "conda"), None, environ)
    assert (found.status, found.found) == ("warn", f"numpy 2.0.0, torch 1.8.0 in {folder}")
    assert user_site_check("3.9", place(tmp_path, "venv"), None, environ).status == "ok"
    assert user_site_check("3.9", place(tmp_path, "conda"), None, environ | {"PYTHONNOUSERSITE": "1"}).status == "ok"
    assert user_site_check("3.10", place(tmp_path, "conda"), None, environ) is None


def test_user_site_of_the_real_python():
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.platform == "linux":
        assert user_site_of(version, {}) == Path.home() / ".local" / site.USER_SITE.partition("/.local/")[2]
    windows = user_site_of("3.10.4", {"APPDATA": "/roaming"}, windows=True)
    assert windows == Path("/roaming/Python/Python310/site-packages")


def test_pip_settings(tmp_path, monkeypatch):
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "pip" / "pip.conf"
    assert pip_settings_check(os.environ).status == "ok"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[global]\nindex-url = https://mirror.example/simple\nuser = no\n[install]\nuser = true\n")
    found = pip_settings_check(os.environ)
    assert (found.status, found.found) == ("warn", f"user = true ({config})")
    monkeypatch.setenv("PIP_USER", "0")
    monkeypatch.setenv("PIP_TARGET", "/data/packages")
    assert pip_settings_check(os.environ).found == "target = /data/packages (PIP_TARGET)"
    monkeypatch.delenv("PIP_TARGET")
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    assert pip_settings_check(os.environ).status == "ok"


def test_conda_and_its_version(tmp_path):
    none = conda_check(None, {"PATH": str(tmp_path)})
    assert "virtual environment" in none.hint
    program = stub_program(tmp_path / "forge" / "bin", "mamba", "exit 1")
    (tmp_path / "forge" / "conda-meta").mkdir()
    (tmp_path / "forge" / "conda-meta" / "mamba-2.3.1-h1.json").write_text('{"name": "mamba", "version": "2.3.1"}')
    (tmp_path / "forge" / "conda-meta" / "mamba-extra-1.0-0.json").write_text("{}")
    found = conda_check(None, {"PATH": str(program.parent)})
    assert found.found == f"mamba 2.3.1 ({program})"
    assert "conda prefix, since there is mamba" in found.hint
    (tmp_path / "forge" / "conda-meta" / "mamba-2.3.1-h1.json").write_text("no json")
    assert conda_check(None, {"PATH": str(program.parent)}).found == f"mamba ({program})"
