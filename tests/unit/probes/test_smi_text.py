"""What `parse_smi` makes of outputs that people have posted: tests/data/nvidia-smi-corpus has them and their origin."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from envkit import resources
from envkit.probes.smi_text import parse_smi
from tests.support.smi import ENTRIES, MORE, facts, stated, text_of


def test_parse_smi_of_the_corpus():
    assert len(ENTRIES) == 59
    for entry in ENTRIES:
        report = parse_smi(text_of(entry))
        assert facts(report) == stated(entry), entry["file"]
        assert report.library_version == entry.get("nvml_library_version"), entry["file"]


def test_parse_smi_of_more_public_outputs():
    assert len(MORE) > 40
    for entry in MORE:
        assert facts(parse_smi(text_of(entry))) == stated(entry), entry["name"]


def test_an_output_beside_that_of_nvcc_still_tells_its_own_versions():
    """The toolkit's number is no driver's, and the other way round."""
    path = Path(__file__).parents[2] / "data" / "nvcc" / "013-102-beside-smi-110.txt"
    report = parse_smi(path.read_text(encoding="utf-8"))
    assert (str(report.driver_version), report.cuda_version, report.gpus) == ("450.51.05", "11.0", ())


SHELLS = {
    "bash": "bash: nvidia-smi: command not found",
    "dash": "sh: 1: nvidia-smi: not found",
    "zsh": "zsh: command not found: nvidia-smi",
    "fish": "fish: Unknown command: nvidia-smi",
    "Ubuntu": "Command 'nvidia-smi' not found, but can be installed with:\n\nsudo apt install nvidia-utils-390",
    "NixOS": "The program 'nvidia-smi' is not in your PATH. It is provided by several packages.",
    "Ubuntu 14.04": "The program 'nvidia-smi' is currently not installed. You can install it by typing:\nsudo x",
    "sudo": "sudo: nvidia-smi: command not found",
    "which": "/usr/bin/which: no nvidia-smi in (/usr/local/bin:/usr/bin)",
    "a path": "-bash: /usr/bin/nvidia-smi: No such file or directory",
    "cmd": "'nvidia-smi' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n",
    "PowerShell 7": "nvidia-smi: The term 'nvidia-smi' is not recognized as a name of a cmdlet, function.",
    "PowerShell in a narrow window": "nvidia-smi : The term 'nvidia-smi' is not\nrecognized as the name of a cmdlet",
    "docker": 'exec: "nvidia-smi": executable file not found in $PATH: unknown.',
    "German bash": "bash: nvidia-smi: Kommando nicht gefunden.",
    "German bash, newer": "bash: nvidia-smi: Befehl nicht gefunden",
    "German cmd": 'Der Befehl "nvidia-smi" ist entweder falsch geschrieben oder\nkonnte nicht gefunden werden.',
    "German PowerShell": 'Die Benennung "nvidia-smi" wurde nicht als Name eines Cmdlet, einer Funktion erkannt.',
    "French bash": "bash: nvidia-smi : commande introuvable",
    "French cmd": "'nvidia-smi' n’est pas reconnu en tant que commande interne\nou externe",
    "French PowerShell": "Le terme «nvidia-smi» n'est pas reconnu comme nom d'applet de commande",
    "Spanish bash": "bash: nvidia-smi: orden no encontrada",
    "Spanish cmd": '"nvidia-smi" no se reconoce como un comando interno o externo',
    "Spanish PowerShell": "El término 'nvidia-smi' no se reconoce como nombre de un cmdlet",
    "Portuguese bash": "bash: nvidia-smi: comando não encontrado",
    "Portuguese cmd": "'nvidia-smi' não é reconhecido como um comando interno",
    "Italian bash": "bash: nvidia-smi: comando non trovato",
    "Italian cmd": '"nvidia-smi" non è riconosciuto come comando interno o esterno',
    "Japanese bash": "bash: nvidia-smi: コマンドが見つかりません",
    "Japanese cmd": "'nvidia-smi' は、内部コマンドまたは外部コマンド、\n操作可能なプログラムとして認識されていません。",
    "Japanese PowerShell": "用語 'nvidia-smi' は、コマンドレット、関数の名前として認識されません。",
    "Korean bash": "bash: nvidia-smi: 명령어를 찾을 수 없음",
    "Korean cmd": "'nvidia-smi'은(는) 내부 또는 외부 명령, 실행할 수 있는 프로그램, 또는\n배치 파일이 아닙니다.",
    "Russian bash": "bash: nvidia-smi: команда не найдена",
    "Russian cmd": '"nvidia-smi" не является внутренней или внешней\nкомандой',
    "Russian PowerShell": 'Имя "nvidia-smi" не распознано как имя командлета',
    "Chinese bash": "bash: nvidia-smi：未找到命令",
    "Chinese cmd": "'nvidia-smi' 不是内部或外部命令，也不是可运行的程序\n或批处理文件。",
    "Chinese PowerShell": "nvidia-smi : 无法将“nvidia-smi”项识别为 cmdlet、函数、脚本文件或可运行程序的名称。",
    "Taiwan's cmd": "'nvidia-smi' 不是內部或外部命令、可執行的程式或批次檔。",
    "Polish bash": "bash: nvidia-smi: nie znaleziono polecenia",
    "Dutch bash": "bash: nvidia-smi: opdracht niet gevonden",
    "Turkish cmd": "'nvidia-smi' iç ya da dış komut, çalıştırılabilir program olarak tan\u0131nm\u0131yor.",
}
"""Words of shells without the tool. Sources: bash's message catalogues; the others as people have posted them."""


