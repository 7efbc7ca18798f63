"""envkit's plugin in a real conda, which is not changed for it: PYTHONPATH brings the plugin's wheel, unpacked.

Some tests put another program in the place of ``envkit``: one that is missing, fails, hangs or says something else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from envkit.model.environment import parse_record
from envkit.model.lock import parse_lock
from recipe.split_wheel import split
from tests.conftest import Run
from tests.integration.conftest import conda_channels, project  # noqa: F401 - fixtures
from tests.support.channel import Channel
from tests.support.channel_server import serve_channels
from tests.support.conda_pythons import python_package, pythons
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.network,  # the wheel is built with hatchling
    pytest.mark.slow,
    pytest.mark.xdist_group("conda"),
    pytest.mark.skipif("3.11" not in pythons(), reason="no Python 3.11 to make a package of"),
]

RECORD: dict[str, Any] = {
    "schema": 1,
    "id": "0123abcd",
    "name": "torch112_cu113_py311",
    "prefix": "",
    "spec": "torch112-cu113",
    "lock_sha256": "0" * 64,
    "installer": "pip",
    "backend": "conda",
    "engine": "uv",
    "python": "3.11.7",
    "build_cuda": "11.3",
    "toolkit": None,
    "created_at": "2026-11-30T14:59:01Z",
    "verified_at": None,
    "last_verify": None,
    "guard": True,
    "envkit_version": "0.1.0",
}


@pytest.fixture(scope="module")
def plugin(make_environment, tmp_path_factory) -> Path:
    """The plugin's wheel, unpacked; the whole one lies beside it, in ``whole``."""
    folder = tmp_path_factory.mktemp("plugin")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder / "built", ROOT],
        env=make_environment(folder / "home", network=True), check=True, timeout=300,
    )  # fmt: skip
    (built,) = (folder / "built").glob("*.whl")
    _, alone = split(built, folder / "parts")
    for wheel, name in ((alone, "site"), (built, "whole")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / name)
    return folder / "site"


@pytest.fixture(scope="module")
def forge(shared_folder, tmp_path_factory) -> Channel:
    channel = Channel(tmp_path_factory.mktemp("channels") / "forge")
    python_package(channel, "3.11", cache=shared_folder / "conda-packages")
    channel.add("demo", "1.0", noarch="python", depends=["python"], files={"site-packages/demo/__init__.py": "x = 1\n"})
    channel.add("tool", "2.1", build="h1_3", build_number=3, depends=["demo >=1"], constrains=["other <3"])
    channel.add("pytorch", "1.12.1", build="py3.11_cuda11.3_cudnn8.3.2_0", depends=["python", "libtorch"])
    channel.add("libtorch", "1.12.1")
    return channel.index()


@dataclass
class Plugged:
    """conda as a program with the plugin, for a user of the test's own."""

    program: Path
    folder: Path
    plugin: Path
    channel: Channel
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str | Path, code: int | None = 0, **variables: str) -> Run:
        done = subprocess.run(
            [str(self.program), *map(str, arguments)],
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False, timeout=300,
            env=self.variables(**variables), cwd=self.folder,
        )  # fmt: skip
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return Run(done.returncode, done.stdout, done.stderr)

    def variables(self, **more: str) -> dict[str, str]:
        own = {
            "CONDA_ENVS_DIRS": str(self.envs),
            "CONDA_PKGS_DIRS": str(self.folder / "pkgs"),
            "CONDA_ADD_PIP_AS_PYTHON_DEPENDENCY": "false",
            "CONDA_OFFLINE": "true",
            "CONDARC": str(self.folder / "condarc"),
            "PYTHONPATH": str(self.plugin),
            "PATH": os.pathsep.join([str(self.folder / "bin"), os.environ["PATH"]]),
        }
        return {**os.environ, **own, **self.environ, **more}

    @property
    def envs(self) -> Path:
        return self.folder / "envs"

    def create(self, name: str, *packages: str) -> Path:
        self("create", "--yes", "--name", name, "--override-channels", "--channel", self.channel.url, *packages)
        return self.envs / name

    def explicit(self, name: str) -> list[str]:
        lines = self("list", "--name", name, "--explicit", "--sha256").out.splitlines()
        return sorted(lines[lines.index("@EXPLICIT") :])

    def stand_in(self, script: str) -> None:
        """Another program called envkit, first on PATH."""
        write_program(self.folder / "bin" / "envkit", script)


