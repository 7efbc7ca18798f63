"""Adding packages: beside what is locked, all of them or nothing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.integration.conftest import start, tree
from tests.support.wheels import file_hash, make_wheel

ENV = "torch112_cu113_py39"
STUBS = Path(__file__).parents[1] / "data" / "stub_torch"
ENGINES = ["uv", "pip"]
SCRIPT = "[console_scripts]\ntool=tool:run\n"


@pytest.fixture(autouse=True)
def _more_packages(project):
    """The default index, with some packages more than the lock names."""
    folder = project.default.folder
    make_wheel(folder, "needs-new-numpy", "1.0", requires=["numpy>=2"])
    make_wheel(folder, "numpy", "2.0.0")
    make_wheel(
        folder,
        "tool",
        "1.0",
        requires=["numpy>=1.20", "torch", "part"],
        entry_points=SCRIPT,
    )
    make_wheel(folder, "tool", "2.0", requires=["numpy>=2"])
    make_wheel(folder, "part", "3.1", files={"part/sub/deep.py": "x = 1\n"})
    make_wheel(folder, "clash", "1.0", files={"numpy/__init__.py": "print('not numpy')\n"})
    make_wheel(folder, "share", "1.0", files={"numpy/__init__.py": '__version__ = "1.21.5"\n'})


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def made(envkit, project, engine):
    """An environment, and its prefix."""
    done = envkit("create", project.spec, "--no-verify", "--engine", engine)
    assert done.code == 0, done.err
    project.source.requests.clear()
    project.default.requests.clear()
    return envkit.home / "envs" / ENV


@pytest.fixture
def made_by_uv(envkit, project):
    done = envkit("create", project.spec, "--no-verify")
    assert done.code == 0, done.err
    return envkit.home / "envs" / ENV


def state(home: Path) -> dict[str, bytes | None]:
    """All that belongs to environments; what Python compiles while it runs aside."""
    return {name: data for name, data in tree(home).items() if "__pycache__" not in name}


def versions(envkit) -> dict[str, str]:
    return {item["name"]: item["version"] for item in envkit("info", ENV, "--json").json["packages"]}


def lock_of(prefix: Path) -> dict:
    return yaml.safe_load((prefix / ".envkit" / "lock.yaml").read_text())


def locked(prefix: Path) -> dict[str, dict]:
    return {item["name"]: item for item in lock_of(prefix)["platforms"]["linux-64"]["packages"]}


def test_what_is_new_comes_and_what_is_locked_stays(envkit, project, made):
    before = locked(made)
    done = envkit("add", ENV, "tool>=1", "--json")
    assert done.code == 0, done.err
    assert done.json["changes"] == [
        {"platform": "linux-64", "name": "part", "before": None, "after": "3.1"},
        {"platform": "linux-64", "name": "tool", "before": None, "after": "1.0"},
    ]
    assert done.json["lock"] == str(made / ".envkit" / "lock.yaml")
    assert done.json["environment"]["state"] == "complete"
    after = locked(made)
    assert {name: after[name] for name in before} == before
    assert after["tool"]["sha256"]
    assert "source" not in after["tool"]
    assert lock_of(made)["added"] == [{"requirements": ["tool>=1"], "packages": ["part", "tool"]}]
    assert versions(envkit) == {"numpy": "1.21.5", "pip": "22.0", "torch": "1.12.1+cu113", "part": "3.1", "tool": "1.0"}
    assert "tool==1.0\n" in (made / "requirements-lock.txt").read_text()
    assert "tool==1.0\n" in (made / ".envkit" / "constraints.txt").read_text()
    assert "part==3.1\n" in (made / ".envkit" / "constraints-pip.txt").read_text()
    assert (made / "bin" / "tool").read_bytes().startswith(b"#!" + bytes(made))
    assert not (made / ".envkit" / "add").exists()
    assert project.source.requests == []
    assert {path for path in project.default.requests if "numpy" in path or "torch" in path} == set()
    again = envkit("add", ENV, "tool")
    assert (again.code, again.out) == (0, f"{ENV}: all of it is there already.\n")


def test_the_environment_lives_on_with_it(envkit, project, made):
    assert envkit("add", ENV, "tool").code == 0
    assert envkit("restore", ENV).out.startswith(f"{ENV}: already there")
    assert envkit("create", project.spec).out.startswith(f"{ENV}: already there")
    before = locked(made)
    done = envkit("restore", ENV, "--replace", "--no-verify")
    assert done.code == 0, done.err
    assert locked(made) == before
    assert versions(envkit)["tool"] == "1.0"
    assert lock_of(made)["added"] == [{"requirements": ["tool"], "packages": ["part", "tool"]}]
    assert envkit("create", project.spec).out.startswith(f"{ENV}: already there")
    removed = envkit("remove", ENV, "--yes")
    assert "no package owns" not in removed.err


REFUSED = [
    (["needs-new-numpy"], 4, "needs-new-numpy cannot be had beside what is locked"),
    (["tool>=2"], 4, "cannot be had beside what is locked"),
    (["numpy==2.0.0"], 4, "cannot change numpy; make another environment"),
    (["torch>=2"], 4, "cannot change torch; make another environment"),
    (["no-such-thing"], 4, "your default index has no package no-such-thing"),
    (["tool", "no-such-thing"], 4, "your default index has no package no-such-thing"),
    (["clash"], 11, "clash would write over lib/python3.9/site-packages/numpy/__init__.py, which belongs to numpy"),
    (["./tool"], 2, "is a path or an address"),
    (["tool-1.0-py3-none-any.whl"], 2, "is a path or an address"),
    (["https://example.com/tool-1.0.tar.gz"], 2, "is a path or an address"),
    (["tool @ https://example.com/tool-1.0.tar.gz"], 2, "names an address"),
    (["tool=1"], 2, "is no requirement"),
    (["tool\n--index-url http://example.com"], 2, "no requirement"),
    (["--", "--index-url"], 2, "is an option"),
    ([], 2, "There is nothing to add"),
    (["-e", "/nowhere"], 2, "/nowhere is no folder"),
    (["-e", "."], 2, "has neither pyproject.toml nor setup.py"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_is_refused_changes_nothing(envkit, made_by_uv, arguments, code, said):
    before = state(envkit.home)
    done = envkit("add", ENV, *arguments)
    assert done.code == code, done.err
    assert said in done.err
    assert state(envkit.home) == before


@pytest.mark.parametrize("how", ["index down", "file missing", "hash mismatch", "cut"])
def test_a_failed_download_changes_nothing(envkit, project, made, how):
    wheel = "part-3.1-py3-none-any.whl"
    if how == "index down":
        project.default.fail("part", 503)
    elif how == "file missing":
        project.default.fail(wheel, 404)
    elif how == "hash mismatch":
        project.default.replace(wheel, (project.default.folder / wheel).read_bytes() + b"x")
    else:
        project.default.cut(wheel, 20)
    before = state(envkit.home)
    done = envkit("add", ENV, "tool", env={"UV_HTTP_RETRIES": "0", "PIP_RETRIES": "0"})
    assert done.code == 5, done.err
    assert state(envkit.home) == before


@pytest.mark.parametrize("relative", ["part", "part/sub"])
def test_nothing_is_written_through_a_link_of_the_user_s(envkit, made, tmp_path, relative):
    mine = tmp_path / "mine"
    mine.mkdir()
    link = made / "lib" / "python3.9" / "site-packages" / relative
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(mine)
    before = state(envkit.home)
    done = envkit("add", ENV, "tool")
    assert done.code == 11, done.err
    assert f"part would write through lib/python3.9/site-packages/{relative}, which is a link to {mine}" in done.err
    assert list(mine.iterdir()) == []
    assert state(envkit.home) == before


def test_the_same_bytes_are_no_collision(envkit, made):
    assert envkit("add", ENV, "share").code == 0
    assert envkit("restore", ENV).code == 0


def test_what_was_installed_by_hand_gives_way_and_is_told(envkit, project, made):
    make_wheel(project.default.folder, "part", "9.0", files={"part/old.py": ""})
    command = [shutil.which("uv") or "uv", "pip", "install", "--python", made / "bin" / "python", "part==9.0"]
    from envkit.installers.uv import uv_program  # noqa: PLC0415

    subprocess.run([uv_program(), *command[1:]], check=True, capture_output=True)
    (project.default.folder / "part-9.0-py3-none-any.whl").unlink()
    done = envkit("add", ENV, "tool")
    assert done.code == 0, done.err
    assert "part 9.0 was installed by hand; it becomes 3.1" in done.err
    assert versions(envkit)["part"] == "3.1"
    assert not list(made.glob("lib/python3.9/site-packages/part-9.0*"))
    assert envkit("restore", ENV).code == 0


def test_offline_takes_what_uv_s_cache_has(envkit, project, made_by_uv):
    refused = envkit("add", ENV, "tool", "--offline")
    assert refused.code == 5
    assert "Offline" in refused.err
    assert envkit("add", ENV, "tool").code == 0
    assert envkit("create", project.spec, "--no-verify", "--name", "second").code == 0
    project.default.requests.clear()
    done = envkit("add", "second", "tool", "--offline")
    assert done.code == 0, done.err
    assert project.default.requests == []


def test_a_snapshot_holds_it(envkit, project, made_by_uv, tmp_path):
    folder = make_project(tmp_path / "mine")
    assert envkit("add", ENV, "tool", "-e", folder).code == 0
    from envkit.model.environment import parse_record  # noqa: PLC0415
    from envkit.operations.own_files import own_lock, portable_lock  # noqa: PLC0415

    environment = parse_record((made_by_uv / ".envkit/environment.json").read_text(), made_by_uv)
    lock = portable_lock(environment, own_lock(environment), "linux-64")
    assert lock.additions.editables == ()
    assert [str(item) for item in lock.drift] == ["mine 0.1 (not in the lock)"]
    assert {"tool", "part"} <= {item.name for item in lock.platforms["linux-64"].packages}


def test_a_snapshot_taken_after_it_brings_it_back(envkit, project, tmp_path):
    """Verified for real, with stubs of torch and numpy."""
    folder, version = project.default.folder, ".".join(map(str, sys.version_info[:2]))
    entries = []
    for name, number in (("torch", "1.11.0"), ("numpy", "1.26.4")):
        paths = [path for path in (STUBS / name).rglob("*.py") if "__pycache__" not in path.parts]
        files = {path.relative_to(STUBS).as_posix(): path.read_bytes() for path in paths}
        wheel = make_wheel(folder, name, number, files=files)
        entries.append({"name": name, "version": number, "file": wheel.name, "sha256": file_hash(wheel)})
    platforms = {"linux-64": {"needs": {}, "packages": entries, "base": []}}
    project.write_lock(spec_sha256=None, python=version, cuda="cpu", platforms=platforms)
    assert envkit("create", project.lock, "--name", "real", "--no-verify").code == 0
    mine = make_project(tmp_path / "mine")
    assert envkit("add", "real", "tool", "-e", mine).code == 0
    taken = envkit("snapshot", "take", "real", "--json")
    assert taken.code == 0, taken.err
    for file in Path(taken.json["snapshot"]).iterdir():
        assert str(mine) not in file.read_text() or file.name == "pip-freeze.raw.txt", file
    assert "tool==1.0\n" in Path(taken.json["snapshot"], "pip-freeze.txt").read_text()
    assert envkit("remove", "real", "--yes").code == 0
    done = envkit("restore", "real", "--no-verify")
    assert done.code == 0, done.err
    assert "mine 0.1 was there beside the lock; it is not restored" in done.err
    installed = {item["name"] for item in envkit("info", "real", "--json").json["packages"]}
    assert installed == {"torch", "numpy", "tool", "part"}
    assert envkit("create", project.lock, "--name", "real").out.startswith("real: already there")


# editable projects


def make_project(folder: Path, *, requires: str = '["part"]', version: str = "0.1") -> Path:
    """A project whose build needs nothing from any index: its backend lies in its own folder."""
    (folder / "mine_src").mkdir(parents=True, exist_ok=True)
    (folder / "mine_src" / "mine.py").write_text("where = __file__\n")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "mine"\nversion = "{version}"\ndependencies = {requires}\n'
        '[project.optional-dependencies]\nmore = ["tool"]\n'
    )
    (folder / "backend.py").write_text(BACKEND.replace("VERSION", version).replace("REQUIRES", requires))
    return folder


BACKEND = """
import os, zipfile
HERE = os.path.dirname(os.path.abspath(__file__))
def build_editable(folder, config_settings=None, metadata_directory=None):
    info = "mine-VERSION.dist-info"
    texts = {
        "__editable__mine.pth": os.path.join(HERE, "mine_src") + "\\n",
        info + "/METADATA": "Metadata-Version: 2.1\\nName: mine\\nVersion: VERSION\\nProvides-Extra: more\\n"
        + "".join("Requires-Dist: %s\\n" % item for item in REQUIRES) + "Requires-Dist: tool; extra == 'more'\\n",
        info + "/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    texts[info + "/RECORD"] = "".join("%s,,\\n" % name for name in [*texts, info + "/RECORD"])
    with zipfile.ZipFile(os.path.join(folder, "mine-VERSION-py3-none-any.whl"), "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return "mine-VERSION-py3-none-any.whl"
build_wheel = build_editable
"""


def where_mine_is(prefix: Path) -> str:
    command = [prefix / "bin" / "python", "-c", "import mine; print(mine.where)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_an_editable_project_and_what_it_needs(envkit, project, made, tmp_path):
    folder = make_project(tmp_path / "my project")
    done = envkit("add", ENV, "-e", folder)
    assert done.code == 0, done.err
    assert where_mine_is(made) == str(folder / "mine_src" / "mine.py")
    content = lock_of(made)
    assert content["editables"] == [{"name": "mine", "version": "0.1", "path": str(folder)}]
    assert content["added"] == [{"requirements": ["mine"], "packages": ["part"]}]
    assert "mine" not in locked(made)
    # it is no drift, also when its version moves on, and comes back
    assert envkit("restore", ENV).code == 0
    assert envkit("create", project.spec).out.startswith(f"{ENV}: already there")
    make_project(folder, version="0.2")
    again = envkit("add", ENV, "-e", folder, "--json")
    assert again.code == 0, again.err
    assert again.json["changes"] == [{"platform": "linux-64", "name": "mine", "before": "0.1", "after": "0.2"}]
    assert envkit("restore", ENV, "--replace", "--no-verify").code == 0
    assert where_mine_is(made) == str(folder / "mine_src" / "mine.py")
    assert lock_of(made)["editables"][0]["version"] == "0.2"
    folder.rename(tmp_path / "moved")
    done = envkit("restore", ENV, "--replace", "--no-verify")
    assert done.code == 0, done.err
    assert f"mine is left out: its folder {folder} is gone" in done.err
    assert lock_of(made)["editables"][0]["name"] == "mine"
    assert envkit("doctor", ENV).code == 6
    (tmp_path / "moved").rename(folder)
    assert envkit("restore", ENV, "--replace", "--no-verify").code == 0
    assert where_mine_is(made) == str(folder / "mine_src" / "mine.py")
    assert envkit("doctor", ENV).code == 0


def test_the_same_project_twice_is_a_mistake(envkit, made_by_uv, tmp_path):
    folder = make_project(tmp_path / "mine", requires="[]")
    before = state(envkit.home)
    for other in (folder, f"{folder}[more]"):
        done = envkit("add", ENV, "-e", folder, "-e", other)
        assert (done.code, "Name each project once" in done.err) == (2, True), done.err
    assert state(envkit.home) == before


def test_extras_of_a_project(envkit, made_by_uv, tmp_path):
    folder = make_project(tmp_path / "mine", requires="[]")
    done = envkit("add", ENV, "-e", f"{folder}[more]")
    assert done.code == 0, done.err
    assert {"mine", "tool", "part"} <= versions(envkit).keys()


@pytest.mark.parametrize(
    ("requires", "code"), [('["numpy>=2"]', 4), ('["no-such-thing"]', 4)], ids=["conflict", "unknown"]
)
def test_a_project_that_does_not_fit_changes_nothing(envkit, made_by_uv, tmp_path, requires, code):
    folder = make_project(tmp_path / "mine", requires=requires)
    before = state(envkit.home)
    done = envkit("add", ENV, "-e", folder)
    assert done.code == code, done.err
    assert state(envkit.home) == before


def test_a_project_that_does_not_build_changes_nothing(envkit, made_by_uv, tmp_path):
    folder = make_project(tmp_path / "mine")
    (folder / "backend.py").write_text("raise SystemExit('broken backend')\n")
    before = state(envkit.home)
    done = envkit("add", ENV, "tool", "-e", folder)
    assert done.code == 5
    assert f"The project in {folder} could not be installed" in done.err
    assert "broken backend" in done.err
    assert state(envkit.home) == before


def test_editables_of_a_lock_from_outside_are_left_out(envkit, project, made_by_uv, tmp_path):
    folder = make_project(tmp_path / "mine", requires="[]")
    assert envkit("add", ENV, "-e", folder).code == 0
    given = tmp_path / "given.lock.yaml"
    shutil.copy(made_by_uv / ".envkit" / "lock.yaml", given)
    for command in ("create", "restore"):
        done = envkit(command, given, "--name", command, "--no-verify", "--trust-source", project.source.host)
        assert done.code == 0, done.err
        assert "it is left out" in done.err
        assert "editables" not in lock_of(envkit.home / "envs" / command)


# cut off


def is_whole(envkit, made: Path) -> bool:
    """Whether all was added; it must be all or nothing, whatever was cut off, and the environment must work."""
    ran = envkit("run", ENV, "--", "python", "-c", "import numpy, torch; print(numpy.__version__)")
    assert (ran.code, ran.out) == (0, "1.21.5\n"), ran.err
    found = versions(envkit)
    names = {"tool", "part"} & found.keys()
    assert names in (set(), {"tool", "part"})
    assert names == {"tool", "part"} & locked(made).keys()
    assert (made / "bin" / "tool").exists() is bool(names)
    assert envkit("restore", ENV).code == 0  # no drift
    return bool(names)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("delay_s", [0.3, 0.7, 1.1])
def test_stopped_at_any_moment_it_is_all_or_nothing(envkit, made, number, delay_s):
    before = state(envkit.home)
    child = start(envkit, "add", ENV, "tool")
    time.sleep(delay_s)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    whole = is_whole(envkit, made)
    if not whole:
        left = {name: data for name, data in state(envkit.home).items() if "/.envkit/add" not in name}
        assert left == before, (out, err)
    done = envkit("add", ENV, "tool")
    assert done.code == 0, done.err
    assert is_whole(envkit, made)
    assert not (made / ".envkit" / "add").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("name", ["part", "part-3.1-py3-none-any.whl"], ids=["page", "file"])
def test_stopped_while_an_index_is_silent(envkit, project, made, number, name):
    before = state(envkit.home)
    project.default.hang(name)
    child = start(envkit, "add", ENV, "tool")
    deadline = time.monotonic() + 30
    while not any(request.rstrip("/").endswith(name) for request in project.default.requests):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # nothing has been changed yet, and the environment is as usable as before
    assert envkit("run", ENV, "--", "python", "-c", "import torch").code == 0
    child.send_signal(number)
    child.communicate(timeout=60)
    project.default.heal()
    assert not is_whole(envkit, made)
    assert {name: data for name, data in state(envkit.home).items() if "/.envkit/add" not in name} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("delay_s", [0.0, 0.15])
def test_stopped_while_the_installer_works(envkit, project, made, number, delay_s):
    files = {f"tool/sub{count % 50}/f{count}.py": "x = 1\n" for count in range(3000)}
    make_wheel(project.default.folder, "tool", "1.0", requires=["part"], files=files, entry_points=SCRIPT)
    before = state(envkit.home)
    child = start(envkit, "add", ENV, "tool")
    journal = made.with_name(f".{made.name}.envkit-journal.json")
    while not journal.exists() and child.poll() is None:
        time.sleep(0.002)
    time.sleep(delay_s)
    child.send_signal(number)
    child.communicate(timeout=60)
    if not is_whole(envkit, made):
        assert {name: data for name, data in state(envkit.home).items() if "/.envkit/add" not in name} == before


def test_remove_after_a_kill_still_tells_of_the_user_s_files(envkit, made_by_uv):
    half_done(envkit, "clear_add_folder")
    (made_by_uv / "notes.txt").write_text("mine")
    done = envkit("remove", ENV, "--yes")
    assert done.code == 0
    told = [line.strip() for line in done.err.splitlines() if "no package owns" in line]
    assert told == [f"no package owns {made_by_uv}/notes.txt"]


def half_done(envkit, step: str) -> None:
    """An addition that is killed, as far as the disk can tell, at the call of ``step`` in operations.add."""
    code = f"""
import os, envkit.operations.add as module
module.{step} = lambda *a, **k: os._exit(9)
from envkit.cli.main import main
main(["add", {ENV!r}, "tool"])
"""

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=envkit.variables(), check=False
    )
    assert done.returncode == 9, done.stderr


@pytest.mark.parametrize("step", ["_check_installed", "write_lists", "update_guard", "clear_add_folder"])
def test_killed_after_the_installation_it_is_put_back(envkit, made, step):
    (made / "notes.txt").write_text("mine")
    before = state(envkit.home)
    half_done(envkit, step)
    shown = next(item for item in envkit("list", "--json").json["environments"] if item["name"] == ENV)
    assert shown["state"] == "incomplete"
    assert "Its addition of packages was cut off" in shown["problem"]
    mine = made / "lib" / "python3.9" / "site-packages" / "part" / "my.txt"
    mine.write_text("the user's own, written meanwhile")
    assert not is_whole(envkit, made)
    assert mine.exists()
    mine.unlink()
    mine.parent.rmdir()
    assert state(envkit.home) == before


def test_killed_when_all_is_there_it_stays(envkit, made_by_uv):
    half_done(envkit, "journal.end")
    assert envkit("list", "--json").json["environments"][0]["state"] == "complete"
    assert is_whole(envkit, made_by_uv)
    assert envkit("add", ENV, "share").code == 0
    assert is_whole(envkit, made_by_uv)


def test_killed_before_anything_was_changed_the_environment_is_complete(envkit, made_by_uv):
    before = state(envkit.home)
    half_done(envkit, "write_plan")
    assert envkit("list", "--json").json["environments"][0]["state"] == "complete"
    assert not is_whole(envkit, made_by_uv)
    assert envkit("add", ENV, "numpy").code == 0
    assert state(envkit.home) == before


def test_another_envkit_with_other_locks_keeps_out(envkit, project, made_by_uv, tmp_path):
    """Two users, or two ENVKIT_HOMEs: only the journal is common to them."""
    project.default.hang("part")
    first = start(envkit, "add", ENV, "tool")
    journal = made_by_uv.with_name(f".{ENV}.envkit-journal.json")
    while not (made_by_uv / ".envkit" / "add" / "stage" / "bin").exists():
        assert first.poll() is None
        time.sleep(0.02)
    assert journal.exists()
    before = {path for path in tree(made_by_uv) if "/add/" in path}
    other = {"ENVKIT_HOME": str(tmp_path / "other home")}
    second = envkit("add", made_by_uv, "share", "--lock-timeout", "0.3", env=other)
    assert second.code == 8, second.err
    assert {path for path in tree(made_by_uv) if "/add/" in path} >= before
    assert envkit("run", ENV, "--", "true").code == 0
    project.default.heal()
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    assert not is_whole(envkit, made_by_uv)


def test_what_another_machine_has_taken_over_is_left_alone(envkit, made_by_uv):
    code = f"""
import envkit.operations.add as module
from pathlib import Path
real, prefix = module.resolve_addition, Path({str(made_by_uv)!r})
def taken_over(*arguments):
    path = module.journal.journal_path(prefix)
    path.write_text(path.read_text().replace(module.journal.read(prefix).token, "00000000"))
    (prefix / ".envkit/add/plan.json").write_text("theirs")
    return real(*arguments)
module.resolve_addition = taken_over
from envkit.cli.main import main
raise SystemExit(main(["add", {ENV!r}, "tool"]))
"""

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=envkit.variables(), check=False
    )
    assert (done.returncode, "has taken over" in done.stderr) == (8, True), done.stderr
    assert (made_by_uv / ".envkit" / "add" / "plan.json").read_text() == "theirs"
    assert made_by_uv.with_name(f".{ENV}.envkit-journal.json").exists()


def test_a_damaged_journal_of_an_addition_does_not_keep_half_of_it(envkit, made_by_uv):
    before = state(envkit.home)
    half_done(envkit, "write_lists")
    made_by_uv.with_name(f".{ENV}.envkit-journal.json").write_bytes(b"\0\0")
    assert envkit("list", "--json").json["environments"][0]["state"] == "incomplete"
    assert not is_whole(envkit, made_by_uv)
    assert state(envkit.home) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"new": []}', '{"new": 1}'])
def test_a_damaged_plan_has_a_way_out(envkit, made_by_uv, text):
    half_done(envkit, "write_lists")
    (made_by_uv / ".envkit" / "add" / "plan.json").write_text(text)
    for arguments, code in ((["run", ENV, "--", "true"], 125), (["add", ENV, "share"], 4)):
        done = envkit(*arguments)
        assert done.code == code, done.err
        assert f"envkit restore {ENV} --replace" in done.err
    done = envkit("restore", ENV, "--replace", "--no-verify")
    assert done.code == 0, done.err
    assert not is_whole(envkit, made_by_uv)


def test_a_damaged_plan_is_not_forgotten_when_nothing_comes_of_the_way_out(envkit, project, made_by_uv):
    half_done(envkit, "write_lists")
    (made_by_uv / ".envkit" / "add" / "plan.json").write_text("{")
    assert envkit("remove", ENV).code == 2
    shown = envkit("list", "--json").json["environments"][0]
    assert (shown["state"], "cannot be undone" in shown["problem"]) == ("broken", True)
    assert envkit("run", ENV, "--", "true").code == 125
    assert envkit("remove", ENV, "--yes").code == 0
    assert not made_by_uv.exists()


def test_an_undo_may_be_cut_off_too(envkit, made_by_uv):
    before = state(envkit.home)
    half_done(envkit, "clear_add_folder")
    code = """
import os, sys
from pathlib import Path
from envkit.operations import add_undo
real, left = add_undo._remove, [int(sys.argv[2])]
def remove(path):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    real(path)
add_undo._remove = remove
if int(sys.argv[2]) > 8:
    add_undo._move_back = lambda source, prefix: os._exit(9)
add_undo.undo_add(Path(sys.argv[1]))
"""

    for count in ("0", "1", "3", "100"):
        done = subprocess.run([sys.executable, "-c", code, made_by_uv, count], env=envkit.variables(), check=False)
        assert done.returncode == 9
    assert not is_whole(envkit, made_by_uv)
    assert state(envkit.home) == before


def test_a_full_disk_leaves_the_environment_as_it_was(envkit, made_by_uv):
    code = f"""
import errno, envkit.operations.add as module
def full(*a, **k):
    raise OSError(errno.ENOSPC, "No space left on device", "lock.yaml")
module.write_lists = full
from envkit.cli.main import main
main(["add", {ENV!r}, "tool"])
"""

    before = state(envkit.home)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=envkit.variables(), check=False
    )
    assert done.returncode == 12, done.stderr
    assert state(envkit.home) == before


def test_two_at_once_take_turns(envkit, made_by_uv):
    first, second = start(envkit, "add", ENV, "tool"), start(envkit, "add", ENV, "share")
    assert [first.wait(60), second.wait(60)] == [0, 0], first.stderr.read() + second.stderr.read()
    for child in (first, second):
        child.communicate()
    assert {"tool", "part", "share"} <= locked(made_by_uv).keys()


def test_an_incomplete_environment_and_one_of_conda_are_refused(envkit, made_by_uv):
    record = made_by_uv / ".envkit" / "environment.json"
    content = json.loads(record.read_text())
    record.write_text(json.dumps(content | {"installer": "conda"}))
    done = envkit("add", ENV, "tool")
    assert (done.code, "refusing to use pip" in done.err) == (7, True), done.err
    (made_by_uv / ".envkit" / "lock.yaml").unlink()
    assert envkit("add", ENV, "tool").code == 6
    assert envkit("add", "nothing", "tool").code == 9


def test_a_companion_of_another_build_of_torch_is_refused(envkit, project, made_by_uv):
    """The default index has a torchvision for its own torch, not for this +cu113."""
    make_wheel(project.default.folder, "torchvision", "0.13.1", requires=["torch"])
    before = state(envkit.home)
    done = envkit("add", ENV, "torchvision")
    assert done.code == 4
    assert "does not belong to torch 1.12.1+cu113" in done.err
    assert state(envkit.home) == before


def test_nothing_is_called_there_that_is_not(envkit, made_by_uv):
    assert envkit("add", ENV, "part").code == 0
    site = made_by_uv / "lib/python3.9/site-packages"
    shutil.rmtree(next(site.glob("part-*.dist-info")))
    done = envkit("add", ENV, "part")
    assert done.code == 6
    assert "part is missing" in done.err
    assert f"envkit restore {ENV} --replace" in done.err


def test_remove_says_what_no_snapshot_brings_back(envkit, project, made_by_uv, tmp_path):
    snapshot = (
        envkit.home / "snapshots" / f"{ENV}-{json.loads((made_by_uv / '.envkit/environment.json').read_text())['id']}"
    )
    (snapshot / "20261130T145901Z").mkdir(parents=True)
    shutil.copy(made_by_uv / ".envkit" / "lock.yaml", snapshot / "20261130T145901Z" / "lock.yaml")
    record = json.loads((made_by_uv / ".envkit/environment.json").read_text())
    manifest = {"schema": 1, "id": "20261130T145901Z", "taken_at": "2026-11-30T14:59:01Z", "verified": True}
    manifest |= {
        "environment": record,
        "driver_version": None,
        "torch_version": None,
        "gpus": [],
        "host": {},
        "files": {},
    }
    (snapshot / "20261130T145901Z" / "manifest.json").write_text(json.dumps(manifest))
    assert "newest snapshot" not in envkit("remove", ENV).err
    folder = make_project(tmp_path / "mine")
    assert envkit("add", ENV, "-e", folder).code == 0
    told = envkit("remove", ENV).err
    assert "will not bring it back: part. " in told
    assert f"add it again, `envkit add {ENV} -e {folder}`" in told