def test_shells_that_do_not_know_the_command_say_so_in_many_languages():
    for shell, text in SHELLS.items():
        for prompt in ("", "user@host:~$ nvidia-smi\n", "PS C:\\Users\\me> nvidia-smi\r\n"):
            assert facts(parse_smi(f"{prompt}{text}\n"))["error"] == "command-not-found", (shell, prompt)


def test_words_about_other_programs_are_no_failure_of_this_one():
    for text in (
        "nvidia-smi works, but nvcc: command not found",
        "bash: nvcc: command not found",
        "I ran nvidia-smi and the CUDA version was not found in it",
        "nvidia-smi zeigt nichts, und der Befehl nvcc wurde nicht gefunden",
        "",
        "No MIG devices found",
        "No running processes found",
        "| Driver Version | CUDA Version |\n|---|---|\n| 470 | 11.4 |",
        "CUDA Version: 11.3\nDriver Version: not sure",
        "NVIDIA GeForce RTX 9999",
        "1, 2, 3",
        "name, age\nAda, 36",
    ):
        assert facts(parse_smi(text)) == {
            "status": "error", "error": "unknown-text", "driver_version": None, "cuda_version": None, "gpus": [],
        }, text  # fmt: skip


FAILURES = {
    "Failed to initialize NVML: Insufficient Permissions": "insufficient-permissions",
    "Failed to initialize NVML: GPU access blocked by the operating system": "gpu-access-blocked",
    "Failed to initialize NVML: Driver Not Loaded": "driver-not-loaded",
    "Failed to initialize NVML: Not Found": "nvml-failed",
    "Unable to determine the device handle for GPU 0000:41:00.0: GPU requires reset": "gpu-requires-reset",
    "Unable to determine the device handle for gpu 0000:04:00.0: Not Found": "device-handle-unknown-error",
    "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error": "device-handle-unknown-error",
    "No devices found.": "no-devices",
    "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.": "driver-not-loaded",
    'Field "compute_cap" is not a valid field to query.': "unknown-field",
    "bash: /usr/bin/nvidia-smi: Permission denied": "permission-denied",
    'docker: could not select device driver "" with capabilities: [[gpu]].': "container-without-gpu",
    "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1": "container-without-gpu",
}  # fmt: skip
"""What the tool, NVML and docker say, by the word for it."""


