"""Create on stub wheels: a real uv, real virtual environments and loopback indexes; verification is left out."""

from __future__ import annotations

import os
import re
import signal
import ssl
import subprocess
import time
from pathlib import Path

import pytest
import trustme

from tests.integration.conftest import start, tree
from tests.support.index import serve_index
from tests.support.wheels import file_hash, make_wheel

NAME = "torch112_cu113_py39"


def _home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def _freeze(prefix) -> list[str]:
    site = next(Path(prefix).glob("lib/python3.*/site-packages"))
    return sorted(path.name.removesuffix(".dist-info") for path in site.glob("*.dist-info"))


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_create_installs_exactly_the_lock(envkit, project, engine):
    done = envkit("create", project.spec, "--no-verify", "--engine", engine, "--json")

    assert done.code == 0, done.err
    environment = done.json["environment"]
    assert environment["name"] == NAME
    assert environment["engine"] == engine
    assert environment["build_cuda"] == "11.3"
    assert environment["python"].startswith("3.9.")
    assert environment["state"] == "complete"
    assert done.json["created"] is True
    assert done.json["verify"] is None
    assert set(done.json["seconds"]) == {"lock", "interpreter", "packages", "hooks", "verify"}
    assert _freeze(environment["prefix"]) == ["numpy-1.21.5", "pip-22.0", "torch-1.12.1+cu113"]
    requirements = Path(environment["prefix"], "requirements-lock.txt").read_text()
    assert "torch==1.12.1+cu113" in requirements.splitlines()
    assert os.access(Path(environment["prefix"], "check_env.py"), os.X_OK)


def test_create_asks_each_index_only_for_its_own_packages(envkit, project):
    done = envkit("create", project.spec, "--no-verify")

    assert done.code == 0, done.err
    assert project.source.asked_for("torch")
    assert project.default.asked_for("numpy")
    assert not project.source.asked_for("numpy")
    assert not project.default.asked_for("torch")


def test_create_again_says_already_there_and_does_nothing(envkit, project):
    first = envkit("create", project.spec, "--no-verify", "--json")
    before = tree(_home())
    asked = len(project.source.requests) + len(project.default.requests)
    again = envkit("create", project.spec, "--json")
    text = envkit("create", project.spec)

    assert again.code == 0
    assert again.json["created"] is False
    assert again.json["environment"]["id"] == first.json["environment"]["id"]
    assert "already there" in text.out
    assert tree(_home()) == before
    assert len(project.source.requests) + len(project.default.requests) == asked


def test_create_with_another_lock_refuses_and_proposes_a_free_name(envkit, project):
    envkit("create", project.spec, "--no-verify")
    keep = _home() / "envs" / NAME / "keep.txt"
    keep.write_text("mine")
    make_wheel(project.default.folder, "idna", "3.4")
    project.write_lock(spec_sha256=project.lock_content()["spec_sha256"])
    before = tree(_home())

    plain = envkit("create", project.spec, "--json")
    dry = envkit("create", project.spec, "--dry-run")
    dry_yes = envkit("create", project.spec, "--dry-run", "--yes")

    assert plain.code == dry.code == dry_yes.code == 11
    assert plain.json["error"]["type"] == "Exists"
    assert str(keep.parent) in plain.json["error"]["message"]
    assert f"--name {NAME}_2" in plain.json["error"]["hint"]
    assert "--replace" in plain.json["error"]["hint"]
    assert tree(_home()) == before


def test_create_replace_makes_the_new_one_in_place(envkit, project):
    first = envkit("create", project.spec, "--no-verify", "--json").json["environment"]
    keep = Path(first["prefix"], "keep.txt")
    keep.write_text("mine")
    make_wheel(project.default.folder, "idna", "3.4")
    project.write_lock(spec_sha256=project.lock_content()["spec_sha256"])

    done = envkit("create", project.spec, "--no-verify", "--replace", "--json")

    assert done.code == 0, done.err
    assert done.json["environment"]["id"] != first["id"]
    assert "idna-3.4" in _freeze(first["prefix"])
    assert not keep.exists()
    assert [path.name for path in (_home() / "envs").iterdir()] == [NAME]


