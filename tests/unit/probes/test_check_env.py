"""The script that runs inside environments. Its torch here is the stub of tests/data/stub_torch, not the real one."""

from __future__ import annotations

import ast
import importlib.util
import json
import shutil
import subprocess
import sys

import pytest

from envkit import process, resources

SCRIPT = resources.check_env_script()
GPU = "NVIDIA GeForce RTX 3090"
TOO_OLD = "The NVIDIA driver on your system is too old (found version 10010). Please update your GPU driver"


@pytest.fixture(scope="module")
def check_env():
    spec = importlib.util.spec_from_file_location("check_env", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_script(environment, *arguments, script=SCRIPT, variables=None, path=None, **config):
    environ = {**environment.environ(path, **config), **(variables or {})}
    return process.run([environment.python, "-I", script, *arguments], timeout_s=60, env=environ, check=False)


def layers_of(environment, *, expect=None, layers=None, variables=None, path=None, **config):
    """The ``end`` lines by layer, and the exit status."""
    arguments = ["--json", "--expect", json.dumps({"packages": environment.packages} if expect is None else expect)]
    if layers is not None:
        arguments += ["--layers", layers]
    done = run_script(environment, *arguments, variables=variables, path=path, **config)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line]
    return {row["layer"]: row for row in rows if row["event"] == "end"}, done.returncode


def test_check_env_keeps_to_the_syntax_of_python_3_7():
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_check_env_compiles_with_python_3_7(python37, tmp_path):
    copy = shutil.copy(SCRIPT, tmp_path / "check_env.py")
    subprocess.run([python37, "-W", "error", "-m", "py_compile", copy], check=True, timeout=60)


def test_check_env_runs_with_python_3_7_and_a_stub_of_torch(stub_environment_37):
    layers, status = layers_of(stub_environment_37)
    assert [(row["layer"], row["status"]) for row in layers.values()] == [
        ("import", "pass"),
        ("device", "pass"),
        ("compute", "pass"),
        ("memory", "pass"),
    ]
    assert layers["import"]["facts"]["python"].startswith("3.7.")
    assert status == 0


def test_check_env_tells_of_each_layer_as_it_starts_and_ends(stub_environment):
    done = run_script(stub_environment, "--json", "--layers", "import,device", "--expect", "{}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert [(row["event"], row["layer"]) for row in rows] == [
        ("start", "import"),
        ("end", "import"),
        ("start", "device"),
        ("end", "device"),
    ]
    assert set(rows[1]) == {"event", "layer", "status", "reason", "facts", "seconds"}


def test_check_env_refuses_layers_out_of_order(stub_environment):
    done = run_script(stub_environment, "--layers", "device")
    assert done.returncode == 2
    assert "import,device" in done.stderr


def failing_import(environment, expect=None, **config):
    layers, status = layers_of(environment, expect=expect, **config)
    assert status == 6
    assert [row["status"] for row in layers.values()] == ["fail", "skip", "skip", "skip"]
    assert layers["memory"]["reason"] == "layer import failed"
    return layers["import"]["reason"]


def test_import_without_torch_fails(stub_environment):
    shutil.rmtree(stub_environment.site / "torch")
    assert failing_import(stub_environment).startswith("torch cannot be imported: ModuleNotFoundError: No module")


def test_import_that_raises_tells_the_error_on_one_line(stub_environment):
    (stub_environment.site / "torch" / "__init__.py").write_text("raise OSError('libcudart.so.10.2:\\n cannot open')\n")
    assert failing_import(stub_environment) == "torch cannot be imported: OSError: libcudart.so.10.2: cannot open"


def test_import_of_a_broken_companion_fails(stub_environment):
    reason = failing_import(stub_environment, torchaudio="broken")
    assert reason.startswith("torchaudio cannot be imported: OSError: libtorchaudio.so: undefined symbol")


@pytest.mark.parametrize("missing", ["torchvision", "torchaudio", "numpy"])
def test_import_asks_for_the_companions_that_are_expected(stub_environment, missing):
    shutil.rmtree(stub_environment.site / missing)
    assert failing_import(stub_environment).startswith(f"{missing} cannot be imported")
    expected = {name: version for name, version in stub_environment.packages.items() if name != missing}
    layers, status = layers_of(stub_environment, expect={"packages": expected})
    assert status == 0
    assert f"{missing}_version" not in layers["import"]["facts"]