def test_failures_are_told_apart():
    for text, kind in FAILURES.items():
        report = parse_smi(f"$ nvidia-smi\n{text}\n")
        assert (report.status, report.error_kind, report.message) == ("error", kind, text)


def test_processes_of_other_users_are_no_failure():
    for row in (
        "|    0      1380    C+G   Insufficient Permissions                   N/A      |",
        "|    0   N/A  N/A            1380    C+G   Insufficient Permissions              N/A      |",
        "|    0      1380  Insufficient Permissions                             N/A      |",
        "            Name                          : Insufficient Permissions",
        "pid, process_name, used_gpu_memory [MiB]\n1380, [Insufficient Permissions], [N/A]",
    ):
        assert parse_smi(f"{row}\n").error_kind in {None, "unknown-text"}, row
    assert parse_smi("0, [Insufficient Permissions], 1\n").error_kind == "insufficient-permissions"


def test_numbers_of_thousands_of_digits_are_none():
    """Python refuses to read them."""
    many = "9" * 5000
    for text in (
        f"{HEAD}{FIRST}| N/A   52C    P0            628W /  700W |   {many}MiB / {many}MiB |    100%      Default |",
        f"index, name, memory.total [MiB], memory.used [MiB]\n{many}, NVIDIA H200, {many} MiB, {many} MiB",
        f"{many}, NVIDIA H200, {many}, 0, {many}",
        f"{many}.1, NVIDIA H200, {many}.2.3",
        f"NVSMI LOG\nAttached GPUs   : {many}\nGPU {many}\n    FB Memory Usage\n        Total   : {many} MiB\n",
        f"<driver_version>{many}.1</driver_version><gpu id='0'><fb_memory_usage><total>{many} MiB</total>",
        f"GPU {many}: NVIDIA H200 (UUID: x)\n",
        f"NVIDIA-SMI {many}.1 Driver Version: {many}.1 CUDA Version: {many}.{many}",
    ):
        for gpu in parse_smi(f"{text}\n").gpus:
            assert (gpu.index, gpu.memory_total_mib, gpu.memory_used_mib) in {(0, None, None), (0, None, 0)}, text[:40]


def test_the_library_of_a_mismatch_is_told_but_not_a_number_that_may_be_cut():
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.54"
    assert parse_smi(f"{text}\n").library_version == "535.54"
    assert parse_smi(text).library_version is None


def test_lists_of_two_hosts_are_not_complete():
    first = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a)\nGPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-b)\n"
    second = "GPU 0: NVIDIA H100 PCIe (UUID: GPU-c)\nGPU 1: NVIDIA H100 PCIe (UUID: GPU-d)\n"
    for text in (first + second, "index, name\n0, NVIDIA A100-SXM4-40GB\n1, NVIDIA A100-SXM4-40GB\n0, Tesla T4\n"):
        report = parse_smi(text)
        assert (report.status, [gpu.name for gpu in report.gpus]) == ("partial", ["NVIDIA A100-SXM4-40GB"] * 2)
    assert parse_smi(first + first).status == parse_smi(first).status == "ok"


def test_an_output_that_mixes_layouts_tells_one_of_them():
    table = text_of(next(entry for entry in ENTRIES if entry["file"].startswith("023-")))
    listed = text_of(next(entry for entry in ENTRIES if entry["file"].startswith("046-")))
    report = parse_smi(f"{table}\n$ nvidia-smi -L\n{listed}")
    assert (report.status, str(report.driver_version), report.cuda_version) == ("ok", "470.86", "11.4")
    assert [(gpu.name, gpu.mig) for gpu in report.gpus] == [("NVIDIA H100 80GB HBM3", "Enabled")]