def test_create_replace_that_fails_brings_the_old_one_back(envkit, project):
    first = envkit("create", project.spec, "--no-verify", "--json").json["environment"]
    Path(first["prefix"], "keep.txt").write_text("mine")
    before = tree(_home())
    wheel = make_wheel(project.default.folder, "idna", "3.4")
    project.write_lock(spec_sha256=project.lock_content()["spec_sha256"])
    project.default.replace(wheel.name, b"something else")

    done = envkit("create", project.spec, "--no-verify", "--replace", "--json")

    assert done.code == 5
    assert tree(_home()) == before


def test_create_replace_whose_layer_fails_brings_the_old_one_back(envkit, project):
    first = envkit("create", project.spec, "--no-verify", "--json").json["environment"]
    before = tree(_home())

    done = envkit("create", project.spec, "--replace", "--json")  # the stub torch cannot compute

    assert done.code == 6
    assert "is back" in done.json["error"]["hint"]
    assert tree(_home()) == before
    assert envkit("info", NAME, "--json").json["environment"]["id"] == first["id"]


def test_create_whose_layer_fails_leaves_it_for_inspection_and_takes_no_snapshot(envkit, project):
    done = envkit("create", project.spec, "--json")

    assert done.code == 6
    assert done.json["ok"] is False
    assert done.json["created"] is True
    assert done.json["snapshot"] is None
    assert done.json["verify"]["layers"][0]["status"] == "fail"
    listed = envkit("list", "--json").json["environments"]
    assert [(item["name"], item["state"], item["last_verify"]) for item in listed] == [(NAME, "complete", "fail")]
    assert envkit("snapshot", "list", NAME, "--json").json["snapshots"] == []
    assert "verification failed" in envkit("list").out


@pytest.mark.parametrize("content", ["file", "folder", "venv of somebody else"])
def test_create_refuses_a_prefix_that_holds_something_else_even_with_replace(envkit, project, tmp_path, content):
    prefix = tmp_path / "mine"
    if content == "file":
        prefix.write_text("mine")
    else:
        prefix.mkdir()
        (prefix / ("pyvenv.cfg" if content.startswith("venv") else "thesis.tex")).write_text("mine")
    before = tree(tmp_path)

    for options in ([], ["--replace"], ["--replace", "--yes"]):
        done = envkit("create", project.spec, "--prefix", prefix, *options)
        assert done.code == 11
        assert str(prefix) in done.err
    assert tree(tmp_path) == before


def test_create_into_an_empty_folder_and_list_finds_it(envkit, project, tmp_path):
    prefix = tmp_path / "place of my own"
    prefix.mkdir()

    done = envkit("create", project.spec, "--no-verify", "--prefix", prefix, "--json")

    assert done.code == 0, done.err
    assert done.json["environment"]["name"] == "place of my own"
    listed = envkit("list", "--json").json["environments"]
    assert [item["prefix"] for item in listed] == [str(prefix)]
    assert envkit("info", f"{prefix}", "--json").json["environment"]["id"] == done.json["environment"]["id"]
    assert envkit("remove", prefix, "--yes").code == 0
    assert envkit("list", "--json").json["environments"] == []


def test_dry_run_changes_nothing_and_starts_no_installer(envkit, project):
    before = tree(_home()) if _home().exists() else {}
    done = envkit("create", project.spec, "--dry-run", "--json")

    assert done.code == 0, done.err
    assert done.json["environment"] is None
    assert done.json["created"] is False
    assert done.json["plan"]["name"] == NAME
    assert {item["name"] for item in done.json["plan"]["packages"]} == {"torch", "numpy", "pip"}
    assert (tree(_home()) if _home().exists() else {}) == before
    assert project.source.requests == project.default.requests == []


