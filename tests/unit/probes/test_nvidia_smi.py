from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.model.driver import DriverVersion, Gpu
from envkit.probes import nvidia_smi
from envkit.probes.nvidia_smi import find_nvidia_smi, query_gpus

DATA = Path(__file__).parents[2] / "data" / "nvidia-smi"

BANNER = """\
| NVIDIA-SMI {driver}    Driver Version: {driver}    CUDA Version: 10.1     |
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  {name}  | 00000000:01:00.0 Off |                    0 |
| N/A   62C    P0    84W / 149W |     17MiB / 11441MiB |    100%      Default |
+-------------------------------+----------------------+----------------------+
"""


def on_path(folder):
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_query_gpus_reports_driver_and_gpus_and_what_the_banner_adds(fake_smi):
    rows = "0, NVIDIA A100-SXM4-40GB, 580.126.09, 40960, 8.0\n1, NVIDIA A100-SXM4-40GB, 580.126.09, 40960, 8.0\n"
    folder = fake_smi(rows, banner=(DATA / "two-a100.txt").read_text())
    report = query_gpus(on_path(folder))
    assert (report.status, report.error_kind, report.message, report.exit_status) == ("ok", None, None, 0)
    assert (report.driver_version, report.cuda_version) == (DriverVersion.parse("580.126.09"), "13.0")
    assert report.gpus == (
        Gpu(0, "NVIDIA A100-SXM4-40GB", 40960, "8.0", 598, "Disabled"),
        Gpu(1, "NVIDIA A100-SXM4-40GB", 40960, "8.0", 602, "Disabled"),
    )
    assert report.banner == (DATA / "two-a100.txt").read_text().rstrip()
    assert report.found_at == str(folder / "nvidia-smi")
    assert len((folder / "calls").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("row", "gpu", "driver"),
    [
        ("0, Tesla T4, 418.87.01, 15109, 7.5", Gpu(0, "Tesla T4", 15109, "7.5"), "418.87.01"),
        ("0, Tesla T4, 470.82, [N/A], [N/A]", Gpu(0, "Tesla T4"), "470.82"),
        ("0, Tesla T4, 470.82, [Not Supported], [Not Supported]", Gpu(0, "Tesla T4"), "470.82"),
        ("0, Tesla T4, 470.82, [Insufficient Permissions], 7.5", Gpu(0, "Tesla T4", None, "7.5"), "470.82"),
        ("0, Fake, the GPU, 535.54.03, 8192, 8.6", Gpu(0, "Fake, the GPU", 8192, "8.6"), "535.54.03"),
        ("3, NVIDIA H200, 590.48.01, 143771, 9.0\r", Gpu(3, "NVIDIA H200", 143771, "9.0"), "590.48.01"),
    ],
    ids=["old-driver", "na", "not-supported", "no-permission", "comma-in-name", "crlf"],
)
def test_query_gpus_takes_unknown_fields_as_unknown(fake_smi, row, gpu, driver):
    report = query_gpus(on_path(fake_smi(f"{row}\n")))
    assert (report.status, report.error_kind) == ("ok", None)
    assert report.gpus == (gpu,)
    assert str(report.driver_version) == driver


def test_query_gpus_of_two_gpus_gives_each(fake_smi):
    report = query_gpus(
        on_path(fake_smi("0, Tesla T4, 535.54.03, 15109, 7.5\r\n1, NVIDIA A10G, 535.54.03, 22731, 8.6\r\n"))
    )
    assert report.status == "ok"
    assert report.gpus == (Gpu(0, "Tesla T4", 15109, "7.5"), Gpu(1, "NVIDIA A10G", 22731, "8.6"))


def test_query_gpus_asks_again_without_compute_cap_where_that_is_unknown(fake_smi):
    folder = fake_smi(
        'Field "compute_cap" is not a valid field to query.\n\n', status=2, retry="0, Tesla K80, 418.87.01, 11441\n"
    )
    (folder / "banner").write_text(BANNER.format(driver="418.87.01", name="Tesla K80           Off"))
    report = query_gpus(on_path(folder))
    assert (report.status, report.exit_status) == ("ok", 0)
    assert report.gpus == (Gpu(0, "Tesla K80", 11441, None, 17),)
    calls = (folder / "calls").read_text().splitlines()
    assert [("compute_cap" in call, "--query-gpu" in call) for call in calls] == [
        (True, True),
        (False, True),
        (False, False),
    ]


def test_query_gpus_of_a_jetson_is_partial_because_its_driver_is_unknown(fake_smi):
    cells = (DATA / "csv-jetson-na.txt").read_text().split(", ")
    report = query_gpus(on_path(fake_smi(", ".join(cells[:5]) + "\n")))
    assert (report.status, report.error_kind, report.message) == ("partial", None, None)
    assert (report.driver_version, report.gpus) == (None, (Gpu(0, "Orin (nvgpu)"),))


