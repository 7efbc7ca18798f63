"""``torch==1.12.1 --cuda 11.3`` and ``--cuda auto``: which spec is taken."""

from __future__ import annotations

import pytest

from envkit.errors import NotFoundError, UsageError
from envkit.model.driver import DriverVersion
from envkit.model.progress import Silent
from envkit.operations import requirement_spec
from envkit.operations.machine import described_machine
from envkit.operations.options import CreateOptions
from envkit.operations.requirement_spec import spec_for


class _Notes(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def machine(monkeypatch):
    """Sets this machine."""

    def set_machine(driver: str | None, *gpus: str, platform: str = "linux-64") -> None:
        made = described_machine(driver, gpus, platform)
        monkeypatch.setattr(requirement_spec, "this_machine", lambda: made)

    set_machine(None)
    return set_machine


def taken(text: str, **options: str | None) -> str:
    """The name of the spec that is taken; nothing is said silently."""
    notes = _Notes()
    found, _left = spec_for(text, CreateOptions(**options), notes)
    assert any(found.spec.name in note for note in notes.notes)
    return found.spec.name


@pytest.mark.parametrize(
    ("text", "cuda", "name"),
    [
        ("torch==1.12.1", "11.3", "torch112-cu113"),
        ("torch == 1.12", "11.3", "torch112-cu113"),
        ("torch==1.12.*", "10.2", "torch112-cu102"),
        ("torch==1.12.0", "11.3", "torch1.12.0-cu113"),
        ("torch==1.12.1+cu113", None, "torch112-cu113"),
        ("torch==1.12.1+cu113", "auto", "torch112-cu113"),
        ("torch==2.11.0+cpu", None, "torch211-cpu"),
        ("torch==2", "12.1", "torch25-cu121"),
        ("torch", "11.3", "torch112-cu113"),
    ],
)
def test_a_build_that_is_named(machine, text, cuda, name):
    assert taken(text, cuda=cuda) == name


def test_the_cuda_of_a_requirement_says_nothing_of_the_driver(machine):
    _found, left = spec_for("torch==1.12.1", CreateOptions(cuda="11.3"), Silent())
    assert left.cuda is None
    found, left = spec_for("torch112-cu113", CreateOptions(cuda="12.1"), Silent())
    assert (found.spec.name, left.cuda) == ("torch112-cu113", "12.1")


@pytest.mark.parametrize(
    ("text", "driver", "gpu", "name"),
    [
        ("torch==1.12.1", "460.32.03", "NVIDIA A100-SXM4-80GB", "torch112-cu116"),
        ("torch112-cu113", "460.32.03", "NVIDIA A100-SXM4-80GB", "torch112-cu116"),
        ("torch==1.12.1", "440.33.01", "NVIDIA GeForce RTX 2080 Ti", "torch112-cu102"),
        ("torch==1.12.1", "570.86.10", "NVIDIA GeForce RTX 5090", "torch112-cpu"),
        ("torch==2.11.0", "570.86.10", "NVIDIA GeForce RTX 5090", "torch211-cu128"),
        ("torch==2.5.1", "525.60.13", "NVIDIA A100-SXM4-80GB", "torch25-cu118"),
        ("torch==2.5.1", "550.54.14", "NVIDIA A100-SXM4-80GB", "torch25-cu124"),
        ("torch==2.5.1", "550.54.14", "a card of next year", "torch25-cu124"),
        ("torch25-cu121-conda", "550.54.14", "NVIDIA A100-SXM4-80GB", "torch25-cu124-conda"),
        ("torch==2.5.1", None, None, "torch25-cpu"),
        ("torch112-cu113", None, None, "torch112-cpu"),
    ],
)
def test_the_best_build_for_driver_and_card(machine, text, driver, gpu, name):
    machine(driver, *([gpu] if gpu else []))
    assert taken(text, cuda="auto") == name


def test_which_build_and_why_is_said(machine):
    notes = _Notes()
    machine("440.33.01", "NVIDIA GeForce RTX 2080 Ti")
    spec_for("torch==1.12.1", CreateOptions(cuda="auto"), notes)
    machine("570.86.10", "NVIDIA GeForce RTX 5090")
    spec_for("torch112-cu113", CreateOptions(cuda="auto"), notes)
    machine(None)
    spec_for("torch112-cu113", CreateOptions(cuda="auto"), notes)
    assert "CUDA 10.2 is the best build for driver 440.33.01 and NVIDIA GeForce RTX 2080 Ti." in notes.notes[0]
    assert "No CUDA build of torch 1.12.1 fits this machine. The build has no kernels" in notes.notes[1]
    assert notes.notes[2].startswith("Taking the spec torch112-cpu: PyTorch 1.12.1 for the CPU, Python 3.9;")
    assert notes.notes[2].endswith("No NVIDIA driver answers here, so only the CPU build surely runs.")


def test_a_driver_that_is_told_counts_instead_of_this_machines(machine):
    machine("570.86.10", "NVIDIA GeForce RTX 5090")
    options = CreateOptions(cuda="auto", driver=DriverVersion.parse("440.33.01"))
    found, _left = spec_for("torch==1.12.1", options, Silent())
    assert found.spec.cuda == "10.2"


def test_where_no_other_build_ships_the_spec_stays(machine):
    assert taken("torch112-cu113-conda", cuda="auto") == "torch112-cu113-conda"


def test_torch_alone_is_the_newest_that_can_be_chosen(machine):
    name = taken("torch")
    assert name.endswith("-cpu")
    machine("610.10", "NVIDIA A100-SXM4-80GB")
    assert taken("torch", cuda="auto").startswith("torch2")


def test_another_python_gives_a_spec_of_its_own(machine):
    found, _left = spec_for("torch==1.12.1", CreateOptions(cuda="11.3", python="3.8.18"), Silent())
    spec = found.spec
    assert (spec.name, spec.python, spec.environment_name) == ("torch112-cu113-py38", "3.8", "torch112_cu113_py38")
    assert spec.summary == "PyTorch 1.12.1 built for CUDA 11.3, Python 3.8"
    assert not found.lock_path.exists()
    same, _left = spec_for("torch==1.12.1", CreateOptions(cuda="11.3", python="3.9.18"), Silent())
    assert same.spec.name == "torch112-cu113"
    program, _left = spec_for("torch==1.12.1", CreateOptions(cuda="11.3", python="/usr/bin/python3"), Silent())
    assert program.spec.name == "torch112-cu113"


@pytest.mark.parametrize(
    ("text", "options", "message", "hint"),
    [
        ("torch==1.12.1", {"cuda": "12.1"}, "There is no torch 1.12.1 for CUDA 12.1.", "torch112-cu116"),
        ("torch==7", {}, "There is no torch 7.", "Near: 2.15.0."),
        ("torch==1.12.1", {"cuda": "11.3", "python": "3.11"}, "with Python 3.11.", "Python 3.11: 1.13.0"),
        ("torch==1.9.1", {"cuda": "11.1"}, "No spec ships for torch 1.9.1 for CUDA 11.1.", "torch1.10.0-cu111"),
        ("torch==1.9.1", {}, "No spec ships for torch 1.9.1.", "torch1.10.0-cpu"),
        ("torch==2.14.1", {"cuda": "13.4"}, "No spec ships for torch 2.14.1 for CUDA 13.4.", "torch214-cu130"),
        ("torch==2.15.0", {}, "No build of torch 2.15.0 can be chosen for this machine.", "torch215-cu132"),
    ],
)
def test_what_does_not_ship_names_what_does(machine, text, options, message, hint):
    with pytest.raises(NotFoundError) as caught:
        spec_for(text, CreateOptions(**options), Silent())
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("text", ["torch>=2", "torch~=1.12", "torch!=1", "torch==", "torch==new", "torch=1.12.1"])
def test_anything_but_one_version_is_a_usage_error(machine, text):
    with pytest.raises(UsageError):
        spec_for(text, CreateOptions(), Silent())


def test_a_label_and_another_cuda_contradict_each_other(machine):
    with pytest.raises(UsageError, match=r"not built for CUDA 11\.6"):
        spec_for("torch==1.12.1+cu113", CreateOptions(cuda="11.6"), Silent())


def test_a_name_that_is_none_stays_one():
    with pytest.raises(NotFoundError, match="There is no spec 'torch112'"):
        spec_for("torch112", CreateOptions(), Silent())
