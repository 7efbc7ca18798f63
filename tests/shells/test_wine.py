"""A smoke test of the batch files under wine's cmd, as far as it goes.

wine 8 cannot carry a value out of delayed expansion, and knows neither parts of variables nor replacing under it: the
subroutines that do this are stubs here (a copy by CALL SET, a search that finds nothing). All else is the hook's own
text, and the whole of it is read in test_cmd_hooks.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from envkit.activation.quoting import quote_bat
from envkit.activation.render import render
from envkit.resources import hooks_dir

pytestmark = pytest.mark.slow  # wine makes its folder first

STUBS = b"""
:envkit_copy
@set "%~2="
@if not defined %~1 exit /b 0
@call set "%~2=%%%~1%%"
@exit /b 0

:envkit_find
@set "_envkit_at="
@set "_envkit_marks="
@exit /b 0

:envkit_measure
@set "_envkit_n=0"
@exit /b 0
"""


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    program = shutil.which("wine")
    if program is None:
        pytest.skip("wine is not installed")
    home = tmp_path_factory.mktemp("wine")
    environ = {
        "HOME": str(home), "WINEPREFIX": str(home / "prefix"), "WINEDEBUG": "-all", "DISPLAY": "",
        "WINEDLLOVERRIDES": "mscoree,mshtml=", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
    }  # fmt: skip

    def _run(*arguments, timeout_s=180):
        return subprocess.run(
            [program, *arguments], env=environ, cwd=home, capture_output=True, timeout=timeout_s, check=False
        )

    if _run("cmd", "/c", "exit 3").returncode != 3:
        pytest.skip("wine's cmd does not start here")
    yield _run
    subprocess.run(["wineserver", "-k"], env=environ, check=False, timeout=60)


def hook(folder, way, toolkit):
    values = {"TOOLKIT": (toolkit,), "WINDOWS_CANDIDATES": (toolkit,), "INSIDE": ("",)}
    text = (hooks_dir("cuda") / f"{way}.bat").read_bytes()
    made = render(text, identifiers={"SLOT": "CONDA"}, values=values, quote=quote_bat)
    start = re.search(rb"^@rem Copy: ", made, re.MULTILINE).start()
    file = folder / f"{way}.bat"
    file.write_bytes(made[:start] + STUBS.replace(b"\n", b"\r\n"))
    return "Z:" + str(file).replace("/", "\\")


def test_the_variables_switch_and_come_back(wine, tmp_path):
    names = {}
    for name in ("a", "b"):
        (tmp_path / name / "cuda" / "bin").mkdir(parents=True)
        toolkit = "Z:" + str(tmp_path / name / "cuda").replace("/", "\\")
        names[name] = {way: hook(tmp_path / name, way, toolkit) for way in ("activate", "deactivate")} | {
            "cuda": toolkit
        }
    gone = "Z:" + str(tmp_path / "gone").replace("/", "\\")
    names["gone"] = {way: hook(tmp_path, way, gone) for way in ("activate", "deactivate")}
    show = "@echo %CUDA_HOME%,%CUDA_PATH%,%_ENVKIT_CONDA_TOOLKIT%,%_envkit_toolkit%,%ERRORLEVEL%"
    steps = [
        "@echo off",  # wine shows what CALL runs
        '@set "CUDA_PATH=C:\\mine"', '@set "CUDA_HOME="', show,
        f'@call "{names["a"]["activate"]}"', show,
        f'@call "{names["a"]["activate"]}"', show,
        f'@call "{names["b"]["activate"]}"', show,
        f'@call "{names["b"]["deactivate"]}"', show,
        f'@call "{names["b"]["deactivate"]}"', show,
        f'@call "{names["a"]["activate"]}"', '@set "CUDA_HOME=C:\\changed"',
        f'@call "{names["a"]["deactivate"]}"', show,
        '@set "CUDA_HOME="', f'@call "{names["gone"]["activate"]}"', show,
    ]  # fmt: skip
    script = tmp_path / "all.bat"
    script.write_bytes("\r\n".join([*steps, ""]).encode())
    done = wine("cmd", "/c", "Z:" + str(script).replace("/", "\\"))
    one, two = (names[name]["cuda"] for name in ("a", "b"))
    before = ",C:\\mine,,,0"
    a, b = f"{one},{one},{one},,0", f"{two},{two},{two},,0"
    expected = [before, a, a, b, before, before, "C:\\changed,C:\\mine,,,0", before]
    assert done.stdout.decode().splitlines() == expected
    (line,) = done.stderr.decode().splitlines()
    assert "there is no CUDA toolkit" in line
    assert gone in line
