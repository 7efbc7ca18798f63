"""``cuda list`` and ``cuda add`` as programs. Toolkits of the tests' own are folders with a stub nvcc."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.toolkit_folders import add_cudnn, make_toolkit, saying, stub_nvcc

REAL = next((path for path in sorted(Path("/usr/local").glob("cuda-*")) if (path / "bin" / "nvcc").is_file()), None)
NO_PATH = {"PATH": "/usr/bin:/bin"}


def by_path(done):
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    return {item["path"]: item for item in done.json["toolkits"]}


def test_every_field_of_a_toolkit(envkit, tmp_path):
    folder = make_toolkit(tmp_path / "my cuda-11.3")
    add_cudnn(folder)
    done = envkit("cuda", "list", "--json", env={"CUDA_HOME": str(folder)})
    assert done.json["command"] == "cuda list"
    assert by_path(done)[str(folder)] == {
        "version": "11.3.1",
        "release": "11.3",
        "path": str(folder),
        "found_via": "CUDA_HOME",
        "has_nvcc": True,
        "has_headers": True,
        "cudnn": "8.2.1",
        "cudnn_missing": [],
        "environment": None,
        "is_active": True,
        "is_default": False,
    }
    assert sum(item["is_active"] for item in done.json["toolkits"]) == 1


def test_the_table(envkit, tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3", nvcc=None)
    add_cudnn(folder, lib=False)
    env = {"CUDA_HOME": str(folder), "CUDA_PATH": str(tmp_path / "gone")}
    done = envkit("cuda", "list", env=env)
    assert done.code == 0
    row = next(line for line in done.out.splitlines() if str(folder) in line)
    assert row.split() == [
        "11.3.1",
        "active,",
        "partial:",
        "no",
        "nvcc",
        "8.2.1",
        "(no",
        "lib)",
        "CUDA_HOME",
        str(folder),
    ]
    assert done.out.splitlines()[0].split() == ["VERSION", "STATE", "CUDNN", "FOUND", "VIA", "PATH"]
    assert f"Note (CUDA_PATH): {tmp_path}/gone is not there." in done.out.splitlines()
    assert done.err == ""


def test_newest_first_and_each_once(envkit, tmp_path):
    folders = [make_toolkit(tmp_path / name, f"{name}.0") for name in ("9.2", "11.10", "11.8", "99.1")]
    path = os.pathsep.join([*(f"{folder}/bin" for folder in folders), NO_PATH["PATH"]])
    done = envkit("cuda", "list", "--json", env={"PATH": path, "CUDA_PATH": str(folders[0])})
    mine = [item["version"] for item in done.json["toolkits"] if Path(item["path"]) in folders]
    assert mine == ["99.1.0", "11.10.0", "11.8.0", "9.2.0"]
    assert by_path(done)[str(folders[0])]["is_active"]


def test_nothing_found_is_no_error(envkit):
    """On a machine with toolkits they are hidden from the program, by mounts of its own."""
    hidden = [path for root in ("/usr/local", "/opt", "/usr/lib") for path in Path(root).glob("cuda*") if path.is_dir()]
    hidden = [path for path in hidden if not path.is_symlink()]
    start: list[str] = []
    if hidden:
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
            pytest.skip("needs root and unshare to hide this machine's toolkits")
        mounts = " && ".join(f"mount -t tmpfs none '{path}'" for path in hidden)
        start = ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh"]
    for options in ([], ["--json"]):
        done = subprocess.run(
            [*start, *envkit.argv("cuda", "list", *options)],
            capture_output=True,
            text=True,
            env=envkit.variables(NO_PATH),
            cwd=envkit.cwd,
            check=False,
        )
        if "mount:" in done.stderr:
            pytest.skip(f"cannot mount here: {done.stderr}")
        assert done.returncode == 0, done.stderr
        if options:
            assert json.loads(done.stdout)["toolkits"] == []
        else:
            first = "No CUDA toolkit was found. `envkit cuda install V` installs one without root; "
            assert done.stdout.splitlines()[0] == first + "`envkit cuda add DIR` tells envkit of one."


@pytest.mark.skipif(REAL is None, reason="no real CUDA toolkit under /usr/local")
def test_the_real_toolkit(envkit, tmp_path):
    path = f"{REAL}/bin:{NO_PATH['PATH']}"
    done = envkit("cuda", "list", "--json", env={"PATH": path})
    item = by_path(done)[str(REAL)]
    asked = subprocess.run([REAL / "bin" / "nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    assert f"release {item['release']}," in asked
    assert item["version"].startswith(item["release"])
    assert (item["found_via"], item["has_nvcc"], item["has_headers"]) == ("/usr/local", True, True)
    assert item["is_active"]
    assert item["is_default"] is (os.path.realpath("/usr/local/cuda") == os.path.realpath(REAL))
    gone = str(tmp_path / "gone")
    noted = envkit("cuda", "list", "--json", env={"PATH": path, "CUDA_PATH": gone}).json["notes"]
    assert {note["path"] for note in noted} & {gone, str(REAL)} == {gone}


@pytest.mark.skipif(REAL is None, reason="no real CUDA toolkit under /usr/local")
def test_a_wrapper_of_the_real_toolkit_is_resolved(envkit, tmp_path):
    stub_nvcc(tmp_path / "bin" / "nvcc", f'exec {REAL}/bin/nvcc "$@"\n')
    done = envkit("cuda", "list", "--json", env={"PATH": f"{tmp_path}/bin:{NO_PATH['PATH']}"})
    assert by_path(done)[str(REAL)]["is_active"]
    assert str(tmp_path) not in by_path(done)


@pytest.mark.skipif(REAL is None, reason="no real CUDA toolkit under /usr/local")
def test_no_program_is_started_where_files_tell(envkit, tmp_path):
    """A stub first in PATH, whose files tell the version, would leave a trace."""
    folder = make_toolkit(tmp_path / "cuda-11.3", nvcc=f"touch {tmp_path}/ran\n")
    done = envkit("cuda", "list", "--json", env={"CUDA_HOME": str(folder), "PATH": f"{folder}/bin:/usr/bin:/bin"})
    assert by_path(done)[str(folder)]["version"] == "11.3.1"
    assert not (tmp_path / "ran").exists()


def test_all_that_is_odd_at_once(envkit, tmp_path):
    bad = make_toolkit(tmp_path / "bad", None, nvcc="exit 7\n")
    (bad / "version.json").write_text("{")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    env = {
        "CUDA_HOME": str(tmp_path / "loop"),
        "CUDA_PATH": str(tmp_path / "file"),
        "CUDA_PATH_V11_8": str(bad),
        "NVHPC_ROOT": str(tmp_path),
    }
    done = envkit("cuda", "list", "--json", env=env)
    item = by_path(done)[str(bad)]
    assert (item["version"], item["release"], item["found_via"]) == (None, None, "CUDA_PATH_V11_8")
    told = {note["message"] for note in done.json["notes"]}
    assert {
        f"{tmp_path}/loop is a link that leads in a circle.",
        f"{tmp_path}/file is a file, and no folder.",
        f"{bad}/version.json is no JSON.",
        f"`{bad}/bin/nvcc --version` does not tell a version.",
        f"{tmp_path} holds no CUDA toolkit of the NVIDIA HPC SDK.",
    } <= told


def test_a_name_that_would_hide_what_is_said(envkit, tmp_path):
    folder = make_toolkit(tmp_path / "a\x1b[2Jb\nc")
    done = envkit("cuda", "list", env={"CUDA_HOME": str(folder)})
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "a\\x1b[2Jb\\nc" in done.out
    assert str(folder) in by_path(envkit("cuda", "list", "--json", env={"CUDA_HOME": str(folder)}))


def test_a_broken_configuration_is_told_by_list_and_by_create(envkit, project, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("schema: 1\ntoolkitz: []\n")
    env = {"ENVKIT_CONFIG": str(config)}
    project.write_lock(spec_sha256=None, toolkit="11.3")
    for words in (("cuda", "list"), ("create", project.lock, "--dry-run"), ("cuda", "list", "--json")):
        done = envkit(*words, env=env)
        assert done.code == 4
        assert "Traceback" not in done.err
        assert f"{config}:2: unknown key 'toolkitz'." in done.err + done.out
    assert done.json["error"]["hint"] == "Did you mean 'toolkits'?"
    assert (done.json["toolkits"], done.json["notes"]) == ([], [])


def test_add_then_list_then_plan_of_create(envkit, project, tmp_path):
    folder = make_toolkit(tmp_path / "apps" / "été 11.3", None, nvcc=saying("11.3", "11.3.109"))
    added = envkit("cuda", "add", f"{folder}/bin/..", "--json")
    assert added.code == 0, added.err
    assert (added.json["command"], added.json["added"]) == ("cuda add", True)
    assert added.json["toolkit"]["path"] == str(folder)
    assert added.json["toolkit"]["version"] == "11.3.1"
    again = envkit("cuda", "add", folder)
    assert (again.code, again.out) == (0, f"Already in the list: CUDA 11.3.1 in {folder}.\n")
    assert by_path(envkit("cuda", "list", "--json"))[str(folder)]["found_via"] == "added"
    project.write_lock(spec_sha256=None, toolkit="11.3")
    planned = envkit("create", project.lock, "--dry-run", "--json")
    assert planned.code == 0, planned.err
    assert planned.json["plan"]["toolkit"] == {"version": "11.3.1", "release": "11.3", "path": str(folder)}


def test_add_of_what_is_no_toolkit(envkit, tmp_path):
    done = envkit("cuda", "add", tmp_path, "--json")
    assert done.code == 9
    assert done.json["error"]["why"].startswith(f"{tmp_path} holds no CUDA toolkit: neither bin/nvcc")
    assert (done.json["toolkit"], done.json["added"]) == (None, False)
    assert envkit("cuda", "add", "/usr").code == 9
    assert envkit("cuda", "add", make_toolkit(tmp_path / "a:b")).code == 2
    assert not (envkit.home / "toolkits").exists()


def test_add_of_a_partial_one_says_so(envkit, tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3", headers=False)
    assert envkit("cuda", "add", folder).out == f"Added CUDA 11.3.1 in {folder}, a partial one: no headers.\n"


def test_two_adds_at_once_keep_both(envkit, tmp_path):
    folders = [make_toolkit(tmp_path / name) for name in ("one", "two")]
    running = [
        subprocess.Popen(envkit.argv("cuda", "add", folder), env=envkit.variables(), stdout=subprocess.DEVNULL)
        for folder in folders
    ]
    assert [child.wait(60) for child in running] == [0, 0]
    assert set(map(str, folders)) <= by_path(envkit("cuda", "list", "--json")).keys()


def test_a_damaged_list_of_added_ones(envkit, tmp_path):
    file = envkit.home / "toolkits" / "added.yaml"
    file.parent.mkdir()
    file.write_text("schema: 1\ntoolkits: [relative]\n")
    for words in (("cuda", "list", "--json"), ("cuda", "add", make_toolkit(tmp_path / "x"), "--json")):
        done = envkit(*words)
        assert done.code == 4
        assert str(file) in done.json["error"]["message"]
        assert "Delete the file" in done.json["error"]["hint"]
    assert file.read_text() == "schema: 1\ntoolkits: [relative]\n"


def test_a_folder_of_somebody_else_cannot_be_written(envkit, tmp_path):
    (envkit.home / "toolkits").write_text("a file is in the way")
    done = envkit("cuda", "add", make_toolkit(tmp_path / "x"))
    assert done.code == 12
    assert "Traceback" not in done.err


def test_a_partial_toolkit_is_told_when_an_environment_gets_it(envkit, project, tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3", headers=False)
    done = envkit("create", project.spec, "--dry-run", "--toolkit", folder)
    assert done.code == 0, done.err
    assert f"The CUDA toolkit in {folder} is a partial one: no headers." in done.err
