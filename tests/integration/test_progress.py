"""Progress: bars where stderr is a terminal, plain lines elsewhere, and nothing but the result on stdout."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

import pytest


def _on_a_terminal(command, variables) -> tuple[int, str, str]:
    """Run with stderr on a terminal of 100 columns; gives status, stdout and what the terminal got."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writer, env=variables, text=True
    )
    os.close(writer)
    seen: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(reader, 65536)
            except OSError:
                return
            if not data:
                return
            seen.append(data)

    thread = threading.Thread(target=read)
    thread.start()
    out, _ = child.communicate(timeout=120)
    thread.join()
    os.close(reader)
    return child.returncode, out, b"".join(seen).decode("utf-8", "replace")


def test_bars_on_a_terminal(envkit, project, tmp_path):
    variables = envkit.variables({"TERM": "xterm-256color", "UV_CACHE_DIR": str(tmp_path / "cold")})
    code, out, seen = _on_a_terminal(envkit.argv("create", project.spec, "--no-verify"), variables)

    assert code == 0, seen
    assert out.startswith("torch112_cu113_py39: created")
    assert "\x1b[" not in out
    assert "━" in seen  # the bar of the steps
    assert "✓" in seen
    assert "3 packages by uv" in seen
    assert "torch==1.12.1+cu113" in seen  # uv draws its own bars and list there


def test_json_on_a_terminal_is_one_object_on_stdout(envkit, project):
    variables = envkit.variables({"TERM": "xterm-256color"})
    code, out, seen = _on_a_terminal(envkit.argv("create", project.spec, "--no-verify", "--json"), variables)

    assert code == 0, seen
    assert out.startswith("{\n")
    assert out.endswith("}\n")


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}])
def test_a_dumb_terminal_and_no_color(envkit, project, variables):
    code, _, seen = _on_a_terminal(envkit.argv("create", project.spec, "--no-verify"), envkit.variables(variables))

    assert code == 0, seen
    if variables["TERM"] == "dumb":
        assert "\x1b[" not in seen
        assert "- 3 packages by uv" in seen
    else:
        assert re.search(r"\x1b\[(3[0-7]|38)[;m]", seen) is None  # no colours


def test_plain_lines_where_there_is_no_terminal(envkit, project):
    done = envkit("create", project.spec, "--no-verify")

    assert done.code == 0
    assert "\x1b" not in done.err + done.out
    steps = [line.split(" with ")[0] for line in done.err.splitlines() if line.startswith("- ")]
    assert steps == ["- lock", "- Python 3.9", "- virtual environment", "- 3 packages by uv", "- hooks and record"]
    assert "Activate it:" in done.out


def test_output_into_a_closed_pipe_is_no_error(envkit, project):
    child = subprocess.Popen(
        envkit.argv("specs"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=envkit.variables()
    )
    child.stdout.close()
    _, err = child.communicate(timeout=60)
    assert "Traceback" not in err