def test_create_without_its_source_names_the_file_and_leaves_nothing(envkit, project):
    content = project.lock_content()
    for entry in content["platforms"]["linux-64"]["packages"]:
        if entry["name"] == "torch":
            entry["source"] = "http://127.0.0.1:9/whl/cu113"  # the discard port: nobody listens
    project.write_lock(spec_sha256=content["spec_sha256"], platforms=content["platforms"])

    done = envkit("create", project.spec, "--json")

    assert done.code == 5
    error = done.json["error"]
    assert "torch-1.12.1+cu113-cp39-cp39-linux_x86_64.whl" in error["message"]
    assert "http://127.0.0.1:9/whl/cu113" in error["message"]
    assert "--wheelhouse" in error["hint"]
    assert "mirror" in error["hint"]
    assert envkit("list", "--json").json["environments"] == []
    assert list((_home() / "envs").glob("*")) == []


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_create_with_a_wheelhouse_needs_no_index(envkit, project, tmp_path, engine):
    house = tmp_path / "wheel house"
    house.mkdir()
    for wheel in project.wheels:
        (house / wheel.name).write_bytes(wheel.read_bytes())

    done = envkit(
        "create", project.spec, "--no-verify", "--offline", "--wheelhouse", house, "--engine", engine, "--json"
    )

    assert done.code == 0, done.err
    assert project.source.requests == project.default.requests == []
    frozen = envkit("info", NAME, "--json").json["packages"]
    torch = {"name": "torch", "version": "1.12.1+cu113", "source": project.source.url, "installer": "pip"}
    assert torch in frozen


def test_create_passes_over_a_wheel_in_the_wheelhouse_that_has_other_bytes(envkit, project, tmp_path):
    house = tmp_path / "house"
    house.mkdir()
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    (house / wheel.name).write_bytes(b"not the locked bytes")

    done = envkit("create", project.spec, "--no-verify", "--wheelhouse", house)

    assert done.code == 0, done.err
    assert project.source.asked_for("torch")


def test_create_offline_without_the_files_names_what_is_missing(envkit, project, monkeypatch, tmp_path):
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty cache"))
    done = envkit("create", project.spec, "--offline", "--json")

    assert done.code == 5
    assert "torch-1.12.1+cu113" in done.json["error"]["message"]
    assert "--wheelhouse" in done.json["error"]["hint"]
    assert project.source.requests == project.default.requests == []
    assert envkit("list", "--json").json["environments"] == []


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_create_with_a_wrong_hash_in_the_lock_names_both_hashes(envkit, project, engine):
    right = file_hash(next(path for path in project.wheels if path.name.startswith("torch")))
    project.change_package("torch", sha256="0" * 63 + "1", known="single")

    done = envkit("create", project.spec, "--engine", engine, "--json")

    assert done.code == 5
    error = done.json["error"]
    assert "torch-1.12.1+cu113-cp39-cp39-linux_x86_64.whl" in error["message"]
    assert "0" * 63 + "1" in error["why"]
    assert right in error["why"]
    assert "single place" in error["why"]
    assert envkit("list", "--json").json["environments"] == []


def test_create_takes_the_hash_that_an_https_source_states(envkit, project, tmp_path, monkeypatch):
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    bundle = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(bundle)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    monkeypatch.delenv("PIP_CERT", raising=False)
    with serve_index(project.source.folder, tls=context) as secure:
        project.change_package("torch", sha256=None, source=secure.url)
        done = envkit("create", project.spec, "--no-verify", "--json")
        assert done.code == 0, done.err
        secure.with_hashes = False
        unstated = envkit("create", project.spec, "--no-verify", "--name", "other", "--json")

    digest = file_hash(next(path for path in project.wheels if path.name.startswith("torch")))
    own = Path(done.json["environment"]["prefix"], ".envkit", "lock.yaml").read_text()
    assert re.search(rf"torch-1.12.1.*sha256: '?{digest}", own)
    assert "states was taken" in done.err
    assert unstated.code == 5
    assert "states no sha256" in unstated.json["error"]["message"]
    assert envkit("create", project.spec, "--json").json["created"] is False


