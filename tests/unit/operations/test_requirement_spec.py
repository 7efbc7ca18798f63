"""``torch==1.12.1 --cuda 11.3`` and ``--cuda auto``: which spec is taken."""

from __future__ import annotations

import pytest

from envkit.compat.releases import release_of
from envkit.errors import NotFoundError, UnfitMachineError, UsageError
from envkit.model.driver import DriverVersion, SmiReport
from envkit.model.progress import Silent
from envkit.operations import requirement_spec
from envkit.operations.best_build import best_of
from envkit.operations.machine import Machine, described_machine
from envkit.operations.options import CreateOptions
from envkit.operations.preflight import preflight
from envkit.operations.requirement_spec import spec_for
from envkit.operations.routes import routes_for


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
    machine(None)
    spec_for("torch112-cu113", CreateOptions(cuda="auto"), notes)
    assert "CUDA 10.2 is the best build for driver 440.33.01 and NVIDIA GeForce RTX 2080 Ti." in notes.notes[0]
    assert notes.notes[1].startswith("Taking the spec torch112-cpu: PyTorch 1.12.1 for the CPU, Python 3.9;")
    assert notes.notes[1].endswith("No NVIDIA driver answers here, so only the CPU build surely runs.")


@pytest.mark.parametrize("text", ["torch==1.12.1", "torch112-cu113", "torch==1.12"])
def test_a_cpu_build_is_not_taken_where_there_is_a_gpu(machine, text):
    machine("570.86.16", "NVIDIA GeForce RTX 5090")
    with pytest.raises(UnfitMachineError) as caught:
        spec_for(text, CreateOptions(cuda="auto"), Silent())
    error = caught.value
    assert error.exit_code == 3
    assert error.message == "No CUDA build of torch 1.12.1 fits driver 570.86.16 and NVIDIA GeForce RTX 5090.".replace(
        "1.12.1", "1.12" if text.endswith("1.12") else "1.12.1"
    )
    assert "CUDA 11.6: The build has no kernels" in error.why
    assert "`envkit create torch211-cu128`" in error.hint
    assert "`envkit create torch112-cpu`: torch 1.12.1 runs on the CPU." in error.hint


def test_of_torch_alone_the_cpu_build_is_taken_where_nothing_fits_and_that_is_said(machine):
    notes = _Notes()
    machine("470.82.01", "Tesla K40m")
    found, _left = spec_for("torch", CreateOptions(), notes)
    assert found.spec.cuda is None
    assert "No CUDA build of torch fits driver 470.82.01 and Tesla K40m." in notes.notes[0]


def test_a_newer_torch_that_does_not_run_here_is_named(machine):
    notes = _Notes()
    machine("450.80.02", "NVIDIA GeForce RTX 2080 Ti")
    spec_for("torch", CreateOptions(cuda="auto"), notes)
    assert "The newest is 2.15.0; 2.7.1 is the newest that runs here." in notes.notes[0]


def test_a_tool_that_failed_is_named(machine, monkeypatch):
    smi = SmiReport("error", "driver-not-loaded", "has failed", found_at="/usr/bin/nvidia-smi")
    broken = Machine("linux-64", None, (), (2, 36), is_described=False, smi=smi)
    monkeypatch.setattr(requirement_spec, "this_machine", lambda: broken)
    notes = _Notes()
    found, _left = spec_for("torch==1.12.1", CreateOptions(), notes)
    assert found.spec.name == "torch112-cpu"
    assert "nvidia-smi at /usr/bin/nvidia-smi tells no driver (driver-not-loaded)" in notes.notes[0]


def test_a_gpu_without_a_driver_is_not_enough():
    with pytest.raises(UsageError, match="without --driver"):
        spec_for("torch", CreateOptions(gpus=("NVIDIA A40",)), Silent())


