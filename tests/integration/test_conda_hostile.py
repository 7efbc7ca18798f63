"""conda packages that would write where no package may write: refused before anything of them is linked."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from envkit.errors import DownloadError, UsageError
from envkit.installers.condarc import CondaSettings
from envkit.installers.rattler import calls
from envkit.model.progress import Silent
from tests.support.channel import Channel
from tests.support.conda_archive import PLACEHOLDER, Link

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def here(tmp_path):
    """A folder with all that a test is about."""
    (tmp_path / "here" / "outside").mkdir(parents=True)
    return tmp_path / "here"


@pytest.fixture
def channel(here, monkeypatch):
    """An empty channel beside a folder that is nobody's business, and a package cache of the test's own."""
    monkeypatch.setenv("RATTLER_CACHE_DIR", str(here / "rattler"))
    return Channel(here / "channels" / "main")


def install(channel, prefix, **more):
    settings = CondaSettings(channel_alias=channel.folder.parent.as_uri())
    records = more.pop("records", None) or channel.index().locked()
    calls.install(
        records,
        prefix,
        settings=settings,
        platform="linux-64",
        offline=False,
        timeout_s=60,
        progress=Silent(),
        **more,
    )


def outside(here: Path) -> list[str]:
    """What lies beside the prefix and the channel."""
    known = {"rattler", "channels", "p"}
    return sorted(
        str(path.relative_to(here)) for path in here.rglob("*") if path.relative_to(here).parts[0] not in known
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"../base-1.0-0/share/base/version.txt": "x"}, "outside of the environment: ../base-1.0-0"),
        ({"share/../../outside/x": "x"}, "outside of the environment: share/../.."),
        ({"/outside/x": "x"}, "outside of the environment: /outside/x"),
        ({".envkit/environment.json": "{}"}, "by which envkit and conda know the environment"),
        ({"share/../.envkit/creating": "x"}, "outside of the environment"),
        ({"conda-meta/history": "x"}, "by which envkit and conda know the environment"),
        ({"./conda-meta/frozen": "x"}, "by which envkit and conda know the environment"),
        ({"etc/conda/activate.d/envkit-cuda.sh": "x"}, "by which envkit and conda know the environment"),
        ({"etc": Link("OUTSIDE")}, "Through the link etc files of envkit"),
        ({"bin": Link("../outside")}, "Through the link bin files of envkit"),
    ],
)  # fmt: skip
def test_a_package_that_leaves_its_place_is_refused(channel, here, files, said):
    files = {
        name: Link(str(here / "outside")) if content == Link("OUTSIDE") else content for name, content in files.items()
    }
    channel.add("base", "1.0")
    channel.add("evil", "1.0", files=files, depends=["base"])
    with pytest.raises(DownloadError) as caught:
        install(channel, here / "p")
    # the one that is unpacked last is told, and with it that the other lays the trap
    assert caught.value.message in {f"{name}-1.0-0.conda from main is refused." for name in ("evil", "base")}
    assert said in caught.value.why
    assert outside(here) == ["outside"]


@pytest.mark.parametrize("noarch", [None, "python"])
def test_one_package_lays_the_trap_for_another(channel, here, noarch):
    site = "lib/python3.11/site-packages"
    channel.add("python", "3.11.7", files={f"{site}/README.txt": "x"})
    channel.add("link", "1.0", files={f"{site}/mod": Link("../../../share/mod"), "share/mod": Link("../../outside")})
    start = "site-packages" if noarch else site
    channel.add("file", "1.0", noarch=noarch, files={f"{start}/mod/x.py": "x"})
    with pytest.raises(DownloadError) as caught:
        install(channel, here / "p")
    assert f"Through the link {site}/mod files of file would be written outside" in caught.value.why
    assert outside(here) == ["outside"]


def test_links_of_good_packages_are_none(channel, here):
    """Python's own, a folder's other name, and a library of the system, as sysroot packages have it."""
    channel.add("good", "1.0", files={"lib/a": "x", "lib64": Link("lib"), "share/zone": Link("/etc/localtime")})
    channel.add("other", "1.0", files={"share/man/x": "x", "man": Link("share/man")})
    install(channel, here / "p", coming=here / "rattler" / "coming")
    assert os.readlink(here / "p" / "share" / "zone") == "/etc/localtime"
    assert (here / "rattler" / "coming").read_text().split() == ["lib", "lib64", "man", "share"]


def test_a_record_that_puts_python_s_packages_elsewhere(channel, here):
    channel.add("python", "3.11.7", python_site_packages_path="../outside")
    channel.add("mod", "1.0", noarch="python", files={"site-packages/x.py": "x"})
    with pytest.raises(DownloadError) as caught:
        install(channel, here / "p")
    assert "Its record puts packages of Python outside" in caught.value.why
    assert outside(here) == ["outside"]


def test_a_file_that_is_another_package_than_the_lock_says(channel, here):
    file = channel.add("evil", "1.0")
    (record,) = channel.index().locked()
    file.rename(file.with_name("good-1.0-0.conda"))
    with pytest.raises(DownloadError) as caught:
        install(channel, here / "p", records=[record | {"name": "good", "file": "good-1.0-0.conda"}])
    assert caught.value.why == "It is another package: evil 1.0 0."


def test_two_packages_with_one_file_are_both_there(channel, here):
    """As with conda; each time the same one wins."""
    channel.add("aaa", "1.0", files={"share/same": "aaa"})
    channel.add("bbb", "1.0", files={"share/same": "bbb"})
    found = set()
    for number in range(3):
        install(channel, here / "p" / str(number))
        found.add((here / "p" / str(number) / "share" / "same").read_text())
    assert len(found) == 1


def test_no_script_of_a_package_is_run(channel, here):
    script = f"#!/bin/sh\ntouch '{here}/outside/ran'\n"
    channel.add("noisy", "1.0", scripts=dict.fromkeys(("pre-link", "post-link", "pre-unlink"), script))
    install(channel, here / "p")
    assert outside(here) == ["outside"]


def test_a_prefix_longer_than_a_package_has_room_for(channel, here):
    """In a text there is room, and a first line that no kernel reads is made short; in a program there is none."""
    channel.add("script", "1.0", files={"bin/script": f"#!{PLACEHOLDER}/bin/python\n# {PLACEHOLDER}\n"})
    prefix = here / "p" / ("long" * 40) / ("long" * 10)
    install(channel, prefix)
    first, *_, last = (prefix / "bin" / "script").read_text().splitlines()
    assert (first, last) == ("#!/bin/sh", f"# {prefix}")
    channel.add("program", "1.0", files={"bin/program": f"\0{PLACEHOLDER}\0"})
    with pytest.raises(UsageError) as caught:
        install(channel, prefix)
    assert caught.value.message == "The path of this environment is too long for program-1.0-0.conda."
    assert "shorter" in caught.value.hint


def test_a_prefix_with_blanks_quotes_and_other_letters(channel, here):
    script = f'#!{PLACEHOLDER}/bin/python\nprint("{PLACEHOLDER}".count("here"))\n'
    channel.add("script", "1.0", files={"bin/script": script, "bin/python": Link(sys.executable)})
    channel.add("program", "1.0", files={"bin/program": f"\0{PLACEHOLDER}\0"})
    prefix = here / "p" / "it's a & b; \u00e9\u4e2d"
    install(channel, prefix)
    done = subprocess.run([prefix / "bin" / "script"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert (prefix / "bin" / "program").read_bytes().strip(b"\0") == os.fsencode(prefix)


def test_what_a_kill_left_half_unpacked_in_the_cache_goes_after_a_day(channel, here):
    channel.add("good", "1.0")
    old, new = here / "rattler" / "pkgs" / ".torch-1.0-0AbCdEf", here / "rattler" / "pkgs" / ".torch-1.0-0GhIjKl"
    for folder in (old, new):
        (folder / "lib").mkdir(parents=True)
    os.utime(old, (1, 1))
    install(channel, here / "p")
    assert [path.name for path in (old, new) if path.exists()] == [new.name]
