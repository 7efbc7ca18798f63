"""Activation of environments that envkit made: the toolkit is switched to, and everything is put back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NAME = "torch112_cu113_py39"
REAL = next((path for path in sorted(Path("/usr/local").glob("cuda-*")) if (path / "bin" / "nvcc").is_file()), None)
SHELLS = ("bash", "dash", "zsh", "fish")


def _toolkit(folder: Path, version: str) -> Path:
    """A folder that looks like a toolkit; its nvcc is a script."""
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "version.json").write_text(f'{{"cuda": {{"version": "{version}"}}}}')
    nvcc = folder / "bin" / "nvcc"
    nvcc.write_text(f"#!/bin/sh\necho release {version}\n")
    nvcc.chmod(0o755)
    return folder


def _in_shell(shell: str, script: str, variables: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": os.environ["HOME"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [program, "-c", script],
        capture_output=True,
        text=True,
        env=environment | (variables or {}),
        cwd=cwd or Path.home(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" or "vanish" in script
    return done.stdout


def _activate(shell: str, prefix: str) -> str:
    return f'source "{prefix}/bin/activate.fish"' if shell == "fish" else f'. "{prefix}/bin/activate"'


SHOW = 'printf "%s\\n" "$CUDA_HOME" "$CUDA_PATH" "$PATH"'
SHOW_FISH = 'printf "%s\\n" "$CUDA_HOME" "$CUDA_PATH"; string join : $PATH'
STATES = {
    "unset": {},
    "empty": {"CUDA_HOME": "", "CUDA_PATH": ""},
    "set": {"CUDA_HOME": "/opt/my cuda", "CUDA_PATH": "/x"},
    "CUDA_HOME alone": {"CUDA_HOME": "/opt/my cuda"},
    "CUDA_PATH alone": {"CUDA_PATH": "/opt/my cuda"},
    "the toolkit itself": {"CUDA_HOME": "TOOLKIT", "CUDA_PATH": "TOOLKIT"},
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("shell", SHELLS)
def test_activate_switches_and_deactivate_puts_back(envkit, project, tmp_path, shell, state):
    """EK-C03 in a virtual environment; tests/shells has it, and EK-C01 to C08, for conda's order too."""
    toolkit = _toolkit(tmp_path / "kits" / "cuda-11.3", "11.3.1")
    done = envkit("create", project.spec, "--no-verify", "--toolkit", toolkit, "--json")
    assert done.code == 0, done.err
    prefix = done.json["environment"]["prefix"]
    show = SHOW_FISH if shell == "fish" else SHOW
    variables = {name: str(toolkit) if value == "TOOLKIT" else value for name, value in STATES[state].items()}

    inside = _in_shell(shell, f"{_activate(shell, prefix)}; {show}; nvcc", variables).splitlines()
    assert inside[:2] == [str(toolkit)] * 2
    assert inside[2].startswith(f"{toolkit}/bin:{prefix}/bin:")
    assert inside[2].split(":").count(f"{toolkit}/bin") == 1
    assert inside[3] == "release 11.3.1"
    around = f"env | sort; echo ---; {_activate(shell, prefix)}; deactivate; env | sort"
    before, after = (
        [line for line in part.splitlines() if not line.startswith(("_=", "SHLVL=", "OLDPWD=", "PWD=", "PS1="))]
        for part in _in_shell(shell, around, variables).split("---\n")
    )
    assert after == before


@pytest.mark.skipif(REAL is None, reason="no real CUDA toolkit under /usr/local")
@pytest.mark.parametrize("shell", SHELLS)
def test_the_real_toolkit_compiles_in_an_activated_environment(envkit, project, tmp_path, shell):
    release = REAL.name.removeprefix("cuda-")
    done = envkit("create", project.spec, "--no-verify", "--toolkit", release, "--json")
    assert done.code == 0, done.err
    assert done.json["environment"]["toolkit"]["release"] == release
    (tmp_path / "add.cu").write_text(
        "__global__ void add(float *a) { a[threadIdx.x] += 1; }\nint main() { return 0; }\n"
    )
    script = f"{_activate(shell, done.json['environment']['prefix'])}; nvcc -V; nvcc -c add.cu -o {shell}.o"
    out = _in_shell(shell, script, cwd=tmp_path)

    assert f"release {release}" in out
    assert (tmp_path / f"{shell}.o").stat().st_size > 0


def test_a_spec_whose_toolkit_is_not_here_makes_no_hooks_and_no_noise(envkit, project):
    project.write_lock(spec_sha256=None, toolkit="11.3")
    done = envkit("create", project.lock, "--no-verify", "--json")
    assert done.code == 0
    assert done.json["environment"]["toolkit"] is None
    out = _in_shell("bash", f'{_activate("bash", done.json["environment"]["prefix"])}; echo "[${{CUDA_HOME-unset}}]"')
    assert out == "[unset]\n"
    assert envkit("hooks", "show", NAME, "--json").json["hooks"] == []


