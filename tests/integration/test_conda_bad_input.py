"""Whatever is wrong with channels and packages ends in an error with reason and way out, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.channel import Channel
from tests.support.channel_server import serve_channels
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str


INVALID_FILE, EXTERNAL, STORAGE = 4, 5, 12
LIMIT_S = 3
"""What ``.condarc`` says of servers that stand still, where a test says so."""


@pytest.fixture(scope="module")
def channels(tmp_path_factory):
    """Two channels of small packages."""
    root = tmp_path_factory.mktemp("bad-input")
    forge, other = Channel(root / "conda-forge"), Channel(root / "other")
    forge.add("python", "3.11.7", build="h1_0_cpython", files={"bin/python": "#!/bin/sh\nexit 0\n"})
    for version in ("1.0", "2.0"):
        forge.add("tool", version, depends=["python 3.11.*", f"part {version}.*"])
        forge.add("part", version)
    forge.add("driven", "1.0", depends=["__cuda >=11.3"])
    forge.add("large", "1.0", files={f"share/large/{number}": bytes([number]) * 4000 for number in range(200)})
    other.add("tool", "3.0")
    forge.index()
    other.index()
    return forge, other


@pytest.fixture
def server(channels, conda_home):
    """Serves the channels; ``conda-forge`` means that server."""
    with serve_channels(channels[0].folder.parent) as made:
        conda_home.condarc(channel_alias=made.url, remote_max_retries=1)
        yield made


@pytest.fixture
def impatient(server, conda_home):
    """A user who waits ``LIMIT_S`` for a server that stands still."""
    limits = dict.fromkeys(("remote_connect_timeout_secs", "remote_read_timeout_secs"), LIMIT_S)
    conda_home.condarc(channel_alias=server.url, remote_max_retries=1, **limits)


@pytest.fixture
def spec(envkit):
    """Writes a spec and gives its path: ``spec(packages=["tool"])``."""

    def write(**changes) -> Path:
        content = {
            "schema": 1,
            "name": "demo",
            "python": "3.11",
            "installer": "conda",
            "cuda": "cpu",
            "channels": ["conda-forge"],
            "packages": ["tool=1"],
            "toolkit": "none",
            "platforms": ["linux-64"],
        }
        path = envkit.cwd / "demo.yaml"
        path.write_text(json.dumps(content | changes))
        return path

    return write


@pytest.fixture
def lock(envkit, spec, server):
    """A lock of python, tool and part."""
    done = envkit("lock", spec())
    assert done.code == 0, done.err
    server.requests.clear()
    return envkit.cwd / "demo.lock.yaml"


def create(envkit, lock, prefix, *options, **more):
    return envkit("create", lock, "--prefix", prefix, "--no-verify", *options, **more)


def inside(disk, envkit, *arguments, **env) -> Run:
    """Run envkit where the disk is mounted."""
    command = [*disk.enter, *envkit.argv(*arguments)]
    done = subprocess.run(
        command, env=envkit.variables(env), cwd=envkit.cwd, capture_output=True, text=True, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr)


def said(done, code: int, *words: str) -> str:
    """The message of a failure with that code; it has these words, a way out, and no traceback."""
    assert done.code == code, done.err
    message = done.err[done.err.index("Error: ") :]
    assert "Traceback" not in done.err
    assert "Hint: " in message
    assert len(message.splitlines()) <= 16, message
    for word in words:
        assert word in message
    return message


def left(prefix: Path) -> list[str]:
    """What is beside and at a prefix that was not made."""
    return sorted(str(path.relative_to(prefix.parent)) for path in prefix.parent.rglob("*"))


def test_all_is_well_when_nothing_is_wrong(envkit, lock, tmp_path):
    done = create(envkit, lock, tmp_path / "envs" / "demo")
    assert done.code == 0, done.err
    assert (tmp_path / "envs" / "demo" / "share" / "part" / "version.txt").read_text() == "1.0\n"


@pytest.mark.parametrize("where", ["http", "file"])
def test_a_channel_that_does_not_exist(envkit, spec, server, channels, conda_home, where):
    if where == "file":
        conda_home.condarc(channel_alias=channels[0].folder.parent.as_uri())
    done = envkit("lock", spec(channels=["nowhere", "conda-forge"]))
    said(done, EXTERNAL, "no channel nowhere", "/nowhere)", "channel_alias")
    assert not (envkit.cwd / "demo.lock.yaml").exists()


def test_a_channel_where_nobody_answers(envkit, spec, channels, conda_home):
    conda_home.condarc(remote_max_retries=1)
    with serve_channels(channels[0].folder.parent) as gone:
        address = gone.url
    done = envkit("lock", spec(channels=[f"{address}/conda-forge"]))
    said(done, EXTERNAL, f"{address}/conda-forge", "nobody answers there", "proxy")


@pytest.mark.parametrize("status", [401, 403])
def test_a_channel_that_wants_credentials(envkit, spec, server, status):
    server.fail("", status)
    said(envkit("lock", spec()), EXTERNAL, "conda-forge", str(status), "credentials")


def test_a_channel_that_sends_a_login_page(envkit, spec, server):
    server.replace("repodata.json", b"<html>log in</html>")
    server.replace("repodata.json.zst", b"<html>log in</html>")
    said(envkit("lock", spec()), EXTERNAL, "channel conda-forge", "login page")


def test_credentials_are_in_no_message(envkit, spec, channels, conda_home):
    with serve_channels(channels[0].folder.parent, auth=("me", "right")) as server:
        conda_home.condarc(channel_alias=server.url.replace("://", "://me:s3cr3t-wrong@"))
        done = envkit("lock", spec())
    said(done, EXTERNAL, "401", "credentials")
    assert "s3cr3t" not in done.out + done.err


def test_a_version_that_no_channel_has(envkit, spec, server):
    message = said(envkit("lock", spec(packages=["tool=9"])), INVALID_FILE, "No candidates were found for tool 9.*")
    assert len(message.splitlines()) <= 4


def test_two_wishes_that_contradict_each_other(envkit, spec, server):
    done = envkit("lock", spec(packages=["tool=2", "part=1"]))
    said(done, INVALID_FILE, "tool", "part 2.0.*", "loosen")
    assert not (envkit.cwd / "demo.lock.yaml").exists()


def test_a_package_that_needs_a_driver_in_a_spec_for_cpu(envkit, spec, server):
    said(envkit("lock", spec(packages=["driven"])), INVALID_FILE, "__cuda", "machine")


def test_a_better_version_in_a_channel_of_lower_priority_does_not_help(envkit, spec, server):
    said(envkit("lock", spec(channels=["conda-forge", "other"], packages=["tool=3"])), INVALID_FILE, "tool 3.*")
    done = envkit("lock", spec(channels=["other", "conda-forge"], packages=["tool=3"]))
    assert done.code == 0, done.err


def test_what_is_no_match_spec(envkit, spec, server):
    said(envkit("lock", spec(packages=["tool >=1,,<<2"])), INVALID_FILE, "tool >=1,,<<2", "no MatchSpec")
    assert server.requests == []


def test_a_package_with_other_bytes_than_the_lock_says(envkit, lock, server, channels, tmp_path):
    other = Channel(tmp_path / "conda-forge").add("part", "1.0", files={"share/part/version.txt": "evil\n"})
    server.replace("part-1.0-0.conda", other.read_bytes())
    prefix = tmp_path / "envs" / "demo"
    record = channels[0].records()["part-1.0-0.conda"]
    said(create(envkit, lock, prefix), EXTERNAL, "part-1.0-0.conda", "conda-forge", record["sha256"])
    assert left(prefix) == []


def test_a_damaged_package(envkit, lock, server, tmp_path):
    server.corrupt("part-1.0-0.conda")
    prefix = tmp_path / "envs" / "demo"
    message = said(create(envkit, lock, prefix), EXTERNAL, "part-1.0-0.conda", "conda-forge")
    assert "login page" not in message
    assert left(prefix) == []


@pytest.mark.parametrize("offline", [False, True])
def test_a_refused_package_is_not_in_the_cache_afterwards(envkit, lock, server, tmp_path, offline):
    server.corrupt("part-1.0-0.conda")
    assert create(envkit, lock, tmp_path / "envs" / "demo").code == EXTERNAL
    server.heal()
    done = create(envkit, lock, tmp_path / "envs" / "demo", *(["--offline"] if offline else []))
    if offline:
        said(done, EXTERNAL, "Offline", "part-1.0-0.conda")
    else:
        assert done.code == 0, done.err


def test_a_package_that_the_channel_has_no_more(envkit, lock, server, tmp_path):
    server.fail("part-1.0-0.conda", 404)
    prefix = tmp_path / "envs" / "demo"
    said(create(envkit, lock, prefix), EXTERNAL, "part-1.0-0.conda", "404", "lock again")
    assert left(prefix) == []


def test_a_download_that_breaks_off(envkit, spec, server, tmp_path):
    assert envkit("lock", spec(packages=["large"])).code == 0
    server.cut("large-1.0-0.conda", 500)
    prefix = tmp_path / "envs" / "demo"
    said(create(envkit, envkit.cwd / "demo.lock.yaml", prefix), EXTERNAL, "large-1.0-0.conda", "500 of")
    assert left(prefix) == []


def test_a_server_that_never_answers_a_question_for_the_index(envkit, spec, server, impatient):
    server.hang("")
    since = time.monotonic()
    said(
        envkit("lock", spec(), timeout_s=60), EXTERNAL, "conda-forge", f"within {LIMIT_S} s", "remote_read_timeout_secs"
    )
    assert time.monotonic() - since < 30


def test_a_server_that_never_sends_a_package(envkit, lock, server, impatient, tmp_path):
    server.hang("part-1.0-0.conda")
    prefix = tmp_path / "envs" / "demo"
    since = time.monotonic()
    said(create(envkit, lock, prefix, timeout_s=60), EXTERNAL, "part-1.0-0.conda", f"within {LIMIT_S} s")
    assert time.monotonic() - since < 30
    assert left(prefix) == []


def test_a_server_that_is_slow_but_sends_is_waited_for(envkit, spec, server, impatient, tmp_path):
    assert envkit("lock", spec(packages=["large"])).code == 0
    size = (server.folder / "conda-forge" / "linux-64" / "large-1.0-0.conda").stat().st_size
    server.trickle("large-1.0-0.conda", size=size // 4, every_s=LIMIT_S / 2)
    done = create(envkit, envkit.cwd / "demo.lock.yaml", tmp_path / "envs" / "demo", timeout_s=60)
    assert done.code == 0, done.err


def test_a_condarc_that_is_no_yaml(envkit, spec, conda_home):
    file = conda_home.condarc()
    file.write_text("channel_alias: http://127.0.0.1\nssl_verify: [true\n")
    said(envkit("lock", spec()), INVALID_FILE, f"{file}:")


def test_offline_with_nothing_in_the_caches(envkit, lock, server, conda_home, tmp_path, monkeypatch):
    monkeypatch.setenv("RATTLER_CACHE_DIR", str(tmp_path / "another-cache"))
    conda_home.condarc(channel_alias=server.url, offline=True)
    prefix = tmp_path / "envs" / "demo"
    said(create(envkit, lock, prefix), EXTERNAL, "Offline", "part-1.0-0.conda", "--wheelhouse")
    assert left(prefix) == []
    said(envkit("lock", "--upgrade", lock.with_name("demo.yaml")), EXTERNAL, "Offline", "conda-forge")
    assert server.requests == []


def test_a_base_for_pip_that_cannot_be_had(envkit, project, channels, conda_home, tmp_path):
    with serve_channels(channels[0].folder.parent) as gone:
        address = gone.url
    conda_home.condarc(channel_alias=address, remote_max_retries=1)
    prefix = tmp_path / "envs" / "demo"
    said(create(envkit, project.lock, prefix, "--backend", "conda"), EXTERNAL, "conda-forge", "nobody answers")
    assert left(prefix) == []


def test_a_read_only_envs_folder_is_passed_over_as_conda_does(envkit, lock, conda_home, tmp_path):
    (tmp_path / "ro").mkdir()
    with small_disk(tmp_path / "ro") as disk:
        if disk is None:
            pytest.skip("no file system can be mounted here")
        disk.remount("ro")
        folders = f"{disk.folder}:{tmp_path / 'second'}"
        done = inside(disk, envkit, "create", lock, "--no-verify", "--name", "demo", CONDA_ENVS_PATH=folders)
    assert done.code == 0, done.err
    assert [path.name for path in (tmp_path / "second").iterdir() if not path.name.startswith(".")] == ["demo"]


def test_a_read_only_envs_folder_alone(envkit, lock, tmp_path):
    (tmp_path / "ro").mkdir()
    with small_disk(tmp_path / "ro") as disk:
        if disk is None:
            pytest.skip("no file system can be mounted here")
        disk.remount("ro")
        done = inside(disk, envkit, "create", lock, "--no-verify", "--prefix", disk.folder / "demo")
        said(done, STORAGE, str(disk.folder), "--prefix")


def test_a_full_disk(envkit, spec, server, tmp_path):
    assert envkit("lock", spec(packages=["large"])).code == 0
    (tmp_path / "small").mkdir()
    with small_disk(tmp_path / "small") as disk:
        if disk is None:
            pytest.skip("no file system can be mounted here")
        disk.leave_free(200_000)
        lock = envkit.cwd / "demo.lock.yaml"
        done = inside(disk, envkit, "create", lock, "--no-verify", "--prefix", disk.folder / "demo")
        said(done, STORAGE, "full")
        disk.free()
        assert [path.name for path in disk.seen.iterdir()] == []
