"""The guard in conda prefixes, with the Python, pip and uv that a user has there: who is kept out, and who is found."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envkit.installers.uv import uv_program
from tests.integration.conftest import tree
from tests.integration.test_channel import rattler
from tests.support.wheels import make_wheel

SITE = "lib/python3.11/site-packages"
MARKER = "lib/python3.11/EXTERNALLY-MANAGED"


@dataclass
class Made:
    """An environment that envkit made: its name, its folder, and the channels and wheels it was made from."""

    name: str
    prefix: Path
    channels: Any
    wheels: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    def by_hand(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a user does, with ``$PYTHON`` and ``$UV``; nothing but the wheels beside it can be had."""
        environ = {"PYTHON": str(self.python), "UV": str(uv_program()), "PIP_FIND_LINKS": str(self.wheels)}
        environ |= {"PIP_NO_INDEX": "1", "UV_FIND_LINKS": str(self.wheels), "UV_OFFLINE": "1", "UV_NO_CACHE": "1"}
        return subprocess.run(
            ["/bin/sh", "-c", command],
            env=os.environ | environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def make(envkit, conda_home, conda_channels, tmp_path):
    """Makes an environment in a conda prefix: ``make("conda")``, ``make("pip")``, with options of ``envkit create``."""
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "torch", "2.4.1+cu121")
    make_wheel(wheels, "harmless", "1.0")
    make_wheel(wheels, "six", "1.16.0")
    conda_home.condarc(channel_alias=conda_channels.alias, envs_dirs=[str(conda_home.home / "envs")])

    def make(installer: str, *options: str | Path, name: str | None = "demo") -> Made:
        content = {
            "schema": 1,
            "name": "demo",
            "python": "3.11",
            "installer": installer,
            "cuda": "cpu",
            "toolkit": "none",
            "platforms": ["linux-64"],
            "packages": ["six==1.16.0"] if installer == "pip" else ["pytorch=1.12.1=*cpu*", "numpy", "pip"],
            **({"channels": ["pytorch", "conda-forge"]} if installer == "conda" else {}),
        }
        spec = tmp_path / f"{installer}.yaml"
        spec.write_text(json.dumps(content))
        arguments = [
            "--backend",
            "conda",
            "--no-verify",
            "--update-lock",
            *(["--name", name] if name else []),
            *options,
        ]
        links = {"UV_FIND_LINKS": str(wheels), "PIP_FIND_LINKS": str(wheels), "PIP_NO_INDEX": "1", "UV_NO_INDEX": "1"}
        done = envkit("create", spec, *arguments, "--json", env=links)
        assert done.code == 0, done.err
        return Made(name or "", Path(done.json["environment"]["prefix"]), conda_channels, wheels)

    return make


