"""Create refuses what cannot work before any index is asked, and names what does."""

from __future__ import annotations

import pytest

from envkit.errors import UnfitMachineError
from envkit.model.driver import DriverVersion, Gpu, SmiReport
from envkit.model.progress import Silent
from envkit.operations import create as create_module
from envkit.operations import fit, lock
from envkit.operations.fit import check_fit, check_spec
from envkit.operations.machine import Machine
from envkit.operations.options import CreateOptions
from envkit.operations.specs import find_spec, read_lock

OLD = CreateOptions(driver=DriverVersion.parse("440.33.01"))


class Notes(Silent):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


class AskedError(Exception):
    """An index would have been asked."""


@pytest.fixture
def unlocked(monkeypatch):
    """The spec torch112-cu113 as if it had no lock; to make one ends the test."""

    def ask(*_words, **_more):
        raise AskedError

    monkeypatch.setattr("envkit.operations.specs._LOCK_SUFFIX", ".none.yaml")
    monkeypatch.setattr(lock, "lock_spec", ask)
    monkeypatch.setattr("envkit.operations.specs.shipped_names", lambda: ["torch112-cu113", "torch112-cu102"])
    return "torch112-cu113"


def shipped_lock(name="torch112-cu113"):
    path = find_spec(name).lock_path
    return read_lock(path, path.name)


def on(monkeypatch, driver, *names):
    """This machine has that driver and those GPUs, as a stub of nvidia-smi would tell."""
    gpus = tuple(Gpu(index, name) for index, name in enumerate(names))
    smi = SmiReport("ok", None, None, DriverVersion.parse(driver), gpus)
    machine = Machine("linux-64", smi.driver_version, gpus, (2, 36), is_described=False, smi=smi)
    monkeypatch.setattr(fit, "this_machine", lambda: machine)


def test_a_spec_without_a_lock_is_judged_before_an_index_is_asked(unlocked):
    with pytest.raises(UnfitMachineError, match=r"driver 440\.33\.01, needed 450\.80\.02") as caught:
        create_module.create(unlocked, OLD, Silent())
    assert caught.value.exit_code == 3
    assert "450.80.02 or newer is new enough for CUDA 11.3" in caught.value.hint
    assert "--force" in caught.value.hint


def test_force_goes_on(unlocked):
    with pytest.raises(AskedError):
        create_module.create(unlocked, CreateOptions(driver=OLD.driver, force=True), Silent())


def test_the_cuda_of_the_target_stands_for_its_driver(unlocked, monkeypatch):
    on(monkeypatch, "440.33.01", "Tesla T4")
    with pytest.raises(AskedError):
        create_module.create(unlocked, CreateOptions(cuda="12.4"), Silent())


def test_the_python_that_was_asked_for_counts(unlocked, monkeypatch):
    on(monkeypatch, "535.104.05", "NVIDIA A100-SXM4-80GB")
    with pytest.raises(UnfitMachineError, match=r"python 3\.11, needed 3\.7 to 3\.10") as caught:
        create_module.create(unlocked, CreateOptions(python="3.11"), Silent())
    assert "not the network" in caught.value.why


def test_the_card_counts_and_what_fits_is_named(monkeypatch):
    on(monkeypatch, "580.65.06", "NVIDIA GeForce RTX 5090")
    spec = find_spec("torch112-cu113").spec
    with pytest.raises(UnfitMachineError, match=r"compute capability NVIDIA GeForce RTX 5090") as caught:
        check_spec(spec, CreateOptions())
    assert "envkit create torch215-cu132" in caught.value.hint
    with pytest.raises(UnfitMachineError):
        check_fit(shipped_lock(), "linux-64", CreateOptions(), Silent())
    check_spec(spec, CreateOptions(force=True))


def test_a_warning_is_told_and_goes_on(monkeypatch):
    on(monkeypatch, "460.32.03", "NVIDIA GeForce RTX 3090")
    notes = Notes()
    check_fit(shipped_lock(), "linux-64", CreateOptions(), notes)
    (told,) = notes.told
    assert told.startswith("driver: found 460.32.03, needed 450.80.02 or newer (confirmed).")


def test_forced_on_a_machine_that_does_not_fit_the_reason_is_told(monkeypatch):
    on(monkeypatch, "440.33.01", "Tesla T4")
    notes = Notes()
    check_fit(shipped_lock(), "linux-64", CreateOptions(force=True), notes)
    assert any("450.80.02" in told for told in notes.told)


def test_facts_about_pytorchs_own_builds_do_not_refuse_those_of_another_index(monkeypatch):
    from envkit.model.spec import parse_spec  # noqa: PLC0415 - used once

    on(monkeypatch, "535.104.05", "NVIDIA GeForce RTX 5090")
    text = (
        'schema: 1\nname: own\npython: "3.11"\ninstaller: pip\ncuda: "11.3"\npackages: [torch==1.12.1+cu113]\n'
        "sources: [{url: https://example.org/whl, packages: [torch]}]\nplatforms: [linux-64]\n"
    )
    spec = parse_spec(text, "own.yaml")
    check_spec(spec, CreateOptions())
    with pytest.raises(UnfitMachineError):
        check_spec(spec, OLD)  # a driver serves no newer CUDA, whoever made the build


def test_a_cpu_build_asks_no_tool(monkeypatch):
    def asked():
        raise AskedError

    monkeypatch.setattr(fit, "this_machine", asked)
    check_spec(find_spec("torch213-cpu").spec, CreateOptions())
    check_fit(shipped_lock("torch213-cpu"), "linux-64", CreateOptions(), Silent())


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("12.1", None),
        ("11.3", None),
        ("11.0", "With driver 450.80.02 or newer that works"),  # some drivers that serve 11.0 are older, some are not
        ("10.2", "fails"),
    ],
)
def test_the_cuda_of_the_target_is_judged_by_the_drivers_in_the_table(target, words):
    notes, options = Notes(), CreateOptions(cuda=target)
    if words == "fails":
        with pytest.raises(UnfitMachineError, match="target machine does not fit") as caught:
            check_fit(shipped_lock(), "linux-64", options, notes)
        assert "It takes driver 450.80.02 or newer." in caught.value.why
        return
    check_fit(shipped_lock(), "linux-64", options, notes)
    assert (words is None) == (not notes.told)
    assert all(str(words) in told for told in notes.told)


def test_another_machines_gpu_counts_instead_of_this_ones(monkeypatch):
    on(monkeypatch, "535.104.05", "NVIDIA A100-SXM4-80GB")
    spec = find_spec("torch112-cu113").spec
    driver = DriverVersion.parse("570.86.16")
    with pytest.raises(UnfitMachineError, match="RTX 5090"):
        check_spec(spec, CreateOptions(driver=driver, gpus=("NVIDIA GeForce RTX 5090",)))
    check_spec(spec, CreateOptions(driver=driver))