A100, RTX5090, RTX2080 = "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 2080 Ti"
MACHINES = [
    ("450.80.02", RTX2080, "linux-64", "torch27-cu118", "torch112-cu102"),
    ("440.33.01", RTX2080, "linux-64", "torch112-cu102", "torch112-cu102"),
    ("460.32.03", A100, "linux-64", "torch27-cu118", "torch112-cu116"),
    ("535.104.05", A100, "linux-64", "torch211-cu128", "torch112-cu116"),
    ("570.86.16", RTX5090, "linux-64", "torch211-cu128", None),
    ("535.104.05", RTX5090, "linux-64", "torch213-cpu", None),
    ("580.95.05", RTX5090, "linux-64", "torch215-cu132", None),
    ("580.95.05", "NVIDIA GeForce GTX 1080 Ti", "linux-64", "torch211-cu126", "torch112-cu116"),
    ("470.82.01", "Tesla K80", "linux-64", "torch27-cu118", "torch112-cu113"),
    ("470.82.01", "Tesla K40m", "linux-64", "torch213-cpu", None),
    ("572.16", "NVIDIA GeForce RTX 5070 Ti", "win-64", "torch211-cu128", "torch112-cu116"),
    ("570.86.10", "NVIDIA GH200 480GB", "linux-aarch64", "torch211-cu128", None),
    ("550.54.14", "a card of next year", "linux-64", "torch213-cu126", "torch112-cu116"),
]


@pytest.mark.parametrize(("driver", "gpu", "platform", "newest", "old"), MACHINES)
def test_create_and_preflight_and_the_routes_name_the_same_build(machine, driver, gpu, platform, newest, old):
    """What is the best build is decided in one place."""
    machine(driver, gpu, platform=platform)
    there = described_machine(driver, (gpu,), platform)
    words = {"driver": driver, "gpus": (gpu,), "platform": platform}
    (route,) = preflight(None, Silent(), **words).routes
    assert (taken("torch", cuda="auto"), taken("torch"), route.spec) == (newest, newest, newest)
    assert preflight("torch", Silent(), **words).spec == newest
    if old is None:
        with pytest.raises(UnfitMachineError):
            spec_for("torch==1.12.1", CreateOptions(cuda="auto"), Silent())
        with pytest.raises(UnfitMachineError):  # where no build is there to be judged, it ends as create does
            raise preflight("torch==1.12.1", Silent(), **words).error
    else:
        judged = preflight("torch==1.12.1", Silent(), **words)
        assert (taken("torch==1.12.1", cuda="auto"), judged.spec) == (old, old)
        assert judged.fits is not False
    best = best_of(there, [release_of("1.12.1")])
    routes = routes_for(("1.12.1", "9.2"), there)  # of a build that there is not
    if best is not None and best.fits:
        assert routes[0].spec == old
    elif newest.endswith("-cpu"):
        assert routes[-1].spec.endswith("-cpu")


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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pytorch", "Write `torch` for the newest"),
        ("torch112", "Specs of torch 1.12.1: torch112-cpu, torch112-cu102,"),
        ("torch112-cu11", "Specs of torch 1.12.1: torch112-cpu"),
        ("torch112-cu121", "Nearest for torch 1.12.1: torch112-cu116."),
        ("pytorch==1.12.1", "Specs of torch 1.12.1"),
        ("torch-1.12.0-cuda11.3", "Specs of torch 1.12.0: torch1.12.0-cpu"),
        ("torch99", "There is no torch 9.9. Near: 2.15, as in torch==2.15."),
        ("something", "There are:"),
    ],
)
def test_what_was_probably_meant(name, hint):
    with pytest.raises(NotFoundError) as caught:
        spec_for(name, CreateOptions(), Silent())
    assert hint in caught.value.hint


def test_the_cpu_build_may_be_asked_for_by_the_option():
    found, _ = spec_for("torch==1.12.1", CreateOptions(cuda="cpu"), Silent())
    assert found.spec.name == "torch112-cpu"
