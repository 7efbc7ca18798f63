"""``envkit cuda use``: one window goes to a toolkit and back, in real shells that evaluate what the command prints."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.activation import install_hooks
from envkit.activation.shells import SHELLS
from envkit.activation.user_shell import WINDOW_SHELLS, window_line
from envkit.cli.cuda_use_command import _SHELLS
from envkit.errors import UsageError
from envkit.model.progress import Silent
from envkit.operations.cuda_use import use_toolkit

VARIABLES = ("CUDA_HOME", "CUDA_PATH", "PATH")


@pytest.fixture
def toolkits(tmp_path, make_toolkit):
    """Two stubs of toolkits that envkit has been told of, in a folder with an odd name."""
    made = [make_toolkit(release, parent=tmp_path / "tools it's ünï") for release in ("11.3", "11.8")]
    folder = Path(os.environ["ENVKIT_HOME"]) / "toolkits"
    folder.mkdir(parents=True)
    lines = "".join(f"- {toolkit.path}\n" for toolkit in made)
    (folder / "added.yaml").write_text(f"schema: 1\ntoolkits:\n{lines}", encoding="utf-8")
    return made


@pytest.fixture
def window_env(tmp_path, base_env, toolkits):
    """A shell's variables, with envkit on PATH and its data in a folder with an odd name."""
    program = tmp_path / "programs" / "envkit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m envkit "$@"\n')
    program.chmod(0o755)
    home = tmp_path / "my data * it's"
    shutil.copytree(os.environ["ENVKIT_HOME"], home)
    return {**base_env, "ENVKIT_HOME": str(home), "PATH": f"{program.parent}:{base_env['PATH']}"}


def use(shell, toolkit):
    """What the help says for this shell."""
    name = shell.name
    if shell.extension == "fish":
        return f"envkit cuda use {toolkit} --shell fish | source\n"
    if shell.extension == "csh":
        return f'eval "`envkit cuda use {toolkit} --shell tcsh`"\n'
    return f'eval "$(envkit cuda use {toolkit} --shell {name})"\n'


def in_force(environment, toolkit, user):
    assert environment["CUDA_HOME"] == environment["CUDA_PATH"] == str(toolkit.path)
    assert environment["PATH"] == f"{toolkit.path}/bin:{user['PATH']}"


def without_ours(environment):
    return {name: value for name, value in environment.items() if not name.startswith("_ENVKIT")}


def test_there_and_back(shell, toolkits, window_env, tmp_path):
    user = {**window_env, "CUDA_HOME": "", "CUDA_PATH": "/opt/x y", "OSTYPE": "linux"}
    options = ("-eu",) if shell.extension == "sh" else ()
    old, new, back = (use(shell, word) for word in ("11.3", "11.8", "none"))
    if shell.name in {"dash", "zsh"}:  # the same text as for bash, without starting envkit again and again
        words = (str(toolkits[0].path), str(toolkits[1].path), "none")
        old, new, back = (
            evaluate(shell, use_toolkit(word, shell.name, Silent()), tmp_path, word[-1]) for word in words
        )
    script = f"DUMP\n{old}DUMP\nnvcc > 1\n{new}DUMP\nnvcc > 2\n{back}DUMP\n"
    done = shell.run(script, user, tmp_path / "run", options)
    assert (done.returncode, done.stdout, without_note(done.stderr)) == (0, "", "")
    before, inside, switched, after = done.dumps
    in_force(inside, toolkits[0], user)
    in_force(switched, toolkits[1], user)
    assert after == before
    assert "release 11.3" in (tmp_path / "run" / "1").read_text()
    assert "release 11.8" in (tmp_path / "run" / "2").read_text()


def without_note(stderr):
    """What is left when a machine has no gcc that these toolkits take, which is told."""
    return re.sub(r"(?m)^envkit: nvcc of CUDA .*\n", "", stderr)


