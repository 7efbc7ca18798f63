"""Adding to an environment of the installer conda: packages of its channels, projects; all of it, or nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.conftest import tree
from tests.integration.test_channel import rattler
from tests.integration.test_conda_guard import MARKER, SITE, make  # noqa: F401 - a fixture
from tests.support.conda_torch import Channels, stub_channels
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def conda_channels(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Channels:
    """The usual channels, with some packages more."""
    root = tmp_path_factory.mktemp("channels")
    made = stub_channels(root, cache=shared_folder / "conda-packages", minors=["3.11"])
    info = "tool-1.0.dist-info"
    files = {
        "site-packages/tool.py": "def main():\n    print('it runs')\n",
        f"site-packages/{info}/METADATA": "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n",
        f"site-packages/{info}/INSTALLER": "conda\n",
    }
    made.forge.add(
        "tool", "1.0", noarch="python", files=files, depends=["python", "libpart"], entry_points=["tool = tool:main"]
    )
    made.forge.add("libpart", "2.0", files={"lib/libpart.so": b"\x7fELF part"})
    made.forge.add("wants-other-numpy", "1.0", depends=["numpy <1.20"])
    made.forge.add("thief", "1.0", files={"lib/python3.11/this.py": "stolen\n"})
    made.index()
    return made


def names(envkit) -> set[str]:
    return {item["name"] for item in envkit("info", "demo", "--json").json["packages"]}


def changed(before: dict, prefix: Path) -> list[str]:
    """What differs from what it was; what Python compiled aside."""
    after = tree(prefix)
    return sorted(
        name
        for name in before.keys() | after.keys()
        if before.get(name, 0) != after.get(name, 0) and "__pycache__" not in name
    )


def test_packages_come_from_the_lock_s_channels_and_go_into_the_lock(envkit, make):  # noqa: F811
    made = make("conda")
    done = envkit("add", "demo", "tool>=1", "--json")
    assert done.code == 0, done.err
    changes = [(item["name"], item["before"], item["after"]) for item in done.json["changes"]]
    assert changes == [("libpart", None, "2.0"), ("tool", None, "1.0")]
    shown = subprocess.run([made.prefix / "bin" / "tool"], capture_output=True, text=True, check=True)
    assert shown.stdout == "it runs\n"
    assert envkit("doctor", "demo", "--json").json["findings"] == []
    assert "tool=1.0=" in (made.prefix / "requirements-lock.txt").read_text()
    assert not (made.prefix / ".envkit" / "add").exists()
    again = envkit("add", "demo", "tool", "--json")
    assert (again.code, again.json["changes"]) == (0, [])
    restored = envkit("restore", "demo", "--replace", "--no-verify")
    assert restored.code == 0, restored.err
    assert {"tool", "libpart"} <= names(envkit)
    assert envkit("doctor", "demo", "--json").json["findings"] == []


@pytest.mark.parametrize(
    ("requirement", "code", "words"),
    [
        ("wants-other-numpy", 4, "wants-other-numpy cannot be added to demo"),
        ("numpy<1.20", 4, "numpy<1.20 cannot be added to demo"),
        ("no-such-package", 4, "It takes packages of pytorch, conda-forge"),
        ("thief", 11, "lib/python3.11/this.py is there already"),
        ("not a !! spec", 2, "spec"),
    ],
)
def test_what_does_not_fit_changes_nothing(envkit, make, requirement, code, words):  # noqa: F811
    made = make("conda")
    before = tree(made.prefix)
    done = envkit("add", "demo", requirement)
    assert done.code == code, done.err
    assert words in done.err
    assert "Traceback" not in done.err
    assert changed(before, made.prefix) == []
    assert envkit("list", "--json").json["environments"][0]["state"] == "complete"


@pytest.mark.parametrize("step", ["write_lists", "conda_packages", "update_guard"])
def test_killed_after_the_installation_it_is_put_back(envkit, make, step):  # noqa: F811
    made = make("conda")
    before = tree(made.prefix)
    code = f"""
