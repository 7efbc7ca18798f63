from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from envkit.activation import install_hooks, remove_hooks
from envkit.errors import UsageError
from envkit.model.toolkit import Toolkit

EXTENSIONS = ("sh", "fish", "csh", "ps1", "bat")


def toolkit(path="/opt/tk/cuda-11.3"):
    return Toolkit("11.3.1", "11.3", Path(path), "test", has_nvcc=True)


def names(prefix):
    return sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file())


def test_install_writes_a_pair_per_shell(tmp_path):
    """EK-C09: a file for each shell, in the right folders."""
    files = install_hooks(tmp_path, slot="VENV", toolkit=toolkit())
    expected = [f"etc/conda/{d}.d/envkit-cuda.{e}" for d in ("activate", "deactivate") for e in EXTENSIONS]
    assert [path.relative_to(tmp_path).as_posix() for path in files] == expected
    assert names(tmp_path) == sorted(expected)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}


@pytest.mark.parametrize("slot", ["VENV", "CONDA"])
def test_the_slot_is_filled_in_everywhere(tmp_path, slot):
    other = {"VENV": "CONDA", "CONDA": "VENV"}[slot]
    for path in install_hooks(tmp_path, slot=slot, toolkit=toolkit()):
        text = path.read_text(encoding="utf-8")
        assert f"_ENVKIT_{slot}_TOOLKIT" in text
        of_other = re.findall(f"_ENVKIT_{other}_([A-Z_]+)", text)
        # both slots look at these; cmd has no gcc
        assert set(of_other) == (set() if path.suffix == ".bat" else {"CC", "CXX", "CUDAHOSTCXX"})
        assert not re.search("@[A-Z_]+@", text)


def test_candidates_are_the_recorded_folder_then_the_usual_ones(tmp_path):
    hook = install_hooks(tmp_path, slot="VENV", toolkit=toolkit("/opt//tk/x/../cuda-11.3/"))[0]
    (line,) = [line for line in hook.read_text(encoding="utf-8").splitlines() if "for _envkit_toolkit" in line]
    words = line.split(" in ")[1].removesuffix("; do").split()
    assert words[:3] == ["'/opt/tk/cuda-11.3'", "'/usr/local/cuda-11.3'", "'/opt/cuda-11.3'"]
    assert "'/usr/local/cuda'" not in words


def test_install_without_a_toolkit_removes_ours_and_leaves_others(tmp_path):
    install_hooks(tmp_path, slot="CONDA", toolkit=toolkit())
    other = tmp_path / "etc" / "conda" / "activate.d" / "cuda-nvcc.sh"
    other.write_text("")
    assert install_hooks(tmp_path, slot="VENV", toolkit=None) == ()
    assert names(tmp_path) == ["etc/conda/activate.d/cuda-nvcc.sh"]
    assert not (tmp_path / "etc" / "conda" / "deactivate.d").exists()


def test_a_conda_prefix_without_a_toolkit_heals_path(tmp_path):
    install_hooks(tmp_path, slot="CONDA", toolkit=toolkit())
    assert install_hooks(tmp_path, slot="CONDA", toolkit=None) == ()
    assert names(tmp_path) == sorted(f"etc/conda/activate.d/envkit-cleanup.{end}" for end in EXTENSIONS[:-1])
    install_hooks(tmp_path, slot="CONDA", toolkit=toolkit())
    assert {name.split(".d/")[1].split(".")[0] for name in names(tmp_path)} == {"envkit-cuda"}


def test_remove_tells_what_was_there(tmp_path):
    assert remove_hooks(tmp_path) == ()
    files = install_hooks(tmp_path, slot="VENV", toolkit=toolkit())
    assert remove_hooks(tmp_path) == files
    assert names(tmp_path) == []


@pytest.mark.parametrize("where", ["prefix", "toolkit"])
@pytest.mark.parametrize("name", ["a:b", "a\nb"])
def test_a_name_that_path_cannot_hold_is_refused_and_nothing_written(tmp_path, where, name):
    prefix = tmp_path / (name if where == "prefix" else "env")
    folder = f"/opt/{name}" if where == "toolkit" else "/opt/cuda-11.3"
    with pytest.raises(UsageError):
        install_hooks(prefix, slot="VENV", toolkit=toolkit(folder))
    assert names(tmp_path) == []


def test_install_again_replaces(tmp_path):
    install_hooks(tmp_path, slot="VENV", toolkit=toolkit("/opt/old"))
    files = install_hooks(tmp_path, slot="VENV", toolkit=toolkit("/opt/new"))
    text = files[0].read_text(encoding="utf-8")
    assert "'/opt/new'" in text
    assert "'/opt/old'" not in text
