"""What goes with what, and what of it fits a machine."""

from __future__ import annotations

import pytest

from envkit.cli.matrix_text import matrix_lines
from envkit.compat.releases import releases
from envkit.errors import NotFoundError, StorageError
from envkit.model.driver import Gpu
from envkit.operations.machine import Machine, described_machine
from envkit.operations.matrix import matrix
from envkit.operations.matrix_page import versions_text
from envkit.operations.specs import shipped_names


@pytest.fixture
def machine(monkeypatch):
    """Sets the machine by which the rows are judged."""

    def set_machine(driver: str | None, *gpus: str, platform: str = "linux-64") -> Machine:
        made = described_machine(driver, gpus, platform)
        monkeypatch.setattr("envkit.operations.machine.this_machine", lambda: made)
        return made

    set_machine(None)
    return set_machine


def test_one_row_per_build_and_installer(machine):
    rows = matrix("1.12.1", "11.3").rows
    pip, conda = (row.to_json() for row in rows)
    assert pip == {
        "torch": "1.12.1",
        "torchvision": "0.13.1",
        "torchaudio": "0.12.1",
        "released": "2022-08-05",
        "cuda": "11.3",
        "build": "cu113",
        "platforms": ["linux-64", "win-64"],
        "known": {"linux-64": "confirmed", "win-64": "confirmed"},
        "pythons": {name: ["3.7", "3.8", "3.9", "3.10"] for name in ("linux-64", "win-64")},
        "installer": "pip",
        "spec": "torch112-cu113",
        "spec_python": "3.9",
        "spec_platforms": ["linux-64", "win-64"],
        "command": "envkit create torch112-cu113",
        "fits": None,
        "why": pip["why"],
    }
    assert conda["spec"] == "torch112-cu113-conda"
    assert conda["pythons"] == {"linux-64": None, "win-64": None}


def test_all_of_it_is_there_newest_first(machine):
    rows = matrix().rows
    assert list(dict.fromkeys(row.release.torch for row in rows)) == [release.torch for release in releases()]
    assert {row.spec.name for row in rows if row.spec is not None} == set(shipped_names())
    builds = [row.build.cuda for row in rows if row.release.torch == "2.5.1" and row.installer == "pip"]
    assert builds == ["12.4", "12.1", "11.8", None]


@pytest.mark.parametrize(
    ("driver", "gpu", "build", "fits", "why"),
    [
        ("460.32.03", "NVIDIA GeForce RTX 2080 Ti", ("1.12.1", "11.3"), True, "minor-version compatibility"),
        ("440.33.01", "NVIDIA GeForce RTX 2080 Ti", ("1.12.1", "11.3"), False, "older than 450.80.02"),
        ("440.33.01", "NVIDIA GeForce RTX 2080 Ti", ("1.12.1", "10.2"), True, None),
        ("570.86.10", "NVIDIA GeForce RTX 5090", ("1.12.1", "11.3"), False, "no kernels for compute capability 12.0"),
        (None, "", ("1.12.1", "11.3"), None, "driver"),
        (None, "", ("1.12.1", "cpu"), True, None),
        ("440.33.01", "NVIDIA GeForce RTX 2080 Ti", ("1.9.1", "11.1"), False, "older than 450.80.02"),
    ],
)
def test_a_row_says_whether_it_fits(machine, driver, gpu, build, fits, why):
    machine(driver, *([gpu] if gpu else []))
    row = matrix(*build).rows[0]
    assert row.fits is fits
    assert (row.why is None) if why is None else why in str(row.why)


def test_of_conda_packages_without_a_spec_only_the_driver_is_judged(machine):
    machine("440.33.01", "NVIDIA A100-SXM4-80GB")
    old, new = (
        next(row for row in matrix("1.9.1", cuda).rows if row.installer == "conda") for cuda in ("10.2", "11.1")
    )
    assert (old.spec, old.fits, new.fits) == (None, None, False)