def test_query_gpus_with_a_lost_gpu_beside_a_good_one_is_partial(fake_smi):
    lost = (DATA / "gpu-lost.txt").read_text()
    report = query_gpus(on_path(fake_smi(f"0, Tesla T4, 535.54.03, 15109, 7.5\n{lost}", status=15)))
    assert (report.status, report.error_kind, report.exit_status) == ("partial", "gpu-lost", 15)
    assert report.message == lost.strip()
    assert report.gpus == (Gpu(0, "Tesla T4", 15109, "7.5"),)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("WARNING: infoROM is corrupted at gpu 0000:01:00.0", None),
        ("Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error", "device-handle-unknown-error"),
    ],
)
def test_query_gpus_with_a_line_beside_the_rows(fake_smi, told, kind):
    """A warning leaves nothing out; a GPU that cannot be reached does."""
    report = query_gpus(on_path(fake_smi(f"{told}\n0, Tesla T4, 535.54.03, 15109, 7.5\n")))
    assert (report.status, report.error_kind) == ("ok" if kind is None else "partial", kind)
    assert (report.message, report.gpus) == (told, (Gpu(0, "Tesla T4", 15109, "7.5"),))


def test_query_gpus_reads_no_flood(fake_smi):
    assert len(query_gpus(on_path(fake_smi("x" * 400_000))).message or "") == 300


def test_query_gpus_reads_repeated_rows_once(fake_smi):
    report = query_gpus(on_path(fake_smi("0, Tesla T4, 535.54.03, 15109, 7.5\n" * 20_000)))
    assert (report.status, report.gpus) == ("ok", (Gpu(0, "Tesla T4", 15109, "7.5"),))


def test_query_gpus_believes_good_rows_of_a_query_that_failed(fake_smi):
    report = query_gpus(on_path(fake_smi("0, Tesla T4, 535.54.03, 15109, 7.5\n", status=14)))
    assert (report.status, report.exit_status) == ("ok", 14)


@pytest.mark.parametrize(
    ("file", "status", "kind"),
    [
        ("library-mismatch.txt", 18, "nvml-driver-library-mismatch"),
        ("no-communication.txt", 9, "driver-not-loaded"),
        ("no-devices.txt", 6, "no-devices"),
        ("no-devices.txt", 0, "no-devices"),
        ("gpu-lost.txt", 15, "gpu-lost"),
        ("handle-unknown-error.txt", 255, "device-handle-unknown-error"),
    ],
)
def test_query_gpus_that_fails_keeps_the_text_and_the_status(fake_smi, file, status, kind):
    text = (DATA / file).read_text()
    report = query_gpus(on_path(fake_smi(text, status=status, banner=text)))
    assert (report.status, report.error_kind, report.exit_status) == ("error", kind, status)
    assert report.message == " ".join(text.split())
    assert report.banner == text.rstrip()
    assert (report.driver_version, report.gpus) == (None, ())


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("Something nobody has seen\n", 3, "Something nobody has seen"),
        ("", 3, "nvidia-smi said nothing and ended with exit status 3"),
        ("", 0, "nvidia-smi said nothing and ended with exit status 0"),
        ("0, Tesla T4\n", 0, "0, Tesla T4"),
    ],
    ids=["unknown-text", "silent", "silent-success", "too-few-fields"],
)
def test_query_gpus_with_an_unknown_failure_says_what_there_is(fake_smi, text, status, message):
    report = query_gpus(on_path(fake_smi(text, status=status)))
    assert (report.status, report.error_kind, report.message) == ("error", "failed", message)


def test_query_gpus_that_hangs_is_stopped(fake_smi, monkeypatch):
    monkeypatch.setattr(nvidia_smi, "TIMEOUT_S", 0.5)
    folder = fake_smi("0, Tesla T4, 535.54.03, 15109, 7.5\n", sleep_s=60)
    report = query_gpus(on_path(folder))
    assert (report.status, report.error_kind) == ("error", "timeout")
    assert "did not end within 0.5 s" in report.message
    assert report.found_at == str(folder / "nvidia-smi")


def test_query_gpus_keeps_its_facts_when_only_the_banner_hangs(fake_smi, monkeypatch):
    monkeypatch.setattr(nvidia_smi, "TIMEOUT_S", 2.0)
    folder = fake_smi("0, Tesla T4, 535.54.03, 15109, 7.5\n")
    script = folder / "nvidia-smi"
    script.write_text(script.read_text().replace('*) cat "$here/banner"', '*) sleep 60; cat "$here/banner"'))
    report = query_gpus(on_path(folder))
    assert (report.status, report.banner) == ("ok", None)
    assert report.gpus[0].name == "Tesla T4"


def test_query_gpus_of_a_program_that_cannot_be_started(fake_smi):
    folder = fake_smi("")
    (folder / "nvidia-smi").write_bytes(b"\x7fELF not really a program")
    report = query_gpus(on_path(folder))
    assert (report.status, report.error_kind, report.gpus) == ("error", "failed", ())
    assert "Cannot run" in report.message


