"""``envkit hooks`` in environments that envkit did not make: put in, shown, and taken out without a trace."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from envkit.errors import EnvkitError, NotFoundError, StorageError
from envkit.model.progress import Silent
from envkit.operations.cleanup import add_cleanup, remove_cleanup
from envkit.operations.env_variables import environment_code
from envkit.operations.environments import all_environments
from envkit.operations.hooked_prefixes import hooked_prefixes
from envkit.operations.hooks import reinstall_hooks, show_hooks, uninstall_hooks
from envkit.operations.inspect import info
from envkit.operations.kernel import make_kernel
from envkit.operations.verify import verify
from tests.integration.conftest import start
from tests.support.kills import DIE_AT
from tests.support.mounts import small_disk
from tests.support.toolkits import stub_toolkit

KINDS = {
    "venv": ("-m", "venv", "--without-pip"),
    "virtualenv": ("-m", "virtualenv", "--quiet", "--no-seed"),
    "uv": ("-m", "uv", "venv", "--quiet", "--offline", "--python", sys.executable),
}
SHELLS = ("bash", "dash", "zsh", "fish", "tcsh")


@pytest.fixture(scope="session")
def originals(tmp_path_factory, make_environment) -> Path:
    """One environment of each kind, to be copied: what is in them is not looked at by their scripts."""
    folder = tmp_path_factory.mktemp("originals")
    variables = make_environment(folder / "home")
    for kind, words in KINDS.items():
        subprocess.run([sys.executable, *words, folder / kind], check=True, capture_output=True, env=variables)
    return folder


@pytest.fixture
def venv(originals, tmp_path):
    """Makes a virtual environment of a kind at a place of the test's own, and what its scripts say of the place."""

    def _make(kind="venv", name=".venv"):
        prefix = tmp_path / name
        shutil.copytree(originals / kind, prefix, symlinks=True)
        for script in prefix.glob("bin/*activate*"):
            script.write_bytes(script.read_bytes().replace(os.fsencode(originals / kind), os.fsencode(prefix)))
        return prefix

    return _make


class Done(NamedTuple):
    """How a call of an operation ended, as the command would tell it."""

    code: int
    json: dict
    notes: str


class Notes(Silent):
    """Keeps what the user is told."""

    def __init__(self) -> None:
        self.text = ""

    def note(self, text: str) -> None:
        self.text += f"{text}\n"


@pytest.fixture
def hooks():
    """Calls what ``envkit hooks COMMAND`` calls, in this process, which takes a tenth of the time."""

    def _call(command, word, toolkit=None) -> Done:
        notes = Notes()
        try:
            if command == "show":
                done = show_hooks(str(word))
            elif command == "remove":
                done = uninstall_hooks(str(word), notes)
            else:
                done = reinstall_hooks(str(word), None if toolkit is None else str(toolkit), notes)
        except (EnvkitError, OSError) as caught:
            error = caught if isinstance(caught, EnvkitError) else StorageError.from_os_error(caught)
            told = {"type": error.kind, "message": error.message, "why": error.why, "hint": error.hint}
            return Done(int(error.exit_code), {"error": told}, notes.text)
        return Done(0, done.to_json(), notes.text)

    return _call


@pytest.fixture
def conda_env(conda_home):
    """Makes a conda environment as far as conda's list and its mark go."""

    def _make(name, folder=None):
        prefix = (folder or conda_home.envs) / name
        for made in ("conda-meta", "bin"):
            (prefix / made).mkdir(parents=True)
        (prefix / "conda-meta" / "history").touch()
        return prefix

    return _make


def everything(prefix: Path) -> dict[str, tuple]:
    """Every entry of a folder: its kind, mode, and content or target."""
    found = {}
    for path in (prefix, *sorted(prefix.rglob("*"))):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[path.relative_to(prefix).as_posix()] = (stat.S_IFMT(status.st_mode), status.st_mode, content)
    return found