def changed(before: dict, after: dict) -> set[str]:
    """Files that differ; what Python compiles while it runs aside."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {name for name in names if "__pycache__" not in name}


PROJECT = '[project]\nname = "mine"\nversion = "1"\n[project.optional-dependencies]\nextra = ["harmless"]\n'


REFUSED = (
    '"$PYTHON" -m pip install harmless',
    '"$PYTHON" -m pip install -e "$PROJECT[extra]"',
    '"$PYTHON" -m pip uninstall -y numpy',
    '"$PYTHON" -m pip install --user harmless',
    '"$UV" pip install --python "$PYTHON" harmless',
    '"$UV" pip uninstall --python "$PYTHON" numpy',
    '"$UV" pip install harmless',  # by CONDA_PREFIX, as in an active environment
)


def test_pip_and_uv_are_refused_by_the_text_of_ours(make, tmp_path):
    """EK-C15: blocked before anything is changed, with the command that fits the locked installer."""
    made = make("conda", name="odd-1.0")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").write_text(PROJECT)
    before = tree(made.prefix)
    variables = {"CONDA_PREFIX": str(made.prefix), "CONDA_DEFAULT_ENV": "odd-1.0", "PROJECT": str(tmp_path / "project")}
    for command in REFUSED:
        done = made.by_hand(command, **variables)
        assert done.returncode != 0, command
        said = " ".join(done.stderr.split())
        assert "externally managed" in said
        assert "envkit made this environment, from conda packages alone" in said
        assert "envkit add odd-1.0 PACKAGE" in said
        assert "envkit add odd-1.0 -e ." in said
    assert changed(before, tree(made.prefix)) == set()


def test_a_prefix_with_an_odd_name_is_named_so_that_a_shell_can_read_it(make, tmp_path):
    prefix = tmp_path / "at" / "odd ünï %41 #;name"
    made = make("conda", "--prefix", prefix, name=None)
    for command in ('"$PYTHON" -m pip install harmless', '"$UV" pip install --python "$PYTHON" harmless'):
        said = made.by_hand(command).stderr
        assert f"envkit add {shlex.quote(str(prefix))} PACKAGE" in said


def test_venvs_of_its_python_are_free(make, tmp_path):
    made = make("conda")
    for command in (
        f'"$UV" venv --python "$PYTHON" {tmp_path}/venv',
        f'"$UV" pip install --python {tmp_path}/venv harmless',
        f'"$PYTHON" -m pip --python {tmp_path}/venv/bin/python uninstall -y harmless',
    ):
        done = made.by_hand(command)
        assert done.returncode == 0, done.stderr


def test_pip_in_a_conda_prefix_keeps_the_locked_versions_and_conda_out(make):
    made = make("pip")
    message = json.loads((made.prefix / "conda-meta" / "frozen").read_text())["message"]
    assert "envkit add demo PACKAGE" in message
    assert not (made.prefix / MARKER).exists()
    make_wheel(made.wheels, "six", "1.17.0")
    done = made.by_hand('"$PYTHON" -m pip install six==1.17.0')
    assert done.returncode != 0
    assert "ResolutionImpossible" in done.stderr
    assert made.by_hand('"$PYTHON" -m pip install harmless').returncode == 0


@pytest.mark.parametrize("installer", ["pip", "conda"])
def test_the_guard_s_files_are_the_environment_s_own(envkit, make, installer):
    made = make(installer)
    assert envkit("doctor", "demo", "--json").json["findings"] == []
    (made.prefix / "conda-meta" / "state").write_text('{"env_vars": {"MINE": "1"}}')
    (made.prefix / "notebook.ipynb").write_text("{}")
    told = envkit("remove", "demo")
    assert [line for line in told.err.splitlines() if "no package owns /" in line] == [
        f"  no package owns {made.prefix / 'conda-meta' / 'state'}",
        f"  no package owns {made.prefix / 'notebook.ipynb'}",
    ]
    assert envkit("remove", "demo", "--yes").code == 0
    assert not made.prefix.exists()


@pytest.mark.parametrize("installer", ["pip", "conda"])
def test_without_guard_there_is_none_of_it(envkit, make, installer):
    made = make(installer, "--no-guard")
    assert envkit("info", "demo", "--json").json["environment"]["guard"] is False
    for file in (MARKER, "conda-meta/frozen", "pip.conf", "etc/conda/activate.d/envkit-guard.sh"):
        assert not (made.prefix / file).exists()
    assert made.by_hand('"$PYTHON" -m pip install harmless').returncode == 0


@pytest.mark.parametrize(("installer", "file"), [("pip", "conda-meta/frozen"), ("conda", MARKER)])
def test_a_refusal_that_was_lost_is_told_and_put_back(envkit, make, installer, file):
    made = make(installer)
    text = (made.prefix / file).read_bytes()
    (made.prefix / file).unlink()
    (finding,) = envkit("doctor", "demo", "--json").json["findings"]
    assert finding["id"] == "guard-missing"
    assert finding["evidence"] == [str(made.prefix / file)]
    done = envkit("hooks", "install", "demo")
    assert done.code == 0, done.err
    assert (made.prefix / file).read_bytes() == text


# what gets past the refusals


def verify(envkit, level: str = "device") -> tuple[Any, dict[str, dict[str, Any]]]:
    done = envkit("verify", "demo", "--level", level, "--json")
    return done, {layer["layer"]: layer for layer in done.json["layers"]}


def findings_of(envkit, word: str | Path = "demo") -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for item in envkit("doctor", word, "--json").json["findings"]:
        found.setdefault(item["id"], []).append(item)
    return found


def test_verify_finds_what_break_system_packages_let_in(envkit, make):
    made = make("conda")
    done, layers = verify(envkit)
    assert (done.code, done.json["verified"], layers["installer"]["status"]) == (0, True, "pass")
    forced = made.by_hand('"$PYTHON" -m pip install --break-system-packages harmless')
    assert forced.returncode == 0, forced.stderr
    done, layers = verify(envkit)
    assert (done.code, done.json["verified"], done.json["snapshot"]) == (7, False, None)
    assert done.json["error"]["type"] == "InstallerRule"
    assert layers["installer"]["status"] == "fail"
    assert layers["installer"]["facts"]["mixed"] == [{"name": "harmless", "conda": None, "pip": "harmless 1.0"}]
    (finding,) = findings_of(envkit)["installer-mixed"]
    assert (finding["severity"], finding["evidence"]) == ("error", ["harmless 1.0 of pip"])
    assert "packages-added" not in findings_of(envkit)


def test_pip_setuptools_and_wheel_are_no_violation(envkit, make):
    """EK-C15: whoever has put them there."""
    made = make("conda")
    make_wheel(made.wheels, "wheel", "0.99")
    make_wheel(made.wheels, "setuptools", "99.0")
    forced = made.by_hand('"$PYTHON" -m pip install --break-system-packages wheel==0.99 setuptools==99.0')
    assert forced.returncode == 0, forced.stderr
    assert findings_of(envkit) == {}


def test_a_package_of_conda_is_nobody_else_s(envkit, make):
    """EK-C15: one whose own metadata says INSTALLER = conda is not reported, whatever its RECORD says."""
    made = make("conda")
    (info,) = (made.prefix / SITE).glob("numpy-*.dist-info")
    assert (info / "INSTALLER").read_text().strip() == "conda"
    shutil.copytree(info, tree_of_another := info.with_name("another-1.0.dist-info"))
    (tree_of_another / "RECORD").unlink()
    assert findings_of(envkit) == {}


def test_a_package_that_pip_has_replaced_is_told_with_both_origins(envkit, make):
    """EK-C15: the check fails and names torch, both origins and the missing files."""
    made = make("conda")
    forced = made.by_hand('"$PYTHON" -m pip install --break-system-packages torch==2.4.1+cu121')
    assert forced.returncode == 0, forced.stderr
    gone = sorted(
        str(path) for path in map(Path, files_of(made.prefix, "pytorch")) if not (made.prefix / path).exists()
    )
    assert gone
    done = envkit("doctor", "demo", "--json")
    assert done.code == 6
    found = findings_of(envkit)
    (finding,) = found["package-of-both"]
    assert finding["severity"] == "error"
    assert "pytorch 1.12.1 py3.11_cpu_0 of conda" in finding["message"]
    assert "torch 2.4.1+cu121 of pip" in finding["message"]
    assert sorted(finding["evidence"][1:]) == [f"{path} (missing)" for path in gone]
    assert {f"{path} of pytorch (missing)" for path in gone} <= set(found["files-changed"][0]["evidence"])
    done, _ = verify(envkit)
    assert done.code == 6
    assert "pytorch 1.12.1 py3.11_cpu_0 of conda and torch 2.4.1+cu121 of pip" in done.json["error"]["why"]
    restored = envkit("restore", "demo", "--replace", "--no-verify")
    assert restored.code == 0, restored.err
    assert findings_of(envkit) == {}


def files_of(prefix: Path, package: str) -> list[str]:
    (record,) = (prefix / "conda-meta").glob(f"{package}-[0-9]*.json")
    return json.loads(record.read_text())["files"]


def test_a_torch_of_pip_beside_conda_s_own_is_told(envkit, make):
    """EK-C15, as it stands there: only metadata, and some of conda's files gone; and what a cut off pip leaves."""
    made = make("conda")
    site = made.prefix / SITE
    info = site / "torch-2.4.1+cu121.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text("pip\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.4.1+cu121\n")
    (info / "RECORD").write_text(f"{info.name}/METADATA,,\n")
    (site / "~orch-1.12.1.dist-info").mkdir()
    (site / "torch" / "version.py").unlink(missing_ok=True)
    (site / "torch" / "__init__.py").unlink()
    found = findings_of(envkit)
    assert "torch/__init__.py (missing)" in " ".join(found["package-of-both"][0]["evidence"])
    assert found["package-twice"][0]["evidence"] == ["torch-1.12.1.dist-info", "torch-2.4.1+cu121.dist-info"]
    assert found["pip-leftovers"][0]["evidence"] == ["~orch-1.12.1.dist-info"]


