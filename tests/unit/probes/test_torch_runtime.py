"""The stub of torch in tests/data/stub_torch stands for torch in all of these; no GPU and no real torch is needed."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from envkit.model.report import LAYERS, VerifyReport
from envkit.probes import torch_runtime
from envkit.probes.nvidia_smi import query_gpus
from envkit.probes.torch_runtime import Expectation, verify_runtime

GPU = "0, NVIDIA GeForce RTX 3090, 535.54.03, 24576, 8.6\n"


def verify(environment, *, build_cuda=None, smi=None, layers=LAYERS, timeouts=(60.0, 30.0), variables=None, **config):
    config = {"cuda": build_cuda, **config}
    return verify_runtime(
        environment.python,
        expect=Expectation(environment.packages, build_cuda, smi=smi),
        layers=layers,
        import_timeout_s=timeouts[0],
        layer_timeout_s=timeouts[1],
        env={**environment.environ(**config), **(variables or {})},
    )


def statuses(results):
    return [result.status for result in results]


def test_verify_runtime_of_a_working_cpu_build_passes_every_layer(stub_environment):
    results = verify(stub_environment)
    assert [(result.layer, result.status, result.reason) for result in results] == [
        (layer, "pass", None) for layer in LAYERS
    ]
    assert VerifyReport("device", results).verified
    facts = results[0].facts
    assert (facts["torch_version"], facts["build_cuda"], facts["numpy_version"]) == ("1.11.0", None, "1.26.4")
    assert results[1].facts == {"device": "cpu"}
    before, during, after = results[3].facts["resident_mib"]
    assert during - before > 32 > after - before


def test_verify_runtime_of_a_working_cuda_build_names_the_gpu(stub_environment):
    results = verify(stub_environment, build_cuda="11.3", gpus=[["Tesla T4", 7, 5]])
    assert statuses(results) == ["pass"] * 4
    assert results[1].facts["gpus"] == [
        {"index": 0, "name": "Tesla T4", "compute_capability": "7.5", "memory_total_mib": 8192}
    ]
    assert results[1].facts["device"] == "cuda:0"
    assert results[2].facts["cudnn_version"] == 8302
    assert results[3].facts["allocated_mib"] == [0.0, 64.0, 0.0]


def test_verify_runtime_takes_the_first_gpu_that_the_build_serves(stub_environment):
    results = verify(stub_environment, build_cuda="11.3", gpus=[["GeForce GT 710", 3, 5], ["RTX 3090", 8, 6]])
    assert results[1].facts["device"] == "cuda:1"
    assert statuses(results) == ["pass"] * 4


def test_verify_runtime_of_level_import_runs_that_layer_only(stub_environment):
    results = verify(stub_environment, layers=("import",), at={"product": "SIGSEGV"})
    assert [(result.layer, result.status) for result in results] == [("import", "pass")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [("", "CUDA_VISIBLE_DEVICES=''"), ("-1", "CUDA_VISIBLE_DEVICES='-1'"), ("1", "CUDA_VISIBLE_DEVICES='1'")],
    ids=["empty", "minus-one", "no-such-index"],
)
def test_verify_runtime_with_a_hidden_gpu_names_the_variable_and_its_value(stub_environment, fake_smi, value, shown):
    smi = query_gpus({"PATH": f"{fake_smi(GPU)}{os.pathsep}{os.environ['PATH']}"})
    assert smi.status == "ok"
    results = verify(stub_environment, build_cuda="11.3", smi=smi, variables={"CUDA_VISIBLE_DEVICES": value})
    assert statuses(results) == ["pass", "skip", "skip", "skip"]
    for result in results[1:]:
        assert result.reason is not None
        assert result.reason.startswith(shown)
        assert "RTX 3090" in result.reason
        assert "install" not in result.reason
    report = VerifyReport("device", results)
    assert (report.verified, report.failed, report.not_verifiable) == (False, False, True)
    assert report.reason == results[1].reason


def test_verify_runtime_with_an_unhidden_gpu_that_torch_cannot_use_goes_on_to_driver_and_build(
    stub_environment, fake_smi
):
    smi = query_gpus({"PATH": f"{fake_smi(GPU)}{os.pathsep}{os.environ['PATH']}"})
    results = verify(stub_environment, build_cuda="11.3", smi=smi, init_error="CUDA unknown error")
    assert statuses(results) == ["pass", "fail", "skip", "skip"]
    reason = results[1].reason
    assert reason is not None
    for part in ("NVIDIA GeForce RTX 3090", "nothing hides it", "535.54.03", "CUDA 11.3", "CUDA unknown error"):
        assert part in reason
    assert results[2].reason == "layer device failed"


def test_verify_runtime_does_not_change_the_variable_that_hides(stub_environment, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    seen = tmp_path / "seen"
    (stub_environment.site / "spy.pth").write_text(
        f"import os; open({str(seen)!r}, 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])\n"
    )
    environ = stub_environment.environ(cuda="11.3")
    del environ["CUDA_VISIBLE_DEVICES"]
    results = verify_runtime(
        stub_environment.python, expect=Expectation(stub_environment.packages, "11.3"), env=environ
    )
    assert results[1].reason.startswith("CUDA_VISIBLE_DEVICES='-1'")
    assert seen.read_text() == "-1"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "-1"


def test_verify_runtime_passes_on_why_the_caller_knows_the_gpu_hidden(stub_environment):
    expect = Expectation(stub_environment.packages, "11.3", hidden_by="the scheduler")
    results = verify_runtime(stub_environment.python, expect=expect, env=stub_environment.environ(cuda="11.3"))
    assert results[1].reason.startswith("the scheduler hides every GPU")


@pytest.mark.parametrize(
    ("place", "signal_name", "layer", "about"),
    [
        ("import", "SIGSEGV", "import", "segmentation fault"),
        ("import", "SIGILL", "import", "AVX"),
        ("product", "SIGSEGV", "compute", "segmentation fault"),
        ("product", "SIGABRT", "compute", "aborted"),
        ("ones", "SIGKILL", "memory", "memory ran out"),
        ("copy", "SIGBUS", "device", "bus error"),
        ("copy", "SIGUSR1", "device", "SIGUSR1"),
    ],
)
def test_verify_runtime_blames_a_crash_on_the_layer_that_ran(stub_environment, place, signal_name, layer, about):
    results = verify(stub_environment, at={place: signal_name})
    index = LAYERS.index(layer)
    assert statuses(results) == ["pass"] * index + ["fail"] + ["skip"] * (3 - index)
    failed = results[index]
    assert failed.reason.startswith(f"crashed with {signal_name} in layer {layer}")
    assert about in failed.reason
    assert failed.facts["exit_status"] == -getattr(signal, signal_name)
    assert all(result.reason == f"layer {layer} failed" for result in results[index + 1 :])
    if signal_name == "SIGSEGV":
        assert any("Segmentation fault" in line for line in failed.facts["stderr_tail"])
        assert any("misbehave" in line for line in failed.facts["stderr_tail"])


@pytest.mark.parametrize(
    ("place", "layer", "timeouts"), [("import", "import", (1.0, 30.0)), ("product", "compute", (60.0, 1.0))]
)
def test_verify_runtime_stops_a_layer_at_its_own_time_limit(stub_environment, place, layer, timeouts):
    start = time.monotonic()
    results = verify(stub_environment, at={place: "hang"}, timeouts=timeouts)
    assert time.monotonic() - start < 20
    failed = next(result for result in results if result.status == "fail")
    assert (failed.layer, failed.reason) == (layer, f"no answer within 1 s in layer {layer}; stopped")
    assert failed.facts["exit_status"] == -signal.SIGKILL


def test_verify_runtime_gives_each_layer_its_own_time_limit(stub_environment):
    (stub_environment.site / "slow.pth").write_text("import time; time.sleep(5.5)\n")
    assert statuses(verify(stub_environment, timeouts=(60.0, 5.0))) == ["pass"] * 4


def test_verify_runtime_is_not_misled_by_what_libraries_print(stub_environment):
    (stub_environment.site / "noise.pth").write_text("import sys; sys.stdout.write('hello'); sys.stdout.flush()\n")
    results = verify(stub_environment, at={"import": "print", "product": "print"})
    assert statuses(results) == ["pass"] * 4
    assert "resident_mib" in results[3].facts


def test_verify_runtime_of_a_child_that_exits_reports_its_last_words(stub_environment):
    failed = verify(stub_environment, at={"convolution": "exit"})[2]
    assert (failed.status, failed.reason) == (
        "fail",
        "ended with exit status 3 in layer compute without an answer: the last words",
    )
    assert failed.facts["stderr_tail"][-1] == "the last words"


def test_verify_runtime_does_not_wait_for_a_process_that_the_child_left_behind(stub_environment):
    start = time.monotonic()
    results = verify(stub_environment, at={"copy": "orphan"})
    assert time.monotonic() - start < 15
    assert results[1].reason.startswith("ended with exit status 4 in layer device")


def fake_python(tmp_path, text):
    python = tmp_path / "python"
    python.write_text(text)
    python.chmod(0o755)
    return python


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for an interpreter is a shell script")
def test_verify_runtime_of_an_interpreter_that_talks_nonsense(tmp_path):
    python = fake_python(tmp_path, "#!/bin/sh\necho '[1, 2]'\necho nonsense\n")
    results = verify_runtime(python, expect=Expectation({}, None))
    assert statuses(results) == ["fail", "skip", "skip", "skip"]
    assert results[0].reason == "gave an answer that is not JSON in layer import and ended with exit status 0: [1, 2]"
    assert results[0].facts["stdout"] == "[1, 2]"


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for an interpreter is a shell script")
@pytest.mark.parametrize(
    "answer",
    [
        {"event": "end", "layer": "import", "status": "maybe", "reason": None, "facts": {}, "seconds": 0},
        {"event": "end", "layer": "import", "status": "pass"},
        {"event": "end", "layer": "another", "status": "pass", "reason": None, "facts": {}, "seconds": 0},
    ],
    ids=["unknown-status", "fields-missing", "unknown-layer"],
)
def test_verify_runtime_does_not_believe_an_answer_of_the_wrong_form(tmp_path, answer):
    python = fake_python(tmp_path, f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    results = verify_runtime(python, expect=Expectation({}, None))
    assert statuses(results) == ["fail", "skip", "skip", "skip"]
    assert "not JSON" in results[0].reason or "answer" in results[0].reason


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for an interpreter is a shell script")
def test_verify_runtime_of_a_child_that_closes_its_output_and_goes_on(tmp_path):
    python = fake_python(tmp_path, "#!/bin/sh\nexec >&-\nsleep 300\n")
    results = verify_runtime(python, expect=Expectation({}, None))
    assert results[0].reason == "closed its output in layer import and went on; stopped"


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for an interpreter is a shell script")
def test_verify_runtime_does_not_wait_for_a_child_of_the_child_that_holds_the_output(tmp_path):
    start = time.monotonic()
    results = verify_runtime(fake_python(tmp_path, "#!/bin/sh\nsleep 300 &\nexit 5\n"), expect=Expectation({}, None))
    assert time.monotonic() - start < 30
    assert results[0].reason == "ended with exit status 5 in layer import without an answer: it said nothing"


def test_a_signal_without_a_name_is_told_by_its_number():
    assert torch_runtime._signal_name(-250) == "signal 250"
    assert torch_runtime._signal_name(1) is None


@pytest.mark.parametrize("kind", ["missing", "dangling", "not-executable"])
def test_verify_runtime_without_an_interpreter_fails_the_first_layer(tmp_path, kind):
    python = tmp_path / "python"
    if kind == "dangling":
        python.symlink_to(tmp_path / "gone")
    if kind == "not-executable":
        python.write_text("#!/bin/sh\n")
        python.chmod(0o644)
    results = verify_runtime(python, expect=Expectation({}, None))
    assert statuses(results) == ["fail", "skip", "skip", "skip"]
    assert results[0].reason.startswith(f"cannot run the interpreter {python}: ")


def test_verify_runtime_keeps_the_callers_python_settings_out(stub_environment, monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('the wrong torch')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    seen = tmp_path / "seen"
    (stub_environment.site / "spy.pth").write_text(
        f"import sys; open({str(seen)!r}, 'w').write(str(sys.flags.isolated))\n"
    )
    assert statuses(verify(stub_environment)) == ["pass"] * 4
    assert seen.read_text() == "1"


def test_verify_runtime_works_under_python_3_7(stub_environment_37):
    results = verify(stub_environment_37, build_cuda="11.3", gpus=[["Tesla T4", 7, 5]])
    assert statuses(results) == ["pass"] * 4
    assert results[0].facts["python"].startswith("3.7.")


def test_expectation_hands_the_answer_of_nvidia_smi_on(fake_smi):
    smi = query_gpus({"PATH": f"{fake_smi(GPU)}{os.pathsep}{os.environ['PATH']}"})
    assert Expectation({"torch": "1.11.0"}, "11.3", smi=smi).to_json() == {
        "packages": {"torch": "1.11.0"},
        "build_cuda": "11.3",
        "smi": {
            "gpus": ["NVIDIA GeForce RTX 3090"],
            "driver_version": "535.54.03",
            "error_kind": None,
            "message": None,
        },
    }