def evaluate(shell, code, folder, number):
    file = folder / f"code{number}"
    file.write_bytes(code)
    word = shell.quote(str(file))
    if shell.extension == "sh":
        return f'eval "$(cat {word})"\n'
    return f"cat {word} | source\n" if shell.extension == "fish" else f'eval "`cat {word}`"\n'


def test_twice_with_an_edit_between_and_equal_entries(shell, toolkits, base_env, tmp_path):
    """The user has the same entry in PATH, changes CUDA_HOME, and both stay as he has them."""
    name = "bash" if shell.extension == "sh" else shell.name
    codes = [use_toolkit(word, name, Silent()) for word in (str(toolkits[0].path), "none")]
    on, off = (evaluate(shell, code, tmp_path, number) for number, code in enumerate(codes))
    user = {**base_env, "PATH": f"{base_env['PATH']}:{toolkits[0].path}/bin"}
    changed = shell.export("CUDA_HOME", "/mine")
    script = f"DUMP\n{off}DUMP\n{on}{on}DUMP\n{shell.prepend('/front')}{off}DUMP\n{on}{changed}{off}DUMP\n"
    done = shell.run(script, user, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, still, inside, edited, after = done.dumps
    assert still == before
    in_force(inside, toolkits[0], user)
    assert edited == {**before, "PATH": f"/front:{before['PATH']}"}
    assert after == {**edited, "CUDA_HOME": "/mine"}


def test_below_an_environment(shell, toolkits, base_env, make_prefix, start_conda, tmp_path):
    """The environment's own state is another one: leaving it gives the window's back."""
    name = "bash" if shell.extension == "sh" else shell.name
    codes = [use_toolkit(word, name, Silent()) for word in (str(toolkits[1].path), "none")]
    on, off = (evaluate(shell, code, tmp_path, number) for number, code in enumerate(codes))
    prefix = make_prefix("A", toolkits[0])
    conda = start_conda(shell)
    before = {name: conda.environment.get(name) for name in VARIABLES}
    window = conda.edit(on)
    active = conda.activate(prefix)
    assert active["CUDA_HOME"] == str(toolkits[0].path)
    below = conda.deactivate()
    assert {name: below.get(name) for name in VARIABLES} == {name: window.get(name) for name in VARIABLES}
    after = conda.edit(off)
    assert {name: after.get(name) for name in VARIABLES} == before
    assert not [name for name in after if "ENVKIT" in name]


@pytest.mark.parametrize(("slot", "asked"), [("VENV", "11.8"), ("CONDA", "none")])
def test_refused_while_the_toolkit_of_an_environment_is_in_force(slot, asked, toolkits, base_env, shell, tmp_path):
    """Nothing is on stdout then, so that nothing is evaluated; left, the way back is open again."""
    prefix = tmp_path / "env"
    install_hooks(prefix, slot=slot, toolkit=toolkits[0])
    name = "bash" if shell.extension == "sh" else shell.name
    on = evaluate(shell, use_toolkit("11.8", name, Silent()), tmp_path, 0)
    folder, file = prefix / "etc" / "conda", f"envkit-cuda.{shell.extension}"
    hooks = [folder / f"{word}.d" / file for word in ("activate", "deactivate")]
    enter, leave = (f"{'.' if shell.extension == 'sh' else 'source'} {shell.quote(str(file))}\n" for file in hooks)
    done = shell.run(f"{on}{enter}DUMP\n{leave}DUMP\n", base_env, tmp_path / "run")
    inside, left = done.dumps
    command = [sys.executable, "-m", "envkit", "cuda", "use", asked, "--shell", "bash"]
    refused = subprocess.run(command, env={**base_env, **inside}, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Leave the environment first" in refused.stderr
    assert ("envkit hooks install ENV --toolkit 11.8" in refused.stderr) is (asked == "11.8")
    assert left["CUDA_HOME"] == str(toolkits[1].path)
    allowed = subprocess.run(command, env={**base_env, **left}, capture_output=True, text=True, check=False)
    assert (allowed.returncode, without_note(allowed.stderr)) == (0, "")
    assert allowed.stdout


def test_back_where_nothing_was_switched_is_no_failure_in_an_environment(toolkits, monkeypatch):
    monkeypatch.setenv("_ENVKIT_VENV_TOOLKIT", str(toolkits[0].path))
    assert use_toolkit("none", "bash", Silent())


def test_the_way_back_searches_for_nothing():
    code = (
        "import sys; from envkit.operations.cuda_use import use_toolkit; from envkit.model.progress import Silent\n"
        "use_toolkit('none', 'bash', Silent()); print([n for n in sys.modules if 'probes' in n or n == 'yaml'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_an_interactive_shell_evaluates_comments_too(name, shell_named, toolkits, base_env, tmp_path):
    shell = shell_named(name)
    code = use_toolkit(str(toolkits[0].path), name, Silent())
    text = f'{evaluate(shell, code, tmp_path, 0)}echo "$CUDA_HOME"'
    done = subprocess.run(
        [*shell.argv, "-i", "-c", text], env=base_env, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == str(toolkits[0].path)


def test_xonsh(toolkits, window_env, tmp_path):
    pytest.importorskip("xonsh")
    show = 'print(repr([__xonsh__.env.detype().get(n) for n in ("CUDA_HOME", "CUDA_PATH", "PATH")]))\n'
    lines = [f"execx($(envkit cuda use {word} --shell xonsh))\n{show}" for word in ("11.3", "none")]
    script = tmp_path / "script.xsh"
    script.write_text(show + "".join(lines))
    user = {**window_env, "CUDA_PATH": "/opt/x y"}
    command = [sys.executable, "-m", "xonsh", "--no-rc", str(script)]
    done = subprocess.run(command, env=user, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    before, inside, after = done.stdout.splitlines()
    assert after == before
    assert inside == repr([str(toolkits[0].path)] * 2 + [f"{toolkits[0].path}/bin:{user['PATH']}"])


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", r"\. '(.*)'\n"),
        ("fish", r"source '(.*)'\n"),
        ("cmd", r'call "(.*)"\r\n'),
        ("powershell", r"\. '(.*)'\n"),
        ("tcsh", r"source (.*)\n"),
    ],
)
def test_what_is_printed_is_one_line_that_runs_a_file(shell, line, toolkits):
    printed = [use_toolkit(word, shell, Silent()).decode() for word in ("11.3", "11.3", "none")]
    assert printed[0] == printed[1] != printed[2]
    extension = {"bash": "sh", "cmd": "bat", "fish": "fish", "powershell": "ps1", "tcsh": "csh"}[shell]
    (row,) = (row for row in SHELLS if row.extension == extension)
    for text, toolkit in ((printed[0], toolkits[0]), (printed[2], None)):
        file = Path(re.fullmatch(line, text)[1])
        assert file.parent == Path(os.environ["ENVKIT_HOME"]) / "cache" / "window"
        content = file.read_bytes()
        assert b"_ENVKIT_WINDOW_TOOLKIT" in content
        assert b"@SLOT@" not in content
        assert toolkit is None or row.quote(str(toolkit.path)).encode() in content


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bash", "eval $({})"),
        ("dash", "eval $({})"),
        ("zsh", "eval $({})"),
        ("fish", "eval ({})"),
        ("tcsh", "eval `{}`"),
    ],
)
def test_without_quotes_it_does_the_same(name, text, shell_named, toolkits, base_env, tmp_path, monkeypatch):
    monkeypatch.setenv("ENVKIT_HOME", str(tmp_path / "my data it's"))
    shell, lines = shell_named(name), []
    for number, word in enumerate((str(toolkits[0].path), "none")):
        (tmp_path / f"code{number}").write_bytes(use_toolkit(word, name, Silent()))
        lines.append(text.format(f"cat {shell.quote(str(tmp_path / f'code{number}'))}") + "\nDUMP\n")
    done = shell.run(f"DUMP\n{''.join(lines)}", base_env, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, inside, after = done.dumps
    in_force(inside, toolkits[0], base_env)
    assert after == before


def test_files_of_other_windows_stay_and_there_are_never_many(toolkits):
    folder = Path(os.environ["ENVKIT_HOME"]) / "cache" / "window"
    folder.mkdir(parents=True)
    for number in range(60):
        (folder / f"use-{number}.sh").touch()
        os.utime(folder / f"use-{number}.sh", (number, number))
    one, two = (use_toolkit(str(item.path), "bash", Silent()) for item in toolkits)
    names = {path.name for path in folder.iterdir()}
    assert len(names) == 50
    assert {Path(line.decode()[3:-2]).name for line in (one, two)} | {"use-59.sh"} < names


def test_a_data_folder_that_cannot_be_written(envkit_process, toolkits):
    (Path(os.environ["ENVKIT_HOME"]) / "cache").write_text("in the way")
    done = envkit_process("cuda", "use", toolkits[0].path, "--shell", "bash")
    assert (done.returncode, done.stdout) == (12, "")
    assert "ENVKIT_HOME" in done.stderr


def test_on_a_terminal_it_says_that_nothing_is_switched(toolkits):
    class _Notes(Silent):
        text = ""

        def note(self, text):
            self.text += text

    notes = _Notes()
    use_toolkit("none", None, notes, is_shown=True)  # the tests' SHELL is sh
    assert notes.text == 'Nothing is switched yet. Type: eval "$(envkit cuda use none --shell sh)"'
    assert window_line("/my kits/11.3", "fish") == "envkit cuda use '/my kits/11.3' --shell fish | source"


def test_the_terminal_is_seen(toolkits):
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "envkit", "cuda", "use", "none"]
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=60, check=True)
    os.close(terminal)
    os.close(main)
    assert done.stderr.startswith("envkit: Nothing is switched yet.")


