"""Bad input: a clear message, the right exit code, and nothing changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import tree


def _home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def _text(project) -> str:
    return f"""\
schema: 1
name: demo
python: "3.9"
installer: pip
cuda: "11.3"
packages: [torch==1.12.1+cu113, numpy==1.21.5]
sources:
  - {{url: {project.source.url}, packages: [torch]}}
platforms: [linux-64]
"""


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)

SPECS = {
    "number for python": (lambda text: text.replace('"3.9"', "3.10"), 4, ["demo.yaml:3", 'python: "3.10"']),
    "number for cuda": (lambda text: text.replace('"11.3"', "11.0"), 4, ["demo.yaml:5", 'cuda: "11.0"']),
    "unknown key": (lambda text: text.replace("python:", "pyhton:"), 4, ["demo.yaml:3", "'pyhton'", "'python'"]),
    "duplicate key": (lambda text: text + 'python: "3.9"\n', 4, ["demo.yaml:10", "'python'", "twice"]),
    "channels in a pip spec": (lambda text: text + "channels: [pytorch]\n", 4, ["demo.yaml:10", "one installer"]),
    "pip list in packages": (
        lambda text: text.replace("numpy==1.21.5", "{pip: [numpy]}"), 4, ["demo.yaml:6", "second installer"],
    ),
    "sources in a conda spec": (lambda text: text.replace("installer: pip", "installer: conda"), 4, ["'sources'"]),
    "conda requirement": (lambda text: text.replace("numpy==1.21.5", "numpy=1.21"), 4, ["numpy=1.21", "single '='"]),
    "an address": (lambda text: text.replace("numpy==", '"numpy @ https://a.example/n.whl", x=='), 4, ["address"]),
    "label of another build": (lambda text: text.replace("+cu113", "+cu102"), 4, ["cu102", "11.3"]),
    "broken YAML": (lambda text: text.replace("packages: [", "packages: [["), 4, ["demo.yaml:", "broken YAML"]),
    "a tag": (lambda text: text + "summary: !!python/object:os.system x\n", 4, ["demo.yaml:10", "tag"]),
    "a bomb": (lambda _text: BOMB, 4, ["aliases"]),
    "binary": (lambda _text: "\x00\x01", 4, ["demo.yaml"]),
    "empty": (lambda _text: "", 4, ["demo.yaml"]),
    "a newer schema": (lambda text: text.replace("schema: 1", "schema: 2"), 4, ["schema 2", "Update envkit"]),
    "credentials": (lambda text: text.replace("http://", "http://me:hunter2@"), 4, ["user name or password"]),
    "unknown platform": (lambda text: text.replace("linux-64", "linux-32"), 4, ["linux-32", "linux-64"]),
}  # fmt: skip


@pytest.mark.parametrize("case", SPECS)
def test_a_wrong_spec_is_refused_with_file_and_line(envkit, project, case):
    change, code, told = SPECS[case]
    project.lock.unlink()
    project.spec.write_text(change(_text(project)))

    done = envkit("create", project.spec, "--json")

    assert done.code == code
    said = " ".join(filter(None, (done.json["error"][key] for key in ("message", "why", "hint"))))
    for text in told:
        assert text in said
    assert "hunter2" not in done.out + done.err
    assert "Traceback" not in done.err
    assert not (_home() / "envs").exists()
    assert project.source.requests == project.default.requests == []


def test_versions_that_yaml_reads_as_numbers_are_never_planned(envkit, project):
    """EK-C14: the case's own text, in the words of another tool, and in ours."""
    project.lock.unlink()
    project.spec.write_text("torch: 1.10\ncuda: 11.0\npython: 3.10\n")
    done = envkit("create", project.spec, "--dry-run", "--json")
    assert done.code == 4
    assert "demo.yaml:1" in done.json["error"]["message"]
    assert '"1.10"' in done.json["error"]["hint"]
    project.spec.write_text(_text(project).replace('"3.9"', "3.9"))
    done = envkit("create", project.spec, "--dry-run", "--json")
    assert done.code == 4
    assert 'python: "3.9"' in done.json["error"]["hint"]


def test_an_unknown_spec_names_the_nearest(envkit):
    done = envkit("create", "torch112-cu13", "--json")

    assert done.code == 9
    assert "torch112-cu113" in done.json["error"]["hint"]
    assert done.json["environment"] is None
    assert done.json["created"] is False


def test_a_file_whose_name_looks_like_that_of_a_spec_is_told(envkit):
    (envkit.cwd / "my list").write_text("@EXPLICIT\n")
    assert "write './my list'" in envkit("create", "my list").err


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "-x", "..", ".", "", "a b", "a:b", "base", "x" * 300, "a\nb"])
def test_a_name_that_breaks_the_rules_is_wrong_usage(envkit, project, name):
    done = envkit("create", project.spec, f"--name={name}", "--json")

    assert done.code == 2
    assert done.json["error"]["type"] == "Usage"
    assert not (_home() / "envs").exists()


def test_a_prefix_with_the_path_separator_or_a_line_break_is_refused(envkit, project, tmp_path):
    for name in ("a:b", "a\nb"):
        done = envkit("create", project.spec, "--prefix", tmp_path / name)
        assert done.code == 2
        assert "PATH" in done.err
        assert not (tmp_path / name).exists()


def test_a_spec_newer_than_its_lock_is_refused(envkit, project):
    project.write_spec(summary="changed")
    done = envkit("create", project.spec, "--json")

    assert done.code == 4
    assert done.json["error"]["type"] == "StaleLock"
    assert "--update-lock" in done.json["error"]["hint"]
    project.spec.write_text("# a comment, and keys in another order\n" + project.spec.read_text())
    project.write_spec()
    project.spec.write_text("# a comment\n" + project.spec.read_text())
    assert envkit("create", project.spec, "--dry-run").code == 0


