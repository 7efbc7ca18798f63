from __future__ import annotations

import sys

from envkit.cli.progress import BarProgress, PlainProgress, make_progress


def test_plain_progress_writes_lines_to_stderr(capsys):
    shown = PlainProgress()
    shown.step("lock")
    shown.note("a choice")
    assert shown.screen() is None
    shown.close()
    captured = capsys.readouterr()
    assert captured.err == "- lock\n  a choice\n"
    assert captured.out == ""


def test_bars_tell_each_step_with_its_time(capsys):
    shown = BarProgress(3)
    shown.step("lock")
    shown.note("a choice")
    shown.step("packages")
    draw = shown.screen()
    assert callable(draw)
    shown.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "lock" in captured.err
    assert "a choice" in captured.err
    assert captured.err.count(" s\n") == 2


def test_bars_hand_through_what_a_program_draws(capfdbinary):
    BarProgress(1).screen()(b"\x1b[2Kdrawn")
    assert b"\x1b[2Kdrawn" in capfdbinary.readouterr().err


def test_where_there_is_no_terminal_there_are_no_bars(monkeypatch):
    assert isinstance(make_progress(1), PlainProgress)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_progress(1), PlainProgress)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(make_progress(1), BarProgress)