@pytest.mark.parametrize(("value", "line"), [("/bin/zsh", b". '"), ("/usr/bin/tcsh", b"source "), ("/opt/nu", None)])
def test_without_the_option_it_is_the_user_s_shell(monkeypatch, value, line):
    monkeypatch.setenv("SHELL", value)
    if line is not None:
        assert use_toolkit("none", None, Silent()).startswith(line)
        return
    with pytest.raises(UsageError, match="Which shell") as caught:
        use_toolkit("none", None, Silent())
    assert 'eval "$(envkit cuda use none --shell bash)"' in caught.value.hint


def test_a_toolkit_that_is_not_there_changes_nothing(shell_named, window_env, tmp_path):
    bash = shell_named("bash")
    script = f'DUMP\n{use(bash, "9.9")}DUMP\nenvkit cuda use 9.9 --shell bash >out || echo "$?"\n'
    done = bash.run(script, window_env, tmp_path / "run")
    assert done.dumps[0] == done.dumps[1]
    assert done.stdout == "9\n"
    assert "There is no CUDA toolkit 9.9" in done.stderr
    assert (tmp_path / "run" / "out").read_bytes() == b""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Missing argument 'V|DIR|none'"),
        (["11.3", "--shell", "rc"], "'rc' is not one of"),
        (["--shell", "bash"], "Missing argument 'V|DIR|none'"),
        (["9.9", "--shell", "bash", "--json"], "No such option"),
    ],
)
def test_wrong_usage(envkit_process, arguments, told):
    done = envkit_process("cuda", "use", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr


@pytest.fixture
def envkit_process():
    def _run(*arguments):
        command = [sys.executable, "-m", "envkit", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    return _run


def test_every_shell_of_the_option_is_known():
    assert set(_SHELLS) == set(WINDOW_SHELLS)


def test_hooks_of_environments_know_nothing_of_the_window(tmp_path, toolkits):
    for file in install_hooks(tmp_path / "env", slot="CONDA", toolkit=toolkits[0]):
        assert b"_ENVKIT_WINDOW_" not in file.read_bytes()