BARE_ROWS = {
    "0, NVIDIA GeForce RTX 4090, 24564, 4000, 20564, 45, 62": (0, "NVIDIA GeForce RTX 4090", 24564, None, None),
    "3, Tesla K80, 11441, 11441, 0, 33": (3, "Tesla K80", 11441, 0, None),
    "NVIDIA A100-SXM4-40GB, 535.104.05": (0, "NVIDIA A100-SXM4-40GB", None, None, "535.104.05"),
    "Tesla T4, 470.82, 15109 MiB": (0, "Tesla T4", None, None, None),
    "NVIDIA GeForce RTX 9999, 24576 MiB, P8": (0, "NVIDIA GeForce RTX 9999", None, None, None),
    "2004, 1900, 104, 44, [Not Supported]": (0, None, 2004, None, None),
    "GeForce RTX 3090": (0, "GeForce RTX 3090", None, None, None),
}
NO_ROWS = (
    "1590, 1590, 0, 44", "9501, 9501, 0", "1, 2, 3", "NVIDIA drivers are installed, but nothing works",
    "Tesla Model 3, 2020",
    "NVIDIA driver, 470", "NVIDIA Studio Driver 560.81", "[x]", "- [x] done", "[ERROR] failed, [N/A]",
)  # fmt: skip


def test_rows_without_header_and_command_tell_what_is_sure():
    for text, (index, name, total, used, driver) in BARE_ROWS.items():
        report = parse_smi(f"{text}\n")
        (gpu,) = report.gpus
        assert (gpu.index, gpu.name, gpu.memory_total_mib, gpu.memory_used_mib) == (index, name, total, used), text
        assert (None if report.driver_version is None else str(report.driver_version)) == driver, text


def test_other_lines_with_commas_are_no_rows():
    for text in NO_ROWS:
        assert parse_smi(f"{text}\n").error_kind == "unknown-text", text


PARTS = {
    "Driver Version: 470.57.02    CUDA Version: 11.4": ("470.57.02", "11.4"),
    "| 23%   39C    P8     9W / 250W |      7MiB / 12196MiB |      0%      Default |": (None, None),
    "It is NVIDIA-SMI 470.57.02": (None, None),
    "        GPU0    GPU1    CPU Affinity    NUMA Affinity\nGPU0     X      PHB     0-11            N/A": (None, None),
    "# gpu        pid  type    sm   mem   enc   dec   command\n    0       1234     C    10     2     -": (None, None),
    "Driver Version                            : 470.57.02": ("470.57.02", None),
}  # fmt: skip


def test_parts_and_other_outputs_are_recognised_and_tell_no_gpu():
    for text, versions in PARTS.items():
        report = parse_smi(f"{text}\n")
        assert (report.status, report.error_kind, report.gpus) == ("partial", None, ()), text
        driver = None if report.driver_version is None else str(report.driver_version)
        assert (driver, report.cuda_version) == versions, text


def test_a_table_of_vgpus_lists_the_boards():
    text = """\
| NVIDIA-SMI 510.47.03              Driver Version: 510.47.03                 |
|---------------------------------+------------------------------+------------+
| GPU  Name                       | Bus-Id                       | GPU-Util   |
|      vGPU ID     Name           | VM ID     VM Name            | vGPU-Util  |
|=================================+==============================+============|
|   0  Tesla T4                   | 00000000:3B:00.0             |   0%       |
|      3251634213  GRID T4-2Q     | 1db8...  win10               |      0%    |
+---------------------------------+------------------------------+------------+
"""
    report = parse_smi(text)
    assert (report.status, str(report.driver_version)) == ("partial", "510.47.03")
    assert [gpu.name for gpu in report.gpus] == ["Tesla T4"]


def test_a_log_that_has_lost_its_blanks_tells_the_memory_of_whole_gpus_alone():
    text = text_of(next(entry for entry in ENTRIES if entry["file"].startswith("047-")))
    flat = "\n".join(" ".join(line.split()) for line in f"{text}\nFB Memory Usage\nTotal : 81559 MiB\n".split("\n"))
    (gpu,) = parse_smi(flat).gpus
    assert (gpu.name, gpu.mig, gpu.memory_total_mib) == ("NVIDIA H100 80GB HBM3", "Enabled", None)
    whole = flat.replace("MIG Device", "No Device")
    assert parse_smi(whole).gpus[0].memory_total_mib == 81559