def write_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def conda(conda_program, tmp_path, plugin, forge) -> Plugged:
    """With this checkout's envkit first on PATH."""
    made = Plugged(conda_program, tmp_path / "conda user", plugin, forge)
    made.envs.mkdir(parents=True)
    (made.folder / "condarc").write_text(f"channels: [{forge.url}]\n")
    made.stand_in(f'unset PYTHONPATH; exec "{sys.executable}" -m envkit "$@"')
    return made


@pytest.fixture
def pip_environment(conda) -> Path:
    """A conda prefix whose packages come by pip, as the record, the guard and the dist-info of torch say."""
    prefix = conda.create(RECORD["name"], "python")
    return managed(prefix, "pip")


def managed(prefix: Path, installer: str) -> Path:
    """Make a prefix one of envkit's, by its files."""
    (prefix / ".envkit").mkdir()
    record = RECORD | {"prefix": str(prefix), "name": prefix.name, "installer": installer}
    (prefix / ".envkit" / "environment.json").write_text(json.dumps(record))
    assert parse_record(json.dumps(record), prefix).installer == installer
    if installer == "pip":
        info = prefix / "lib" / "python3.11" / "site-packages" / "torch-1.12.1+cu113.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.12.1+cu113\n")
        (info / "RECORD").write_text(f"{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
        (prefix / "conda-meta" / "frozen").write_text(json.dumps({"message": "The guard's own text."}))
    return prefix


def test_the_whole_command_group_is_there(conda):
    assert json.loads(conda("envkit", "list", "--json").out)["environments"] == []
    help_text = conda("envkit", "--help").out
    assert help_text.startswith("Usage: envkit [OPTIONS] COMMAND")
    assert "restore" in help_text
    assert "There is no environment 'nope'." in conda("envkit", "info", "nope", code=9).err
    assert "envkit" in conda("--help").out


def test_arguments_arrive_as_they_are_and_the_status_comes_back(conda):
    conda.stand_in('for word in "$@"; do printf "<%s>" "$word"; done; exit 37')
    words = ["run", "ENV", "-v", "--json", "--", "a b", "", "-h", "--", "*", "@x", "--no-such"]
    assert conda("envkit", *words, code=37).out == "".join(f"<{word}>" for word in words)


@pytest.mark.parametrize("stopped_by", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_envkit_in_its_own_way(conda, stopped_by):
    conda.stand_in('trap "echo cleaned; exit 130" INT TERM; echo ready; while :; do sleep 0.1; done')
    process = subprocess.Popen(
        [str(conda.program), "envkit", "create"],
        stdout=subprocess.PIPE,
        text=True,
        env=conda.variables(),
        cwd=conda.folder,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    subprocess.run(["kill", f"-{stopped_by[3:]}", str(process.pid)], check=True)
    assert process.communicate(timeout=30)[0] == "cleaned\n"
    assert process.returncode == 130


@pytest.fixture
def broken(conda) -> Iterator[Callable[[str], None]]:
    """Makes ``envkit`` something that is of no use."""

    def make(how: str) -> None:
        (conda.folder / "bin" / "envkit").unlink()
        conda.environ["PATH"] = f"{conda.folder / 'bin'}:/usr/bin:/bin"
        if how != "missing":
            conda.stand_in({
                "failing": "echo Traceback >&2; exit 1",
                "garbage": "echo no JSON",
                "other": "echo '{\"hello\": 1}'",
                "says no": "echo '{\"ok\": false, \"error\": {\"message\": \"Busy.\"}}'; exit 8",
                "no program": "",
            }[how])  # fmt: skip
        if how == "no program":
            (conda.folder / "bin" / "envkit").write_bytes(b"\x7fELF")

    return make


@pytest.mark.parametrize("how", ["missing", "failing", "garbage", "other", "says no", "no program"])
def test_conda_works_without_a_working_envkit(conda, broken, pip_environment, how):
    broken(how)
    report = conda("doctor", "--name", pip_environment.name)
    (line,) = [line for line in report.out.splitlines() if "was not checked" in line]
    assert line.startswith("❌ envkit's environment torch112_cu113_py311 (installer pip) was not checked: ")
    assert "Error running health check: envkit" not in report.err
    assert "The environment is listed" in report.out or "The environment is not listed" in report.out  # conda's own
    assert pip_environment.name in conda("env", "list").out
    conda("list", "--name", pip_environment.name)
    fixed = conda("doctor", "--name", pip_environment.name, "--fix", "--yes", "envkit-environment", code=1)
    assert "Running fixes" in fixed.out


def test_a_missing_envkit_is_told_with_the_way_to_it(conda, broken):
    broken("missing")
    told = conda("envkit", "list", code=127).err
    assert "CondaError: The command envkit is not found" in told
    assert "conda config --set plugins.envkit_command PATH" in told
    assert json.loads(conda("envkit", "list", "--json", code=127).out)["return_code"] == 127


def test_the_setting_names_the_command(conda, broken):
    broken("missing")
    mine = write_program(conda.folder / "my place" / "my-envkit", "echo mine")
    conda("config", "--set", "plugins.envkit_command", mine)
    assert conda("envkit").out == "mine\n"
    told = conda("envkit", code=127, CONDA_PLUGINS_ENVKIT_COMMAND="/no/envkit").err
    assert "plugins.envkit_command names /no/envkit, which is no program" in told


def test_a_hanging_envkit_is_stopped(conda, pip_environment, tmp_path):
    """The limit is minutes; a copy of the plugin has one of a second."""
    short = tmp_path / "short"
    shutil.copytree(conda.plugin, short)
    module = short / "envkit" / "plugins" / "conda_work" / "diagnosis.py"
    text = module.read_text()
    module.write_text(text.replace("CHECK_TIMEOUT_S = 600.0", "CHECK_TIMEOUT_S = 1.0"))
    assert module.read_text() != text
    conda.plugin = short
    conda.stand_in(f"sleep 300 & echo $! > '{tmp_path}/sleeping'; sleep 300")
    before = time.monotonic()
    told = conda("doctor", "--name", pip_environment.name, "envkit-environment").out
    assert time.monotonic() - before < 60
    assert "`envkit doctor` gave no answer within 1 seconds and was stopped." in told
    sleeping = int((tmp_path / "sleeping").read_text())
    with pytest.raises(ProcessLookupError):
        wait_for_end(sleeping)


def wait_for_end(process: int) -> None:
    """Raises when the process is gone."""
    for _ in range(50):
        os.kill(process, 0)
        time.sleep(0.1)


def test_doctor_tells_what_envkit_finds_and_mends_hooks(conda, pip_environment):
    found = [
        {"id": "packages-differ", "severity": "error", "message": "numpy is 2.0.0", "why": "Locked is 1.26.4.",
         "fix": ["envkit restore X --replace"], "evidence": [f"file {n}" for n in range(7)]},
        {"id": "guard-missing", "severity": "warning", "message": "The guard is gone.", "why": None, "fix": [],
         "evidence": []},
        {"id": "packages-added", "severity": "note", "message": "extra 1.0", "why": None, "fix": [], "evidence": []},
    ]  # fmt: skip
    answer = json.dumps({"schema": 1, "command": "doctor", "ok": False, "error": {}, "findings": found})
    hooks = json.dumps({"schema": 1, "command": "hooks install", "ok": True, "error": None})
    log = conda.folder / "log"
    conda.stand_in(
        f"echo \"$@\" >> \"{log}\"\ncase $1 in doctor) echo '{answer}'; exit 6;; hooks) echo '{hooks}';; esac"
    )
    told = conda("doctor", "--name", pip_environment.name, "envkit-environment").out
    assert told.split("\n\n", 1)[1].splitlines() == [
        "❌ envkit's environment torch112_cu113_py311 (installer pip): 1 error, 1 warning, 1 note.",
        "",
        "error: numpy is 2.0.0 [packages-differ]",
        "  Locked is 1.26.4.",
        *(f"    file {number}" for number in range(5)),
        "    and 2 more; --verbose tells them",
        "  -> envkit restore X --replace",
        "",
        "warning: The guard is gone. [guard-missing]",
        "",
    ]
    loud = conda("doctor", "--verbose", "--name", pip_environment.name, "envkit-environment").out
    assert "    file 6" in loud
    assert "note: extra 1.0 [packages-added]" in loud
    log.unlink()
    fixed = conda("doctor", "--fix", "--yes", "--name", pip_environment.name, "envkit-environment")
    assert "The guard is gone." in fixed.out
    assert "were written again" in fixed.out
    assert log.read_text().splitlines() == [
        f"doctor {pip_environment} --json",
        f"hooks install {pip_environment} --json",
    ]
    dry = conda("doctor", "--fix", "--dry-run", "--name", pip_environment.name, "envkit-environment", code=None)
    assert "were written again" not in dry.out
    assert log.read_text().splitlines()[2:] == [f"doctor {pip_environment} --json"]


def test_doctor_asks_the_real_envkit(conda, pip_environment):
    told = conda("doctor", "--name", pip_environment.name, "envkit-environment").out
    assert "❌ envkit's environment torch112_cu113_py311 (installer pip): " in told
    assert "[lock-unreadable]" in told or "[environment-broken]" in told  # it has no lock


def test_doctor_is_silent_about_other_environments(conda):
    conda.stand_in("echo asked >&2; exit 1")
    conda.create("plain", "tool")
    told = conda("doctor", "--name", "plain")
    assert "envkit" not in told.out + told.err


def test_export_and_create_give_the_same_explicit_list(conda, forge):
    conda.create("plain", "tool", "python", "pytorch")
    text = conda("export", "--name", "plain", "--format", "envkit-lock").out
    lock = parse_lock(text, "x.lock.yaml")
    assert (lock.installer, lock.python, lock.cuda, lock.spec) == ("conda", "3.11", "11.3", "plain")
    stated = {record["name"]: record["sha256"] for record in forge.locked("tool", "demo", "pytorch", "libtorch")}
    assert {
        record.name: record.sha256 for record in lock.platforms["linux-64"].base if record.name != "python"
    } == stated
    assert lock.platforms["linux-64"].record("tool").requested == "tool"
    conda("export", "--name", "plain", "--file", "its.lock.yaml")
    assert (conda.folder / "its.lock.yaml").read_text() == text

    assert "Dry run. Exiting." in conda("env", "create", "--dry-run", "--name", "made", "--file", "its.lock.yaml").err
    assert "-n/--name" in conda("env", "create", "--file", "its.lock.yaml", code=2).err
    assert not (conda.envs / "made").exists()
    conda("env", "create", "--name", "made", "--file", "its.lock.yaml")
    conda("create", "--yes", "--name", "again", "--file", "its.lock.yaml")
    assert conda.explicit("made") == conda.explicit("again") == conda.explicit("plain")
    assert not (conda.envs / "made" / ".envkit").exists()


def test_export_for_more_platforms(conda, shared_folder, tmp_path):
    """conda solves for the other one itself; the lock holds both."""
    conda.channel = Channel(tmp_path / "channels" / "both")
    python_package(conda.channel, "3.11", cache=shared_folder / "conda-packages")
    conda.channel.add("python", "3.11.9", subdir="osx-arm64")
    conda.channel.add("demo", "1.0", noarch="generic", depends=["python"])
    conda.channel.index()
    (conda.folder / "condarc").write_text(f"channels: [{conda.channel.url}]\n")
    conda.create("plain", "demo", "python=3.11")
    both = ("--platform", "linux-64", "--platform", "osx-arm64")
    conda("export", "--name", "plain", "--file", "both.lock.yaml", *both)  # on stdout the solver talks, too
    platforms = parse_lock((conda.folder / "both.lock.yaml").read_text(), "x").platforms
    assert {name: {item.name for item in platform.base} for name, platform in platforms.items()} == {
        "linux-64": {"demo", "python"},
        "osx-arm64": {"demo", "python"},
    }
    assert platforms["osx-arm64"].record("python").subdir == "osx-arm64"


def test_a_lock_is_known_by_its_content(conda):
    conda.create("plain", "tool", "python")
    conda("export", "--name", "plain", "--format", "envkit-lock", "--file", "lock-of-mine.txt")
    conda("env", "create", "--name", "made", "--file", "lock-of-mine.txt")
    assert conda.explicit("made") == conda.explicit("plain")
    (conda.folder / "other.lock.yaml").write_text(f"name: x\nchannels: ['{conda.channel.url}']\ndependencies: [tool]\n")
    conda("env", "create", "--name", "other", "--file", "other.lock.yaml")
    assert "tool" in conda("list", "--name", "other").out


def lock_file(conda: Plugged, **changes: Any) -> Path:
    """A lock for linux-64 of demo and what it needs."""
    entries = [record | {"channel": conda.channel.url} for record in conda.channel.locked("demo", "python")]
    known = ("name", "version", "build", "channel", "subdir", "file", "sha256", "depends", "noarch", "size")
    entries = [{key: entry[key] for key in known if key in entry} for entry in entries]
    data = {
        "schema": 1, "spec": "demo", "spec_sha256": None, "created_by": "a test",
        "installer": "conda", "python": "3.11",
        "platforms": {"linux-64": {"needs": {}, "packages": entries, "base": []}},
    }  # fmt: skip
    path = conda.folder / "demo.lock.yaml"
    path.write_text(yaml.safe_dump(data | changes, sort_keys=False))
    return path


def test_a_channel_is_found_by_condas_own_configuration(conda):
    path = lock_file(conda)
    path.write_text(path.read_text().replace(conda.channel.url, "somewhere/forge"))
    (conda.folder / "condarc").write_text(
        f"custom_channels:\n  somewhere/forge: {conda.channel.folder.parent.as_uri()}\n"
    )
    alias = conda.channel.folder.parent.as_uri()
    (conda.folder / "condarc").write_text(f"channel_alias: {alias}\n")
    path.write_text(path.read_text().replace("somewhere/forge", "forge"))
    conda("env", "create", "--name", "made", "--file", path)
    assert f"{conda.channel.url}/noarch/demo-1.0-0.conda" in "\n".join(conda.explicit("made"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param(
            {"installer": "pip"},
            "is a lock for the installer pip: conda would run pip without the hashes in it.\nUse envkit: `envkit rest",
            id="pip",
        ),
        pytest.param({"schema": 2}, "has schema 2, this plugin reads 1. Update conda-envkit.", id="newer"),
        pytest.param({"platforms": {"win-64": {"packages": [{}]}}}, "win-64", id="other platform"),
        pytest.param(
            {"platforms": {"linux-64": {"packages": [{"name": "x"}]}}}, "no record of a conda package", id="bad"
        ),
    ],
)
def test_locks_that_conda_cannot_install_are_refused(conda, changes, told):
    path = lock_file(conda, **changes)
    failed = conda("env", "create", "--name", "made", "--file", path, code=1)
    assert told in failed.err
    assert "Traceback" not in failed.err
    assert not (conda.envs / "made").exists()


def test_a_package_with_other_bytes_is_refused(conda, tmp_path):
    copy = Channel(tmp_path / "copy" / "forge")
    shutil.copytree(conda.channel.folder, copy.folder, dirs_exist_ok=True)
    copy.add("demo", "1.0", noarch="python", depends=["python"], files={"site-packages/demo/__init__.py": "evil\n"})
    path = lock_file(conda)
    path.write_text(path.read_text().replace(conda.channel.url, copy.url))
    failed = conda("env", "create", "--name", "made", "--file", path, code=1).err
    stated = conda.channel.locked("demo")[0]["sha256"]
    assert f"demo-1.0-0.conda is another file than the lock's.\n  expected sha256 {stated}\n  found " in failed
    (copy.folder / "noarch" / "demo-1.0-0.conda").unlink()
    assert "demo is not to be had" in conda("env", "create", "--name", "made", "--file", path, code=1).err
    assert not (conda.envs / "made").exists()


def test_a_download_with_other_bytes_is_refused(conda):
    with serve_channels(conda.channel.folder.parent) as server:
        path = lock_file(conda)
        path.write_text(path.read_text().replace(conda.channel.url, f"{server.url}/forge"))
        server.corrupt("demo-1.0-0.conda")
        failed = conda("env", "create", "--name", "made", "--file", path, code=1, CONDA_OFFLINE="false").err
        assert "ChecksumMismatchError" in failed
        assert not list(conda.envs.glob("made/conda-meta/demo*"))
        server.heal()
        conda("env", "create", "--name", "made", "--file", path, CONDA_OFFLINE="false")
    assert len(conda.explicit("made")) == 3


def test_export_of_an_environment_of_envkit_is_its_own_lock(conda, pip_environment):
    failed = conda("export", "--name", pip_environment.name, "--format", "envkit-lock", code=1)
    assert "its own lock" in failed.err
    assert "cannot be read" in failed.err
    own = lock_file(conda, installer="pip")
    shutil.copy(own, pip_environment / ".envkit" / "lock.yaml")
    assert conda("export", "--name", pip_environment.name, "--format", "envkit-lock").out == own.read_text()


def test_export_says_why_it_cannot(conda, pip_environment):
    shutil.rmtree(pip_environment / ".envkit")
    failed = conda("export", "--name", pip_environment.name, "--format", "envkit-lock", code=1)
    assert "pip has put packages into it (torch==1.12.1+cu113)" in failed.err
    conda.create("no-python", "libtorch")
    assert "holds no Python" in conda("export", "--name", "no-python", "--format", "envkit-lock", code=1).err


def test_a_frozen_environment_comes_with_the_command_to_use(conda, pip_environment):
    failed = conda("install", "--yes", "--name", pip_environment.name, "tool", code=1).err
    assert "The guard's own text." in failed
    assert (
        "(envkit_add) torch112_cu113_py311 belongs to envkit, and its packages come by pip alone: "
        "`envkit add torch112_cu113_py311 PACKAGE` adds one and keeps what is locked." in failed
    )
    shutil.rmtree(pip_environment / ".envkit")
    assert "envkit" not in conda("install", "--yes", "--name", pip_environment.name, "tool", code=1).err


def test_a_second_torch_is_kept_out(conda, pip_environment):
    install = ("install", "--yes", "--override-frozen", "--prefix", pip_environment)
    failed = conda(*install, "pytorch", code=1).err
    assert "libtorch, pytorch would be a second torch in torch112_cu113_py311." in failed
    assert not list((pip_environment / "conda-meta").glob("*torch*"))
    told = json.loads(conda(*install, "--json", "pytorch", code=1).out)
    assert "second torch" in told["message"]
    (package,) = (conda.channel.folder / "linux-64").glob("pytorch-*.conda")
    (conda.folder / "explicit.txt").write_text(f"@EXPLICIT\n{package.as_uri()}\n")
    for without_solver in ([package.as_uri()], [package], ["--file", "explicit.txt"]):
        assert "pytorch would be a second torch" in conda(*install, *without_solver, code=1).err
    assert not list((pip_environment / "conda-meta").glob("*torch*"))
    conda(*install, "tool")  # no torch: the user has overridden the guard
    assert "`conda --no-plugins install --solver classic --override-frozen ...`" in failed
    conda("--no-plugins", *install, "--solver", "classic", "pytorch")
    assert list((pip_environment / "conda-meta").glob("pytorch-*"))


def test_torch_by_conda_may_change_where_conda_installs(conda):
    prefix = managed(conda.create("torch112", "python"), "conda")
    conda("install", "--yes", "--prefix", prefix, "pytorch")


@pytest.mark.parametrize("record", ["{", "[]", "{}", '{"name": "x", "installer": "neither"}', "\udcff", "[" * 100_000])
def test_a_damaged_record_stops_nothing(conda, pip_environment, record):
    (pip_environment / ".envkit" / "environment.json").write_bytes(record.encode(errors="surrogateescape"))
    failed = conda("install", "--yes", "--name", pip_environment.name, "tool", code=1).err
    assert "its record is damaged: `envkit doctor " in failed
    conda("install", "--yes", "--override-frozen", "--name", pip_environment.name, "pytorch")
    conda("doctor", "--name", pip_environment.name, "envkit-environment")


def test_the_plugin_alone_imports_conda_and_the_standard_library(conda):
    """In a conda without click, PyYAML and the rest of envkit every hook is answered."""
    code = (
        "import sys; from conda.base.context import context; m = context.plugin_manager; "
        "names = 'settings subcommands health_checks environment_exporters environment_specifiers post_solves '"
        "'pre_transaction_actions'; "
        "print([len([h for h in m.get_hook_results(n) if 'envkit' in h.name]) for n in names.split()]); "
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('click', 'yaml', 'rich', 'packaging.pylock'))); "
        "print(sys.modules['envkit'].__file__)"
    )
    python = subprocess.run(["sed", "-n", "1s/^#!//p", str(conda.program)], capture_output=True, text=True, check=True)
    done = subprocess.run(
        [python.stdout.strip(), "-c", code],
        capture_output=True, text=True, env=conda.variables(), cwd=conda.folder, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["[1, 1, 1, 1, 1, 1, 1]", "[]", "None"], done.stderr


def test_the_plugin_and_all_of_envkit_together_register_once(conda):
    """A base with both: one ``conda envkit``, and no conflict of plugins."""
    whole = conda.plugin.with_name("whole")
    for order in ([whole, conda.plugin], [conda.plugin, whole]):
        conda.environ["PYTHONPATH"] = os.pathsep.join(map(str, order))
        assert conda("envkit", "--version").out.startswith("envkit ")
        assert "conflict" not in conda("plugins", "list").err


def test_nothing_is_loaded_on_activation(conda, pip_environment):
    """conda loads no plugins for it; a plugin that cannot even be read changes nothing."""
    broken = conda.folder / "broken"
    shutil.copytree(conda.plugin, broken)
    (broken / "envkit" / "plugins" / "conda.py").write_text("raise SystemExit('loaded')")
    conda.environ["PYTHONPATH"] = str(broken)
    assert str(pip_environment) in conda("shell.posix", "activate", pip_environment).out


@pytest.fixture
def real(conda, conda_channels) -> Plugged:  # noqa: F811 - the fixture
    """With the channels pytorch and conda-forge, of which torch is a stub."""
    (conda.folder / "condarc").write_text(f"channel_alias: {conda_channels.alias}\nchannels: [conda-forge]\n")
    conda.environ["CONDA_OFFLINE"] = "false"
    return conda


def test_an_environment_of_conda_packages_from_end_to_end(real):
    spec = real.folder / "mine.yaml"
    content = {
        "schema": 1, "name": "mine", "python": "3.11", "installer": "conda", "cuda": "cpu",
        "packages": ["pytorch=1.12.1", "torchvision", "cpuonly"], "channels": ["pytorch", "conda-forge"],
        "platforms": ["linux-64"],
    }  # fmt: skip
    spec.write_text(json.dumps(content))
    made = json.loads(real("envkit", "create", spec, "--json").out)["environment"]
    name, prefix = made["name"], real.envs / "torch112_cpu_py311"
    assert made["prefix"] == str(prefix)
    assert str(prefix) in real("env", "list").out
    told = real("doctor", "--name", name, "envkit-environment").out
    assert f"✅ envkit's environment {name} (installer conda): " in told

    exported = real("export", "--name", name, "--format", "envkit-lock").out
    assert exported == (prefix / ".envkit" / "lock.yaml").read_text()
    (real.folder / "x.lock.yaml").write_text(exported)
    real("env", "create", "--name", "copy", "--file", "x.lock.yaml")
    assert real.explicit("copy") == real.explicit(name)
    restored = json.loads(real("envkit", "restore", "x.lock.yaml", "--name", "other", "--json").out)
    assert restored["environment"]["installer"] == "conda"
    assert real.explicit("other") == real.explicit(name)

    (prefix / "share" / "cpuonly" / "version.txt").write_text("changed\n")
    told = real("doctor", "--name", name, "envkit-environment").out
    assert f"❌ envkit's environment {name} (installer conda): 1 error" in told


def test_an_environment_of_pip_packages_from_end_to_end(real, project):  # noqa: F811 - the fixture
    source, default = project.source.folder, project.default.folder
    make_wheel(source, "torch", "1.12.1+cu113", tags="cp311-cp311-linux_x86_64", requires=["numpy"])
    make_wheel(default, "numpy", "1.21.5", tags="cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64")
    for old in (*source.glob("*cp39*"), *default.glob("*cp39*")):
        old.unlink()
    project.write_lock(spec_sha256=None, python="3.11")
    create = ("envkit", "restore", project.lock, "--backend", "conda", "--no-verify", "--trust-source", "127.0.0.1")
    made = json.loads(real(*create, "--json").out)["environment"]
    name, prefix = made["name"], Path(made["prefix"])
    assert (made["installer"], made["backend"], prefix.parent) == ("pip", "conda", real.envs)
    failed = real("install", "--yes", "--name", name, "pytorch", code=1).err
    assert "EnvironmentIsFrozenError" in failed
    assert f"(envkit_add) {name} belongs to envkit, and its packages come by pip alone: `envkit add {name} " in failed
    failed = real("install", "--yes", "--override-frozen", "--name", name, "pytorch", code=1).err
    assert f"pytorch would be a second torch in {name}." in failed
    assert real("export", "--name", name, "--format", "envkit-lock").out == (prefix / ".envkit/lock.yaml").read_text()
    shutil.copy(prefix / ".envkit" / "lock.yaml", real.folder / "own.lock.yaml")
    refused = real("env", "create", "--name", "copy", "--file", "own.lock.yaml", code=1).err
    assert "is a lock for the installer pip" in refused

    assert (
        f"✅ envkit's environment {name} (installer pip): " in real("doctor", "--name", name, "envkit-environment").out
    )
    (prefix / "etc" / "conda" / "activate.d" / "envkit-guard.sh").unlink()
    told = real("doctor", "--fix", "--yes", "--name", name, "envkit-environment").out
    assert f"❌ envkit's environment {name} (installer pip): 1 warning" in told
    assert "envkit's hooks and guard were written again." in told
    assert (
        f"✅ envkit's environment {name} (installer pip): " in real("doctor", "--name", name, "envkit-environment").out
    )