def test_mamba_and_others_that_look_at_no_mark_are_found(envkit, make, tmp_path):
    made = make("pip")
    channels = [made.channels.pytorch, made.channels.forge]
    # py-rattler, as pixi and mamba: it asks nobody, and keeps what is listed
    rattler(channels, ["python 3.11.*", "pip", "numpy"], made.prefix, cache=tmp_path / "cache")
    done = envkit("verify", "demo", "--level", "device", "--json")
    layers = {layer["layer"]: layer for layer in done.json["layers"]}
    mixed = [item["name"] for item in layers["installer"]["facts"]["mixed"]]
    assert layers["installer"]["status"] == "fail"
    assert "numpy" in mixed
    assert "python" not in mixed
    assert any("numpy 1.26.4" in line for line in findings_of(envkit)["installer-mixed"][0]["evidence"])


def test_a_changed_byte_and_a_damaged_record_of_conda_s_are_told(envkit, make):
    made = make("conda")
    module = made.prefix / "lib" / "python3.11" / "this.py"
    data = module.read_bytes()
    module.unlink()  # else the package cache shares the byte
    module.write_bytes(data[:-1] + b"#")
    (record,) = (made.prefix / "conda-meta").glob("numpy-*.json")
    record.write_text("{")
    (finding,) = findings_of(envkit)["files-changed"]
    assert finding["evidence"] == [
        f"conda-meta/{record.name} of numpy (no usable RECORD)",
        "lib/python3.11/this.py of python (changed)",
    ]
    done, layers = verify(envkit, "full")
    assert done.code == 6
    assert layers["files"]["status"] == "fail"


