"""The words of a preflight: what is shown, how it fits the terminal."""

from __future__ import annotations

import io
import os

import click
import pytest

from envkit.cli.fit_words import known_words, needed_words, reserves
from envkit.cli.paragraphs import cut, terminal_width, wrapped
from envkit.cli.preflight_text import preflight_lines
from envkit.model.driver import DriverVersion, Gpu
from envkit.model.fit import FitCheck
from envkit.operations.machine import Machine
from envkit.operations.preflight import PreflightResult

MACHINE = Machine(
    "linux-64", DriverVersion.parse("535.54.03"), (Gpu(0, "Tesla T4"),), (2, 36), is_described=False, smi=None
)
PATH = "/home/somebody/with/a/long/path/to/where/all/environments/are/kept/by/envkit/envs/torch112_cu113_py39"
DRIVER = FitCheck("driver", "ok", "535.54.03", "450.80.02 or newer")
HOST = FitCheck("host-compiler", "warn", "gcc 12", "gcc 10 or older, for nvcc of CUDA 11.3", "Too new.", "Get gcc-10.")
TOOLKIT = FitCheck("toolkit", "ok", None, "CUDA 11.3", hint="To compile: `envkit cuda install 11.3` (no root needed).")


def shown(*checks, fits=True, spec="torch112-cu113", is_whole=False):
    result = PreflightResult(spec, fits, checks, (), MACHINE)
    return [click.unstyle(line) for line in preflight_lines(result, is_whole=is_whole)]


def test_what_is_in_order_is_counted_unless_all_is_asked_for():
    memory, path = FitCheck("memory", "ok", "25 GB"), FitCheck("cache", "ok", f"cache in {PATH}, and more")
    lines = shown(DRIVER, memory, path)
    assert lines[0] == lines[-1] == "Verdict: torch112-cu113 fits this machine."
    assert [line.split()[:2] for line in lines if line.startswith("ok")] == [["ok", "driver"]]
    assert "2 other checks are ok: --all shows them." in lines
    assert "1 other check is ok: --all shows it." in shown(DRIVER, memory)
    lines = shown(DRIVER, memory, path, is_whole=True)
    assert [line.split()[1] for line in lines if line.startswith("ok")] == ["driver", "memory", "cache"]
    assert not any("--all" in line for line in lines)
    assert max(map(len, lines)) <= 100
    (cache,) = [line for line in lines if line.startswith("ok  cache")]
    assert "cache in /home/" in cache
    assert "py39, and more" in cache
    assert "..." in cache


def test_a_way_to_compile_is_shown_and_nothing_there_is_none():
    lines = shown(DRIVER, TOOLKIT, is_whole=True)
    assert "To compile: `envkit cuda install 11.3` (no root needed)." in lines
    assert [line.split()[2] for line in lines if line.startswith("ok  toolkit")] == ["none"]
    assert "To compile" not in " ".join(shown(DRIVER))


def test_the_verdict_names_the_warnings():
    lines = shown(DRIVER, HOST, FitCheck("user-site", "warn", why="Packages there."))
    assert lines[0] == (
        "Verdict: torch112-cu113 fits this machine; to compile something, gcc 10 or older is needed; see user-site."
    )
    assert "  Get gcc-10." in lines
    assert reserves([FitCheck("cpu", "warn"), DRIVER]) == "the processor has no AVX2"


def test_a_machine_that_can_make_no_environment_is_told_first():
    lines = shown(FitCheck("writable", "fail", "/", why="It is read-only."), fits=False, spec=None)
    assert lines[0] == lines[-1] == "Verdict: this machine cannot make environments as it is."
    assert "FAIL writable: It is read-only." in lines


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        ("3.7, 5.0, 6.0, 7.0, 7.5, 8.0, 8.6, 3.7 and newer by PTX", "code for 3.7 to 8.6; PTX of 3.7"),
        ("3.7, 5.0, 8.0", "code for 3.7, 5.0, 8.0"),
        ("3.7, 5.0", "code for 3.7, 5.0"),
        ("5.2 and newer by PTX", "PTX of 5.2"),
        ("7.5 or newer", "7.5 or newer"),
    ],
)
def test_code_is_told_by_its_ends_where_no_gpu_between_them_lacks_it(needed, words):
    assert needed_words(FitCheck("compute-capability", "ok", needed=needed)) == words


def test_how_well_a_fact_is_known():
    assert known_words(FitCheck("driver", "ok", source="the lock", known="single")) == (
        " (known from one source: the lock)"
    )
    assert known_words(FitCheck("driver", "ok", source="the lock", known="confirmed")) == " (well known: the lock)"
    assert known_words(FitCheck("driver", "ok", source="the lock", known="unknown")) == ""
    assert known_words(FitCheck("driver", "ok", known="single")) == ""


def test_text_is_cut_and_wrapped():
    assert cut("short", 10) == "short"
    assert cut("a text without any path", 14) == "a text wit ..."
    assert cut(f"in {PATH} (kept)", 40) == "in /home/somebod...112_cu113_py39 (kept)"
    lines = wrapped("Do this: `envkit create torch112-cu113 --prefix DIR` and then go on with it", 30, "  ")
    assert "  `envkit create torch112-cu113 --prefix DIR`" in lines


def test_the_width_is_the_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("shutil.get_terminal_size", lambda _: os.terminal_size((72, 24)))
    assert terminal_width() == 72
    lines = shown(DRIVER, HOST, FitCheck("cache", "ok", PATH), is_whole=True)
    assert max(len(line) for line in lines if not line.startswith("Verdict: ")) <= 72
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert terminal_width() == 100