def test_create_takes_the_hash_of_a_file_in_the_wheelhouse_where_none_is_known(envkit, project):
    project.change_package("torch", sha256=None, source="https://download.pytorch.org/whl/cu113")

    done = envkit("create", project.spec, "--no-verify", "--wheelhouse", project.source.folder, "--json")

    assert done.code == 0, done.err
    assert "No hash of torch is known" in done.err
    assert project.source.requests == []


@pytest.mark.parametrize("version", ["3.7", "3.8"])
def test_create_makes_environments_of_old_pythons(envkit, project, version):
    project.write_lock(spec_sha256=None, python="3.99")
    found = envkit("create", project.lock).err
    if f" {version}." not in found:
        pytest.skip(f"no Python {version} on this machine")
    tag = "cp" + version.replace(".", "")
    abi = tag + "m" if version == "3.7" else tag
    for wheel in project.wheels:
        wheel.unlink()
    make_wheel(project.source.folder, "torch", "1.12.1+cu113", tags=f"{tag}-{abi}-linux_x86_64")
    make_wheel(project.default.folder, "pip", "22.0")
    project.write_lock(spec_sha256=None, python=version)

    done = envkit("create", project.lock, "--no-verify", "--json")
    by_pip = envkit("create", project.lock, "--no-verify", "--engine", "pip", "--name", "other", "--json")

    assert done.code == 0, done.err
    assert done.json["environment"]["python"].startswith(version + ".")
    ran = subprocess.run(
        [Path(done.json["environment"]["prefix"], "bin", "python"), "-c", "import torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "1.12.1+cu113"
    assert by_pip.code == 3
    assert "--engine uv" in by_pip.json["error"]["hint"]


def test_create_with_a_given_interpreter(envkit, project):
    environment = envkit("create", project.spec, "--no-verify", "--json").json["environment"]
    program = Path(environment["prefix"], "bin", "python")

    done = envkit("create", project.spec, "--no-verify", "--name", "given", "--python", program, "--json")

    assert done.code == 0, done.err
    config = Path(done.json["environment"]["prefix"], "pyvenv.cfg").read_text()
    assert environment["prefix"] not in config  # made from the base interpreter, not on top of a venv


def test_an_interrupted_create_is_cleaned_up_by_the_next(envkit, project):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--no-verify")
    prefix = _home() / "envs" / NAME
    _wait_for(lambda: (prefix / "pyvenv.cfg").exists() and project.source.asked_for("torch"))
    listed = envkit("list", "--json").json["environments"]
    child.kill()
    child.communicate()
    after = envkit("list", "--json").json["environments"]
    project.source.heal()
    used = envkit("run", NAME, "--", "true")

    again = envkit("create", project.spec, "--no-verify", "--json")

    assert [(item["name"], item["state"]) for item in listed] == [(NAME, "incomplete")]
    assert [(item["name"], item["state"]) for item in after] == [(NAME, "incomplete")]
    assert used.code == 125
    assert again.code == 0, again.err
    assert "interrupted" in again.err
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["complete"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stopped_create_leaves_nothing_and_exits_130(envkit, project, name):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--no-verify")
    _wait_for(lambda: (_home() / "envs" / NAME / "pyvenv.cfg").exists() and project.source.asked_for("torch"))
    child.send_signal(getattr(signal, name))

    child.communicate(timeout=30)
    assert child.returncode == 130
    assert list((_home() / "envs").glob("*")) == []


def test_two_creates_of_one_environment_make_it_once(envkit, project):
    children = [start(envkit, "create", project.spec, "--no-verify", "--json") for _ in range(4)]
    results = [child.communicate(timeout=120) for child in children]

    assert [child.returncode for child in children] == [0, 0, 0, 0], results
    made = [out for out, _ in results if '"created": true' in out]
    assert len(made) == 1


def _wait_for(condition, timeout_s: float = 30.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
