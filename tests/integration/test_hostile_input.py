"""What somebody else wrote: locks, specs, folders and variables that want more than to be read."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import tree
from tests.support.wheels import file_hash, make_wheel


def _home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def _refused(done, code: int = 4) -> str:
    """The whole message of a command that failed as it should."""
    assert "Traceback" not in done.err
    assert done.code == code, done.out + done.err
    error = done.json["error"]
    return " ".join(filter(None, (error["message"], error["why"], error["hint"])))


HOSTILE = {
    "requirements in a version": {
        "version": "1.12.1+cu113 --hash=sha256:00\n--no-binary torch\n--find-links http://127.0.0.2:1/simple/\n#"
    },
    "options in a version": {"version": "1.12.1+cu113 --no-binary torch"},
    "an option for a name": {"name": "-r /etc/passwd"},
    "another project's file": {"file": "numpy-1.12.1-py3-none-any.whl"},
    "another version's file": {"file": "torch-1.12.0+cu113-cp39-cp39-linux_x86_64.whl"},
    "a file that is no wheel": {"file": "torch.exe"},
    "a host behind a backslash": {"source": "http://127.0.0.1:8905\\@localhost/simple"},
    "a password": {"source": "http://user:s3cr3t@localhost/simple"},
    "no host": {"source": "http:///simple"},
    "half an address": {"source": "http://[::1"},
    "another scheme": {"source": "ftp://localhost/simple"},
    "a share": {"source": "file://evil.example/simple"},
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_a_hostile_entry_of_a_lock_is_refused_before_anything_is_asked(envkit, project, case, engine):
    content = project.lock_content()
    for entry in content["platforms"]["linux-64"]["packages"]:
        if entry["name"] == "torch":
            entry.update(HOSTILE[case])
    project.lock.write_text(json.dumps(content, indent=1))
    done = envkit("create", project.lock, "--engine", engine, "--json")
    said = _refused(done)
    assert "demo.lock.yaml:" in said
    assert "s3cr3t" not in done.out + done.err
    assert not (_home() / "envs").exists()
    assert project.source.requests == project.default.requests == []


@pytest.mark.parametrize(
    "needs",
    [{"glibc": {}}, {"driver": {"known": "5"}}, {"glibc": {"minimum": "x.y"}}, {"glibc": {"minimum": None}}],
    ids=str,
)
def test_needs_that_cannot_be_judged_are_refused(envkit, project, needs):
    content = project.lock_content()
    content["platforms"]["linux-64"]["needs"] = needs
    project.lock.write_text(json.dumps(content, indent=1))
    assert "demo.lock.yaml:" in _refused(envkit("create", project.lock, "--json"))


def test_a_lock_without_packages_gives_no_empty_environment(envkit, project):
    for packages in ([], None):
        platforms = {"linux-64": {"needs": {}, "packages": packages, "base": []}}
        project.write_lock(spec_sha256=None, platforms=platforms)
        said = _refused(envkit("create", project.lock, "--name", "x", "--json"))
        assert "holds no packages for linux-64" in said
    assert not (_home() / "envs").exists()


def test_a_lock_on_one_line_is_a_lock(envkit, project):
    project.lock.write_text(json.dumps(project.lock_content()))
    moved = project.folder / "handed-on.yaml"
    project.lock.rename(moved)
    assert envkit("create", moved, "--dry-run").code == 0


def test_a_spec_from_a_pipe_is_read_once(envkit, project):
    words = " ".join(shlex.quote(word) for word in envkit.argv("create"))
    for file in (project.lock, project.spec):
        script = f"{words} <(cat {shlex.quote(str(file))}) --dry-run"
        done = subprocess.run(
            ["bash", "-c", script], env=envkit.variables(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr


def test_files_that_are_none_are_refused_at_once(envkit, project, tmp_path):
    os.mkfifo(tmp_path / "fifo.yaml")
    with (tmp_path / "sparse.yaml").open("wb") as file:
        file.truncate(3 << 30)
    for name in (tmp_path / "fifo.yaml", "/dev/zero", tmp_path / "sparse.yaml", tmp_path):
        for command in ("create", "lock"):
            done = envkit(command, f"{name}", "--json", timeout_s=60)
            _refused(done, code=4)


@pytest.mark.parametrize(
    "changes",
    [{"packages": True}, {"packages": 1}, {"sources": [{"url": "http://[::1", "packages": ["torch"]}]}],
    ids=str,
)
def test_specs_with_values_of_another_kind(envkit, project, changes):
    project.write_spec(**changes)
    assert "demo.yaml:" in _refused(envkit("create", project.spec, "--json"))


def test_lock_asks_about_hosts_that_are_not_known(envkit, project):
    before = tree(_home())
    project.write_spec(sources=[{"url": "https://wheels.invalid/cu113", "packages": ["torch"]}])
    said = _refused(envkit("lock", project.spec, "--json"))
    assert "--trust-source wheels.invalid" in said
    assert tree(_home()) == before
    assert project.default.requests == []
    for option in ("--yes", "--trust-source=Wheels.Invalid"):
        done = envkit("lock", project.spec, option, "--json", env={"UV_HTTP_RETRIES": "0"})
        assert done.code == 5, done.out  # trusted, and nobody is there
        (_home() / "trusted-sources.json").unlink()


def test_a_dry_run_changes_nothing_even_with_a_trusted_host(envkit, project):
    project.change_package("torch", source="https://wheels.invalid/cu113")
    before = tree(_home())
    done = envkit("create", project.lock, "--dry-run", "--trust-source", "wheels.invalid")
    assert done.code == 0, done.err
    assert tree(_home()) == before


def test_lock_writes_over_nothing_but_locks(envkit, project, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "is a folder" in _refused(envkit("lock", project.spec, "-o", tmp_path / "folder", "--json"), code=2)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    _refused(envkit("lock", project.spec, "-o", tmp_path / "binary", "--json"))
    assert (tmp_path / "binary").read_bytes() == b"\xff\xfe\x00"


def test_a_wheel_in_find_links_does_not_stand_in_for_a_file_without_a_hash(envkit, project, tmp_path):
    foreign = make_wheel(tmp_path / "links", "torch", "1.12.1+cu113", tags="cp39-cp39-linux_x86_64")
    project.change_package("torch", sha256=None, source="https://127.0.0.1:1/cu113")
    options = ["create", project.lock, "--no-verify", "--json"]
    done = envkit(*options, env={"PIP_FIND_LINKS": str(foreign.parent)})
    assert "127.0.0.1" in _refused(done, code=5)
    done = envkit(*options, "--wheelhouse", foreign.parent)
    assert done.code == 0, done.err
    lock = Path(done.json["environment"]["prefix"]) / ".envkit" / "lock.yaml"
    assert file_hash(foreign) in lock.read_text()


def test_the_current_folder_and_the_callers_settings_have_no_say(envkit, project):
    for name in ("virtualenv", "json", "pip", "sitecustomize", "typing"):
        (envkit.cwd / f"{name}.py").write_text("open('executed', 'w')\n")
    settings = {
        "VIRTUALENV_SYSTEM_SITE_PACKAGES": "1",
        "VIRTUALENV_ACTIVATORS": "nushell",
        "PIP_DRY_RUN": "1",
        "PIP_PLATFORM": "win_amd64",
        "PIP_PYTHON_VERSION": "3.6",
        "PIP_REPORT": str(envkit.cwd / "report.json"),
        "UV_LINK_MODE": "symlink",
        "UV_TARGET": str(envkit.cwd / "target"),
    }
    for engine in ("pip", "uv"):
        python, *words = envkit.argv("create", project.spec, "--engine", engine, "--name", engine, "--no-verify")
        done = subprocess.run(
            [python, "-I", *words],  # so that `-m envkit` itself does not look into the current folder
            env=envkit.variables(settings),
            cwd=envkit.cwd,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        prefix = _home() / "envs" / engine
        assert "include-system-site-packages = false" in (prefix / "pyvenv.cfg").read_text()
        assert (prefix / "bin" / "activate").is_file()
        (module,) = prefix.glob("lib/python3.9/site-packages/torch/__init__.py")
        assert not module.is_symlink()
    assert not (envkit.cwd / "executed").exists()
    assert not (envkit.cwd / "report.json").exists()


def test_the_message_names_the_index_that_was_asked(envkit, project, tmp_path):
    project.change_package("numpy", sha256="0" * 64)
    env = {"PIP_INDEX_URL": "http://a:s3cr@s3cr3t@127.0.0.1:1/pip", "UV_DEFAULT_INDEX": project.default.url}
    done = envkit("create", project.lock, "--no-verify", "--json", env=env)
    said = _refused(done, code=5)
    assert project.default.url in said
    assert "s3cr" not in done.out + done.err
    done = envkit("create", project.lock, "--no-verify", "--engine", "pip", "--json", env=env)
    _refused(done, code=5)
    assert "s3cr" not in done.out + done.err