def test_no_lock_for_this_platform(envkit, project):
    content = project.lock_content()
    platforms = {"win-64": content["platforms"]["linux-64"]}
    project.write_lock(spec_sha256=content["spec_sha256"], platforms=platforms)

    done = envkit("create", project.spec, "--json")

    assert done.code == 3
    assert "linux-64" in done.json["error"]["message"]
    assert "win-64" in done.json["error"]["why"]


def test_no_such_python_names_those_that_were_found(envkit, project):
    other = envkit("create", project.spec, "--python", "3.11", "--json")
    program = envkit("create", project.spec, "--python", "/bin/sh", "--json")
    project.write_lock(spec_sha256=None, python="3.99")
    done = envkit("create", project.lock, "--json")

    assert done.code == 3
    assert "3.99" in done.json["error"]["message"]
    assert "Found: 3." in done.json["error"]["why"]
    assert "A conda prefix with one cannot be made" in done.json["error"]["why"]  # conda-forge is out of reach
    assert "--python" in done.json["error"]["hint"]
    assert other.code == 3
    assert program.code == 3
    assert "/bin/sh" in program.json["error"]["message"]
    assert not (_home() / "envs").exists()


BROKEN_LOCKS = {
    "a path for a file": ({"file": "../torch.whl"}, "path"),
    "a short hash": ({"sha256": "abc"}, "64 hexadecimal digits"),
    "no hash for the default index": ({"sha256": None, "source": None}, "https source"),
    "no hash for plain http": ({"sha256": None, "source": "http://127.0.0.1/"}, "https source"),
    "a number for a version": ({"version": 1.10}, "quoted"),
    "an unknown key": ({"hash": "x"}, "'hash'"),
    "an unknown word for known": ({"known": "maybe"}, "'maybe'"),
}


@pytest.mark.parametrize("case", BROKEN_LOCKS)
def test_a_broken_lock_is_refused(envkit, project, case):
    change, told = BROKEN_LOCKS[case]
    project.change_package("torch", **change)
    done = envkit("create", project.spec, "--json")

    assert done.code == 4
    assert "demo.lock.yaml:" in done.json["error"]["message"]
    assert told in done.json["error"]["message"]
    assert not (_home() / "envs").exists()


def test_a_source_that_is_not_known_must_be_confirmed(envkit, project):
    project.change_package("torch", source="https://wheels.example.org/cu113")
    done = envkit("create", project.spec, "--json")

    assert done.code == 4
    assert "wheels.example.org" in done.json["error"]["message"]
    assert "--trust-source wheels.example.org" in done.json["error"]["hint"]
    house = project.source.folder
    trusted = envkit(
        "create", project.spec, "--no-verify", "--trust-source", "wheels.example.org", "--wheelhouse", house
    )
    assert trusted.code == 0, trusted.err
    assert envkit("create", project.spec, "--name", "again", "--dry-run").code == 0  # remembered


def test_a_read_only_place_is_a_storage_error(envkit, project, tmp_path):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare to mount a read-only file system")
    place = tmp_path / "readonly"
    place.mkdir()
    command = envkit.argv("create", project.spec, "--no-verify", "--prefix", place / "env", "--json")
    script = f'mount -t tmpfs -o ro none "{place}" && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", *command], capture_output=True, text=True, check=False
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"cannot mount here: {done.stderr}")
    assert done.returncode == 12, done.stderr
    assert "read-only" in done.stdout
    assert "Traceback" not in done.stderr
    assert envkit("list", "--json").json["environments"] == []


def test_options_that_exclude_each_other_or_are_wrong(envkit, project, tmp_path):
    for options in (
        ["--name", "a", "--prefix", tmp_path / "p"],
        ["--wheelhouse", tmp_path / "nowhere"],
        ["--cuda", "eleven"],
        ["--engine", "conda"],
        ["--nonsense"],
    ):
        done = envkit("create", project.spec, *options, "--json")
        assert done.code == 2, options
        assert done.json["ok"] is False
    assert envkit("create", project.spec, "--toolkit", "99.9", "--json").code == 9
    assert envkit("create", project.spec, "--toolkit", tmp_path, "--json").code == 9
    assert not (_home() / "envs").exists()


def test_a_target_with_an_older_cuda_does_not_fit(envkit, project):
    older = envkit("create", project.spec, "--cuda", "10.2", "--json")
    same_major = envkit("create", project.spec, "--cuda", "11.0", "--dry-run", "--json")

    assert older.code == 3
    assert "11.3" in older.json["error"]["why"]
    assert same_major.code == 0
    assert envkit("create", project.spec, "--cuda", "10.2", "--force", "--dry-run").code == 0


def test_nothing_is_changed_by_all_this(envkit, project):
    envkit("create", project.spec, "--no-verify")
    before = tree(_home())
    project.change_package("numpy", sha256="0" * 64)
    for command in (
        ["create", project.spec],
        ["create", project.spec, "--replace", "--no-verify"],
        ["restore", project.lock],
        ["restore", "torch112_cu113_py39@2026"],
        ["remove", "torch112_cu113_py39"],
        ["remove", "torch112"],
        ["verify", "nope"],
        ["snapshot", "export", "torch112_cu113_py39"],
        ["info", "../envs"],
    ):
        assert envkit(*command).code != 0, command
        assert tree(_home()) == before, command