def test_hooks_commands(envkit, project, tmp_path):
    old = _toolkit(tmp_path / "old", "11.3.1")
    envkit("create", project.spec, "--no-verify", "--toolkit", old)
    shown = envkit("hooks", "show", NAME, "--json").json
    assert {item["state"] for item in shown["hooks"]} == {"current"}
    assert {item["toolkit"] for item in shown["hooks"]} == {str(old)}
    file = Path(shown["hooks"][0]["file"])
    assert file.parent == Path(shown["environment"]["prefix"], "etc", "conda", "activate.d")

    shutil.rmtree(old)
    prefix = shown["environment"]["prefix"]
    vanished = subprocess.run(
        ["bash", "-c", f'. "{prefix}/bin/activate"; echo "${{CUDA_HOME-unset}}"'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert vanished.stdout == "unset\n"
    assert vanished.stderr.count("\n") == 1
    assert str(old) in vanished.stderr
    assert "envkit hooks install" in vanished.stderr
    doctor = envkit("doctor", NAME, "--json")  # EK-C07
    assert (doctor.code, [item["id"] for item in doctor.json["findings"]][:1]) == (6, ["toolkit-gone"])
    new = _toolkit(tmp_path / "new", "11.3.0")
    moved = envkit("hooks", "install", prefix, "--toolkit", new, "--json")
    assert moved.code == 0, moved.err
    assert moved.json["environment"]["toolkit"]["path"] == str(new)
    assert envkit("info", NAME, "--json").json["environment"]["toolkit"]["path"] == str(new)
    assert _in_shell("bash", f'{_activate("bash", prefix)}; echo "$CUDA_HOME"').strip() == str(new)

    file.write_text(file.read_text() + "# changed\n")
    states = [item["state"] for item in envkit("hooks", "show", NAME, "--json").json["hooks"]]
    assert sorted(set(states)) == ["current", "stale"]
    file.unlink()
    assert "missing" in envkit("hooks", "show", NAME).out
    assert envkit("hooks", "install", NAME, "--toolkit", "99.9", "--json").code == 9
    again = envkit("hooks", "install", NAME, "--json")  # the toolkit that it had
    assert {item["state"] for item in again.json["hooks"]} == {"current"}
    assert again.json["environment"]["toolkit"]["path"] == str(new)
    gone = envkit("hooks", "remove", NAME, "--json")
    assert gone.json["hooks"] == []
    assert gone.json["environment"]["toolkit"] is None
    assert "switches no toolkit" in envkit("hooks", "show", NAME).out
    assert envkit("hooks", "install", NAME, "--json").code == 9  # it has none now, and its lock says: none
    assert envkit("hooks", "show", "nope").code == 9


def test_already_there_minds_another_toolkit(envkit, project, tmp_path):
    one, two = _toolkit(tmp_path / "one", "11.3.1"), _toolkit(tmp_path / "two", "11.3.1")
    envkit("create", project.spec, "--no-verify", "--toolkit", one)

    assert envkit("create", project.spec, "--toolkit", one, "--json").json["created"] is False
    assert envkit("create", project.spec, "--json").json["created"] is False
    other = envkit("create", project.spec, "--toolkit", two, "--json")
    assert other.code == 11
    assert "toolkit" in other.json["error"]["message"]


@pytest.mark.parametrize("name", ["my tools", "it's", "a$HOME", "$(touch pwned)", "back`tick", "ünï", "中文"])
def test_a_toolkit_with_an_odd_name(envkit, project, tmp_path, name):
    """EK-C08: CUDA_HOME is the folder's real name, character by character, and nothing in it is executed."""
    toolkit = _toolkit(tmp_path / name / "cuda-11.3", "11.3.1")
    prefix = tmp_path / "envs" / name
    done = envkit("create", project.spec, "--no-verify", "--toolkit", toolkit, "--prefix", prefix, "--json")
    assert done.code == 0, done.err
    by_pip = envkit("create", project.spec, "--no-verify", "--engine", "pip", "--prefix", tmp_path / "pip" / name)
    assert by_pip.code == 0, by_pip.err
    for shell in SHELLS:
        if shutil.which(shell) is None:
            continue
        script = "activate.fish" if shell == "fish" else "activate"
        ran = subprocess.run(
            [shell, "-c", f'{"source" if shell == "fish" else "."} "$SCRIPT"; printf %s "$CUDA_HOME"'],
            capture_output=True,
            text=True,
            env={**os.environ, "SCRIPT": str(prefix / "bin" / script)},
            cwd=tmp_path,
            check=False,
        )
        assert ran.stdout == str(toolkit), (shell, ran.stderr)
    assert list(tmp_path.rglob("pwned")) == []


@pytest.mark.parametrize(("name", "word"), [("a:b", "PATH separator"), ("a\nb", "line break")])
def test_a_name_that_cannot_stand_in_path_is_refused(envkit, project, tmp_path, name, word):
    """EK-C08: the toolkit's, and the environment's."""
    toolkit = _toolkit(tmp_path / name, "11.3.1")
    for words in (("--toolkit", toolkit), ("--prefix", tmp_path / name / "env")):
        done = envkit("create", project.spec, *words, "--json")
        assert done.code == 2
        assert word in done.json["error"]["message"]
        assert "Traceback" not in done.err
    assert envkit("list", "--json").json["environments"] == []