def test_query_gpus_finds_the_tool_beside_path_and_says_where(fake_smi, tmp_path):
    folder = fake_smi("0, Tesla T4, 535.54.03, 15109, 7.5\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    environ = {"PATH": f"{empty}{os.pathsep}/bin{os.pathsep}/usr/bin"}
    report = query_gpus(environ, beside=[tmp_path / "gone", folder])
    assert (report.status, report.found_at) == ("ok", str(folder / "nvidia-smi"))


def test_query_gpus_takes_nothing_from_a_banner_of_another_gpu(fake_smi):
    folder = fake_smi(
        "0, Tesla K80, 418.87.01, 11441, 3.7\n",
        banner=BANNER.format(driver="418.87.01", name="Tesla T4            Off"),
    )
    assert query_gpus(on_path(folder)).gpus == (Gpu(0, "Tesla K80", 11441, "3.7"),)


def test_query_gpus_asks_for_memory_and_mig_where_the_banner_does_not_tell(fake_smi):
    folder = fake_smi("0, NVIDIA A30, 470.57.02, 24258, 8.0\n", retry="0, 3, Enabled\n")
    assert query_gpus(on_path(folder)).gpus == (Gpu(0, "NVIDIA A30", 24258, "8.0", 3, "Enabled"),)
    calls = (folder / "calls").read_text().splitlines()
    assert [call.partition(" ")[0] for call in calls] == [
        "--query-gpu=index,name,driver_version,memory.total,compute_cap",
        "",
        "--query-gpu=index,memory.used,mig.mode.current",
    ]


def test_query_gpus_lives_without_memory_and_mig_when_that_query_hangs(fake_smi, monkeypatch):
    monkeypatch.setattr(nvidia_smi, "TIMEOUT_S", 0.5)
    folder = fake_smi("0, NVIDIA A30, 470.57.02, 24258, 8.0\n")
    script = folder / "nvidia-smi"
    script.write_text(script.read_text().replace("*--query-gpu*) cat", "*mig.mode*) sleep 60;;\n*--query-gpu*) cat"))
    assert query_gpus(on_path(folder)).gpus == (Gpu(0, "NVIDIA A30", 24258, "8.0"),)


def test_query_gpus_falls_back_to_the_banner(fake_smi):
    """A stub of a tool that knows no query; the banner is a real one."""
    folder = fake_smi(
        "ERROR: Option --query-gpu is not recognized.\n", status=1, banner=(DATA / "two-a100.txt").read_text()
    )
    report = query_gpus(on_path(folder))
    assert (report.status, report.error_kind, report.exit_status) == ("ok", None, 1)
    assert (str(report.driver_version), report.cuda_version) == ("580.126.09", "13.0")
    assert [gpu.memory_used_mib for gpu in report.gpus] == [598, 602]
    assert report.found_at == str(folder / "nvidia-smi")


@pytest.mark.parametrize(
    ("files", "library", "module"),
    [
        ({}, "570.124", None),
        ({"sys/module/nvidia/version": "570.86.15\n"}, "570.124", "570.86.15"),
        ({"usr/lib64/libnvidia-ml.so.570.124.06": ""}, "570.124.06", None),
        ({"usr/lib64/libnvidia-ml.so.460.73.01": ""}, "570.124", None),
    ],
    ids=["as printed", "module", "library on disk", "another library on disk"],
)
def test_query_gpus_names_library_and_module_when_they_differ(fake_smi, tmp_path, files, library, module):
    """EK-C22: the driver was updated but the machine not rebooted. A stub of the tool, with its real words."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(content)
    text = (DATA / "library-mismatch.txt").read_text()
    report = query_gpus(on_path(fake_smi(text, status=18, banner=text)), root=tmp_path)
    assert (report.status, report.error_kind) == ("error", "nvml-driver-library-mismatch")
    assert (report.library_version, report.module_version) == (library, module)


def test_query_gpus_without_the_tool_is_not_a_failure_of_the_tool(tmp_path):
    report = query_gpus({"PATH": str(tmp_path)}, beside=[])
    assert (report.status, report.error_kind, report.found_at) == ("error", "command-not-found", None)
    assert (report.banner, report.exit_status) == (None, None)


def test_find_nvidia_smi_never_takes_the_one_of_the_working_folder(fake_smi, monkeypatch):
    monkeypatch.chdir(fake_smi(""))
    assert find_nvidia_smi("", beside=[]) is None
    assert find_nvidia_smi(os.pathsep, beside=[]) is None


def test_find_nvidia_smi_looks_where_drivers_put_it(monkeypatch):
    assert nvidia_smi._usual_folders("posix") == ("/usr/lib/wsl/lib",)
    monkeypatch.setenv("SYSTEMROOT", r"D:\Windows")
    assert nvidia_smi._usual_folders("nt")[0] == r"D:\Windows\System32"


def test_query_gpus_asks_at_most_twice(fake_smi):
    text = 'Field "compute_cap" is not a valid field to query.\n'
    folder = fake_smi(text, status=2)
    assert query_gpus(on_path(folder)).error_kind == "unknown-field"
    assert len((folder / "calls").read_text().splitlines()) == 3