import os, envkit.operations.add_conda as module
module.{step} = lambda *a, **k: os._exit(9)
from envkit.cli.main import main
main(["add", "demo", "tool"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    assert (made.prefix / "lib/libpart.so").exists()
    assert envkit("list", "--json").json["environments"][0]["state"] == "incomplete"
    assert envkit("add", "demo", "numpy").code == 0
    assert changed(before, made.prefix) == []
    assert envkit("doctor", "demo", "--json").json["findings"] == []


def write_project(folder: Path, *, depends: str = '"numpy>=1.20"') -> Path:
    folder.mkdir()
    (folder / "mine.py").write_text("WHO = 'mine'\n")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "mine"\nversion = "1"\ndependencies = [{depends}]\n'
    )
    (folder / "backend.py").write_text(BACKEND.replace("DEPENDS", depends.strip('"')))
    return folder


BACKEND = '''
import os, zipfile

META = """\\
Metadata-Version: 2.1
Name: mine
Version: 1
Requires-Dist: DEPENDS
Provides-Extra: extra
Requires-Dist: tool; extra == "extra"
"""
WHEEL = "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
FILES = ("mine.pth", "mine-1.dist-info/METADATA", "mine-1.dist-info/WHEEL", "mine-1.dist-info/RECORD")

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "mine-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        archive.writestr("mine.pth", os.path.dirname(os.path.abspath(__file__)) + "\\n")
        archive.writestr("mine-1.dist-info/METADATA", META)
        archive.writestr("mine-1.dist-info/WHEEL", WHEEL)
        archive.writestr("mine-1.dist-info/RECORD", "".join(f"{file},,\\n" for file in FILES))
    return name
'''


def test_a_project_s_own_folder_comes_without_anything_of_pip_s(envkit, make, tmp_path):  # noqa: F811
    """DESIGN 5: `envkit add ENV -e .` is the way to an editable install, past the mark for that process alone."""
    made = make("conda")
    folder = write_project(tmp_path / "project")
    marker = (made.prefix / MARKER).read_bytes()
    done = envkit("add", "demo", "-e", folder)
    assert done.code == 0, done.err
    code = "import mine; print(mine.WHO)"
    shown = subprocess.run([made.python, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "mine\n"
    assert (made.prefix / MARKER).read_bytes() == marker
    assert envkit("doctor", "demo", "--json").json["findings"] == []
    layers = {item["layer"]: item for item in envkit("verify", "demo", "--json").json["layers"]}
    assert layers["installer"]["status"] == "pass"
    restored = envkit("restore", "demo", "--replace", "--no-verify")
    assert restored.code == 0, restored.err
    assert subprocess.run([made.python, "-c", code], capture_output=True, check=False).returncode == 0
    assert (made.prefix / SITE / "mine.pth").exists()


@pytest.mark.parametrize(
    ("depends", "extras", "missing"),
    [('"numpy>=9"', "", "'numpy>=9'"), ('"numpy"', "[extra]", "tool"), ('"six"', "", "six")],
)
def test_a_project_that_needs_more_is_refused_with_the_command_for_it(
    envkit,
    make,  # noqa: F811
    tmp_path,
    depends,
    extras,
    missing,
):
    """EK-C15: blocked before anything is changed, with the command that fits the locked installer."""
    made = make("conda")
    folder = write_project(tmp_path / "project", depends=depends)
    before = tree(made.prefix)
    done = envkit("add", "demo", "-e", f"{folder}{extras}", "--json")
    assert done.code == 7, done.err
    assert done.json["error"]["type"] == "InstallerMixed"
    assert f"envkit add demo {missing}`" in done.json["error"]["hint"]
    assert changed(before, made.prefix) == []
    if extras:
        assert envkit("add", "demo", "tool").code == 0
        assert envkit("add", "demo", "-e", f"{folder}{extras}").code == 0


def test_what_pip_has_spoilt_is_not_added_to(envkit, make):  # noqa: F811
    """EK-C15: the same asked of envkit add."""
    made = make("conda")
    make_wheel(made.wheels, "torch", "2.4.1+cu121")
    assert made.by_hand('"$PYTHON" -m pip install --break-system-packages torch==2.4.1+cu121').returncode == 0
    before = tree(made.prefix)
    done = envkit("add", "demo", "tool", "--json")
    assert done.code == 7
    assert "pytorch 1.12.1 py3.11_cpu_0 of conda and torch 2.4.1+cu121 of pip" in done.json["error"]["why"]
    assert "envkit restore demo --replace" in done.json["error"]["hint"]
    assert changed(before, made.prefix) == []


def test_what_somebody_else_has_frozen_stays(envkit, make):  # noqa: F811
    made = make("conda")
    (made.prefix / "conda-meta" / "frozen").write_text('{"message": "Ask the lab."}')
    done = envkit("add", "demo", "tool")
    assert done.code == 7
    assert "demo is frozen" in done.err


def test_what_another_installer_has_spoilt_is_not_added_to(envkit, make, tmp_path):  # noqa: F811
    """The other way round: conda's packages in an environment of pip's."""
    made = make("pip")
    channels = [made.channels.pytorch, made.channels.forge]
    rattler(channels, ["python 3.11.*", "pip", "numpy"], made.prefix, cache=tmp_path / "cache")
    before = tree(made.prefix)
    done = envkit("add", "demo", "part", "--json")
    assert done.code == 7, done.err
    assert "numpy 1.26.4" in done.json["error"]["why"]
    assert changed(before, made.prefix) == []


def test_what_conda_has_installed_beside_the_lock_is_told_with_the_way_out(envkit, make, tmp_path):  # noqa: F811
    made = make("conda")
    channels = [made.channels.pytorch, made.channels.forge]
    asked = ["python 3.11.*", "pytorch=1.12.1=*cpu*", "numpy", "pip", "libpart"]
    rattler(channels, asked, made.prefix, cache=tmp_path / "cache")
    before = tree(made.prefix)
    done = envkit("add", "demo", "tool")
    assert done.code == 11, done.err
    assert "libpart: already in demo, and not in its lock" in done.err
    assert f"`conda remove -p {made.prefix} libpart`" in done.err
    assert changed(before, made.prefix) == []
