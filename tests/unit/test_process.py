from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from envkit import process
from envkit.errors import ProgramError


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_run_gives_what_a_program_wrote():
    done = process.run(_python("import sys; print('out'); print('err', file=sys.stderr)"), timeout_s=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")


def test_run_replaces_bytes_that_are_no_text():
    assert process.run(_python("import os; os.write(1, b'a\\xff')"), timeout_s=30).stdout == "a\ufffd"


def test_run_hands_over_input_folder_and_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/leak")
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("GONE", "1")
    code = "import os, sys; print(sys.stdin.read(), os.getcwd(), *(os.environ.get(n) for n in sys.argv[1:]))"
    done = process.run(
        [*_python(code), "PYTHONPATH", "PIP_USER", "GONE", "NEW"],
        timeout_s=30,
        stdin="given",
        cwd=tmp_path,
        env={"GONE": None, "NEW": "x"},
    )
    assert done.stdout.split() == ["given", str(tmp_path), "None", "None", "None", "x"]


def test_a_failure_tells_the_last_lines_and_keeps_all():
    code = "import sys; [print(n, file=sys.stderr) for n in range(40)]; sys.exit(3)"
    with pytest.raises(ProgramError) as caught:
        process.run(_python(code), timeout_s=30)
    assert caught.value.returncode == 3
    assert "exit status 3" in caught.value.message
    assert caught.value.why.splitlines()[-1] == "39"
    assert len(caught.value.why.splitlines()) == 12
    assert caught.value.stderr.startswith("0\n")


def test_a_failure_by_signal_and_without_words():
    with pytest.raises(ProgramError) as caught:
        process.run(_python("import os; os.kill(os.getpid(), 9)"), timeout_s=30)
    assert "signal 9" in caught.value.message
    assert "It said nothing" in caught.value.why


def test_a_program_that_is_not_there():
    with pytest.raises(ProgramError, match="Cannot run /no/such/program") as caught:
        process.run(["/no/such/program"], timeout_s=1)
    assert caught.value.returncode is None


def test_the_time_limit_stops_the_program_and_its_children(tmp_path):
    mark = tmp_path / "pid"
    code = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(ProgramError, match="did not end within") as caught:
        process.run(_python(code), timeout_s=3)
    assert caught.value.returncode is None
    end = time.monotonic() + 10
    while _is_running(int(mark.read_text())):
        assert time.monotonic() < end
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are for POSIX systems")
def test_a_screen_is_a_terminal_and_gets_everything():
    seen = []
    code = "import sys; print('tty' if sys.stderr.isatty() else 'none', file=sys.stderr); print('result'); sys.exit(4)"
    done = process.run(_python(code), timeout_s=30, screen=seen.append, check=False)
    assert b"".join(seen) == b"tty\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "result\n", "tty\n")


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are for POSIX systems")
def test_a_screen_keeps_what_is_told_of_a_failure():
    seen = []
    code = "import sys; print('\\x1b[31mred\\x1b[0m', file=sys.stderr); sys.exit(1)"
    with pytest.raises(ProgramError) as caught:
        process.run(_python(code), timeout_s=30, screen=seen.append)
    assert caught.value.why == "red"
    with pytest.raises(ProgramError):
        process.run(["/no/such/program"], timeout_s=1, screen=seen.append)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_a_child_dies_with_its_parent(tmp_path):
    mark = tmp_path / "pid"
    child = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    parent = f"import sys; from envkit import process; process.run([sys.executable, '-c', {child!r}], timeout_s=60)"
    running = subprocess.Popen([sys.executable, "-c", parent])
    end = time.monotonic() + 30
    while not mark.exists() or not mark.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    while _is_running(int(mark.read_text())):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_interrupt_stops_the_program(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    started = []
    popen = subprocess.Popen

    class Interrupted(popen):
        communicate = interrupt

    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(Interrupted(*a, **k)) or started[-1])
    with pytest.raises(KeyboardInterrupt):
        process.run(_python("import time; time.sleep(60)"), timeout_s=30)
    assert started[0].returncode == -signal.SIGKILL
    started[0].stdout.close()
    started[0].stderr.close()
    process.kill_group(started[0])  # a second time does no harm
