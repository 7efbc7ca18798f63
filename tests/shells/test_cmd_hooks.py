"""The batch files, read as cmd reads them (tests/support/cmd.py): they were never run by cmd.exe itself."""

from __future__ import annotations

import ntpath
import random
import re
import subprocess
import sys
from importlib.resources import files as package_files

import pytest

from envkit.activation import attach_hooks, detach_hooks
from envkit.activation.quoting import quote_bat
from envkit.activation.render import render
from envkit.resources import hooks_dir
from tests.support.cmd import Cmd

CUDA = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA"
OLD, NEW = rf"{CUDA}\v11.3", rf"{CUDA}\v11.8"
USER_PATH = [r"C:\Windows\system32", r"C:\Windows", rf"{NEW}\bin", rf"{NEW}\libnvvp", r"C:\Program Files (x86)\Tool"]
ODD = [
    r'"C:\in; quotes & more"',
    r"C:\R&D",
    "C:\\wow!",
    "C:\\100%PATH%",
    "C:\\up^down",
    "C:\\ünï",
    "C:\\a=b",
    "C:\\(x86",
]
WAYS = ("activate", "deactivate")
NUMBERS_AND_FLAGS = ("at", "n", "size", "cut", "end", "home", "path", "same", "marks", "page")
BATCH = sorted(path for concern in ("cuda", "guard", "venv") for path in hooks_dir(concern).glob("*.bat"))


def batch(concern, way, slot, **values):
    """A hook as it is on Windows, where the PATH separator is another one."""
    values = {"INSIDE": "", **values}
    words = {name: value if isinstance(value, tuple) else (value,) for name, value in values.items()}
    text = (hooks_dir(concern) / f"{way}.bat").read_bytes()
    return render(text, identifiers={"SLOT": slot}, values=words, quote=quote_bat)


def hooks(prefix, toolkit, slot="CONDA", *, candidates=None, inside=""):
    values = {"TOOLKIT": toolkit, "WINDOWS_CANDIDATES": candidates or (toolkit,), "INSIDE": inside}
    return {rf"{prefix}\etc\conda\{way}.d\envkit-cuda.bat": batch("cuda", way, slot, **values) for way in WAYS}


def toolkit_files(*toolkits):
    return {rf"{toolkit}\bin\nvcc.exe": b"" for toolkit in toolkits}


def run(window, prefix, way, name="envkit-cuda"):
    window.status = 9
    window.run(rf"{prefix}\etc\conda\{way}.d\{name}.bat")
    assert window.status == 0
    assert window.stdout == ""
    assert not [name for name in window.variables if name.startswith("_ENVKIT_") and name[8:].islower()]