def test_import_of_an_operator_that_is_missing_names_the_pair(stub_environment):
    reason = failing_import(stub_environment, nms="missing")
    assert reason.startswith(
        "torchvision 0.12.0 does not work with torch 1.11.0: RuntimeError: operator torchvision::nms"
    )


def test_import_notices_an_operator_that_answers_wrongly(stub_environment):
    assert failing_import(stub_environment, nms="wrong") == "torchvision.ops.nms kept the boxes [0, 1, 2], not [0, 2]"


def test_import_with_numpy_2_and_a_torch_for_numpy_1_says_so(stub_environment):
    stub_environment.record("numpy", "2.0.1")
    (stub_environment.site / "numpy-1.26.4.dist-info").rmdir()
    expect = {"packages": {**stub_environment.packages, "numpy": "2.0.1"}}
    reason = failing_import(stub_environment, expect=expect, numpy="2.0.1", bridge="broken")
    assert "torch 1.11.0 cannot exchange arrays with numpy 2.0.1" in reason
    assert "built for numpy 1: numpy<2" in reason


def test_import_with_a_broken_bridge_to_numpy_1_does_not_blame_numpy_2(stub_environment):
    reason = failing_import(stub_environment, bridge="broken")
    assert reason == "torch 1.11.0 cannot exchange arrays with numpy 1.26.4: RuntimeError: Numpy is not available"


def test_import_notices_numbers_that_change_on_the_bridge(stub_environment):
    assert failing_import(stub_environment, bridge="wrong") == "numbers change between torch and numpy 1.26.4"


@pytest.mark.parametrize(
    ("found", "expected", "reason"),
    [
        (None, "11.3", "torch 1.11.0 is a CPU build; a build for CUDA 11.3 was expected"),
        ("11.7", "11.3", "torch 1.11.0 is a build for CUDA 11.7; a build for CUDA 11.3 was expected"),
        ("10.2", None, "torch 1.11.0 is a build for CUDA 10.2; a CPU build was expected"),
        ("1.1", "1.11", "torch 1.11.0 is a build for CUDA 1.1; a build for CUDA 1.11 was expected"),
    ],
)
def test_import_compares_the_cuda_of_the_build(stub_environment, found, expected, reason):
    expect = {"packages": stub_environment.packages, "build_cuda": expected}
    assert failing_import(stub_environment, expect=expect, cuda=found) == reason


@pytest.mark.parametrize(("found", "expected"), [("10.2", "10.2"), ("9.2.148", "9.2"), (None, None)])
def test_import_accepts_the_cuda_of_the_build(stub_environment, found, expected):
    expect = {"packages": stub_environment.packages, "build_cuda": expected}
    layers, _ = layers_of(stub_environment, expect=expect, layers="import", cuda=found)
    assert layers["import"]["status"] == "pass"


@pytest.mark.parametrize(
    ("says", "locked", "passes"),
    [
        ("1.11.0+cu102", "1.11.0", True),
        ("1.11.0+cu113", "1.11.0+cu113", True),
        ("1.11.0+cu102", "1.11.0+cu113", False),
        ("1.11.0", "1.11.0+cu113", False),
        ("1.11.1+cu102", "1.11.0", False),
        ("2.1.0.post300", "2.1.0", True),
        ("2.1.0a0+git1234", "2.1.0", False),
    ],
)
def test_import_compares_what_torch_says_of_its_version(stub_environment, says, locked, passes):
    (stub_environment.site / "torch-1.11.0.dist-info").rename(stub_environment.site / f"torch-{locked}.dist-info")
    expect = {"packages": {**stub_environment.packages, "torch": locked}}
    layers, _ = layers_of(stub_environment, expect=expect, layers="import", version=says)
    assert layers["import"]["reason"] == (None if passes else f"torch says that it is {says}; the lock has {locked}")


def test_import_compares_the_recorded_versions_of_all_packages(stub_environment):
    stub_environment.record("typing_extensions", "4.5.0")
    stub_environment.record("certifi", "2026.10.19.post1")
    stub_environment.record("Old_Style.Name", "1.0.0", "-py3.9.egg-info")
    more = {"typing-extensions": "4.5.0", "certifi": "2026.10.19.post1", "old.style-name": "1.0"}
    layers, _ = layers_of(stub_environment, expect={"packages": {**stub_environment.packages, **more}}, layers="import")
    assert layers["import"]["reason"] is None
    assert layers["import"]["facts"]["checked_packages"] == 7


