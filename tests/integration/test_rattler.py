"""py-rattler as envkit calls it: real channels over HTTP, real packages, servers that misbehave."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_plus

import pytest
import trustme

import envkit
from envkit.errors import DownloadError, EnvkitError, ExitCode, ProgramError, UnsatisfiableError, UsageError
from envkit.installers.condarc import CondaSettings, read_conda_settings
from envkit.installers.rattler import calls
from envkit.model.conda_record import CondaRecord
from envkit.model.progress import Silent
from tests.support.channel import Channel, corrupted
from tests.support.channel_server import serve_channels

PLATFORM = "linux-64"
TOKEN = "tk-1234-secret"  # noqa: S105 - of a test


class Notes(Silent):
    """Keeps what it is told."""

    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two channels: ``main`` with all, ``other`` with a newer ``base``."""
    root = tmp_path_factory.mktemp("channels")
    main = Channel(root / "main")
    main.add("base", "1.0")
    main.add("base", "1.1")
    main.add("app", "1.0", depends=["base >=1.0", "noisy"])
    main.add("noisy", "1.0", noarch="generic", scripts={"post-link": "#!/bin/sh\necho ran > $PREFIX/ran\n"})
    main.add("python", "3.11.4", files={"bin/python3.11": "#!/bin/sh\n"})
    main.add("pure", "1.0", noarch="python", depends=["python"], files={"site-packages/pure.py": "x = 1\n"})
    main.add("tracked", "1.0", track_features="one two", constrains=["app >5"], build_number=3)
    main.add("gpu", "1.0", depends=["__cuda >=12"])
    main.add("big", "1.0", files={"share/big.bin": bytes(range(256)) * 8000}, extension="tar.bz2")
    main.add("dense", "1.0", files={"share/dense.bin": random.Random(1).randbytes(300_000)})  # noqa: S311
    main.add("clash", "1.0", depends=["base <1.0"])
    main.index(shards=True)
    other = Channel(root / "other")
    other.add("base", "2.0")
    other.add("extra", "1.0", depends=["base"])
    other.index()
    return root


@pytest.fixture
def server(folder):
    with serve_channels(folder) as running:
        yield running


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A package cache of the test's own."""
    with monkeypatch.context() as patch:
        patch.setenv("RATTLER_CACHE_DIR", str(tmp_path / "rattler"))
        yield tmp_path / "rattler"


def settings_for(server, **changes):
    return CondaSettings(channel_alias=server.url, retries=0, **changes)


def solve(channels, specs, settings, *, cuda=None, offline=False, progress=None, **more):
    return calls.solve(
        channels,
        specs,
        platform=PLATFORM,
        virtual_packages=[("__cuda", cuda, "0")] if cuda else [],
        settings=settings,
        offline=offline,
        timeout_s=60,
        progress=progress or Silent(),
        **more,
    )


def install(records, prefix, settings, *, offline=False, progress=None, **more):
    return calls.install(
        records,
        prefix,
        settings=settings,
        platform=PLATFORM,
        offline=offline,
        timeout_s=60,
        progress=progress or Silent(),
        **more,
    )


def meta(prefix, name):
    (path,) = (prefix / "conda-meta").glob(f"{name}-*.json")
    return json.loads(path.read_text())


def names(records):
    return {record["name"]: record["version"] for record in records}


def test_a_solve_gives_complete_records_with_the_channel_as_it_was_named(server, folder):
    records = solve(["main"], ["app"], settings_for(server))
    assert names(records) == {"app": "1.0", "base": "1.1", "noisy": "1.0"}
    app = next(record for record in records if record["name"] == "app")
    stated = Channel(folder / "main").locked("app")[0]
    assert app == stated | {"md5": app["md5"], "build_number": 0, "requested": "app"}


def test_rare_fields_go_through_a_lock_into_the_prefix(server, folder, tmp_path):
    settings = settings_for(server)
    (record,) = solve(["main"], ["tracked"], settings)
    assert (record["track_features"], record["constrains"], record["build_number"]) == (["one", "two"], ["app >5"], 3)
    install([CondaRecord.from_dict(record).to_dict()], tmp_path / "prefix", settings)
    stated, noted = Channel(folder / "main").records()[record["file"]], meta(tmp_path / "prefix", "tracked")
    for key in (
        "build_number",
        "constrains",
        "depends",
        "license",
        "md5",
        "sha256",
        "size",
        "timestamp",
        "track_features",
    ):
        assert noted[key] == stated[key], key


