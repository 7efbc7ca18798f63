"""What README and docs say is true: commands and options exist, tables equal the code, and the main line is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from envkit.cli.main import COMMANDS, cli
from envkit.errors import ExitCode

ROOT = Path(__file__).parents[2]
README, README_ZH = ROOT / "README.md", ROOT / "README.zh-CN.md"
PAGES = [README, README_ZH, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"[A-Z]+(\.lock\.yaml|@\w+)?")


def blocks(text: str, *languages: str) -> list[str]:
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def marked_line(text: str, name: str) -> str:
    """The one command between two markers."""
    (part,) = re.findall(rf"<!-- begin: {name} -->\n(.*?)<!-- end: {name} -->", text, re.DOTALL)
    (block,) = blocks(part, "sh")
    (line,) = block.splitlines()
    return line


def shell_commands(text: str) -> list[str]:
    """Command lines: of sh blocks, after ``$ `` in console blocks, and inline code that calls envkit."""
    lines = [line for block in blocks(text, "sh", "bash") for line in block.splitlines() if line.strip()]
    for block in blocks(text, "console"):
        lines += [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return lines + re.findall(r"`(envkit [^`]+)`", prose)


def envkit_calls(line: str) -> list[list[str]]:
    """Every call of envkit in a command line, as words."""
    calls = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("();<>|&"):
            if words and words[0].rpartition("/")[2] == "envkit":
                calls.append(words[1:])
            words = []
        elif word not in {"{", "}"}:
            words.append(word)
    return calls


def problem_of(words: list[str]) -> str | None:
    """What is wrong with the words of a call; None for nothing. Placeholders such as ENV are fine."""
    command: click.Command = cli
    context = click.Context(cli)
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"there is no command {words[0]}"
        command, words = found, words[1:]
    own = words[: words.index("--")] if "--" in words else words
    known = {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    for word in own:
        if word.startswith("-") and word != "-" and word.partition("=")[0] not in known:
            return f"{command.name} has no option {word}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_in_the_documents_exist(page):
    wrong = []
    for line in shell_commands(page.read_text(encoding="utf-8")):
        for words in envkit_calls(line):
            problem = problem_of(words)
            wrong += [] if problem is None else [f"{line}: {problem}"]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("envkit make x", "there is no command make"),
        ("true && envkit create x --nmae y", "create has no option --nmae"),
        (".venv/bin/envkit snapshot prune ENV", "there is no command prune"),
        ("envkit run ENV -- python --nothing-of-ours", None),
    ],
)
def test_a_wrong_command_is_noticed(line, problem):
    ((words),) = envkit_calls(line)
    assert problem_of(words) == problem


def test_documents_tell_every_command():
    text = "".join(page.read_text(encoding="utf-8") for page in (README, *sorted((ROOT / "docs").glob("*.md"))))
    told = {words[0] for line in shell_commands(text) for words in envkit_calls(line) if words}
    assert told >= COMMANDS.keys() - {"help"}


def test_both_readmes_have_the_same_commands():
    english, chinese = (page.read_text(encoding="utf-8") for page in (README, README_ZH))
    languages = ("sh", "bash", "console", "yaml")
    assert blocks(english, *languages) == blocks(chinese, *languages)
    for name in ("main job", "test"):
        assert marked_line(english, name) == marked_line(chinese, name)


def test_both_readmes_name_the_same_commands_and_pages():
    english, chinese = (page.read_text(encoding="utf-8") for page in (README, README_ZH))
    for pattern in (r"`(envkit [^`]+)`", r"\]\(((?!README)[^)]+)\)", r"`(--?[a-z][^`]*)`"):
        assert set(re.findall(pattern, english)) <= set(re.findall(pattern, chinese)), pattern


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_exit_codes_are_documented():
    rows = re.findall(
        r"^\| (\d+) \| (\w+) \|", (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [(int(code), name) for code, name in rows] == [(int(code), code.name) for code in ExitCode]


def test_specs_that_documents_name_ship():
    pages = [ROOT / "CHANGELOG.md", ROOT / "docs" / "specs.md", README, README_ZH]
    shipped = {path.stem for path in (ROOT / "lockfiles").glob("*.yaml") if ".lock" not in path.name}
    for page in pages:
        named = set(re.findall(r"`(torch[\d.]+-(?:cu\d+|cpu)(?:-conda)?)`", page.read_text(encoding="utf-8")))
        assert named <= shipped, page.name


def test_ci_runs_the_line_of_the_readme(tmp_path):
    """CI's script runs what stands between the markers, and nothing else."""
    assert shutil.which("bash"), "no bash here"
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    line = marked_line(README.read_text(encoding="utf-8"), "test")
    stand_in = """printf '%s' "told: $0" && exit 7"""
    text = README.read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(text.replace(line, stand_in), encoding="utf-8")
    done = subprocess.run(
        [tmp_path / ".ci" / "run"], cwd="/", capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert done.returncode == 7
    assert done.stdout == f"+ {stand_in}\ntold: sh"


def test_ci_fails_where_the_readme_has_no_line(tmp_path):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "README.md").write_text("nothing\n")
    done = subprocess.run([tmp_path / ".ci" / "run"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
@pytest.mark.parametrize("name", ["main job", "test"])
def test_the_lines_are_read_by_each_shell(shell, name):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    line = marked_line(README.read_text(encoding="utf-8"), name)
    done = subprocess.run([shell, "-n", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def copy_of_checkout(folder: Path) -> Path:
    """What a clone holds."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns("__pycache__", ".venv", ".*_cache"))
        return folder
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.xdist_group("torch")
@pytest.mark.timeout(1500)
def test_the_main_line_does_the_main_job_and_may_be_pasted_twice(tmp_path):
    """Run from a clone with nothing set up, first by sh, then again by zsh or bash."""
    clone = copy_of_checkout(tmp_path / "clone")
    line = marked_line(README.read_text(encoding="utf-8"), "main job")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    for shell in ("sh", "zsh" if shutil.which("zsh") else "bash"):
        done = subprocess.run(
            [shell, "-c", line], cwd=clone, env=environ, capture_output=True, text=True, timeout=700, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "torch213_cpu_py311: verified" in done.stdout
        assert "tensor(6.)" in done.stdout
        ending = done.stdout[done.stdout.rindex("torch213_cpu_py311: created and verified") :]
        (snapshot,) = re.findall(r"^  snapshot  (.+)$", ending, re.MULTILINE)
        assert Path(snapshot, "manifest.json").is_file()
        (activate,) = re.findall(r"^Activate it:  \. (.+)$", ending, re.MULTILINE)
        assert Path(activate).is_file()
    assert list(Path(os.environ["ENVKIT_HOME"], "envs").iterdir()) == [Path(activate).parents[1]]
    changed = {path.relative_to(clone).parts[0] for path in clone.iterdir()} - {path.name for path in ROOT.iterdir()}
    assert changed <= {".venv", "build"}