def test_import_names_packages_that_differ_from_the_lock(stub_environment):
    stub_environment.record("typing_extensions", "4.5.0")
    stub_environment.record("numpy", "1.20.0")
    more = {"typing-extensions": "4.6.0", "requests": "2.32.5"}
    reason = failing_import(stub_environment, expect={"packages": {**stub_environment.packages, **more}})
    assert reason.startswith("packages differ from the lock (3): ")
    assert "typing-extensions is 4.5.0, not 4.6.0" in reason
    assert "requests 2.32.5 is missing" in reason
    assert "numpy is there 2 times (1.20.0, 1.26.4)" in reason


def test_import_does_not_count_what_a_failed_uninstall_left(stub_environment):
    stub_environment.record("~orch", "1.9.0")
    layers, _ = layers_of(stub_environment, layers="import")
    assert layers["import"]["status"] == "pass"


def test_import_finds_conda_packages_in_their_records(stub_environment):
    records = stub_environment.prefix / "conda-meta"
    records.mkdir()
    (records / "history").touch()
    for name in ("pytorch-1.11.0-py3.9_cuda11.3_cudnn8.2.0_0", "libgcc-ng-13.2.0-h807b86a_5"):
        (records / f"{name}.json").touch()
    packages = {"pytorch": "1.11.0", "libgcc-ng": "13.2.0", "numpy": "1.26.4"}
    layers, _ = layers_of(stub_environment, expect={"packages": packages}, layers="import")
    assert layers["import"]["reason"] is None
    reason = failing_import(stub_environment, expect={"packages": {**packages, "libgcc-ng": "12.1.0"}})
    assert reason.endswith("libgcc-ng is 13.2.0, not 12.1.0")
    assert "lock has 1.12" in failing_import(stub_environment, expect={"packages": {"pytorch": "1.12.1"}})


def device_of(environment, *, gpus_seen=(GPU,), message=None, kind=None, variables=None, **config):
    """The layer device of a build for CUDA 11.3, and the exit status."""
    smi = {"gpus": list(gpus_seen), "driver_version": "418.87.01", "message": message, "error_kind": kind}
    expect = {"packages": environment.packages, "build_cuda": "11.3", "smi": smi}
    layers, status = layers_of(environment, expect=expect, variables=variables, **{"cuda": "11.3", **config})
    assert layers["import"]["status"] == "pass"
    assert status == {"pass": 0, "fail": 6, "skip": 10}[layers["device"]["status"]]
    return layers["device"]


@pytest.mark.parametrize(
    ("smi", "reason"),
    [
        ({"message": "nvidia-smi was not found", "kind": "command-not-found"}, "no GPU here: nvidia-smi was not found"),
        ({"message": "No devices were found", "kind": "no-devices"}, "no GPU here: No devices were found"),
        ({}, "no GPU here: nvidia-smi shows none"),
        (
            {"message": "Driver/library version mismatch", "kind": "nvml-driver-library-mismatch"},
            "the NVIDIA driver does not answer: Driver/library version mismatch",
        ),
    ],
    ids=["no-tool", "no-devices", "none", "mismatch"],
)
def test_device_without_a_gpu_is_skipped_with_the_reason(stub_environment, smi, reason):
    layer = device_of(stub_environment, gpus_seen=(), **smi)
    assert (layer["status"], layer["reason"]) == ("skip", reason)
    assert layer["facts"]["torch_says"] == ["RuntimeError: No CUDA GPUs are available"]


@pytest.mark.parametrize(
    ("variables", "gpus_seen", "start"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, [GPU], "CUDA_VISIBLE_DEVICES='' hides every GPU from torch; nvidia-smi shows N"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, [GPU], "CUDA_VISIBLE_DEVICES='-1' hides"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [GPU], "CUDA_VISIBLE_DEVICES='1' hides"),
        ({"CUDA_VISIBLE_DEVICES": "2,0"}, [GPU, GPU], "CUDA_VISIBLE_DEVICES='2,0' hides"),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, [GPU], "CUDA_VISIBLE_DEVICES='NoDevFiles' hides"),
        ({"CUDA_VISIBLE_DEVICES": "0,0"}, [GPU], "CUDA_VISIBLE_DEVICES='0,0' hides"),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1234"}, [GPU], "CUDA_VISIBLE_DEVICES='GPU-1234' may name no GPU here"),
        ({"CUDA_VISIBLE_DEVICES": ""}, [], "CUDA_VISIBLE_DEVICES='' hides"),
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, [], "NVIDIA_VISIBLE_DEVICES='void' hides"),
        ({"NVIDIA_VISIBLE_DEVICES": "none"}, [], "NVIDIA_VISIBLE_DEVICES='none' hides"),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, [], "no GPU here"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [], "no GPU here"),
    ],
)
def test_device_hidden_by_a_variable_is_skipped_with_its_value(stub_environment, variables, gpus_seen, start):
    layer = device_of(
        stub_environment, gpus_seen=gpus_seen, variables=variables, init_error=TOO_OLD if not gpus_seen else ""
    )
    assert (layer["status"], layer["reason"][: len(start)]) == ("skip", start)