def test_rattler_is_never_imported_by_envkit_itself(folder, tmp_path):
    code = (
        "import sys; from pathlib import Path; from envkit.installers.condarc import CondaSettings;"
        "from envkit.installers.rattler import calls; from envkit.model.progress import Silent;"
        f"more = dict(settings=CondaSettings(), platform='linux-64', offline=False, timeout_s=60, progress=Silent());"
        f"records = calls.solve([{(folder / 'main').as_uri()!r}], ['app'], virtual_packages=[], **more);"
        f"calls.install(records, Path({str(tmp_path / 'p')!r}), **more);"
        "sys.exit(any(name.split('.')[0] == 'rattler' for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert (tmp_path / "p/share/app/version.txt").read_text() == "1.0\n"


def test_the_worker_runs_where_envkit_is_found_by_pythonpath_alone(folder):
    """No virtual environment, nothing in site-packages; the worker gets no PYTHONPATH."""
    code = (
        "from envkit.installers.condarc import CondaSettings; from envkit.installers.rattler import calls;"
        "from envkit.model.progress import Silent;"
        f"print(calls.solve([{(folder / 'main').as_uri()!r}], ['base'], platform='linux-64', virtual_packages=[],"
        "settings=CondaSettings(), offline=False, timeout_s=60, progress=Silent())[0]['version'])"
    )
    paths = [str(Path(envkit.__file__).parents[1]), *(path for path in sys.path if path.endswith("-packages"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    python = Path(sys.base_prefix) / "bin" / Path(sys.executable).name
    command = [python if python.exists() else sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "1.1\n"


def test_the_first_channel_that_has_a_package_is_the_only_one_for_it(server):
    settings = settings_for(server)
    assert names(solve(["main", "other"], ["extra", "base"], settings))["base"] == "1.1"
    assert names(solve(["other", "main"], ["extra", "base"], settings))["base"] == "2.0"


def test_a_later_channel_does_not_give_what_the_first_has_in_other_versions(server):
    with pytest.raises(UnsatisfiableError, match="No set") as caught:
        solve(["main", "other"], ["base >=2"], settings_for(server))
    assert "strict channel priority" in caught.value.why
    assert "CHANNEL::PACKAGE" in caught.value.hint
    assert names(solve(["main", "other"], ["other::base >=2"], settings_for(server))) == {"base": "2.0"}


def test_a_multichannel_is_one_channel(server):
    settings = settings_for(server, default_channels=(f"{server.url}/main", f"{server.url}/other"))
    records = solve(["defaults"], ["base"], settings)
    assert names(records) == {"base": "2.0"}
    assert records[0]["channel"] == "other"


def test_a_spec_may_name_its_channel(server):
    settings = settings_for(server, custom_channels={"renamed": server.url})
    assert names(solve(["main", "other"], ["other::base"], settings)) == {"base": "2.0"}
    with pytest.raises(UsageError, match="'third::base' names the channel third"):
        solve(["main"], ["third::base"], settings)


def test_virtual_packages_are_those_of_the_caller(server):
    assert names(solve(["main"], ["gpu"], settings_for(server), cuda="12.4")) == {"gpu": "1.0"}
    with pytest.raises(UnsatisfiableError) as caught:
        solve(["main"], ["gpu"], settings_for(server), cuda="11.8")
    assert caught.value.exit_code is ExitCode.INVALID_FILE
    assert "__cuda >=12" in caught.value.why
    assert "__cuda" in caught.value.hint


def test_locked_records_are_kept_to_where_the_specs_allow(server, folder):
    locked = [record for record in Channel(folder / "main").locked("base") if record["version"] == "1.0"]
    assert names(solve(["main"], ["app"], settings_for(server), locked=locked))["base"] == "1.0"


def test_locked_records_count_as_long_as_the_first_channel_has_them(tmp_path):
    first, second = (Channel(tmp_path / "channels" / name) for name in ("first", "second"))
    first.add("base", "2.0")
    file = second.add("base", "1.0")
    for channel in (first, second):
        channel.index()
    settings = CondaSettings(channel_alias=(tmp_path / "channels").as_uri(), retries=0)
    locked = solve(["second", "first"], ["base"], settings)
    assert names(locked) == {"base": "1.0"}
    assert names(solve(["first", "second"], ["base"], settings, locked=locked)) == {"base": "2.0"}
    assert solve(["first"], ["base"], settings, locked=locked)[0]["channel"] == "first"
    file.unlink()
    second.add("base", "1.0", build="1")
    second.index()
    assert solve(["second"], ["base"], settings, locked=locked)[0]["build"] == "1"
    assert solve(["second"], ["base"], settings, locked=locked, holds=True)[0]["build"] == "0"


def test_constraints_hold_for_what_other_packages_bring(server):
    assert names(solve(["main"], ["app"], settings_for(server), constraints=["base <1.1"]))["base"] == "1.0"


@pytest.mark.parametrize(
    "spec", ["numpy[", "numpy>=", "", "py*", "bad spec === 3 x", "https://h/c/linux-64/a-1-0.conda"]
)
def test_what_is_no_matchspec_is_named(server, spec):
    with pytest.raises(UsageError) as caught:
        solve(["main"], ["app", spec], settings_for(server))
    assert repr(spec) in caught.value.message


def test_an_installation_gives_a_conda_prefix(server, tmp_path):
    settings, prefix = settings_for(server), tmp_path / "prefix"
    report = install(solve(["main"], ["app"], settings), prefix, settings)
    assert (prefix / "share/app/version.txt").read_text() == "1.0\n"
    assert report.unlinked_scripts == ("noisy",)
    assert not (prefix / "ran").exists()
    assert not (prefix / "CACHEDIR.TAG").exists()
    app = meta(prefix, "app")
    assert app["url"] == f"{server.url}/main/linux-64/{app['fn']}"
    assert app["channel"] == f"{server.url}/main/linux-64"
    assert (app["requested_specs"], meta(prefix, "base").get("requested_specs", [])) == (["app"], [])
    history = (prefix / "conda-meta/history").read_text().splitlines()
    assert history[0].startswith("==> ")
    assert "+main/linux-64::app-1.0-0" in history
    assert history[-1] == "# update specs: ['app']"


def test_a_second_installation_replaces_or_adds(server, tmp_path):
    settings, prefix = settings_for(server), tmp_path / "prefix"
    install(solve(["main"], ["base=1.0"], settings), prefix, settings)
    install(solve(["main"], ["big"], settings), prefix, settings, add=True)
    assert {path.name for path in (prefix / "conda-meta").glob("*.json")} == {"base-1.0-0.json", "big-1.0-0.json"}
    install(solve(["main"], ["base"], settings), prefix, settings)
    assert {path.name for path in (prefix / "conda-meta").glob("*.json")} == {"base-1.1-0.json"}
    state = set()
    for line in (prefix / "conda-meta/history").read_text().splitlines():
        if line[0] in "+-":
            (state.add if line[0] == "+" else state.discard)(line[1:])
    assert state == {"main/linux-64::base-1.1-0"}


def test_packages_that_are_there_stay_untouched_when_others_are_added(server, tmp_path):
    """A pure Python package is laid out by the Python that is there."""
    settings, prefix = settings_for(server), tmp_path / "prefix"
    install(solve(["main"], ["python", "base"], settings), prefix, settings)
    before = {path: path.stat().st_mtime_ns for path in [*prefix.glob("conda-meta/*.json"), prefix / "bin/python3.11"]}
    pure = [record for record in solve(["main"], ["pure"], settings) if record["name"] == "pure"]
    install(pure, prefix, settings, add=True)
    assert (prefix / "lib/python3.11/site-packages/pure.py").read_text() == "x = 1\n"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert meta(prefix, "python")["requested_specs"] == ["python"]
    assert meta(prefix, "pure")["requested_specs"] == ["pure"]


def test_a_warm_cache_needs_no_network(server, tmp_path):
    settings = settings_for(server)
    records = solve(["main"], ["app"], settings)
    install(records, tmp_path / "first", settings)
    dead = replace(settings, channel_alias="http://127.0.0.1:9")
    install(records, tmp_path / "second", dead)
    assert meta(tmp_path / "second", "app")["url"].startswith("http://127.0.0.1:9/main/")


@pytest.mark.parametrize("nested", [False, True])
def test_a_folder_of_packages_is_used_instead_of_the_network(folder, tmp_path, nested):
    records = Channel(folder / "main").locked("app", "noisy") + Channel(folder / "main").locked("base")[:1]
    wheelhouse = tmp_path / "packages"
    for record in records:
        place = wheelhouse / record["subdir"] if nested else wheelhouse
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "main" / record["subdir"] / record["file"], place)
    settings = CondaSettings(channel_alias="http://127.0.0.1:9", retries=0)
    install(records, tmp_path / "prefix", settings, folders=[wheelhouse])
    for record in records:
        noted = (tmp_path / f"prefix/conda-meta/{record['name']}-{record['version']}-0.json").read_text()
        assert json.loads(noted)["url"] == f"http://127.0.0.1:9/main/{record['subdir']}/{record['file']}"
        assert str(wheelhouse) not in noted


def test_conda_s_own_package_folders_are_used(folder, tmp_path):
    record = Channel(folder / "main").locked("big")[0]
    (tmp_path / "pkgs").mkdir()
    shutil.copy(folder / "main/linux-64" / record["file"], tmp_path / "pkgs")
    settings = CondaSettings(channel_alias="http://127.0.0.1:9", pkgs_dirs=(tmp_path / "pkgs",))
    install([record], tmp_path / "prefix", settings, offline=True)
    assert (tmp_path / "prefix/share/big.bin").stat().st_size == 256 * 8000


def test_a_file_in_a_folder_with_another_hash_is_not_taken(server, folder, tmp_path):
    record = Channel(folder / "main").locked("big")[0]
    (tmp_path / record["file"]).write_bytes((folder / "main/linux-64" / record["file"]).read_bytes()[:-1] + b"x")
    install([record], tmp_path / "prefix", settings_for(server), folders=[tmp_path])
    assert server.asked_for(record["file"])
    with pytest.raises(DownloadError, match=r"Offline, and not on this disk: big-1\.0-0"):
        install(
            [record],
            tmp_path / "next",
            settings_for(server),
            folders=[tmp_path],
            offline=True,
            cache_dir=tmp_path / "c",
        )


def test_offline_asks_nobody(server, tmp_path):
    settings = settings_for(server)
    install(solve(["main"], ["app"], settings), tmp_path / "first", settings)
    server.requests.clear()
    records = solve(["main"], ["app"], settings, offline=True)
    install(records, tmp_path / "second", replace(settings, offline=True))
    assert server.requests == []
    with pytest.raises(DownloadError, match="Offline, and the index of the channel other"):
        solve(["other"], ["base"], settings, offline=True)
    with pytest.raises(DownloadError, match=r"Offline, and not on this disk: big-1\.0-0"):
        install(Channel(server.folder / "main").locked("big"), tmp_path / "third", settings, offline=True)
    assert server.requests == []


def test_another_package_of_that_name_in_the_cache_is_not_taken(server, folder, tmp_path):
    """Two channels may have the same name, version and build."""
    twin = Channel(tmp_path / "served/twin")
    twin.add("base", "1.1", files={"share/base/version.txt": "the twin's"})
    twin.index()
    record = next(record for record in Channel(folder / "main").locked("base") if record["version"] == "1.1")
    with serve_channels(tmp_path / "served") as other:
        install(twin.locked(), tmp_path / "first", settings_for(other))
    with pytest.raises(DownloadError, match=r"Offline, and not on this disk: base-1\.1-0"):
        install([record], tmp_path / "offline", settings_for(server), offline=True)
    install([record], tmp_path / "second", settings_for(server), folders=[folder / "main/linux-64"])
    assert (tmp_path / "second/share/base/version.txt").read_text() == "1.1\n"
    assert server.asked_for(record["file"]) == []


def test_the_configuration_of_a_chinese_mirror_works(folder, tmp_path):
    """As TUNA, USTC and others tell their users to write it, with folders as they have them."""
    site = tmp_path / "anaconda"
    for place in ("cloud/conda-forge", "pkgs/main"):
        shutil.copytree(folder / "main", site / place)
    with serve_channels(tmp_path) as mirror:
        (tmp_path / ".condarc").write_text(
            f"channels: [defaults]\nshow_channel_urls: true\ndefault_channels:\n  - {mirror.url}/anaconda/pkgs/main\n"
            f"custom_channels:\n  conda-forge: {mirror.url}/anaconda/cloud\n"
        )
        settings = read_conda_settings({"HOME": str(tmp_path), "PATH": ""})
        records = solve(["conda-forge"], ["app"], settings)
        assert {record["channel"] for record in records} == {"conda-forge"}
        install(records, tmp_path / "prefix", settings)
        assert meta(tmp_path / "prefix", "app")["channel"] == f"{mirror.url}/anaconda/cloud/conda-forge/linux-64"
        (record,) = solve(["defaults"], ["base"], settings)
        assert record["channel"] == "pkgs/main"
        install([record], tmp_path / "next", settings)
        assert meta(tmp_path / "next", "base")["url"].startswith(f"{mirror.url}/anaconda/pkgs/main/linux-64/")


def damage(cache, kind):
    entry = cache / "pkgs" / "big-1.0-0"
    if kind == "file gone":
        (entry / "share/big.bin").unlink()
    elif kind == "no index":
        (entry / "info/index.json").unlink()
    elif kind == "half a description":
        (entry / "info/paths.json").write_text('{"paths_version": 1, "pa')
    elif kind == "empty":
        shutil.rmtree(entry)
        entry.mkdir()
    else:
        (entry / "share/big.bin").write_bytes(b"changed")


@pytest.mark.parametrize("kind", ["file gone", "no index", "half a description", "empty"])
def test_a_damaged_cache_entry_is_fetched_again(server, cache, tmp_path, kind):
    settings = settings_for(server)
    records = solve(["main"], ["big"], settings)
    install(records, tmp_path / "first", settings)
    shutil.rmtree(tmp_path / "first")
    damage(cache, kind)
    with pytest.raises(DownloadError, match=r"Offline, and .*big-1\.0-0"):
        install(records, tmp_path / "offline", settings, offline=True)
    install(records, tmp_path / "second", settings)
    assert (tmp_path / "second/share/big.bin").read_bytes() == bytes(range(256)) * 8000


def test_a_changed_file_in_the_cache_is_found_when_asked_for(server, cache, tmp_path):
    settings = settings_for(server)
    records = solve(["main"], ["big"], settings)
    install(records, tmp_path / "first", settings)
    shutil.rmtree(tmp_path / "first")
    damage(cache, "changed")
    install(records, tmp_path / "second", settings, full_check=True)
    assert (tmp_path / "second/share/big.bin").read_bytes() == bytes(range(256)) * 8000


def failing(action):
    """The error of ``action``, and its seconds."""
    started = time.monotonic()
    with pytest.raises(EnvkitError) as caught:
        action()
    error = caught.value
    assert error.exit_code is ExitCode.EXTERNAL, error
    assert error.hint
    return error, time.monotonic() - started


@pytest.mark.parametrize(
    ("status", "telling"),
    [
        (404, "There is no channel main"),
        (403, "answered 403"),
        (401, "answered 401"),
        (500, "answered 500"),
        (503, "503"),
    ],
)
def test_what_a_server_answers_for_an_index_is_told(server, status, telling):
    for file in ("repodata.json", "repodata.json.zst", "repodata.json.bz2", "repodata_shards.msgpack.zst"):
        server.fail(file, status)
    error, _ = failing(lambda: solve(["main"], ["app"], settings_for(server)))
    assert telling in error.message
    assert f"{server.url}/main" in error.message + error.why


@pytest.mark.parametrize(("status", "telling"), [(404, "answered 404"), (403, "answered 403"), (500, "answered 500")])
def test_what_a_server_answers_for_a_package_is_told(server, folder, tmp_path, status, telling):
    server.fail("big-1.0-0.tar.bz2", status)
    records = Channel(folder / "main").locked("big")
    error, _ = failing(lambda: install(records, tmp_path / "prefix", settings_for(server)))
    assert error.message == f"Cannot get big-1.0-0.tar.bz2 from main: the server {telling}."


def test_a_missing_package_index_is_told_by_channel(server):
    error, _ = failing(lambda: solve(["main", "nowhere"], ["app"], settings_for(server)))
    assert error.message == f"There is no channel nowhere ({server.url}/nowhere)."


@pytest.mark.parametrize(
    ("data", "telling"),
    [(b"<html>log in first</html>", "something else"), (b'{"packages": {', "something else"), (b"", "cannot be read")],
    ids=["page", "half", "empty"],
)
def test_an_index_that_is_none_is_told(server, data, telling):
    for file in ("repodata.json", "repodata.json.zst", "repodata_shards.msgpack.zst"):
        server.replace(f"main/linux-64/{file}", data)
    error, _ = failing(lambda: solve(["main"], ["app"], settings_for(server)))
    assert "channel main" in error.message


def test_a_mirror_that_answers_nonsense_for_shards_serves_by_plain_repodata(server):
    server.fail("repodata_shards.msgpack.zst", 403)
    assert names(solve(["main"], ["base"], settings_for(server))) == {"base": "1.1"}
    server.heal()
    server.replace("repodata_shards.msgpack.zst", b"<html>")
    assert names(solve(["main"], ["base >1.0"], settings_for(server))) == {"base": "1.1"}


@pytest.mark.parametrize("name", ["big", "dense"])
def test_a_corrupted_package_is_told_with_both_hashes(server, folder, tmp_path, name):
    """py-rattler only says that it cannot unpack it."""
    (record,) = Channel(folder / "main").locked(name)
    server.corrupt(record["file"])
    error, _ = failing(lambda: install([record], tmp_path / "prefix", settings_for(server)))
    assert error.message == f"Hash mismatch: {record['file']} from main is not the locked file."
    sent = hashlib.sha256(corrupted(folder / "main/linux-64" / record["file"])).hexdigest()
    assert error.why == f"Expected {record['sha256']}, got {sent}."
    assert not (tmp_path / "prefix/share").exists()


@pytest.mark.parametrize("name", ["big", "dense"])
def test_a_page_instead_of_a_package_is_told_as_such(server, folder, tmp_path, name):
    (record,) = Channel(folder / "main").locked(name)
    server.replace(record["file"], b"<html>log in first</html>")
    error, _ = failing(lambda: install([record], tmp_path / "prefix", settings_for(server)))
    assert error.message == f"What main sent for {record['file']} is a web page of 25 bytes, no package."


@pytest.mark.parametrize("name", ["big", "dense"])
def test_a_package_that_is_too_short_on_the_server_is_told_with_its_size(server, folder, tmp_path, name):
    (record,) = Channel(folder / "main").locked(name)
    server.replace(record["file"], (folder / "main/linux-64" / record["file"]).read_bytes()[:200])
    error, _ = failing(lambda: install([record], tmp_path / "prefix", settings_for(server)))
    assert error.message == f"Incomplete download of {record['file']} from main."
    assert f"200 of {record['size']} bytes came" in error.why


def test_a_package_with_another_hash_is_told_with_both(server, folder, tmp_path):
    record = Channel(folder / "main").locked("big")[0]
    wrong = record | {"sha256": "0" * 64}
    error, _ = failing(lambda: install([wrong], tmp_path / "prefix", settings_for(server)))
    assert error.message.startswith("Hash mismatch: big-1.0-0.tar.bz2 from main")
    assert wrong["sha256"] in error.why
    assert record["sha256"] in error.why
    assert not (tmp_path / "prefix/share").exists()


def test_an_index_without_sha256_cannot_be_locked_and_its_files_are_read_themselves(tmp_path):
    """Indexes of old private channels have MD5 sums alone."""
    channel = Channel(tmp_path / "channels" / "old")
    channel.add("base", "1.0")
    channel.index()
    for path in channel.folder.glob("*/repodata.json"):
        index = json.loads(path.read_text())
        for entry in (*index["packages"].values(), *index["packages.conda"].values()):
            del entry["sha256"]
        path.write_text(json.dumps(index))
        for other in path.parent.glob("repodata.json.*"):
            other.unlink()
    settings = CondaSettings(channel_alias=(tmp_path / "channels").as_uri(), retries=0)
    with pytest.raises(DownloadError, match="states no sha256 of base"):
        solve(["old"], ["base"], settings)
    options = {"platform": PLATFORM, "offline": False, "timeout_s": 60, "progress": Silent()}
    (record,) = calls.find_records([("old", "linux-64", "base-1.0-0.conda")], settings=settings, **options)
    content = (channel.folder / "linux-64" / "base-1.0-0.conda").read_bytes()
    assert record["sha256"] == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_package_of_a_channel_in_a_folder_is_checked_as_well(folder, tmp_path, kind):
    settings = CondaSettings(channel_alias=folder.as_uri(), retries=0)
    (record,) = solve(["main"], ["base"], settings)
    other = "0" * len(record[kind])
    wrong = {key: value for key, value in record.items() if key not in {"sha256", "md5"}} | {kind: other}
    with pytest.raises(DownloadError, match=r"Hash mismatch: base-1\.1-0\.conda from main") as caught:
        install([wrong], tmp_path / "env", settings)
    assert other in str(caught.value.why)
    assert not (tmp_path / "env" / "conda-meta").exists()
    install([record], tmp_path / "env", settings)
    assert meta(tmp_path / "env", "base")["sha256"] == record["sha256"]


def test_who_asked_for_a_package_decides_nothing(server, folder, tmp_path):
    record = Channel(folder / "main").locked("base")[0]
    install([record | {"requested": "]["}], tmp_path / "prefix", settings_for(server))
    assert meta(tmp_path / "prefix", "base")["requested_specs"] == []


def test_a_package_without_a_hash_is_refused(server, folder, tmp_path):
    record = Channel(folder / "main").locked("big")[0] | {"sha256": None, "md5": None}
    with pytest.raises(UsageError, match="has no hash"):
        install([record], tmp_path / "prefix", settings_for(server))


def test_a_package_that_breaks_off_is_told_with_its_size(server, folder, tmp_path):
    record = Channel(folder / "main").locked("big")[0]
    server.cut(record["file"], record["size"] // 2)
    error, _ = failing(lambda: install([record], tmp_path / "prefix", settings_for(server)))
    assert error.message == "Incomplete download of big-1.0-0.tar.bz2 from main."
    assert f"of {record['size']} bytes" in error.why


@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_a_server_that_stands_still_ends_the_solve(server, how):
    getattr(server, how)("main/linux-64/repodata_shards.msgpack.zst")
    error, seconds = failing(
        lambda: solve(["main"], ["app"], settings_for(server, read_timeout_s=2.0, connect_timeout_s=1.0))
    )
    assert error.message == f"Nothing came for main ({server.url}/main) within 2 s."
    assert seconds < 10


@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_a_server_that_stands_still_ends_the_installation(server, folder, tmp_path, how):
    getattr(server, how)("big-1.0-0.tar.bz2")
    records = Channel(folder / "main").locked("big")
    settings = settings_for(server, read_timeout_s=2.0, connect_timeout_s=1.0)
    error, seconds = failing(lambda: install(records, tmp_path / "prefix", settings))
    assert error.message == "Nothing came for big-1.0-0.tar.bz2 within 2 s."
    assert seconds < 10


def test_a_slow_download_is_no_reason_to_stop(server, folder, tmp_path):
    """Longer than the limit in all, with something coming all the time."""
    record = Channel(folder / "main").locked("big")[0]
    server.trickle(record["file"], size=record["size"] // 8 + 1, every_s=0.5)
    install([record], tmp_path / "prefix", settings_for(server, read_timeout_s=2.0, connect_timeout_s=1.0))
    assert (tmp_path / "prefix/share/big.bin").exists()


@pytest.mark.parametrize(
    ("url", "telling"),
    [("http://127.0.0.1:9", "nobody answers there"), ("https://nowhere.invalid", "its host is not known")],
)
def test_a_host_that_is_not_there_is_told(url, telling):
    error, _ = failing(lambda: solve(["main"], ["app"], CondaSettings(channel_alias=url, retries=0)))
    assert error.message == f"Cannot use the channel main ({url}/main): {telling}."


def test_a_channel_s_credentials_are_sent_and_nowhere_kept(folder, cache, tmp_path):
    with serve_channels(folder, auth=("someone", "pass-word-1")) as server:
        settings = settings_for(server, custom_channels={"main": server.with_auth()})
        prefix = tmp_path / "prefix"
        records = solve(["main"], ["app"], settings)
        install(records, prefix, settings)
        assert meta(prefix, "app")["url"].startswith(f"{server.url}/main/")
        kept = [path for root in (prefix, cache) for path in root.rglob("*") if path.is_file()]
        assert [path for path in kept if b"pass-word-1" in path.read_bytes()] == []
        assert "pass-word-1" not in json.dumps(records)
        error, _ = failing(lambda: solve(["main"], ["app"], settings_for(server)))
        assert "answered 401" in error.message


def test_a_token_is_sent_and_nowhere_kept_or_shown(folder, cache, tmp_path):
    with serve_channels(folder, token=TOKEN) as server:
        settings = replace(settings_for(server), channel_alias=server.with_token())
        prefix = tmp_path / "prefix"
        install(solve(["main"], ["app"], settings), prefix, settings)
        assert meta(prefix, "app")["url"].startswith(f"{server.url}/main/")
        kept = [path for root in (prefix, cache) for path in root.rglob("*") if path.is_file()]
        assert [path for path in kept if TOKEN.encode() in path.read_bytes()] == []
        server.fail("big-1.0-0.tar.bz2", 500)
        records = Channel(folder / "main").locked("big")
        error, _ = failing(lambda: install(records, tmp_path / "next", settings))
        assert TOKEN not in f"{error.message} {error.why} {error.hint}"


def test_a_token_of_anaconda_login_is_sent(folder, tmp_path, monkeypatch):
    with serve_channels(folder, token=TOKEN) as server, monkeypatch.context() as patch:
        patch.setenv("BINSTAR_CONFIG_DIR", str(tmp_path))
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / f"{quote_plus(server.url)}.token").write_text(f"{TOKEN}\n")
        assert names(solve(["main"], ["base"], settings_for(server))) == {"base": "1.1"}
        error, _ = failing(lambda: solve(["main"], ["base=1.0"], settings_for(server, add_anaconda_token=False)))
        assert "answered 403" in error.message


def test_netrc_counts(folder, tmp_path, monkeypatch):
    with serve_channels(folder, auth=("someone", "pass")) as server, monkeypatch.context() as patch:
        (tmp_path / "netrc").write_text("machine 127.0.0.1\nlogin someone\npassword pass\n")
        patch.setenv("NETRC", str(tmp_path / "netrc"))
        assert names(solve(["main"], ["base"], settings_for(server))) == {"base": "1.1"}


def test_rattler_s_own_credentials_count(folder, tmp_path, monkeypatch):
    with serve_channels(folder, token=TOKEN) as server, monkeypatch.context() as patch:
        (tmp_path / "auth.json").write_text(json.dumps({"127.0.0.1": {"CondaToken": TOKEN}}))
        patch.setenv("RATTLER_AUTH_FILE", str(tmp_path / "auth.json"))
        assert names(solve(["main"], ["base"], settings_for(server))) == {"base": "1.1"}
        server.fail("big-1.0-0.tar.bz2", 500)
        records = Channel(folder / "main").locked("big")
        error, _ = failing(lambda: install(records, tmp_path / "prefix", settings_for(server)))
        assert TOKEN not in f"{error.message} {error.why} {error.hint}"


def test_a_mirror_is_asked_for_a_channel_that_keeps_its_address(server, tmp_path):
    settings = CondaSettings(mirrors={"main": (f"{server.url}/main",)}, retries=0)
    records = solve(["main"], ["base"], settings)
    install(records, tmp_path / "prefix", settings)
    assert meta(tmp_path / "prefix", "base")["url"].startswith("https://conda.anaconda.org/main/linux-64/")


def test_the_next_mirror_is_asked_when_one_is_dead(server):
    mirrors = {"main": ("http://127.0.0.1:9/main", f"{server.url}/main")}
    assert names(solve(["main"], ["base"], CondaSettings(mirrors=mirrors, retries=3))) == {"base": "1.1"}


def test_a_proxy_of_the_settings_is_used(server):
    settings = CondaSettings(channel_alias="http://far.invalid", proxy_servers={"http": server.url}, retries=0)
    assert names(solve(["main"], ["base"], settings)) == {"base": "1.1"}
    assert server.requests[0].startswith("GET http://far.invalid/main/")


def test_a_proxy_of_the_environment_is_used(server, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("http_proxy", server.url)
        settings = CondaSettings(channel_alias="http://far.invalid", proxy_servers={"http": "127.0.0.1:9"}, retries=0)
        assert names(solve(["main"], ["base"], settings)) == {"base": "1.1"}


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def tls_server(folder, authority):
    import ssl  # noqa: PLC0415

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with serve_channels(folder, tls=context) as running:
        yield running


def test_a_certificate_that_nobody_knows_is_told(tls_server):
    error, _ = failing(lambda: solve(["main"], ["base"], settings_for(tls_server)))
    assert "its certificate is not trusted" in error.message
    assert "ssl_verify" in error.hint


def test_certificates_of_the_settings_and_of_the_environment_count(tls_server, authority, tmp_path, monkeypatch):
    bundle = tmp_path / "site.pem"
    authority.cert_pem.write_to_path(str(bundle))
    assert names(solve(["main"], ["base"], settings_for(tls_server, ssl_verify=str(bundle)))) == {"base": "1.1"}
    assert names(solve(["main"], ["base"], settings_for(tls_server, ssl_verify=False))) == {"base": "1.1"}
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        with monkeypatch.context() as patch:
            for other in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
                patch.delenv(other, raising=False)
            patch.setenv(variable, str(bundle))
            assert names(solve(["main"], ["base"], settings_for(tls_server))) == {"base": "1.1"}


def test_a_client_certificate_is_told_to_be_beyond_rattler(tls_server):
    notes = Notes()
    settings = settings_for(tls_server, ssl_verify=False, client_ssl_cert="/etc/me.pem")
    solve(["main"], ["base"], settings, progress=notes)
    assert len(notes.said) == 1
    assert "client_ssl_cert" in notes.said[0]


def find(wanted, settings, *, offline=False):
    return calls.find_records(
        wanted, settings=settings, platform=PLATFORM, offline=offline, timeout_s=60, progress=Silent()
    )


def test_records_are_found_by_address_and_by_parts(server, folder):
    big, noisy = (Channel(folder / "main").locked(name)[0] for name in ("big", "noisy"))
    found = find(
        [f"{server.url}/main/linux-64/{big['file']}#{big['md5']}", ("main", "noarch", noisy["file"])],
        settings_for(server),
    )
    assert [record["file"] for record in found] == [big["file"], noisy["file"]]
    assert [record["channel"] for record in found] == ["main", "main"]
    assert [record["sha256"] for record in found] == [big["sha256"], noisy["sha256"]]
    assert server.asked_for(big["file"]) == []


def test_a_package_that_the_index_has_not_is_read_itself_and_fetched_once(server, folder, tmp_path):
    hidden = tmp_path / "served/hidden/linux-64"
    hidden.mkdir(parents=True)
    record = Channel(folder / "main").locked("big")[0]
    shutil.copy(folder / "main/linux-64" / record["file"], hidden)
    with serve_channels(tmp_path / "served") as bare:
        settings = settings_for(bare)
        found = find([f"{bare.url}/hidden/linux-64/{record['file']}#sha256:{record['sha256']}"], settings)
        assert found[0] == record | {"channel": "hidden", "md5": found[0]["md5"], "build_number": 0}
        install(found, tmp_path / "prefix", settings)
        assert len([request for request in bare.asked_for(record["file"]) if request.startswith("GET")]) == 1


def test_a_found_package_with_another_hash_is_refused(server, folder):
    record = Channel(folder / "main").locked("big")[0]
    error, _ = failing(lambda: find([f"{server.url}/main/linux-64/{record['file']}#{'0' * 32}"], settings_for(server)))
    assert "Hash mismatch" in error.message
    assert "0" * 32 in error.why


def test_what_names_no_package_is_told_without_its_password(server):
    with pytest.raises(UsageError) as caught:
        find(["https://me:secret@h/main/linux-64"], settings_for(server))
    assert "secret" not in caught.value.message


def test_a_killed_envkit_leaves_no_worker(server, folder, tmp_path):
    """Its worker would write into whatever is made at the same place next."""
    server.hang("big-1.0-0.tar.bz2")
    record = Channel(folder / "main").locked("big")[0]
    code = (
        "from pathlib import Path; from envkit.installers.condarc import CondaSettings;"
        "from envkit.installers.rattler import calls; from envkit.model.progress import Silent;"
        f"settings = CondaSettings(channel_alias={server.url!r});"
        f"calls.install([{record!r}], Path({str(tmp_path / 'p')!r}), settings=settings,"
        "platform='linux-64', offline=False, timeout_s=60, progress=Silent())"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        deadline = time.monotonic() + 20
        while not server.asked_for(record["file"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        (worker,) = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()


def test_a_worker_that_dies_is_told(server, folder, tmp_path):
    server.hang("big-1.0-0.tar.bz2")
    records = Channel(folder / "main").locked("big")

    def kill():
        deadline = time.monotonic() + 20
        while not server.asked_for("big-1.0-0.tar.bz2") and time.monotonic() < deadline:
            time.sleep(0.05)
        own = Path(f"/proc/{os.getpid()}/task")
        children = {pid for task in own.iterdir() for pid in (task / "children").read_text().split()}
        for pid in children:
            if b"worker.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ProgramError, match=r"py-rattler was killed while it worked"):
        install(records, tmp_path / "prefix", settings_for(server))
    killer.join()


def test_a_call_that_takes_too_long_is_ended(server):
    server.hang("main/noarch/repodata_shards.msgpack.zst")
    with pytest.raises(ProgramError, match="did not end within 2 s") as caught:
        calls.solve(
            ["main"], ["base"], platform=PLATFORM, virtual_packages=[], settings=settings_for(server), offline=False,
            timeout_s=2, progress=Silent(),
        )  # fmt: skip
    assert caught.value.exit_code is ExitCode.EXTERNAL
