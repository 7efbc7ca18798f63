"""From a spec without a lock to an environment, and what happens when the spec changes; a real uv resolves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.wheels import make_wheel

NAME = "torch112_cu113_py39"


def test_create_resolves_a_spec_without_lock_and_keeps_the_lock(envkit, project):
    project.lock.unlink()
    dry = envkit("create", project.spec, "--dry-run", "--json")
    assert dry.code == 0, dry.err
    assert not project.lock.exists()

    done = envkit("create", project.spec, "--no-verify", "--json")

    assert done.code == 0, done.err
    text = project.lock.read_text()
    assert f"source: '{project.source.url}'" in text
    assert project.default.url not in text
    assert not project.default.asked_for("torch")
    assert not project.source.asked_for("numpy")
    asked = len(project.source.requests)
    assert envkit("create", project.spec, "--json").json["created"] is False
    assert len(project.source.requests) == asked


def test_create_of_a_spec_in_a_folder_that_cannot_be_written(envkit, project):
    project.lock.unlink()
    project.folder.chmod(0o555)
    if os.access(project.folder, os.W_OK):  # root may write everywhere: a read-only mount is needed
        project.folder.chmod(0o755)
        script = f'mount --bind "{project.folder}" "{project.folder}" && mount -o remount,ro,bind "{project.folder}"'
        command = envkit.argv("create", project.spec, "--no-verify")
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    else:
        assert envkit("create", project.spec, "--no-verify").code == 0
        project.folder.chmod(0o755)
    assert not project.lock.exists()
    assert len(list(Path(os.environ["ENVKIT_HOME"], "locks").glob("demo-*.lock.yaml"))) == 1
    assert envkit("create", project.spec, "--json").json["created"] is False


def test_a_changed_spec_wants_its_lock_updated(envkit, project):
    envkit("create", project.spec, "--no-verify")
    make_wheel(project.default.folder, "idna", "3.4")
    project.write_spec(packages=["torch==1.12.1+cu113", "numpy==1.21.5", "pip==22.0", "idna"])
    before = project.lock.read_bytes()

    stale = envkit("create", project.spec, "--json")
    assert stale.code == 4
    assert project.lock.read_bytes() == before
    updated = envkit("create", project.spec, "--update-lock", "--name", "second", "--no-verify", "--json")
    assert updated.code == 0, updated.err
    assert "idna" in project.lock.read_text()
    assert envkit("create", project.spec).code == 11


def test_lock_command_says_what_changed_and_is_stable(envkit, project):
    project.lock.unlink()
    first = envkit("lock", project.spec, "--json")
    assert first.code == 0, first.err
    assert first.json["lock"] == str(project.lock)
    assert {"platform": "linux-64", "name": "numpy", "before": None, "after": "1.21.5"} in first.json["changes"]
    content = project.lock.read_bytes()

    again = envkit("lock", project.spec)
    assert "No package changed" in again.out
    assert project.lock.read_bytes() == content
    project.write_spec(packages=["torch==1.12.1+cu113", "numpy", "pip==22.0"])
    make_wheel(project.default.folder, "numpy", "1.22.0", tags="cp39-cp39-manylinux_2_17_x86_64")
    kept = envkit("lock", project.spec, "--json")
    assert kept.json["changes"] == []
    upgraded = envkit("lock", project.spec, "--upgrade-package", "numpy", "--json")
    assert upgraded.json["changes"] == [
        {"platform": "linux-64", "name": "numpy", "before": "1.21.5", "after": "1.22.0"}
    ]
    other = envkit("lock", project.spec, "-o", "other.lock.yaml", "--json")
    assert Path(other.json["lock"]) == envkit.cwd / "other.lock.yaml"
    assert envkit("lock", project.spec, "-p", "linux-32").code == 2
    assert envkit("lock", "no-such-spec").code == 9


def test_a_package_that_both_indexes_have_is_refused_unless_claimed(envkit, project):
    """EK-C19 through the command line; h 9.9 is somebody else's."""
    project.lock.unlink()
    for wheel in project.source.folder.iterdir():
        wheel.unlink()
    make_wheel(project.source.folder, "torch", "1.12.1+cu113", tags="cp39-cp39-linux_x86_64", requires=["h", "numpy"])
    make_wheel(project.source.folder, "h", "1.0")
    make_wheel(project.default.folder, "h", "9.9")
    make_wheel(project.default.folder, "torch", "2.0.0", tags="cp39-cp39-linux_x86_64")

    refused = envkit("create", project.spec, "--no-verify", "--json")
    assert refused.code == 4
    said = refused.json["error"]["message"] + refused.json["error"]["why"] + refused.json["error"]["hint"]
    assert "h" in said.split() or "'h'" in said or "h:" in said
    assert project.source.host in said
    project.write_spec(sources=[{"url": project.source.url, "packages": ["torch", "h"]}])
    done = envkit("create", project.spec, "--no-verify", "--json")
    assert done.code == 0, done.err
    packages = {item["name"]: item for item in envkit("info", NAME, "--json").json["packages"]}
    assert packages["h"] == {"name": "h", "version": "1.0", "source": project.source.url, "installer": "pip"}
    assert packages["torch"]["version"] == "1.12.1+cu113"
    assert packages["numpy"]["source"] is None
    assert not project.default.asked_for("h")


def test_specs_command(envkit):
    listed = {item["name"]: item for item in envkit("specs", "--json").json["specs"]}
    assert set(listed) >= {"torch111-cu102", "torch111-cu113", "torch112-cu113", "torch113-cu117", "torch213-cpu"}
    assert listed["torch112-cu113"]["environment"] == NAME
    assert listed["torch112-cu113"]["locked"] == ["linux-64", "win-64"]
    assert listed["torch113-cu117"]["locked"] == ["linux-64"]  # Windows' files are on an index that tells no hashes
    assert listed["torch112-cu113-conda"]["locked"] == []
    assert listed["torch213-cpu"]["cuda"] is None
    assert "torch213-cpu" in envkit("specs").out