@pytest.mark.parametrize("file", BATCH, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_text_of_batch_files(file):
    """EK-C26 and, for the status at the end, EK-C09."""
    text = file.read_bytes()
    assert text.isascii()
    lines = text.decode().replace("\r\n", "\n").splitlines()
    if file.parent.name in {"cuda", "guard"}:
        assert text.count(b"\r\n") == text.count(b"\n"), "cmd finds labels by its own line ends"
        assert lines[-1] == "@exit /b 0"
    for line in lines:
        assert not line or line.startswith(("@", ":")), "it would be shown"
        if line.startswith("@rem "):
            continue
        for words in re.findall(r"\bset (?!/a )(.{2})", line):
            assert words[0] == '"', f"quotes belong around the assignment: {line}"
        # our own flags and numbers, never what a user can have put into a variable
        expanded = {word for word in re.findall(r"%(\w+)(?::[^%]*)?%", line.replace("%%", "")) if word != "SystemRoot"}
        if file.parent.name == "venv":
            assert expanded <= {"VIRTUAL_ENV"}
            assert line.find("((") == -1 or "%VIRTUAL_ENV%" not in line[line.find("((") :]
        else:
            assert expanded <= {f"_envkit_{word}" for word in NUMBERS_AND_FLAGS}
        assert not line.startswith("@setlocal") or line == "@setlocal EnableDelayedExpansion"
        assert not line.rstrip().endswith("("), "no block"


@pytest.mark.parametrize("concern", ["cuda", "guard"])
def test_undo_is_the_same_in_both_directions(concern):
    texts = [(hooks_dir(concern) / f"{way}.bat").read_bytes().decode() for way in WAYS]
    one, two = (text[text.index("@rem Undo (") : text.index("@rem End of undo.")] for text in texts)
    assert one == two
    assert one.count("\n") > 35


@pytest.mark.parametrize("text", ["C:\\a b", "100%PATH%", "!x!", "^a&b|c", "(x86)", "it's", "a;b,c=d", "ünï 中文"])
def test_batch_text_is_one_word(text):
    lines = f'@set "V="\r\n@for %%V in ({quote_bat(text)}) do @set "V=%%~V"\r\n@set W={quote_bat(text)}\r\n'
    window = Cmd({"PATH": "never"}, {r"C:\t.bat": lines.encode()}, page="utf-8")
    window.run(r"C:\t.bat")
    assert window.variables["V"] == text
    assert window.variables["W"] == f'"{text}"'


def test_batch_text_has_a_bar_for_a_double_quote():
    assert quote_bat('a"b & c') == '"a|b & c"'


def test_a_difficult_path():
    """EK-C26."""
    own = [r"C:\env", r"C:\env\Library\bin", r"C:\env\Scripts"]
    path = ";".join([*own, *ODD, *(rf"C:\filler\{number:03}" for number in range(485))])
    assert 6900 < len(path) < 7100
    files = {**hooks(r"C:\env", OLD), **toolkit_files(OLD)}
    user = {"PATH": path, "CONDA_PREFIX": r"C:\env", "CUDA_PATH": NEW, "CUDA_PATH_V11_3": OLD, "CUDA_PATH_V11_8": NEW}
    window = Cmd(user, files)
    run(window, r"C:\env", "activate")
    once = dict(window.variables)
    assert once["CUDA_HOME"] == once["CUDA_PATH"] == once["_ENVKIT_CONDA_TOOLKIT"] == OLD
    assert once["PATH"] == path.replace(r"C:\env;", rf"C:\env;{OLD}\bin;{OLD}\libnvvp;", 1)
    run(window, r"C:\env", "activate")
    assert window.variables == once
    run(window, r"C:\env", "deactivate")
    assert window.variables == user
    assert not window.delayed
    assert (window.stderr, window.programs) == ("", [])


VALUES = [
    None,
    r"C:\x y",
    r'"C:\Program Files\x & y"',
    '"',
    'a" & evil & "b',
    "%PATH%",
    "!PATH!",
    "^&|<>()",
    ";x",
    " x ",
]


@pytest.mark.parametrize("value", VALUES)
def test_whatever_the_user_has_comes_back(value):
    user = {"PATH": ";".join(["C:\\env", *ODD, *USER_PATH]), "CONDA_PREFIX": "C:\\env"}
    user |= {} if value is None else {"CUDA_HOME": value, "CUDA_PATH": value + "x"}
    window = Cmd(user, {**hooks(r"C:\env", OLD), **toolkit_files(OLD)})
    run(window, r"C:\env", "activate")
    assert window.variables["CUDA_HOME"] == OLD
    run(window, r"C:\env", "deactivate")
    assert window.variables == user


def test_a_value_that_was_set_meanwhile_stays():
    window = Cmd(
        {"PATH": r"C:\env", "CONDA_PREFIX": r"C:\env", "CUDA_PATH": NEW},
        {**hooks(r"C:\env", OLD), **toolkit_files(OLD)},
    )
    run(window, r"C:\env", "activate")
    window.variables["CUDA_HOME"] = "mine"
    run(window, r"C:\env", "deactivate")
    assert window.variables == {"PATH": r"C:\env", "CONDA_PREFIX": r"C:\env", "CUDA_PATH": NEW, "CUDA_HOME": "mine"}


def test_a_deactivation_alone_changes_nothing():
    user = {"PATH": rf"C:\env;{OLD}\bin;{OLD}\libnvvp", "CONDA_PREFIX": r"C:\env", "CUDA_HOME": OLD}
    window = Cmd(user, hooks(r"C:\env", OLD))
    run(window, r"C:\env", "deactivate")
    assert window.variables == user


@pytest.mark.parametrize("slot", ["CONDA", "VENV"])
def test_a_vanished_toolkit_is_told_in_one_line(slot):
    user = {"PATH": r"C:\env", "CONDA_PREFIX": r"C:\env", "VIRTUAL_ENV": r"C:\env", "CUDA_HOME": "mine"}
    window = Cmd(user, hooks(r"C:\env", r"C:\100% gone & more", slot))
    run(window, r"C:\env", "activate")
    assert window.variables == user
    (line,) = window.stderr.splitlines()
    assert r"C:\100% gone & more" in line
    variable = {"CONDA": "CONDA_PREFIX", "VENV": "VIRTUAL_ENV"}[slot]
    assert line.endswith(f'Repair: envkit hooks install "%{variable}%" --toolkit DIR')


def test_the_usual_folder_is_the_second_choice():
    files = {**hooks(r"C:\env", r"D:\gone", candidates=(r"D:\gone", OLD)), **toolkit_files(OLD)}
    window = Cmd({"PATH": r"C:\env", "CONDA_PREFIX": r"C:\env"}, files)
    run(window, r"C:\env", "activate")
    assert window.variables["CUDA_HOME"] == OLD


@pytest.mark.parametrize("name", [r"C:\Jürgen\v11.3", r"C:\中文\v11.3"])
def test_a_name_beyond_ascii_is_read_in_its_encoding(name):
    files = {**hooks(r"C:\env", name), **toolkit_files(name)}
    user = {"PATH": r"C:\env", "CONDA_PREFIX": r"C:\env", "SYSTEMROOT": r"C:\Windows"}
    window = Cmd(user, files)
    run(window, r"C:\env", "activate")
    assert window.variables["CUDA_HOME"] == name
    assert window.page == "cp437"
    assert len(window.programs) == 3
    run(window, r"C:\env", "deactivate")
    assert window.variables == user


@pytest.mark.parametrize(
    "name", [r"C:\wow!\x!y!", r"C:\up^down", r"C:\R&D", r"C:\100%PATH%", r"C:\a=b;c", r"C:\it's (x86)"]
)
def test_odd_names_of_toolkit_and_prefix(name):
    toolkit, prefix = rf"{name}\cuda", rf"{name}\env"
    user = {"PATH": rf"{prefix};C:\Windows".replace("b;c", "b"), "CONDA_PREFIX": prefix.replace("b;c", "b")}
    prefix, toolkit = prefix.replace("b;c", "b"), toolkit.replace("b;c", "b")
    window = Cmd(user, {**hooks(prefix, toolkit), **toolkit_files(toolkit)})
    run(window, prefix, "activate")
    assert window.variables["CUDA_HOME"] == window.variables["CUDA_PATH"] == toolkit
    assert window.variables["PATH"] == rf"{prefix};{toolkit}\bin;{toolkit}\libnvvp;C:\Windows"
    run(window, prefix, "deactivate")
    assert window.variables == user


def test_a_window_with_delayed_expansion_keeps_it():
    user = {"PATH": r"C:\env;C:\R&D", "CONDA_PREFIX": r"C:\env", "CUDA_PATH": r'"C:\a & b"'}
    window = Cmd(user, {**hooks(r"C:\env", OLD), **toolkit_files(OLD)}, delayed=True)
    run(window, r"C:\env", "activate")
    run(window, r"C:\env", "deactivate")
    assert window.delayed
    assert window.variables == user


def test_a_prefix_that_is_its_own_toolkit():
    user = {"PATH": r"D:\moved;D:\moved\Library\bin", "CONDA_PREFIX": r"D:\moved"}
    files = {**hooks(r"D:\moved", r"C:\env\Library", inside="yes"), r"D:\moved\Library\bin\nvcc.exe": b""}
    window = Cmd(user, files)
    run(window, r"D:\moved", "activate")
    assert window.variables["CUDA_HOME"] == window.variables["CUDA_PATH"] == r"D:\moved\Library"
    assert window.variables["PATH"] == user["PATH"]
    run(window, r"D:\moved", "deactivate")
    assert window.variables == user


def test_conda_pack_takes_single_entries_out():
    """Its deactivate.bat runs the hooks while PATH still has the prefix, then takes out that alone."""
    user = {"PATH": r"C:\env;C:\env\Scripts;C:\Windows", "CONDA_PREFIX": r"C:\env"}
    window = Cmd(user, {**hooks(r"C:\env", OLD), **toolkit_files(OLD)})
    run(window, r"C:\env", "activate")
    run(window, r"C:\env", "deactivate")
    assert window.variables["PATH"] == user["PATH"]


@pytest.mark.parametrize("before", [[], [rf"{OLD}\bin", rf"{OLD}\libnvvp"]], ids=["new", "the user has it too"])
def test_one_window_goes_there_and_back(before):
    """What ``envkit cuda use`` writes for cmd: there is no prefix, so ours stands in front, and what is equal stays."""
    files = {**hooks(r"C:\a", OLD, "WINDOW"), **hooks(r"C:\b", NEW, "WINDOW"), **toolkit_files(OLD, NEW)}
    user = {"PATH": ";".join([*ODD, *before, r"C:\Windows"]), "CUDA_PATH": NEW}
    window = Cmd(user, files)
    for _ in range(2):
        run(window, r"C:\a", "activate")
        assert window.variables["PATH"] == rf"{OLD}\bin;{OLD}\libnvvp;{user['PATH']}"
    run(window, r"C:\b", "activate")
    assert window.variables["PATH"] == rf"{NEW}\bin;{NEW}\libnvvp;{user['PATH']}"
    run(window, r"C:\b", "deactivate")
    assert window.variables == user
    run(window, r"C:\b", "deactivate")
    assert window.variables == user


def test_an_entry_that_is_gone_already_is_not_taken_from_the_user():
    """A virtual environment's deactivate puts the whole PATH back; the equal entries of the installer are not ours."""
    user = {"PATH": rf"C:\Windows;{OLD}\bin;{OLD}\libnvvp"}
    window = Cmd(user, {**hooks(r"C:\a", OLD, "WINDOW"), **toolkit_files(OLD)})
    run(window, r"C:\a", "activate")
    window.variables["PATH"] = user["PATH"]
    run(window, r"C:\a", "deactivate")
    assert window.variables == user


def guard(prefix, slot, entry="file:///C:/my%20env/constraints.txt", site="yes"):
    values = {"ENTRY": entry, "USER_SITE_OFF": site, "FILE": "unused"}
    made = {rf"{prefix}\etc\conda\{way}.d\envkit-guard.bat": batch("guard", way, slot, **values) for way in WAYS}
    return made | {rf"{prefix}\.envkit\constraints.txt": b""}


@pytest.mark.parametrize("value", [None, "C:\\mine.txt", 'a "b & c" d', "!x! %PATH% ^"])
def test_the_guard_there_and_back(value):
    user = {} if value is None else {"UV_CONSTRAINT": value, "PYTHONNOUSERSITE": value}
    window = Cmd(user, guard(r"C:\my env", "CONDA"))
    for _ in range(2):
        run(window, r"C:\my env", "activate", "envkit-guard")
        words = [value] if value else []
        assert window.variables["UV_CONSTRAINT"] == " ".join([*words, "file:///C:/my%20env/constraints.txt"])
        assert window.variables["PYTHONNOUSERSITE"] == "1"
    run(window, r"C:\my env", "deactivate", "envkit-guard")
    assert window.variables == user


@pytest.mark.parametrize(
    ("changed", "left"),
    [("OURS", None), ("a OURS", "a"), ("OURS b", "b"), ("a OURS b", "a b"), ("mine", "mine"), ("OURS OURS", "OURS")],
)
def test_only_the_word_of_the_guard_goes(changed, left):
    window = Cmd({"UV_CONSTRAINT": "x"}, guard(r"C:\e", "VENV", entry="OURS", site=""))
    run(window, r"C:\e", "activate", "envkit-guard")
    window.variables["UV_CONSTRAINT"] = changed
    run(window, r"C:\e", "deactivate", "envkit-guard")
    assert window.variables == ({} if left is None else {"UV_CONSTRAINT": left})


def test_a_guard_without_its_file_or_without_constraints_does_nothing():
    files = guard(r"C:\e", "VENV", site="")
    del files[r"C:\e\.envkit\constraints.txt"]
    window = Cmd({}, {**files, **guard(r"C:\f", "VENV", entry="", site="")})
    for prefix in (r"C:\e", r"C:\f"):
        run(window, prefix, "activate", "envkit-guard")
        assert window.variables == {}


class CondaOnWindows:
    """conda's own path functions and order of events on Windows (conda/activate.py at commit 0f64223f)."""

    def __init__(self, window):
        self.window, self.chain = window, []
        self.plain = window.variables["PATH"].split(";")  # PATH as it would be without hooks

    def folders(self, prefix):
        return [prefix, *(ntpath.join(prefix, *part) for part in (
            ("Library", "mingw-w64", "bin"), ("Library", "usr", "bin"), ("Library", "bin"), ("Scripts",), ("bin",),
        ))]  # fmt: skip

    def replaced(self, path, old, new):
        path, at = list(path), 0
        if old is not None and old in path:
            at = path.index(old)
            last = next(path.index(folder) for folder in reversed(self.folders(old)) if folder in path)
            del path[at : last + 1]
        path[at:at] = self.folders(new) if new else []
        return path

    def export(self, change):
        self.plain = change(self.plain)
        self.window.variables["PATH"] = ";".join(change(self.window.variables["PATH"].split(";")))

    def edit(self, entry, *, in_front):
        self.export(lambda path: [entry, *path] if in_front else [*path, entry])

    def scripts(self, prefix, way):
        if rf"{prefix}\etc\conda\{way}.d\envkit-cuda.bat".lower() in self.window.files:
            run(self.window, prefix, way)

    def activate(self, prefix, *, stack=False):
        if self.chain and not stack:
            old = self.chain[-1][0]
            path = self.replaced(self.window.variables["PATH"].split(";"), old, prefix)
            self.plain = self.replaced(self.plain, old, prefix)
            self.scripts(old, "deactivate")
            self.window.variables["PATH"] = ";".join(path)
            if old != prefix:
                self.chain.append((prefix, False))
        else:
            self.export(lambda path: self.folders(prefix) + path)
            self.chain.append((prefix, stack and bool(self.chain)))
        self.window.variables |= {"CONDA_PREFIX": prefix, "CONDA_SHLVL": str(len(self.chain))}
        self.scripts(prefix, "activate")

    def deactivate(self):
        old, stacked = self.chain.pop()
        below = self.chain[-1][0] if self.chain else None
        self.export(lambda path: self.replaced(path, old, None if stacked else below))
        self.scripts(old, "deactivate")
        if below is None:
            self.window.variables.pop("CONDA_PREFIX")
            self.window.variables["CONDA_SHLVL"] = "0"
        else:
            self.window.variables |= {"CONDA_PREFIX": below, "CONDA_SHLVL": str(len(self.chain))}
            self.scripts(below, "activate")


MANAGED = {r"C:\envs\a": OLD, r"C:\envs\b": NEW, r"C:\envs\c d": r"D:\R&D\cuda! 12%"}
PLAIN = [r"C:\envs\plain", r"C:\envs\other"]
FILES = {name: text for prefix, toolkit in MANAGED.items() for name, text in hooks(prefix, toolkit).items()}
FILES |= toolkit_files(*MANAGED.values())


def holds(conda, user):
    """The contract's invariants, after any event."""
    window = conda.window
    active = conda.chain[-1][0] if conda.chain else None
    below = [prefix for prefix, _ in conda.chain]
    path = window.variables["PATH"].split(";")
    expected = list(conda.plain)
    for prefix in dict.fromkeys(below):  # also of those that are stacked over
        if prefix in MANAGED and prefix in expected:
            at = expected.index(prefix) + 1
            expected[at:at] = [rf"{MANAGED[prefix]}\bin", rf"{MANAGED[prefix]}\libnvvp"]
    assert path == expected
    state = {name: window.variables.get(name) for name in ("CUDA_HOME", "CUDA_PATH")}
    if active in MANAGED:
        assert set(state.values()) == {MANAGED[active]}
    elif active is None or not any(prefix in MANAGED for prefix in below):
        assert state == user
        assert not [name for name in window.variables if "ENVKIT" in name]
    assert not window.delayed


def sequence(seed, files=FILES):
    rng = random.Random(seed)  # noqa: S311
    user = {name: rng.choice([None, r'"C:\x & y"', OLD, "!z! ^"]) for name in ("CUDA_HOME", "CUDA_PATH")}
    path = rng.sample([*ODD, *USER_PATH, rf"{OLD}\bin", rf"{OLD}\libnvvp"], 7)
    window = Cmd({"PATH": ";".join(path), **{name: value for name, value in user.items() if value}}, files)
    conda = CondaOnWindows(window)
    for _ in range(7):
        event = rng.choice(["activate", "activate", "stack", "again", "deactivate", "edit"])
        if event in {"activate", "stack"}:
            # an unmanaged environment is stacked only on the last one: what then follows is a limit of the contract
            names = [*MANAGED] if event == "stack" else [*MANAGED, *PLAIN]
            names = [name for name in names if name not in [prefix for prefix, _ in conda.chain]]
            if names:
                conda.activate(rng.choice(names), stack=event == "stack")
        elif event == "again" and conda.chain:
            conda.activate(conda.chain[-1][0])
        elif event == "deactivate" and conda.chain:
            conda.deactivate()
        elif event == "edit":
            conda.edit(rf"C:\mine\{rng.randrange(99)}", in_front=rng.random() < 0.5)
        holds(conda, user)
    while conda.chain:
        conda.deactivate()
        holds(conda, user)


def sequences(seeds, files=FILES):
    for seed in seeds:
        sequence(seed, files)


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_random_sequences_of_conda(start):
    sequences(range(start, start + 50))


BROKEN = {
    "in front": (rb"@if not defined _envkit_prefix goto :envkit_front", rb"@goto :envkit_front"),
    "no undo": (rb"@if not defined _ENVKIT_CONDA_TOOLKIT goto :envkit_undo_path", rb"@goto :envkit_undo_path"),
    "percent signs": (rb"@call :envkit_copy CUDA_HOME (\w+)", rb'@set "\1=%CUDA_HOME%"'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_hook_is_noticed(name):
    files = {file: re.sub(*BROKEN[name], text) for file, text in FILES.items()}
    assert files != FILES
    with pytest.raises((AssertionError, KeyError)):
        sequences(range(60), files)


STANDARD = """@echo off
set "VIRTUAL_ENV=C:\\venvs\\a"
if not defined PROMPT set PROMPT=$P$G
if defined _OLD_VIRTUAL_PATH set PATH=%_OLD_VIRTUAL_PATH%
if not defined _OLD_VIRTUAL_PATH set _OLD_VIRTUAL_PATH=%PATH%
set "PATH=%VIRTUAL_ENV%\\Scripts;%PATH%"
:END
"""
STANDARD_OFF = """@echo off
if defined _OLD_VIRTUAL_PATH (
    set "PATH=%_OLD_VIRTUAL_PATH%"
)
set _OLD_VIRTUAL_PATH=
set VIRTUAL_ENV=
:END
"""


@pytest.fixture(scope="module")
def of_uv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uv") / "env"
    command = [sys.executable, "-m", "uv", "venv", "--quiet", "--offline", "--python", sys.executable, str(folder)]
    subprocess.run(command, check=True, timeout=60)
    texts = [(folder / "bin" / f"{way}.bat").read_text(encoding="utf-8") for way in WAYS]
    return [text.replace(str(folder), r"C:\venvs\a").replace(r"%\bin;", r"%\Scripts;") for text in texts]


@pytest.fixture
def scripts(request, tmp_path):
    """The two scripts of a kind of virtual environment, in a folder as on Windows."""
    kind = request.param
    if kind == "uv":
        texts = request.getfixturevalue("of_uv")
    elif kind == "virtualenv":
        folder = package_files("virtualenv") / "activation" / "batch"
        words = dict.fromkeys(("__VIRTUAL_ENV__", "__VIRTUAL_ENV_CALL__"), r"C:\venvs\a")
        words["__BIN_NAME__"] = "Scripts"
        if (folder / "_assign.bat").is_file():  # since 21.15
            words["__BATCH_ASSIGN__"] = (folder / "_assign.bat").read_text(encoding="utf-8")
        texts = [(folder / f"{way}.bat").read_text(encoding="utf-8") for way in WAYS]
        for word, value in words.items():
            texts = [text.replace(word, value) for text in texts]
        texts = [re.sub("__[A-Z_]+__", "", text) for text in texts]
    else:
        texts = [STANDARD, STANDARD_OFF]
    (tmp_path / "Scripts").mkdir()
    for way, text in zip(WAYS, texts, strict=True):
        (tmp_path / "Scripts" / f"{way}.bat").write_bytes(text.replace("\n", "\r\n").encode())
    return tmp_path


KINDS = ["like python -m venv", "virtualenv", "uv"]


@pytest.mark.parametrize("scripts", KINDS, indirect=True)
def test_scripts_of_virtual_environments(scripts):
    before = {file.name: file.read_bytes() for file in (scripts / "Scripts").iterdir()}
    assert [file.name for file in attach_hooks(scripts)] == ["activate.bat"]
    texts = {file.name: file.read_bytes() for file in (scripts / "Scripts").iterdir()}
    assert all(text.count(b"\r\n") == text.count(b"\n") for text in texts.values())
    files = {**toolkit_files(OLD, NEW)}
    for name, toolkit in (("a", OLD), ("b", NEW)):
        files |= hooks(rf"C:\venvs\{name}", toolkit, "VENV")
        files |= {
            rf"C:\venvs\{name}\Scripts\{file}": text.replace(rb"venvs\a", rf"venvs\{name}".encode())
            for file, text in texts.items()
        }
    user = {"PATH": r"C:\Windows;C:\R", "SYSTEMROOT": r"C:\Windows", "CUDA_PATH": "mine", "PROMPT": "$P$G"}
    window = Cmd(user, files)
    for name, toolkit in (("a", OLD), ("a", OLD), ("b", NEW), ("a", OLD)):
        window.run(rf"C:\venvs\{name}\Scripts\activate.bat")
        assert window.variables["CUDA_HOME"] == window.variables["CUDA_PATH"] == toolkit
        assert window.variables["PATH"] == rf"C:\venvs\{name}\Scripts;{toolkit}\bin;{toolkit}\libnvvp;{user['PATH']}"
    window.run(r"C:\venvs\a\Scripts\deactivate.bat")
    window.variables.pop("_OLD_VIRTUAL_PYTHONHOME", None)  # uv's and virtualenv's own
    assert window.variables == user
    assert (window.stdout, window.stderr) == ("", "")
    assert [file.name for file in detach_hooks(scripts)] == ["activate.bat"]
    assert {file.name: file.read_bytes() for file in (scripts / "Scripts").iterdir()} == before