def test_another_platform_has_no_such_build(machine):
    machine("535.54.03", "NVIDIA A100-SXM4-80GB", platform="linux-aarch64")
    row = matrix("1.12.1", "11.3").rows[0]
    assert row.fits is False
    assert row.why


def test_a_python_narrows_and_names_the_command(machine):
    rows = matrix("1.12.1", python="3.8").rows
    assert {row.installer for row in rows} == {"pip"}
    assert rows[1].command == "envkit create torch==1.12.1 --cuda 11.3 --python 3.8"
    assert rows[-1].command == "envkit create torch==1.12.1+cpu --python 3.8"
    own = matrix("1.12.1", "11.3", "3.9").rows
    assert [row.command for row in own] == ["envkit create torch112-cu113", "envkit create torch112-cu113-conda"]
    assert {row.release.minor for row in matrix(python="3.6").rows} <= {"1.7", "1.8", "1.9", "1.10"}


def test_no_such_build_is_not_found(machine, tmp_path):
    with pytest.raises(NotFoundError, match=r"There is no torch 1\.12 for CUDA 12\.1"):
        matrix("1.12", "12.1", page=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written(machine, tmp_path):
    with pytest.raises(StorageError):
        matrix("1.12", page=tmp_path / "missing" / "page.html")


def test_a_page_has_no_name_of_the_machine(machine, tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "somebody-here")
    page = tmp_path / "page.html"
    matrix("1.12", page=page)
    text = page.read_text(encoding="utf-8")
    assert "No NVIDIA driver answered" in text
    assert str(tmp_path) not in text
    assert "somebody-here" not in text
    assert '"wanted":{"torch":"1.12"}' in text


def test_the_overview_marks_what_fits(machine):
    machine("525.60.13", "NVIDIA A100-SXM4-80GB")
    lines = matrix_lines(matrix())
    (line,) = [line for line in lines if line.startswith("1.12.1 ")]
    assert line.split()[1:5] == ["cpu*", "10.2", "11.3*", "11.6*"]
    assert "The machine that you described: linux-64; driver 525.60.13; GPU: NVIDIA A100-SXM4-80GB." in lines
    machine(None)
    lines = matrix_lines(matrix())
    assert not any("*" in line for line in lines)
    assert lines[-2] == "Which CUDA builds fit cannot be told without one."


def test_builds_with_their_specs_and_reasons(machine, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    machine("460.32.03", "NVIDIA A100-SXM4-80GB")
    lines = matrix_lines(matrix("1.12.1"))
    assert lines[0].split() == ["TORCH", "CUDA", "INSTALLER", "PYTHON", "PLATFORMS", "FITS", "COMMAND"]
    (row,) = [line.split() for line in lines if line.endswith("envkit create torch112-cu102")]
    assert (row[0], row[1], row[7]) == ("1.12.1", "10.2", "no")
    assert any(line.startswith("1.12.1+cu102: The build has no kernels") for line in lines)
    lines = matrix_lines(matrix("2.15", "cpu"))
    assert "envkit create torch215-cpu (on win-64)" in "\n".join(lines)
    assert any("no spec ships" in line for line in matrix_lines(matrix("1.9")))


def test_gpus_without_a_name_or_twice(machine, monkeypatch, tmp_path):
    gpus = (Gpu(0, None), Gpu(1, "NVIDIA A40"), Gpu(2, "NVIDIA A40"))
    made = Machine("linux-64", machine("535.54.03").driver, gpus, None, is_described=False, smi=None)
    monkeypatch.setattr("envkit.operations.machine.this_machine", lambda: made)
    result = matrix("1.12", page=tmp_path / "page.html")
    assert "a GPU without a name, 2 x NVIDIA A40" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert matrix_lines(result) == [f"Wrote {tmp_path / 'page.html'}: open it in a browser."]
    assert versions_text(["3.9"]) == "3.9"