def test_a_conda_environment_that_nobody_manages_is_looked_at_by_its_path(envkit, conda_channels, tmp_path):
    prefix = tmp_path / "plain"
    channels = [conda_channels.pytorch, conda_channels.forge]
    rattler(channels, ["python 3.11.*", "pip", "pytorch=1.12.1=*cpu*"], prefix, cache=tmp_path / "cache")
    done = envkit("doctor", prefix, "--json")
    assert [item["id"] for item in done.json["findings"]] == ["not-managed"]
    assert (done.code, done.json["facts"]["torch_version"]) == (0, "1.12.1")
    make_wheel(tmp_path / "wheels", "torch", "2.4.1+cu121")
    made = Made("plain", prefix, conda_channels, tmp_path / "wheels")
    assert made.by_hand('"$PYTHON" -m pip install torch==2.4.1+cu121').returncode == 0
    found = findings_of(envkit, prefix)
    assert "torch 2.4.1+cu121 of pip" in found["package-of-both"][0]["message"]
    assert not any("envkit restore" in text for items in found.values() for item in items for text in item["fix"])
    assert envkit("doctor", "plain").code == 9


# EK-C16


def metadata_only(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_packages_of_the_user_site_are_told_and_not_recorded(envkit, make, conda_home):
    """EK-C16: doctor names both packages and the folder; a snapshot lists the environment's versions."""
    made = make("conda")
    assert "user-site-hides" not in findings_of(envkit)
    user_site = conda_home.home / ".local" / SITE
    for name, version in (("torch", "2.0.0"), ("numpy", "2.1.0"), ("unrelated", "1.0")):
        metadata_only(user_site, name, version)
    shown = made.by_hand('"$PYTHON" -m pip list --format=freeze').stdout
    assert "torch==2.0.0" in shown  # so it is with conda's Python, unless somebody switches it off
    (finding,) = findings_of(envkit)["user-site-hides"]
    assert finding["severity"] == "warning"
    assert finding["evidence"] == [str(user_site), "numpy 2.1.0 hides 1.26.4", "torch 2.0.0 hides 1.12.1"]
    done, _ = verify(envkit)
    assert done.code == 0, done.err
    freeze = (Path(done.json["snapshot"]) / "pip-freeze.txt").read_text().splitlines()
    assert "torch==1.12.1" in freeze
    assert "numpy==1.26.4" in freeze
    assert not any(line.startswith("unrelated") for line in freeze)


def test_the_user_site_counts_in_a_venv_that_lets_the_system_in(envkit, make, conda_home):
    from envkit.installers.user_site import hidden_packages  # noqa: PLC0415

    made = make("conda")
    venv = conda_home.home / "venv"
    for option, counts in (("", False), ("--system-site-packages", True)):
        made.by_hand(f'"$PYTHON" -m venv --clear --without-pip {option} {venv}')
        metadata_only(venv / SITE, "numpy", "1.0")
        shutil.rmtree(conda_home.home / ".local" / SITE, ignore_errors=True)
        metadata_only(conda_home.home / ".local" / SITE, "numpy", "2.0")
        assert bool(hidden_packages(venv)[1]) is counts