@pytest.mark.parametrize(
    "variables",
    [{}, {"CUDA_VISIBLE_DEVICES": "0"}, {"NVIDIA_VISIBLE_DEVICES": "void"}, {"CUDA_VISIBLE_DEVICES": "GPU-1234"}],
    ids=["none", "index-that-exists", "of-containers", "uuid"],
)
def test_device_with_too_old_a_driver_fails_and_says_what_is_needed(stub_environment, variables):
    layer = device_of(stub_environment, variables=variables, init_error=TOO_OLD)
    assert layer["status"] == "fail"
    assert layer["reason"] == (
        f"nvidia-smi shows {GPU}; driver 418.87.01 serves CUDA up to 10.1 "
        "and this build for CUDA 11.3 needs a driver for 11.0 or newer"
    )
    assert layer["facts"]["driver_cuda_version"] == "10.1"


def test_device_that_torch_cannot_use_for_another_reason_fails_with_torchs_words(stub_environment):
    warning = "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility"
    layer = device_of(stub_environment, warning=warning)
    assert layer["status"] == "fail"
    assert layer["facts"]["torch_says"] == [warning, "RuntimeError: No CUDA GPUs are available"]
    for part in (GPU, "nothing hides it", "driver 418.87.01", "build for CUDA 11.3", "Error 804"):
        assert part in layer["reason"]


def test_device_whose_capability_the_build_lacks_fails_with_both(stub_environment):
    layer = device_of(stub_environment, gpus=[["NVIDIA GeForce RTX 5070 Ti", 12, 0]])
    assert layer["status"] == "fail"
    assert layer["reason"].startswith(
        "NVIDIA GeForce RTX 5070 Ti has compute capability 12.0, and torch 1.11.0 has code for"
    )
    assert "sm_37, sm_50" in layer["reason"]


@pytest.mark.parametrize(
    ("archs", "capability", "runs"),
    [
        (["sm_37", "sm_80"], "8.6", True),
        (["sm_86"], "8.0", False),
        (["sm_70"], "8.0", False),
        (["sm_70", "compute_70"], "8.0", True),
        (["compute_80"], "7.5", False),
        (["sm_90a"], "9.0", True),
        (["sm_100a"], "10.3", False),
        (["sm_100f"], "10.3", True),
        (["compute_100f"], "12.0", False),
        (["compute_90a"], "10.0", False),
        (["sm_120"], "12.1", True),
        (["sm_100"], "1.0", False),
        ([], "8.6", True),
    ],
)
def test_runs_on_knows_which_code_a_gpu_can_run(check_env, archs, capability, runs):
    assert check_env.runs_on(archs, capability) is runs


def test_device_notices_numbers_that_change_on_the_way(stub_environment):
    layer = device_of(stub_environment, gpus=[["Tesla T4", 7, 5]], at={"copy": "wrong"})
    assert (layer["status"], layer["reason"]) == ("fail", "a tensor comes back changed from cuda:0")


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: all CUDA-capable devices are busy or unavailable",
        "CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 7.80 GiB total capacity)",
    ],
    ids=["exclusive", "full"],
)
def test_device_that_others_use_up_cannot_be_verified(stub_environment, text):
    layer = device_of(stub_environment, gpus=[["Tesla T4", 7, 5]], at={"copy": text})
    assert layer["status"] == "skip"
    assert text in layer["reason"]


@pytest.mark.parametrize("cuda", [None, "11.3"], ids=["cpu", "gpu"])
@pytest.mark.parametrize("how", ["wrong", "nan"])
@pytest.mark.parametrize(("place", "what"), [("product", "the matrix product"), ("convolution", "the convolution")])
def test_compute_notices_wrong_numbers(stub_environment, cuda, how, place, what):
    expect = {"packages": stub_environment.packages, "build_cuda": cuda}
    layers, status = layers_of(
        stub_environment, expect=expect, cuda=cuda, gpus=[["Tesla T4", 7, 5]] if cuda else [], at={place: how}
    )
    assert (status, layers["compute"]["status"], layers["memory"]["reason"]) == (6, "fail", "layer compute failed")
    assert layers["compute"]["reason"].startswith(f"{what} is wrong in 1 of ")


