"""File systems whose locks do not work, and machines that cannot be asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import start, tree

NAME = "torch112_cu113_py39"
STAND_IN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int flock(int fd, int how) {
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "WHERE")) ANSWER
    return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(fd, how);
}
"""
REFUSES = "{ errno = ENOLCK; return -1; }"
GRANTS = "return 0;"


def without_locks(folder, answer, where):
    """Variables under which flock() answers so for files below ``where`` (a preloaded stand-in)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or os.name != "posix":
        pytest.skip("needs a C compiler and LD_PRELOAD")
    source, library = folder / "flock.c", folder / "flock.so"
    source.write_text(STAND_IN.replace("WHERE", where).replace("ANSWER", answer))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}


@pytest.fixture(params=[REFUSES, GRANTS], ids=["locks are refused", "every lock is granted"])
def no_locks(request, tmp_path):
    """Variables under which envkit's locks do what they do on some network file systems."""
    return without_locks(tmp_path, request.param, "/envkit/locks/")


def home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def test_locks_that_do_not_work_are_said_and_nothing_else_is_wrong(envkit, project, no_locks):
    done = envkit("create", project.spec, "--no-verify", env=no_locks)
    assert done.code == 0, done.err
    assert "File locks do not work in" in done.err
    assert envkit("create", project.spec, "--no-verify", env=no_locks).code == 0
    assert envkit("remove", NAME, "--yes", env=no_locks).code == 0
    assert list((home() / "envs").iterdir()) == []


def test_a_cache_that_uv_cannot_lock_is_told_as_such(envkit, project, tmp_path):
    done = envkit("create", project.spec, "--no-verify", env=without_locks(tmp_path, REFUSES, "/.uv-cache/"))
    assert done.code == 12
    assert "UV_CACHE_DIR" in done.err
    assert not (home() / "envs").exists()


def test_without_locks_the_journal_keeps_the_second_out(envkit, project, no_locks):
    """The second waits for the first as long as it was told, and then finds what that has made."""
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    envkit.environ.update(no_locks)
    first = start(envkit, "create", project.spec, "--no-verify")
    journal = home() / "envs" / f".{NAME}.envkit-journal.json"
    while not journal.exists():
        assert first.poll() is None
    second = envkit("create", project.spec, "--no-verify", "--lock-timeout", "0.5", "--json")
    assert second.code == 8
    assert f"process {first.pid}" in second.json["error"]["message"]
    assert envkit("remove", NAME, "--yes", "--lock-timeout", "0").code == 8
    first.kill()
    first.communicate()
    project.source.heal()
    assert envkit("create", project.spec, "--no-verify").code == 0


@pytest.mark.slow  # it watches a silent journal for three heartbeats
def test_break_lock_says_whose_it_was_and_when(envkit, project):
    assert envkit("create", project.spec, "--no-verify").code == 0
    journal = home() / "envs" / f".{NAME}.envkit-journal.json"
    record = home() / "envs" / NAME / ".envkit" / "environment.json"
    record.unlink()
    (record.parent / "creating").write_text("01234567")
    content = {
        "operation": "create",
        "host": "node17",
        "pid": 7,
        "started_at": "2026-11-30T12:00:00Z",
        "token": "01234567",
    }
    journal.write_text(json.dumps(content))
    before = tree(home())

    listed = envkit("list", "--json").json["environments"]
    assert [item["state"] for item in listed] == ["incomplete"]
    assert "node17" in listed[0]["problem"]
    for words in (["create", project.spec], ["restore", project.lock], ["remove", NAME, "--yes"]):
        refused = envkit(*words)
        assert refused.code == 8
        assert "node17" in refused.err
        assert "2026-11-30T12:00:00Z" in refused.err
        assert "--break-lock" in refused.err
    assert tree(home()) == before

    done = envkit("create", project.spec, "--no-verify", "--break-lock")
    assert done.code == 0, done.err
    assert "process 7 on node17, since 2026-11-30T12:00:00Z" in done.err
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["complete"]


def test_a_journal_of_a_newer_envkit_is_left_alone(envkit, project):
    assert envkit("create", project.spec, "--no-verify").code == 0
    journal = home() / "envs" / f".{NAME}.envkit-journal.json"
    journal.write_text(json.dumps({"schema": 2, "operation": "move", "host": os.uname().nodename, "pid": 1}))
    before = tree(home())
    listed = envkit("list", "--json")
    assert listed.code == 0
    assert "schema 2" in listed.json["environments"][0]["problem"]
    for words in (["create", project.spec], ["create", project.spec, "--replace"], ["remove", NAME, "--yes"]):
        assert envkit(*words).code == 4
    assert tree(home()) == before
