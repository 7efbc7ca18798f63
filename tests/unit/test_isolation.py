"""The fixtures of tests/conftest.py do what they promise: shown by running pytest on small test files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def run_tests(tmp_path: Path):
    """Run a test file under a copy of the conftest; gives pytest's status and output."""

    def run(text: str, **variables: str) -> tuple[int, str]:
        folder = tmp_path / "project"
        folder.mkdir()
        shutil.copy(CONFTEST, folder)
        (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    network: here too\n")
        (folder / "test_it.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "base", folder],
            env={**os.environ, **variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # they cost more than the tests
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("os.environ['LEFT_BEHIND'] = '1'", "the test changed variables of the process: LEFT_BEHIND"),
        ("del os.environ['HOME']", "the test changed variables of the process: HOME"),
        ("os.chdir('/')", "the test left the process in /"),
    ],
    ids=["new variable", "removed variable", "other folder"],
)
def test_a_test_that_changes_the_process_fails(run_tests, change, told):
    text = (
        f"import os\n\ndef test_bad():\n    {change}\n\ndef test_next():\n    assert 'LEFT_BEHIND' not in os.environ\n"
    )
    code, out = run_tests(text)
    assert code == 1
    assert told in out
    assert "2 passed, 1 error" in out


def test_monkeypatch_is_no_change(run_tests):
    text = "def test_fine(monkeypatch, tmp_path):\n    monkeypatch.setenv('A', '1')\n    monkeypatch.chdir(tmp_path)\n"
    assert run_tests(text)[0] == 0


def test_a_test_sees_nothing_of_whoever_runs_it(run_tests):
    text = (
        "import os\n\n"
        "def test_clean(tmp_path):\n"
        "    for name in ('CUDA_HOME', 'CONDA_PREFIX', 'LD_LIBRARY_PATH', 'PIP_INDEX_URL', 'UV_INDEX_URL'):\n"
        "        assert name not in os.environ\n"
        "    for name in ('HOME', 'ENVKIT_HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'):\n"
        "        assert os.environ[name].startswith(str(tmp_path))\n"
    )
    foreign = dict.fromkeys(("CUDA_HOME", "CONDA_PREFIX", "LD_LIBRARY_PATH", "UV_INDEX_URL"), "/none")
    code, out = run_tests(text, **foreign, PIP_INDEX_URL="http://127.0.0.1:1/simple")
    assert code == 0, out


def test_network_tests_keep_the_machines_index_settings(run_tests, tmp_path):
    pip = tmp_path / "config" / "pip"
    pip.mkdir(parents=True)
    (pip / "pip.conf").write_text("[global]\nfind-links = /wheels\n")
    text = (
        "import os\nimport pathlib\nimport pytest\n\n"
        "@pytest.mark.network\n"
        "def test_kept():\n"
        "    assert os.environ['PIP_INDEX_URL'] == 'http://127.0.0.1:1/simple'\n"
        "    config = pathlib.Path(os.environ['XDG_CONFIG_HOME'])\n"
        "    assert '/wheels' in (config / 'pip' / 'pip.conf').read_text()\n"
    )
    code, out = run_tests(text, PIP_INDEX_URL="http://127.0.0.1:1/simple", XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert code == 0, out


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_reaches_children_in_a_background_job(run_tests):
    text = (
        "import signal\nimport subprocess\nimport sys\n\n"
        "def test_child():\n"
        "    code = 'import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)'\n"
        "    assert subprocess.check_output([sys.executable, '-c', code]) == b'True\\n'\n"
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code, out = run_tests(text)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 0, out


def test_envkit_runs_the_program_and_reads_its_object(envkit):
    done = envkit("list", "--json")
    assert (done.code, done.json["environments"], done.json["ok"]) == (0, [], True)
    assert envkit("no-such-command").code == 2
