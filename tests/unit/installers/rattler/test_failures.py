"""Texts are what py-rattler 0.28.0 says; the servers behind them are in tests/integration/test_rattler.py."""

from __future__ import annotations

import pytest

from envkit.errors import DownloadError, ExitCode, ProgramError, StorageError, UnsatisfiableError
from envkit.installers.condarc import CondaSettings
from envkit.installers.rattler.failures import failure_of
from envkit.installers.rattler.network import plan_network

NETWORK = plan_network(["main"], CondaSettings(channel_alias="https://h"), "linux-64")
RECORD = {"name": "big", "file": "big-1.0-0.conda", "channel": "main", "size": 100}
FETCH = "failed to fetch big-1.0-0.conda\nCaused by: failed to interact with the package cache layer.\nCaused by: "


def error_of(kind, said="", **facts):
    return failure_of({"kind": kind, "said": said, **facts}, NETWORK, [RECORD])


def test_a_long_reason_is_cut():
    said = "Cannot solve the request because of: a * cannot be installed\n" + "\n".join(
        f"└─ line {n}" for n in range(40)
    )
    error = error_of("unsatisfiable", said)
    assert isinstance(error, UnsatisfiableError)
    assert len(error.why.splitlines()) == 13
    assert error.why.endswith("... and 29 more lines")
    assert error.reason == said


def test_a_solve_that_was_stopped_is_not_unsatisfiable():
    error = error_of("unsatisfiable", "Solve operation has been cancelled")
    assert isinstance(error, ProgramError)
    assert error.exit_code is ExitCode.EXTERNAL


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("an io error occurred\nCaused by: No space left on device (os error 28)", "The disk or your quota is full."),
        ("failed to link\nCaused by: Disk quota exceeded (os error 122)", "The disk or your quota is full."),
        ("failed to create\nCaused by: Permission denied (os error 13)", "Files cannot be written there."),
        ("failed to create\nCaused by: Read-only file system (os error 30)", "Files cannot be written there."),
    ],
)
@pytest.mark.parametrize("kind", ["install", "channel", "bug"])
def test_the_disk_is_told_as_such(kind, said, why):
    error = error_of(kind, said, channel="main")
    assert isinstance(error, StorageError)
    assert error.message == why


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (
            "error sending request\nCaused by: dns error\nCaused by: failed to lookup address information",
            "its host is not known",
        ),
        ("Caused by: tcp connect error\nCaused by: Connection refused (os error 111)", "nobody answers there"),
        ("Caused by: invalid peer certificate: UnknownIssuer", "its certificate is not trusted"),
        ("Caused by: connection closed before message completed", "the connection was cut"),
        ("Request failed after 3 retries", "it does not answer"),
        ("Caused by: bzip2: bz2 header missing", "what it sent is something else, perhaps a login page"),
        ("HTTP status server error (503 Service Unavailable) for url (https://h/x)", "the server answered 503"),
        ("something new", "it cannot be read"),
    ],
)
def test_the_meaning_comes_first_and_the_words_behind(said, meaning):
    package, channel = error_of("install", FETCH + said), error_of("channel", said, channel="main")
    assert package.message == f"Cannot get big-1.0-0.conda from main: {meaning}."
    assert channel.message == f"Cannot use the channel main (https://h/main): {meaning}."
    assert said.rpartition("Caused by: ")[2] in package.why
    assert package.exit_code is ExitCode.EXTERNAL


def test_a_failure_while_linking_is_no_download():
    error = error_of("install", "failed to link big-1.0-0.conda\nCaused by: clobber")
    assert isinstance(error, ProgramError)
    assert "clobber" in error.why


def test_what_nobody_expected_is_told_in_full():
    error = error_of("bug", "TypeError: no", text="Traceback ...")
    assert isinstance(error, ProgramError)
    assert (error.why, error.stderr) == ("TypeError: no", "Traceback ...")


def test_many_names_are_counted():
    error = error_of("offline", files=["a", "b", "c", "d", "e"])
    assert isinstance(error, DownloadError)
    assert error.message == "Offline, and not on this disk: a, b, c and 2 more."


def test_nothing_secret_is_shown():
    settings = CondaSettings(channel_alias="https://h/t/tk-12345", proxy_servers={"https": "http://me:hidden@p"})
    network = plan_network(["main"], settings, "linux-64")
    said = "error sending request for url (https://h/t/tk-12345/main/x) via http://me:hidden@p"
    error = failure_of({"kind": "channel", "said": said, "channel": "main"}, network)
    assert "tk-12345" not in f"{error.message}{error.why}"
    assert "hidden" not in f"{error.message}{error.why}"