def cuda_home(prefix: Path, shell: str = "bash") -> str:
    """CUDA_HOME in an activated shell; after `deactivate` it has to be gone."""
    ending = {"fish": ".fish", "tcsh": ".csh"}.get(shell, "")
    script = f'source "$WHERE/bin/activate{ending}"\necho $CUDA_HOME\ndeactivate\nenv'
    if shell == "dash":
        script = script.replace("source", ".")
    if shell == "tcsh":  # the scripts of python -m venv want a prompt
        script = f"set prompt = x; {script.replace('source ', 'source ', 1).replace('$WHERE', '$WHERE:q')}"
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], "WHERE": str(prefix), "LC_ALL": "C.UTF-8"}
    options = ["-f"] if shell == "tcsh" else []
    done = subprocess.run(
        [shutil.which(shell), *options, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert [line for line in rest if "CUDA" in line or "ENVKIT" in line] == []
    return first


@pytest.mark.parametrize("kind", KINDS)
def test_a_virtual_environment_there_and_back(envkit, tmp_path, kind):
    toolkit = stub_toolkit(tmp_path / "kits" / "cuda-11.3", "11.3")
    prefix = tmp_path / "a venv"
    subprocess.run([sys.executable, *KINDS[kind], prefix], check=True, capture_output=True)
    before = everything(prefix)

    done = envkit("hooks", "install", prefix, "--toolkit", toolkit, "--json")
    assert done.code == 0, done.err
    assert (done.json["environment"], done.json["prefix"]) == (None, str(prefix))
    assert {item["state"] for item in done.json["hooks"]} == {"current"}
    assert {item["toolkit"] for item in done.json["hooks"]} == {str(toolkit)}
    assert str(prefix / "bin" / "activate") in {item["file"] for item in done.json["hooks"]}
    for shell in filter(shutil.which, SHELLS):
        assert cuda_home(prefix, shell) == str(toolkit), shell
    assert f"CUDA 11.3 in {toolkit}" in envkit("hooks", "show", prefix).out
    gone = envkit("hooks", "remove", prefix)
    assert (gone.code, gone.out) == (0, f"The hooks are removed: {prefix} switches no toolkit any more.\n")
    assert "nothing was changed" in envkit("hooks", "remove", prefix).out
    assert everything(prefix) == before


def test_the_same_again_changes_nothing(hooks, venv, tmp_path):
    prefix = venv()
    before = everything(prefix)
    done = hooks("install", prefix, stub_toolkit(tmp_path / "cuda-11.3", "11.3"))
    once = everything(prefix)
    assert hooks("install", prefix).code == 0  # the one that it has
    assert everything(prefix) == once
    assert hooks("show", prefix).json == done.json
    assert all_environments() == ()
    for _ in range(2):
        assert hooks("remove", prefix).json["hooks"] == []
        assert everything(prefix) == before


def test_what_was_there_stays_as_it_was(hooks, venv, tmp_path):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    script, fish = prefix / "bin" / "activate", prefix / "bin" / "activate.fish"
    script.write_bytes(script.read_bytes().rstrip(b"\n"))
    script.chmod(0o750)
    (prefix / "bin" / "activate.csh").write_bytes((prefix / "bin" / "activate.csh").read_bytes().rstrip(b"\n"))
    fish.rename(prefix / "fish-script")
    fish.symlink_to("../fish-script")
    (prefix / "etc" / "conda" / "activate.d").mkdir(parents=True, mode=0o711)
    (prefix / "etc" / "jupyter").mkdir()
    before = everything(prefix)

    assert hooks("install", prefix, toolkit).code == 0
    assert cuda_home(prefix) == str(toolkit)
    if shutil.which("fish"):
        assert cuda_home(prefix, "fish") == str(toolkit)
    assert fish.is_symlink()
    assert hooks("remove", prefix).code == 0
    assert everything(prefix) == before

    assert hooks("install", prefix, toolkit).code == 0
    with script.open("a") as file:
        file.write("\nexport MINE=1\n")
    (prefix / "etc" / "conda" / "deactivate.d" / "mine.sh").write_text("true\n")
    assert hooks("remove", prefix).code == 0
    after = everything(prefix)
    assert after.pop("bin/activate")[2] == before.pop("bin/activate")[2] + b"\nexport MINE=1\n"
    assert after.keys() - before.keys() == {"etc/conda/deactivate.d", "etc/conda/deactivate.d/mine.sh"}


@pytest.mark.parametrize("there", [None, "etc/conda/activate.d", "etc/conda/activate.d/nvcc.sh"])
def test_a_conda_environment_by_its_name_there_and_back(hooks, conda_env, tmp_path, there):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = conda_env("work")
    if there is not None:
        (prefix / "etc" / "conda" / "activate.d").mkdir(parents=True)
        if there.endswith(".sh"):
            (prefix / there).write_text("true\n")
    before = everything(prefix)

    done = hooks("install", "work", toolkit)
    assert done.code == 0
    assert done.json["prefix"] == str(prefix)
    hook = (prefix / "etc" / "conda" / "activate.d" / "envkit-cuda.sh").read_text()
    assert "_ENVKIT_CONDA_TOOLKIT" in hook
    assert {item["state"] for item in hooks("show", prefix).json["hooks"]} == {"current"}
    assert all_environments() == ()
    assert hooks("remove", "work").code == 0
    assert everything(prefix) == before


def test_the_hook_of_clean_all_comes_back(hooks, conda_env, tmp_path):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = conda_env("work")
    assert add_cleanup().prefixes == (prefix,)
    cleaned = everything(prefix)
    hooks("install", "work", toolkit)
    assert list(prefix.rglob("envkit-cleanup.*")) == []
    assert "hooks of its own" in add_cleanup().skipped[0].why
    hooks("remove", "work")
    assert everything(prefix) == cleaned
    hooks("install", "work", toolkit)
    assert remove_cleanup().prefixes == (prefix,)
    assert hooks("remove", "work").code == 0
    assert list(prefix.rglob("envkit-*")) == []


def test_words_that_mean_a_prefix(hooks, venv, conda_env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    hidden, plain = venv(), venv(name="plain")
    (tmp_path / "link").symlink_to(plain)
    for word, prefix in ((".venv", hidden), ("plain", plain), ("link", plain), ("./link", plain)):
        done = hooks("install", word, toolkit)
        assert (done.code, done.json["prefix"]) == (0, str(prefix))
    conda_env("plain")
    both = hooks("show", "plain")
    assert both.code == 9
    assert "path" in both.json["error"]["hint"]
    assert hooks("show", "./plain").code == 0


@pytest.mark.parametrize("word", ["/usr", "./nothing", "nothing", ".nothing", "./cwd", "base", ""])
def test_what_is_no_environment(hooks, conda_home, tmp_path, word, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cwd").mkdir()
    before = everything(tmp_path / "cwd")
    for command in ("install", "show", "remove"):
        assert hooks(command, word).code == 9, command
    assert everything(tmp_path / "cwd") == before


@pytest.mark.parametrize(
    "call",
    [
        lambda word: environment_code(word, Silent()),
        lambda word: make_kernel(word, None, None, Silent()),
        lambda word: verify(word, level="import", progress=Silent()),
        info,
    ],
    ids=["env", "kernel", "verify", "info"],
)
def test_commands_for_envkit_s_own_say_so(venv, conda_env, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    prefix, conda = venv(), conda_env("work")
    for word, told in ((".venv", prefix), ("./.venv", prefix), (conda, conda)):
        with pytest.raises(NotFoundError, match="did not make; this command is for envkit's own") as caught:
            call(str(word))
        assert str(caught.value).startswith(f"{told} is a ")


def test_near_names_and_environments_inside(hooks, venv, tmp_path, monkeypatch):
    venv()
    monkeypatch.chdir(tmp_path)
    for word, message in ((".vnv", "There is no folder .vnv here."), ("./.vnv", "There is no folder ./.vnv.")):
        error = hooks("install", word).json["error"]
        assert (error["message"], error["hint"]) == (message, "Did you mean .venv?")
    for word in (".", "./", str(tmp_path)):
        assert "In it there is .venv" in hooks("install", word).json["error"]["hint"]


def test_a_recorded_toolkit_that_is_gone(envkit, hooks, venv, tmp_path):
    toolkit, prefix = stub_toolkit(tmp_path / "cuda-11.3", "11.3"), venv()
    hooks("install", prefix, toolkit)
    shutil.rmtree(toolkit)
    done = hooks("install", prefix)
    assert done.code == 9
    assert done.json["error"]["message"] == f"CUDA 11.3 in {toolkit}, which {prefix} switches to, is gone."
    assert "envkit cuda install 11.3" in done.json["error"]["hint"]
    assert "--toolkit" in done.json["error"]["hint"]
    assert f"{toolkit}, which is gone" in envkit("hooks", "show", prefix).out
    assert hooks("install", prefix, stub_toolkit(tmp_path / "other", "11.3")).code == 0


def test_what_install_says(envkit, venv, tmp_path):
    toolkit, prefix = stub_toolkit(tmp_path / "cuda-11.3", "11.3"), venv(name="a venv")
    lines = envkit("hooks", "install", prefix, "--toolkit", toolkit).out.splitlines()
    assert lines[0] == f"{prefix} switches to CUDA 11.3 in {toolkit} when it is activated."
    assert lines[-1] == f"Undo: envkit hooks remove '{prefix}'"
    assert len(lines) == 3


def test_a_list_that_cannot_be_written_stops_nothing(hooks, venv, tmp_path):
    file = Path(os.environ["ENVKIT_HOME"]) / "hooked.txt"
    file.mkdir(parents=True)
    prefix = venv()
    done = hooks("install", prefix, stub_toolkit(tmp_path / "cuda-11.3", "11.3"))
    assert done.code == 0
    assert str(file) in done.notes
    assert hooks("remove", prefix).code == 0


def test_the_list_of_prefixes_with_hooks(hooks, venv, tmp_path):
    toolkit, one, two = stub_toolkit(tmp_path / "cuda-11.3", "11.3"), venv(name="one"), venv(name="two")
    hooks("install", one, toolkit)
    hooks("install", two, toolkit)
    assert hooked_prefixes() == [one, two]
    hooks("remove", one)
    assert hooked_prefixes() == [two]
    shutil.rmtree(two)
    assert hooked_prefixes() == []


def test_another_toolkit_and_none(hooks, venv, tmp_path):
    one, two = (stub_toolkit(tmp_path / f"cuda-{v}", v) for v in ("11.3", "11.8"))
    prefix = venv()
    before = everything(prefix)
    hooks("install", prefix, one)
    assert hooks("install", prefix, two).code == 0
    assert cuda_home(prefix) == str(two)
    assert hooks("install", prefix, "none").code == 0
    assert everything(prefix) == before
    assert hooks("install", prefix, "99.9").code == 9
    assert hooks("install", prefix, tmp_path / "nothing").code == 9
    assert everything(prefix) == before


def torch_in(prefix: Path, *dist_infos: str, cuda: str | None = None) -> None:
    (site,) = prefix.glob("lib/python3*/site-packages")
    for name in dist_infos:
        (site / f"{name}.dist-info").mkdir()
    if cuda is not None:
        (site / "torch").mkdir()
        (site / "torch" / "version.py").write_text(f"__version__ = '2.0'\ndebug = False\ncuda{cuda}\nhip = None\n")


@pytest.mark.parametrize(
    ("dist_infos", "cuda"),
    [
        (["torch-1.12.1+cu113"], " = '11.3'"),
        (["torch-1.12.1"], ": Optional[str] = '11.3'"),
        (["nvidia_cuda_runtime_cu11-11.3.58"], None),
    ],
    ids=["local version", "version.py", "runtime alone"],
)
def test_the_toolkit_of_the_build_of_its_torch(hooks, venv, tmp_path, monkeypatch, dist_infos, cuda):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    torch_in(prefix, *dist_infos, cuda=cuda)
    missing = hooks("install", prefix)
    assert missing.code == 9
    assert "CUDA toolkit 11.3" in missing.json["error"]["message"]
    monkeypatch.setenv("CUDA_PATH", str(toolkit))
    done = hooks("install", prefix)
    assert done.code == 0
    assert "built for CUDA 11.3" in done.notes
    assert cuda_home(prefix) == str(toolkit)


def test_the_toolkit_of_the_build_of_conda_s_torch(hooks, conda_env, tmp_path, monkeypatch):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = conda_env("work")
    record = {"name": "pytorch", "version": "1.12.1", "build": "py3.9_cuda11.3_cudnn8.3.2_0", "depends": [], "fn": "x"}
    (prefix / "conda-meta" / "pytorch-1.12.1-py3.9_cuda11.3_cudnn8.3.2_0.json").write_text(json.dumps(record))
    monkeypatch.setenv("CUDA_PATH", str(toolkit))
    done = hooks("install", "work")
    assert done.code == 0
    assert {item["toolkit"] for item in done.json["hooks"]} == {str(toolkit)}


def test_a_conda_environment_with_a_compiler_of_its_own(hooks, conda_home):
    prefix = stub_toolkit(conda_home.envs / "work", "11.3")
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "history").touch()
    assert {item["toolkit"] for item in hooks("install", "work").json["hooks"]} == {str(prefix)}


@pytest.mark.parametrize(
    ("dist_infos", "cuda", "why"),
    [
        ([], None, "no torch"),
        (["torch-2.1.0+cpu"], None, "without CUDA"),
        (["torch-2.1.0"], " = None", "without CUDA"),
        (["torch-2.1.0+cu118"], " = '12.1'", "11.8 and 12.1"),
    ],
    ids=["nothing", "cpu", "cpu in version.py", "contradiction"],
)
def test_where_no_build_tells(hooks, venv, dist_infos, cuda, why):
    prefix = venv()
    torch_in(prefix, *dist_infos, cuda=cuda)
    before = everything(prefix)
    done = hooks("install", prefix)
    assert done.code == 2
    assert why in done.json["error"]["why"]
    assert "--toolkit" in done.json["error"]["hint"]
    assert "found" in done.json["error"]["hint"].lower()
    assert everything(prefix) == before


def test_scripts_that_were_written_anew(hooks, venv, originals, tmp_path):
    """As `python -m venv` and virtualenv do over an environment that is there."""
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    fresh = {path.name: path.read_bytes() for path in prefix.glob("bin/activate*")}
    before = everything(prefix)
    hooks("install", prefix, toolkit)
    (prefix / "bin" / "activate").write_bytes(fresh["activate"])
    assert cuda_home(prefix) == ""
    shown = hooks("show", prefix).json["hooks"]
    assert {item["file"]: item["state"] for item in shown if item["state"] != "current"} == {
        str(prefix / "bin" / "activate"): "missing"
    }
    assert hooks("install", prefix).code == 0
    assert cuda_home(prefix) == str(toolkit)
    hooks("remove", prefix)
    assert everything(prefix) == before


def test_a_moved_environment(hooks, venv, tmp_path):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv("uv")
    before = everything(prefix)
    hooks("install", prefix, toolkit)
    moved = prefix.rename(tmp_path / "moved")
    assert {item["state"] for item in hooks("show", moved).json["hooks"]} == {"current"}
    assert hooks("remove", moved).code == 0
    assert everything(moved) == before


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1, "folders": ["../.."], "toolkit": {"path": "/x"}}'])
def test_a_damaged_record(hooks, venv, tmp_path, text):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    before = everything(prefix)
    hooks("install", prefix, toolkit)
    (prefix / ".envkit" / "hooks.json").write_text(text)
    shown = hooks("show", prefix)
    assert shown.code == 4
    assert "hooks remove" in shown.json["error"]["hint"]
    removed = hooks("remove", prefix)
    assert removed.code == 0
    assert "Empty folders" in removed.notes
    after = everything(prefix)
    assert {name for name in after.keys() - before.keys() if not name.startswith("etc")} == set()
    assert [name for name in before if name != "." and after[name] != before[name]] == []
    assert list(prefix.rglob("*envkit*")) == []


def test_a_folder_in_place_of_the_record(hooks, venv):
    prefix = venv()
    (prefix / ".envkit" / "hooks.json").mkdir(parents=True)
    shown = hooks("show", prefix)
    assert shown.code == 4
    assert "cannot be read" in shown.json["error"]["message"]


def test_the_scripts_of_conda_itself_stay_as_they_are(hooks, conda_env, tmp_path):
    """conda links `activate` of its other environments to that of its own."""
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix, root = conda_env("work"), tmp_path / "root-activate"
    root.write_text("conda's\n")
    (prefix / "bin").mkdir(exist_ok=True)
    (prefix / "bin" / "activate").symlink_to(root)
    before = everything(prefix)
    assert hooks("install", prefix, toolkit).code == 0
    assert root.read_text() == "conda's\n"
    assert hooks("remove", prefix).code == 0
    assert everything(prefix) == before


def test_a_record_of_a_newer_envkit(hooks, venv, tmp_path):
    prefix = venv()
    hooks("install", prefix, stub_toolkit(tmp_path / "cuda-11.3", "11.3"))
    record = prefix / ".envkit" / "hooks.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"schema": 2}))
    once = everything(prefix)
    for command in ("show", "install", "remove"):
        done = hooks(command, prefix)
        assert (done.code, done.json["error"]["hint"]) == (4, "Update envkit."), command
    assert everything(prefix) == once


def test_a_frozen_one_is_left_alone(hooks, conda_env, tmp_path):
    prefix = conda_env("work")
    (prefix / "conda-meta" / "frozen").write_text("{}")
    before = everything(prefix)
    done = hooks("install", "work", stub_toolkit(tmp_path / "cuda-11.3", "11.3"))
    assert (done.code, done.json["error"]["type"]) == (7, "InstallerRule")
    assert everything(prefix) == before


def test_conda_s_own_is_told(hooks, conda_env, tmp_path):
    base = conda_env("conda", folder=tmp_path)
    (base / "condabin").mkdir()
    before = everything(base)
    done = hooks("install", base, stub_toolkit(tmp_path / "cuda-11.3", "11.3"))
    assert done.code == 0
    assert "each new shell" in done.notes
    hooks("remove", base)
    assert everything(base) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
@pytest.mark.parametrize("path", [".", "bin/activate"])
def test_somebody_else_s_is_left_alone(hooks, venv, tmp_path, path):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    os.chown(prefix / path, 12345, -1)
    before = everything(prefix)
    for words in (["install", prefix, toolkit], ["remove", prefix]):
        done = hooks(*words)
        assert done.code == 12
        assert "another user" in done.json["error"]["message"]
    assert everything(prefix) == before


@pytest.mark.parametrize("link", ["bin/activate", "etc"])
def test_nothing_outside_is_changed(hooks, venv, tmp_path, link):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    outside = tmp_path / "outside"
    if (prefix / link).exists():
        (prefix / link).rename(outside)
    else:
        outside.mkdir()
    (prefix / link).symlink_to(outside)
    before = everything(tmp_path)
    done = hooks("install", prefix, toolkit)
    assert done.code == 4
    assert "leads out" in done.json["error"]["message"]
    after = everything(tmp_path)
    assert {name for name in after.keys() ^ before.keys() if not name.startswith((".own", "cwd"))} == set()


def test_a_failure_half_way_puts_everything_back(hooks, venv, tmp_path):
    one, two = (stub_toolkit(tmp_path / f"cuda-{v}", v) for v in ("11.3", "11.8"))
    prefix = venv()
    csh = prefix / "bin" / "activate.csh"
    csh.write_text("setenv VIRTUAL_ENV /x\n")
    before = everything(prefix)
    done = hooks("install", prefix, one)
    assert (done.code, done.json["error"]["type"]) == (4, "InvalidFile")
    assert everything(prefix) == before

    csh.unlink()
    assert hooks("install", prefix, one).code == 0
    (prefix / "etc/conda/deactivate.d/envkit-cuda.csh").unlink()
    (prefix / "etc/conda/deactivate.d/envkit-cuda.csh").mkdir()
    before = everything(prefix)
    assert hooks("install", prefix, two).code == 12
    assert everything(prefix) == before
    assert cuda_home(prefix) == str(one)


def test_an_environment_of_envkit_is_one_all_the_same(hooks, tmp_path):
    prefix = tmp_path / "own"
    (prefix / ".envkit").mkdir(parents=True)
    (prefix / "pyvenv.cfg").touch()
    (prefix / ".envkit" / "environment.json").write_text("{}")
    assert hooks("install", prefix, "none").code == 6


def dying(envkit, number: int, root: Path, *words) -> list[str]:
    """Run a command that is killed before its ``number``-th change below ``root``; gives the changes so far."""
    log = root.parent / "changes.log"
    command = [sys.executable, DIE_AT, str(number), str(root), log, *map(str, words)]
    done = subprocess.run(command, env=envkit.variables(), cwd=envkit.cwd, capture_output=True, check=False)
    assert done.returncode == (-signal.SIGKILL if number else 0), done.stderr
    return log.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["install", "remove"])
def test_what_a_kill_leaves_can_be_taken_out(envkit, hooks, venv, tmp_path, command):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    prefix = venv()
    (prefix / "etc" / "conda").mkdir(parents=True)
    before = everything(prefix)
    words = ["hooks", command, prefix, *(["--toolkit", toolkit] if command == "install" else [])]
    if command == "remove":
        hooks("install", prefix, toolkit)
    changes = len(dying(envkit, 0, prefix, *words))
    assert changes > 15
    for number in (2, *range(4, changes + 1, changes // 3)):
        if command == "remove":
            hooks("install", prefix, toolkit)
        else:
            hooks("remove", prefix)
        dying(envkit, number, prefix, *words)
        cuda_home(prefix)  # it activates, with or without
        assert hooks("remove", prefix).code == 0
        assert everything(prefix) == before, number


def test_several_at_once(envkit, venv, tmp_path):
    kits = [stub_toolkit(tmp_path / f"cuda-{v}", v) for v in ("11.3", "11.8")]
    prefix = venv()
    before = everything(prefix)
    running = [start(envkit, "hooks", "install", prefix, "--toolkit", kit) for kit in kits]
    told = [child.communicate()[1] for child in running]
    assert [child.returncode for child in running] == [0, 0], told
    shown = envkit("hooks", "show", prefix, "--json").json["hooks"]
    assert {item["state"] for item in shown} == {"current"}
    assert cuda_home(prefix) in set(map(str, kits))
    envkit("hooks", "remove", prefix)
    assert everything(prefix) == before


def test_a_read_only_file_system(envkit, originals, tmp_path):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, "8m") as disk:
        if disk is None:
            pytest.skip("needs root and unshare to mount a file system")
        (disk.seen / "env" / "bin").mkdir(parents=True)
        for name in ("pyvenv.cfg", "bin/activate"):
            shutil.copy(originals / "venv" / name, disk.seen / "env" / name)
        before = everything(disk.seen / "env")
        disk.remount("ro")
        words = ("hooks", "install", folder / "env", "--toolkit", toolkit, "--json")
        done = subprocess.run(
            [*disk.enter, *envkit.argv(*words)], env=envkit.variables(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (12, "Storage")
        assert everything(disk.seen / "env") == before
        disk.remount("rw")
        disk.leave_free(12 * 1024)
        done = subprocess.run(
            [*disk.enter, *envkit.argv(*words)], env=envkit.variables(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (12, "Storage")
        assert everything(disk.seen / "env") == before


def test_doctor_tells_of_a_toolkit_that_has_gone(envkit, venv, hooks, tmp_path):
    """EK-C07, in an environment that envkit did not make."""
    toolkit = stub_toolkit(tmp_path / "cuda-98.7", "98.7")
    prefix = venv()
    hooks("install", prefix, toolkit)
    assert envkit("doctor", prefix).code == 0
    shutil.rmtree(toolkit)
    done = envkit("doctor", prefix, "--json")
    assert done.code == 6
    (finding,) = done.json["findings"]
    assert (finding["id"], finding["evidence"]) == ("toolkit-gone", [str(toolkit)])
    assert f"envkit hooks install {prefix} --toolkit" in finding["fix"][0]
    hooks("remove", prefix)
    assert envkit("doctor", prefix).code == 9
