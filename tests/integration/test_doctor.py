"""Doctor: what it says of whole, damaged, unfinished and broken environments; it changes nothing and never gives up."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.integration.conftest import tree
from tests.integration.test_changed_files import flip, site_of
from tests.support.toolkit_folders import make_toolkit

NAME = "torch112_cu113_py39"


def home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


@pytest.fixture
def prefix(envkit, project) -> Path:
    done = envkit("create", project.spec, "--no-verify", "--json")
    assert done.code == 0, done.err
    return Path(done.json["environment"]["prefix"])


def found(run) -> dict[str, dict]:
    """Findings by id; each id once."""
    findings = run.json["findings"]
    assert len({item["id"] for item in findings}) == len(findings)
    severities = [item["severity"] for item in findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert run.code == (6 if "error" in severities else 0)
    assert run.json["ok"] is (run.code == 0)
    assert "Traceback" not in run.err
    return {item["id"]: item for item in findings}


def test_a_whole_environment_has_facts_and_no_finding(envkit, prefix):
    before = tree(home())
    done = envkit("doctor", NAME, "--json")
    assert found(done) == {}
    assert done.json["facts"] == {
        "torch_version": "1.12.1+cu113",
        "build_cuda": "11.3",
        "cuda_available": None,
        "driver_version": None,
        "gpus": [],
        "python": done.json["facts"]["python"],
        "os": platform.platform(),
        "packages": {"numpy": "1.21.5", "pip": "22.0", "torch": "1.12.1+cu113"},
    }
    assert done.json["facts"]["python"].startswith("3.9.")
    assert f"Nothing is wrong with {NAME}." in envkit("doctor", NAME).out
    assert found(envkit("doctor", prefix, "--json")) == {}
    assert tree(home()) == before


def test_the_machine_alone(envkit):
    done = envkit("doctor", "--json")
    assert found(done) == {}
    assert done.json["facts"]["packages"] == {}
    assert done.json["facts"]["python"] is None
    assert envkit("doctor", "nothing", "--json").code == 9


def test_changed_bytes_are_told_with_everybody_they_touch(envkit, project, prefix):
    envkit("create", project.spec, "--name", "second", "--no-verify")
    flip(site_of(prefix) / "torch" / "__init__.py")
    done = envkit("doctor", NAME, "--json")
    finding = found(done)["files-changed"]
    assert finding["severity"] == "error"
    assert "second, by hard links" in finding["why"]
    assert finding["evidence"] == ["lib/python3.9/site-packages/torch/__init__.py of torch (changed)"]
    assert f"envkit restore {NAME} --replace" in finding["fix"][0]
    assert "envkit restore second --replace" in finding["fix"][1]
    text = envkit("doctor", NAME)
    assert text.code == 6
    assert "error: 1 file is not what its package says" in text.out
    assert "Found an error" in text.err
    assert NAME in found(envkit("doctor", "second", "--json"))["files-changed"]["why"]


def test_drift_leftovers_and_doubles(envkit, prefix):
    site = site_of(prefix)
    for name in ("extra-1.0", "torch-1.13.0", "~orch-1.11.0"):
        shutil.copytree(site / "pip-22.0.dist-info", site / f"{name}.dist-info")
    for name in ("extra-1.0", "torch-1.13.0"):
        record = site / f"{name}.dist-info" / "RECORD"
        record.write_text(record.read_text().replace("pip-22.0.dist-info", f"{name}.dist-info"))
    shutil.rmtree(site / "pip-22.0.dist-info")
    findings = found(envkit("doctor", NAME, "--json"))
    assert {name: item["severity"] for name, item in findings.items()} == {
        "packages-differ": "error",
        "package-twice": "error",
        "pip-leftovers": "warning",
        "packages-added": "note",
    }
    assert "pip is missing (locked 22.0)" in findings["packages-differ"]["evidence"]
    assert findings["packages-added"]["evidence"] == ["extra 1.0 (not in the lock)"]
    assert findings["package-twice"]["evidence"] == ["torch-1.12.1+cu113.dist-info", "torch-1.13.0.dist-info"]
    assert findings["pip-leftovers"]["evidence"] == ["~orch-1.11.0.dist-info"]


def test_hooks_that_are_stale_or_missing(envkit, project, tmp_path):
    nvcc = tmp_path / "cuda-11.3" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    (tmp_path / "cuda-11.3" / "include").mkdir()
    # of this release no table says which gcc it takes, so that this machine's does not matter
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 99.1, V99.1.109'\n")
    nvcc.chmod(0o755)
    done = envkit("create", project.spec, "--no-verify", "--json", "--toolkit", tmp_path / "cuda-11.3")
    hooks = Path(done.json["environment"]["prefix"], "etc", "conda", "activate.d")
    assert found(envkit("doctor", NAME, "--json")) == {}
    (hooks / "envkit-cuda.sh").write_text("echo mine\n")
    (hooks / "envkit-cuda.fish").unlink()
    run = envkit("doctor", NAME, "--json")
    findings = found(run)
    assert run.code == 0
    assert {name: item["severity"] for name, item in findings.items()} == {
        "hooks-missing": "warning",
        "hooks-stale": "warning",
    }
    assert findings["hooks-stale"]["evidence"] == [str(hooks / "envkit-cuda.sh")]
    assert findings["hooks-stale"]["fix"] == [f"`envkit hooks install {NAME}`"]
    assert envkit("hooks", "install", NAME).code == 0
    assert found(envkit("doctor", NAME, "--json")) == {}


def test_a_toolkit_that_has_vanished(envkit, project, tmp_path):
    """EK-C07: doctor reports the missing toolkit and exits non-zero."""
    toolkit = make_toolkit(tmp_path / "cuda-99.3", "99.3.1")
    assert envkit("create", project.spec, "--no-verify", "--toolkit", toolkit).code == 0
    assert found(envkit("doctor", NAME, "--json")) == {}
    toolkit.rename(tmp_path / "moved")
    for words in ((), (NAME,)):
        done = envkit("doctor", *words, "--json")
        finding = found(done)["toolkit-gone"]
        assert done.code == 6
        assert finding["severity"] == "error"
        assert finding["message"] == f"The CUDA toolkit of {NAME} is gone: CUDA 99.3.1 in {toolkit}."
        assert finding["evidence"] == [str(toolkit)]
        assert f"envkit hooks install {NAME} --toolkit" in finding["fix"][0]
    assert envkit("hooks", "install", NAME, "--toolkit", tmp_path / "moved").code == 0
    assert found(envkit("doctor", NAME, "--json")) == {}


@pytest.mark.skipif(not Path("/usr/local/cuda-13.0/bin").is_dir(), reason="no toolkit in /usr/local/cuda-13.0")
def test_a_toolkit_that_has_moved_to_where_its_release_usually_lies(envkit, project, tmp_path):
    toolkit = make_toolkit(tmp_path / "cuda-13.0", "13.0.1")
    assert envkit("create", project.spec, "--no-verify", "--toolkit", toolkit).code == 0
    toolkit.rename(tmp_path / "moved")
    done = envkit("doctor", NAME, "--json")
    assert done.code == 0
    finding = found(done)["toolkit-moved"]
    assert finding["severity"] == "note"
    assert "activation takes /usr/local/cuda-13.0." in finding["message"]


def journal_of(prefix: Path, **changes) -> None:
    """A journal as a creation of this machine leaves it."""
    content = {"schema": 1, "operation": "create", "host": platform.node(), "pid": 2**22, "process_started": 1}
    content |= {"started_at": "2026-11-30T14:59:01Z", "token": "0123abcd"}
    (prefix.parent / f".{prefix.name}.envkit-journal.json").write_text(json.dumps(content | changes))


def test_a_creation_that_was_cut_off_or_is_under_way(envkit, prefix):
    """EK-C12: list and doctor show the environment as incomplete."""
    (prefix / ".envkit" / "environment.json").unlink()
    journal_of(prefix)
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["incomplete"]
    for words in ((), (NAME,)):
        finding = found(envkit("doctor", *words, "--json"))["environment-incomplete"]
        assert finding["severity"] == "error"
        assert f"{NAME} is incomplete" in finding["message"]
        assert f"envkit remove {NAME}" in finding["fix"][1]
    journal_of(prefix, host="elsewhere")
    finding = found(envkit("doctor", NAME, "--json"))["environment-in-work"]
    assert finding["severity"] == "warning"
    assert "elsewhere" in finding["why"]
    assert "--break-lock" in finding["fix"][0]
    journal_of(prefix, schema=2)
    assert "schema 2" in found(envkit("doctor", NAME, "--json"))["environment-in-work"]["why"]
    start = None
    if sys.platform == "linux":
        start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    journal_of(prefix, pid=os.getpid(), process_started=start)
    assert found(envkit("doctor", "--json"))["environment-in-work"]["severity"] == "note"


@pytest.mark.parametrize("what", ["pip.conf", "another pip.conf", "constraints", "hook", "no guard"])
def test_a_guard_that_is_gone_or_changed(envkit, project, prefix, what):
    if what == "no guard":
        assert envkit("create", project.spec, "--no-verify", "--replace", "--no-guard").code == 0
        assert not (prefix / "pip.conf").exists()
        assert found(envkit("doctor", NAME, "--json")) == {}
        return
    file = {
        "constraints": prefix / ".envkit/constraints.txt",
        "hook": prefix / "etc/conda/activate.d/envkit-guard.sh",
    }.get(what, prefix / "pip.conf")
    file.unlink()
    if what == "another pip.conf":
        file.write_text("[install]\nno-deps = true\n")
    finding = found(envkit("doctor", NAME, "--json"))["guard-missing"]
    assert finding["severity"] == "warning"
    assert finding["evidence"] == [str(file)]
    assert finding["fix"] == [f"`envkit hooks install {NAME}`"]


def test_old_folders_beside_an_environment_at_a_place_of_its_own(envkit, project, tmp_path):
    place = tmp_path / "work" / "u"
    assert envkit("create", project.spec, "--no-verify", "--prefix", place).code == 0
    aside = place.with_name(".u.envkit-old-0123abcd")
    aside.mkdir()
    assert found(envkit("doctor", "--json"))["old-folders"]["evidence"] == [str(aside)]


def test_old_folders_that_nobody_waits_for(envkit, prefix):
    aside = prefix.with_name(f".{NAME}.envkit-old-0123abcd")
    aside.mkdir()
    assert found(envkit("doctor", "--json"))["old-folders"]["evidence"] == [str(aside)]
    journal_of(prefix, operation="discard")
    assert found(envkit("doctor", "--json")) == {}


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        ("no JSON", "environment-broken"),
        ("a newer schema", "environment-broken"),
        ("moved", "environment-broken"),
        ("interpreter", "interpreter-gone"),
        ("lock gone", "environment-broken"),
        ("lock nonsense", "lock-unreadable"),
        ("lock of another platform", "lock-unreadable"),
        ("packages a file", "packages-differ"),
        ("no packages", "packages-differ"),
        ("record gone", "files-changed"),
    ],
)
def test_every_kind_of_breakage_is_told(envkit, prefix, damage, finding):
    own, env = prefix / ".envkit", NAME
    record, lock = own / "environment.json", own / "lock.yaml"
    if damage == "no JSON":
        record.write_text("{")
    elif damage == "a newer schema":
        record.write_text(record.read_text().replace('"schema": 1', '"schema": 99'))
    elif damage == "moved":
        prefix.rename(prefix.with_name("elsewhere"))
        env = "elsewhere"
    elif damage == "interpreter":
        (prefix / "bin" / "python").unlink()
    elif damage == "lock gone":
        lock.unlink()
    elif damage == "lock nonsense":
        lock.write_text("- 1\n")
    elif damage == "lock of another platform":
        lock.write_text(lock.read_text().replace("linux-64:", "win-64:"))
    elif damage in {"packages a file", "no packages"}:
        shutil.rmtree(site_of(prefix))
        if damage == "packages a file":
            (next(prefix.glob("lib/python3.9")) / "site-packages").write_text("")
    else:
        (site_of(prefix) / "torch-1.12.1+cu113.dist-info" / "RECORD").unlink()
    done = envkit("doctor", env, "--json")
    assert found(done)[finding]["severity"] == "error"
    assert found(done)[finding]["fix"]
    everything = envkit("doctor", "--json")
    assert everything.code == (6 if finding in {"environment-broken", "interpreter-gone"} else 0)
    assert "Traceback" not in envkit("doctor", env).err


def test_a_prefix_that_is_a_file_is_no_environment(envkit, prefix):
    shutil.rmtree(prefix)
    prefix.write_text("")
    assert envkit("doctor", NAME, "--json").code == 9
    assert found(envkit("doctor", "--json")) == {}


def test_the_users_own_files_that_cannot_be_read(envkit, tmp_path):
    (tmp_path / "config.yaml").write_text("toolkits: [")
    (home() / "toolkits").mkdir(parents=True)
    (home() / "toolkits" / "added.yaml").write_text("schema: 1\ntoolkits: [relative]\n")
    findings = found(envkit("doctor", "--json", env={"ENVKIT_CONFIG": str(tmp_path / "config.yaml")}))
    assert {name: item["severity"] for name, item in findings.items()} == {
        "config-invalid": "error",
        "toolkits-invalid": "error",
    }
    assert findings["config-invalid"]["evidence"] == [str(tmp_path / "config.yaml")]
    assert findings["toolkits-invalid"]["fix"] == [
        "Delete the file, and add your toolkits again: `envkit cuda add DIR`."
    ]


def test_the_page_lists_every_finding():
    root = Path(__file__).parents[2]
    code = "".join(path.read_text() for path in (root / "envkit" / "operations").glob("d*.py"))
    for name in ("hooks_diagnosis.py", "toolkit_diagnosis.py"):
        code += (root / "envkit" / "operations" / name).read_text()
    page = (root / "docs" / "doctor.md").read_text()
    ids = set(
        re.findall(
            r'"((?:environment|interpreter|packages?|files|lock|pip|hooks|toolkits?|config|guard|old)-[a-z-]+)"', code
        )
    )
    assert len(ids) >= 12
    for name in ids | {"hooks-stale", "hooks-missing"}:
        assert f"| `{name}` |" in page, name


def test_without_an_environment_it_says_what_it_did_not_look_at(envkit, prefix):
    done = envkit("doctor")
    assert done.code == 0
    assert "Files and packages were not looked at" in done.out


def test_a_failed_verification_is_an_error(envkit, prefix):
    record = prefix / ".envkit" / "environment.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"last_verify": "fail"}))
    for words in ((), (NAME,)):
        done = envkit("doctor", *words, "--json")
        assert done.code == 6
        assert "verification-failed" in found(done)