def test_compute_of_a_cpu_build_without_numpy_compares_with_plain_python(stub_environment):
    expect = {"packages": {"torch": "1.11.0"}}
    layers, status = layers_of(stub_environment, expect=expect)
    assert (status, layers["compute"]["status"]) == (0, "pass")
    layers, status = layers_of(stub_environment, expect=expect, at={"product": "wrong"})
    assert (status, layers["compute"]["status"]) == (6, "fail")


def test_compute_that_raises_fails_with_the_error(stub_environment):
    layers, _ = layers_of(stub_environment, at={"product": "CUBLAS_STATUS_NOT_INITIALIZED"})
    assert layers["compute"]["reason"] == "RuntimeError: CUBLAS_STATUS_NOT_INITIALIZED"


def test_memory_of_a_cpu_build_that_leaks_fails(stub_environment):
    layers, status = layers_of(stub_environment, at={"ones": "leak"})
    assert (status, layers["memory"]["status"]) == (6, "fail")
    assert layers["memory"]["reason"].startswith("resident memory does not follow a block of 64 MiB: ")


def test_memory_of_a_gpu_that_does_not_return_fails(stub_environment):
    expect = {"packages": stub_environment.packages, "build_cuda": "11.3"}
    layers, status = layers_of(
        stub_environment, expect=expect, cuda="11.3", gpus=[["Tesla T4", 7, 5]], cuda_memory="leak"
    )
    assert (status, layers["memory"]["status"]) == (6, "fail")
    assert layers["memory"]["reason"].startswith("allocated memory does not follow")


def test_memory_without_counters_cannot_be_verified(stub_environment):
    expect = {"packages": stub_environment.packages, "build_cuda": "11.3"}
    variables = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    layers, status = layers_of(
        stub_environment, expect=expect, variables=variables, cuda="11.3", gpus=[["Tesla T4", 7, 5]]
    )
    assert (status, layers["memory"]["status"]) == (10, "skip")
    assert "PYTORCH_NO_CUDA_MEMORY_CACHING" in layers["memory"]["reason"]


def alone(environment, *, build_cuda=None, record=True):
    """Put the script and what it reads into the prefix, as envkit leaves it there."""
    pins = [f"{name}=={version}" for name, version in environment.packages.items()]
    text = (
        "# a comment\n"
        + "\n".join(pins)
        + " \\\n    --hash=sha256:00 ; python_version > '3'\nlocal @ https://example.org/x\n"
    )
    (environment.prefix / "requirements-lock.txt").write_text(text)
    if record:
        (environment.prefix / ".envkit").mkdir()
        (environment.prefix / ".envkit" / "environment.json").write_text(json.dumps({"build_cuda": build_cuda}))
    return shutil.copy(SCRIPT, environment.prefix / "check_env.py")


def test_alone_prints_a_table_and_exits_with_0_when_all_is_well(stub_environment):
    done = run_script(stub_environment, script=alone(stub_environment), at={"import": "print"})
    assert done.returncode == 0
    rows = [line.split()[:2] for line in done.stdout.splitlines()]
    assert rows == [["import", "pass"], ["device", "pass"], ["compute", "pass"], ["memory", "pass"]]
    assert "checked_packages=4" in done.stdout


def test_alone_reads_the_lock_and_the_record_beside_it(stub_environment):
    script = alone(stub_environment, build_cuda="11.3")
    done = run_script(stub_environment, script=script)
    assert done.returncode == 6
    assert "is a CPU build; a build for CUDA 11.3 was expected" in done.stdout
    (stub_environment.prefix / "requirements-lock.txt").write_text("torch==1.12.0\n")
    done = run_script(stub_environment, script=script, cuda="11.3")
    assert "torch says that it is 1.11.0; the lock has 1.12.0" in done.stdout


