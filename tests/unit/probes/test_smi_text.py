"""What `parse_smi` makes of outputs that people have posted: tests/data/nvidia-smi-corpus has them and their origin."""

from __future__ import annotations

from pathlib import Path

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


def test_the_library_of_a_mismatch_is_told_but_not_a_number_that_may_be_cut():
    text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.54"
    assert parse_smi(f"{text}\n").library_version == "535.54"
    assert parse_smi(text).library_version is None


def test_an_output_that_mixes_layouts_tells_one_of_them():
    table = text_of(next(entry for entry in ENTRIES if entry["file"].startswith("023-")))
    listed = text_of(next(entry for entry in ENTRIES if entry["file"].startswith("046-")))
    report = parse_smi(f"{table}\n$ nvidia-smi -L\n{listed}")
    assert (report.status, str(report.driver_version), report.cuda_version) == ("ok", "470.86", "11.4")
    assert [(gpu.name, gpu.mig) for gpu in report.gpus] == [("NVIDIA H100 80GB HBM3", "Enabled")]
