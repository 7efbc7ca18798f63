"""A hook starts no process: counted by strace, against the same shell without hooks."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest


@pytest.fixture
def started(base_env, tmp_path):
    """Counts the processes that a shell makes while it runs a script."""
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace is not installed or not permitted")

    def count(shell, text, env=None):
        script, log = tmp_path / f"script.{shell.extension}", tmp_path / "strace.log"
        script.write_text(text)
        argv = [strace, "-f", "-o", log, "-e", "trace=execve,fork,vfork,clone,clone3", *shell.argv, script]
        subprocess.run(argv, env={**base_env, **(env or {})}, check=True, capture_output=True, timeout=60)
        calls = log.read_text(encoding="utf-8", errors="replace")
        return len(re.findall(r"\b(execve|fork|vfork|clone3?)\(", re.sub(r".*CLONE_THREAD.*\n", "", calls)))

    return count


@pytest.fixture
def options(make_host_compiler):
    return {"library_path": True, "host_compiler": make_host_compiler(10)}


def test_in_conda_prefixes(shell, started, options, make_prefix, make_toolkit):
    """As conda switches: its own variables are there, so that every branch of the hooks is taken."""
    prefixes = [make_prefix(name, make_toolkit(f"11.{at}"), **options) for at, name in enumerate(("A", "B"))]
    on, off = (
        [shell.source(prefix / "etc/conda" / f"{way}.d" / f"envkit-cuda.{shell.extension}") for prefix in prefixes]
        for way in ("activate", "deactivate")
    )
    conda = shell.export("CONDA_SHLVL", "1") + shell.export("CONDA_PREFIX", str(prefixes[0]))
    conda += shell.prepend(f"{prefixes[0]}/bin")
    text = f"{on[0]}{on[0]}{off[0]}{on[1]}{off[1]}{off[1]}"
    assert started(shell, conda + text) == started(shell, conda)


def test_in_virtual_environments(shell, started, options, make_venv, make_toolkit, tmp_path):
    """Their own scripts start programs of their own, so the difference to one without hooks counts."""
    managed = make_venv("uv", tmp_path / "A", make_toolkit("11.3"), **options)
    plain = make_venv("uv", tmp_path / "plain", None, attach=False)
    env = {"VIRTUAL_ENV_DISABLE_PROMPT": "1", "OSTYPE": "linux"}
    texts = (f"{shell.source(prefix / 'bin' / shell.script)}deactivate\n" for prefix in (plain, managed))
    without, with_hooks = (started(shell, text, env) for text in texts)
    assert with_hooks == without


@pytest.mark.parametrize("gone", ["toolkit", "compiler"])
def test_where_something_has_vanished(gone, shell, started, options, make_prefix, make_toolkit):
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit, **options)
    (toolkit.path if gone == "toolkit" else options["host_compiler"].folder).rename(prefix / "gone")
    on = shell.source(prefix / "etc" / "conda" / "activate.d" / f"envkit-cuda.{shell.extension}")
    # tcsh has no other way to write to stderr alone: sh and, in it, nothing more
    allowed = 2 if (shell.name, gone) == ("tcsh", "toolkit") else 0
    assert started(shell, on) - started(shell, "") == allowed