def test_alone_asks_nvidia_smi_itself(stub_environment, fake_smi):
    folder = fake_smi("", retry="418.87.01, Tesla T4\n535.54.03, Fake, the GPU\r\n")
    script = alone(stub_environment, build_cuda="11.3")
    hidden = run_script(
        stub_environment, script=script, path=folder, variables={"CUDA_VISIBLE_DEVICES": "2"}, cuda="11.3"
    )
    assert hidden.returncode == 10
    assert (
        "CUDA_VISIBLE_DEVICES='2' hides every GPU from torch; nvidia-smi shows Tesla T4, Fake, the GPU" in hidden.stdout
    )
    old = run_script(stub_environment, script=script, path=folder, cuda="11.3", init_error=TOO_OLD)
    assert old.returncode == 6
    assert "driver 418.87.01 serves CUDA up to 10.1" in old.stdout


def test_alone_passes_on_what_a_failing_nvidia_smi_says(stub_environment, fake_smi):
    folder = fake_smi("", retry="Failed to initialize NVML: Driver/library version mismatch\n")
    done = run_script(stub_environment, script=alone(stub_environment, build_cuda="11.3"), path=folder, cuda="11.3")
    assert done.returncode == 10
    assert (
        "the NVIDIA driver does not answer: nvidia-smi says: Failed to initialize NVML: Driver/library" in done.stdout
    )


def test_alone_without_nvidia_smi_says_so(stub_environment, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run_script(
        stub_environment,
        script=alone(stub_environment, build_cuda="11.3"),
        variables={"PATH": str(tmp_path / "empty")},
        cuda="11.3",
    )
    assert done.returncode == 10
    assert "no GPU here: nvidia-smi was not found" in done.stdout


def test_alone_without_files_beside_it_takes_torch_as_it_is(stub_environment, tmp_path):
    script = shutil.copy(SCRIPT, tmp_path / "check_env.py")
    done = run_script(stub_environment, script=script)
    assert done.returncode == 0
    assert "checked_packages=0" in done.stdout
    assert "torchaudio_version=0.11.0" in done.stdout


def test_alone_with_another_python_names_the_right_one(stub_environment):
    done = process.run([sys.executable, alone(stub_environment)], timeout_s=60, check=False)
    assert done.returncode == 6
    assert f"run the one of {stub_environment.prefix}" in done.stdout


def test_alone_with_a_damaged_record_still_runs(stub_environment):
    script = alone(stub_environment)
    (stub_environment.prefix / ".envkit" / "environment.json").write_text("{")
    assert run_script(stub_environment, script=script).returncode == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1.0", "1.0.0", True),
        ("2023.07.22", "2023.7.22", True),
        ("1.0rc1", "1.0-RC.1", True),
        ("1.11.0+cu113", "1.11.0+CU113", True),
        ("1.11.0+cu113", "1.11.0", False),
        ("1.10", "1.1", False),
        ("1.10.0", "1.1.0", False),
        ("10", "1", False),
    ],
)
def test_version_key_is_equal_for_spellings_of_one_version(check_env, one, other, same):
    assert (check_env.version_key(one) == check_env.version_key(other)) is same


def test_check_env_needs_nothing_that_is_not_in_the_standard_library(tmp_path):
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported <= sys.stdlib_module_names


def test_alone_modules_of_the_callers_folders_do_not_stand_in_for_pythons_own(stub_environment, tmp_path):
    script = alone(stub_environment)
    for folder in (tmp_path / "foreign", stub_environment.prefix):
        folder.mkdir(exist_ok=True)
        (folder / "json.py").write_text("print('foreign code')\n")
    variables = stub_environment.environ() | {"PYTHONPATH": str(tmp_path / "foreign")}
    done = subprocess.run(
        [stub_environment.python, script],
        env=process.clean_environment(variables),
        cwd=tmp_path / "foreign",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "foreign code" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_traceback(stub_environment):
    command = f"'{stub_environment.python}' -I '{SCRIPT}' | head -1"
    environ = process.clean_environment(stub_environment.environ())
    done = subprocess.run(["sh", "-c", command], env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("import   pass")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("value", ["[]", "1", "null x", "'torch'"])
def test_an_expectation_that_is_no_object_is_wrong_usage(stub_environment, value):
    done = run_script(stub_environment, "--expect", value)
    assert done.returncode == 2
    assert "--expect" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("record", ["[]", "[" * 100_000, '{"build_cuda": [1]}', '"x"'])
def test_alone_with_a_record_of_another_kind_is_no_traceback(stub_environment, record):
    script = alone(stub_environment)
    (stub_environment.prefix / ".envkit" / "environment.json").write_text(record)
    (stub_environment.prefix / "requirements-lock.txt").write_bytes(b"\xff\xfe")
    done = run_script(stub_environment, script=script)
    assert done.returncode in {0, 6}
    assert "Traceback" not in done.stderr
