from __future__ import annotations

import os
import re
import shutil
import subprocess

import dotenv as python_dotenv
import pytest

from envkit.activation.exports import SHELL_NAMES, dotenv, exports
from envkit.errors import UsageError

ODD = {
    "PLAIN": "/usr/bin:/opt/x",
    "EMPTY": "",
    "BLANKS": " two  blanks ",
    "TAB": "a\tb",
    "APOSTROPHE": "it's",
    "QUOTES": 'a "b" c',
    "BOTH": "'\"",
    "DOLLAR": "$HOME $(touch pwned) `touch pwned`",
    "BANG": "wow! !x",
    "BACKSLASH": "a\\b\\n\\",
    "SPECIAL": "a;b&c|d<e>f*g?h[i]j{k}l~m#n%o^p",
    "UNICODE": "ünï 中文",
    "EQUALS": "a=b",
}
EVAL = {
    "sh": 'eval "$CODE"',
    "bash": 'eval "$CODE"',
    "zsh": 'eval "$CODE"',
    "dash": 'eval "$CODE"',
    "fish": "printf %s $CODE | source",
    "tcsh": "eval $CODE:q",
}


@pytest.mark.parametrize("shell", EVAL)
def test_a_shell_gets_each_value_letter_by_letter(shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    values = ODD if shell == "tcsh" else ODD | {"LINES_": "a\nb\n"}
    code = exports(shell, values, ("GONE", "ABSENT"))
    if shell == "tcsh":  # as backquotes give it: in words
        code = " ".join(code.split())
        values = {name: value for name, value in values.items() if name != "TAB"}
    variables = {"PATH": "/usr/bin:/bin", "CODE": code, "GONE": "x", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    options = {"tcsh": ["-f"], "fish": ["--no-config"], "zsh": ["-f"]}.get(shell, [])
    done = subprocess.run(
        [program, *options, "-c", f"{EVAL[shell]}\n/usr/bin/env -0"],
        env=variables, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    found = dict(entry.split("=", 1) for entry in os.fsdecode(done.stdout).split("\0") if entry)
    assert {name: found.get(name) for name in values} == values
    assert not {"GONE", "ABSENT"} & found.keys()
    assert list(tmp_path.rglob("pwned")) == []


def test_of_windows():
    code = exports("powershell", {"X": "it's $y", "P": "C:\\a b"}, ("GONE",))
    assert code.splitlines() == [
        "Remove-Item Env:GONE -ErrorAction SilentlyContinue",
        "$env:X = 'it''s $y'",
        "$env:P = 'C:\\a b'",
    ]
    assert exports("cmd", {"X": "100% & <y>"}, ("GONE",)) == '@set "GONE="\n@set "X=100%% & <y>"\n'


@pytest.mark.parametrize(("shell", "value"), [("tcsh", "a\nb"), ("cmd", "a\nb"), ("cmd", 'a"b')])
def test_what_a_shell_cannot_be_told(shell, value):
    with pytest.raises(UsageError, match="value of X"):
        exports(shell, {"X": value})


@pytest.mark.parametrize("shell", SHELL_NAMES)
def test_what_is_no_name_is_left_out(shell):
    assert exports(shell, {"BASH_FUNC_x%%": "() { :; }", "A B": "", "": ""}, ("a-b",)) == ""


def of_vs_code(text: str) -> dict[str, str]:
    """A stand-in: what VS Code's Python extension makes of a file, by the rules in its source."""
    found = {}
    for line in text.split("\n"):
        match = re.fullmatch(r"\s*([a-zA-Z]\w*)\s*=\s*(.*?)?\s*", line)
        if match is None:
            continue
        value = match[2] or ""
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1].replace("\\n", "\n")
        found[match[1]] = re.sub(r"\$\{[^}]*\}", "", value).replace("\\$", "$")
    return found


WINDOWS = {"NEW": "C:\\new\\temp", "PROGRAMS": "C:\\Program Files\\NVIDIA (x86);C:\\t"}


def test_a_env_file_is_read_alike(tmp_path):
    values = {name: value for name, value in (ODD | WINDOWS).items() if name != "BOTH"}
    values["HASH"] = "# no comment"
    text = dotenv(values)
    file = tmp_path / ".env"
    file.write_text(text, encoding="utf-8")
    assert python_dotenv.dotenv_values(file, encoding="utf-8") == values
    assert of_vs_code(text) == values
    assert "PLAIN=/usr/bin:/opt/x\n" in text  # docker takes quotes for part of the value


@pytest.mark.parametrize("value", ["a\nb", "a\r", "${HOME}", "\\$x", "'\" \\ #", " \\", "\"'"])
def test_what_a_env_file_cannot_say_is_refused(value):
    with pytest.raises(UsageError, match="value of X"):
        dotenv({"X": value})


def test_names_of_a_env_file():
    assert dotenv({"BASH_FUNC_x%%": "() {  :; }", "A": "b"}) == "A=b\n"