def test_every_word_of_the_shells_is_found_and_has_a_source():
    words = yaml.safe_load(resources.data_file("shell_words.yaml").read_text(encoding="utf-8"))
    for place in ("behind", "at_the_end", "before", "denied"):
        for group in words[place]:
            assert set(group["src"]) <= set(words["sources"])
    plain = [word for group in words["behind"] for word in group["words"] if not re.search(r"[?|\[]", word)]
    assert len(plain) > 90
    assert {parse_smi(f"bash: nvidia-smi: {word}\n").error_kind for word in plain} == {"command-not-found"}
    plain = [word for group in words["denied"] for word in group["words"] if not re.search(r"[?|\[]", word)]
    assert {parse_smi(f"sh: 1: nvidia-smi: {word}\n").error_kind for word in plain} == {"permission-denied"}


HEAD = """\
| NVIDIA-SMI 550.54.10              Driver Version: 550.54.10      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
FIRST = "|   0  NVIDIA H200                    On  |   00000000:83:00.0 Off |                    0 |\n"
SECOND = "| N/A   52C    P0            628W /  700W |   32362MiB / 143771MiB |    100%      Default |\n"
CUTS = {
    "in the name": ("|   0  NVIDIA H2", [(0, None, None, None, None)]),
    "in the number": ("|   0", []),
    "in the bus id": (FIRST[:55], [(0, "NVIDIA H200", None, None, None)]),
    "behind the first line": (FIRST, [(0, "NVIDIA H200", None, None, None)]),
    "in the total": (FIRST + SECOND[:60], [(0, "NVIDIA H200", None, 32362, None)]),
    "behind the memory": (FIRST + SECOND[:70], [(0, "NVIDIA H200", 143771, 32362, None)]),
    "behind the second line": (FIRST + SECOND, [(0, "NVIDIA H200", 143771, 32362, None)]),
    "in the MIG mode": (FIRST + SECOND + "|   |   |         Disab", [(0, "NVIDIA H200", 143771, 32362, None)]),
    "in the next GPU": (
        FIRST + SECOND + "|   |   |  Enabled* |\n+---+\n|   1  NVI",
        [(0, "NVIDIA H200", 143771, 32362, "Enabled"), (1, None, None, None, None)],
    ),
}


def test_a_table_cut_at_telling_places_tells_what_is_whole():
    for name, (rest, gpus) in CUTS.items():
        report = parse_smi(HEAD + rest)
        told = [(gpu.index, gpu.name, gpu.memory_total_mib, gpu.memory_used_mib, gpu.mig) for gpu in report.gpus]
        assert (name, report.status, told) == (name, "partial", gpus)
    versions = "NVIDIA-SMI 550.54.10   Driver Version: 551.8"
    assert parse_smi(versions).driver_version is None
    assert str(parse_smi(f"{versions} ").driver_version) == "551.8"


def test_a_driver_model_that_is_not_known_is_no_part_of_the_name():
    row = FIRST.replace("On  |", "XYZM|")
    assert parse_smi(HEAD + row + SECOND).gpus[0].name == "NVIDIA H200"
    unclear = parse_smi(HEAD + row.replace("NVIDIA H200                    XYZM", "NVIDIA H200 XYZM") + SECOND)
    assert (unclear.status, unclear.gpus[0].name) == ("partial", None)


def test_a_message_between_the_lines_of_a_gpu_is_passed_over():
    report = parse_smi(f"{HEAD}{FIRST}WARNING: infoROM is corrupted\n{SECOND}|   |   |  Disabled |\n+---+\n")
    assert (report.status, report.gpus[0].memory_used_mib, report.gpus[0].mig) == ("ok", 32362, "Disabled")
