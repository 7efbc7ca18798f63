"""`envkit gpu`, mostly in this process; the tool is a stub: no GPU is needed, none is proved."""

from __future__ import annotations

import io
import json
import os

import pytest
from click.testing import CliRunner

from envkit.cli.main import cli
from envkit.operations import gpu as operation
from tests.support.smi import DATA, ENTRIES, MORE, stated, text_of

TWO_A100 = DATA / "020-580-two-a100.txt"
MISMATCH = (DATA / "026-nvml-mismatch-with-lib-version.txt").read_text()


class Told:
    """How a run of `envkit gpu` ended."""

    def __init__(self, *words, given=None):
        self.result = CliRunner().invoke(cli, ["gpu", *map(str, words)], input=given, standalone_mode=False)
        self.error = self.result.exception
        self.code = int(self.error.exit_code) if self.error is not None else self.result.return_value
        self.out, self.err = self.result.stdout, self.result.stderr

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Put a stub of nvidia-smi first on PATH: what it answers to a query, what it prints alone, how it ends."""
    if os.name != "posix":
        pytest.skip("the stub of nvidia-smi is a shell script")
    folder = tmp_path / "smi"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def put(query, banner, status=0):
        (folder / "query").write_text(query)
        (folder / "banner").write_text(banner)
        script = folder / "nvidia-smi"
        script.write_text(
            f'#!/bin/sh\ncase $1 in --query*) cat "{folder}/query";; *) cat "{folder}/banner";; esac\nexit {status}\n'
        )
        script.chmod(0o755)
        return script

    return put


def test_every_text_of_the_corpus_through_the_command(tmp_path):
    for number, entry in enumerate((*ENTRIES, *MORE)):
        path = DATA / entry["file"] if "file" in entry else tmp_path / f"{number}.txt"
        if "file" not in entry:
            path.write_bytes(text_of(entry).encode())
        told = Told("--from", path, "--json")
        expected = stated(entry)
        is_its_output = expected["error"] != "unknown-text"
        assert told.code == (0 if is_its_output else 4)
        assert (told.json["ok"], told.json["command"]) == (is_its_output, "gpu")
        for name in ("status", "driver_version", "cuda_version"):
            assert told.json[name] == expected[name], entry
        assert told.json["error_kind"] == expected["error"], entry
        shown = [{name: gpu[name] for name in expected["gpus"][0]} for gpu in told.json["gpus"]]
        assert shown == expected["gpus"], entry
        assert Told("--from", path).code == told.code


def test_the_text_says_which_number_is_which():
    told = Told("--from", TWO_A100).out
    assert "Driver 580.126.09, serves CUDA 13.0 at most" in told
    assert "598 of 40960 MiB  Disabled  8.0 (by its name, confirmed)" in told
    assert "neither an installed toolkit" in told
    ambiguous = Told("--from", "-", given="GPU 0: GeForce GTX 750 Ti (UUID: GPU-1)\nGPU 1: X9 (UUID: GPU-2)\n").out
    assert "5.0 or 3.0 (several chips have this name)" in ambiguous
    assert ambiguous.splitlines()[4].split() == ["1", "X9", "unknown", "-", "unknown"]
    cut = Told("--from", DATA / "009-525-three-geforce-truncated.txt").out
    assert "`nvidia-smi -L` prints them whole" in cut
    assert "Not all is there" in cut


def test_capabilities_and_how_they_are_known():
    given = "index, name, compute_cap\n0, NVIDIA H200, 9.0\n1, GeForce GTX 750 Ti, [N/A]\n2, Tesla T4, [N/A]\n"
    found = Told("--from", "-", "--json", given=given).json["gpus"]
    assert [(gpu["compute_capability"], gpu["capability_known"]) for gpu in found] == [
        ("9.0", "nvidia-smi"), (None, None), ("7.5", "confirmed"),
    ]  # fmt: skip


def test_a_failure_in_a_text_is_told_with_cause_and_remedy():
    told = Told("--from", "-", given=MISMATCH)
    assert told.code == 0
    assert "library 570.124" in told.out
    assert "Remedy: Reboot" in told.out
    assert Told("--from", "-", "--json", given=MISMATCH).json["library_version"] == "570.124"


def test_a_text_that_is_no_output_is_an_invalid_file():
    told = Told("--from", "-", given="Nothing of that kind\n")
    assert (told.code, told.out) == (4, "")
    assert "standard input: it holds nothing that nvidia-smi prints." in told.err
    found = Told("--from", "-", "--json", given="Nothing of that kind\n").json
    assert (found["ok"], found["status"], found["error_kind"]) == (False, "error", "unknown-text")
    assert (found["error"]["type"], found["error"]["exit_code"]) == ("InvalidFile", 4)


def test_a_text_leads_on_to_preflight():
    assert Told("--from", TWO_A100).out.splitlines()[-1] == (
        'envkit preflight --driver 580.126.09 --gpu "NVIDIA A100-SXM4-40GB"'
    )
    rows = [Told("--from", path).out.splitlines()[-1] for path in sorted(DATA.glob("*windows*.txt"))]
    assert len(rows) > 2
    assert all(row.endswith(" --platform win-64") or not row.startswith("envkit ") for row in rows), rows
    assert any(row.startswith("envkit preflight --driver ") for row in rows)
    assert "envkit preflight" not in Told("--from", "-", given="GPU 0: Tesla T4 (UUID: GPU-1)\n").out
    odd = "index, name, driver_version\n0, X $(id) 9, 535.54.03\n"
    assert Told("--from", "-", given=odd).out.splitlines()[-1].endswith("--gpu 'X $(id) 9'")


ENCODINGS = {
    "UTF-16 with a mark, as Windows PowerShell writes it": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "UTF-16, the other order": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "UTF-16, the other order, without a mark": lambda text: text.encode("utf-16-be"),
    "UTF-32": lambda text: b"\xff\xfe\0\0" + text.encode("utf-32-le"),
    "UTF-8 with a mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "Latin-1 around it": lambda text: "Größe: ".encode("latin-1") + text.encode(),
    "in a long log": lambda text: b"line\n" * 200_000 + text.encode() + b"more\n" * 200_000,
}


def test_files_in_any_encoding(tmp_path):
    text = TWO_A100.read_text().split("\n", 1)[1].replace("\n", "\r\n")
    expected = Told("--from", TWO_A100, "--json").json
    for name, encode in ENCODINGS.items():
        path = tmp_path / "said.txt"
        path.write_bytes(encode(text))
        assert Told("--from", path, "--json").json == expected, name


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("'nvidia-smi' 不是内部或外部命令，也不是可运行的程序", "gbk"),
        ("'nvidia-smi' は、内部コマンドまたは外部コマンド、操作可能なプログラムとして認識されていません。", "cp932"),
        ('"nvidia-smi" не является внутренней или внешней командой', "cp866"),
        ("'nvidia-smi' não é reconhecido como um comando interno", "cp850"),
        ("'nvidia-smi'은(는) 내부 또는 외부 명령, 실행할 수 있는 프로그램이 아닙니다.", "cp949"),
    ],
)
def test_words_of_a_console_in_its_own_encoding(tmp_path, text, encoding):
    path = tmp_path / "said.txt"
    path.write_bytes(text.encode(encoding) + b"\r\n")
    assert Told("--from", path, "--json").json["error_kind"] == "command-not-found"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", 4), (b" \r\n\n", 4), (b"\x7fELF\0\0\1\2\0", 4), (b"\xff\xfe", 4), (None, 9)],
    ids=["empty", "blank", "binary", "a mark alone", "missing"],
)
def test_files_without_text(tmp_path, content, code):
    path = tmp_path / "said.txt"
    if content is not None:
        path.write_bytes(content)
    told = Told("--from", path)
    assert told.code == code
    assert str(path) in told.error.message


def test_what_is_no_file(tmp_path):
    assert Told("--from", tmp_path).code == 4
    assert Told("--from", "a\0b").code == 4
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    os.mkfifo(tmp_path / "pipe")
    assert Told("--from", tmp_path / "pipe").code == 4


def test_standard_input_is_read_as_bytes(monkeypatch):
    class Standard:
        buffer = io.BytesIO(b"\xff\xfe" + TWO_A100.read_text().encode("utf-16-le"))

    monkeypatch.setattr(operation.sys, "stdin", Standard)
    assert operation.show_gpus("-").report.cuda_version == "13.0"


def test_this_machine(tool):
    script = tool("0, NVIDIA A100-SXM4-40GB, 580.126.09, 40960, 8.0\n", TWO_A100.read_text())
    told = Told("--json")
    assert (told.code, told.json["status"], told.json["found_at"]) == (0, "ok", str(script))
    (gpu,) = told.json["gpus"]
    assert gpu == {
        "index": 0,
        "name": "NVIDIA A100-SXM4-40GB",
        "name_truncated": False,
        "memory_total_mib": 40960,
        "memory_used_mib": 598,
        "mig": "Disabled",
        "compute_capability": "8.0",
        "capability_known": "nvidia-smi",
    }
    text = Told().out
    assert f"nvidia-smi  {script}" in text
    assert "8.0 (from nvidia-smi)" in text


def test_this_machine_whose_tool_fails(tool):
    script = tool(MISMATCH, MISMATCH, status=18)
    told = Told("--json")
    assert (told.code, told.json["ok"], told.json["error_kind"]) == (10, False, "nvml-driver-library-mismatch")
    assert told.json["error"]["exit_code"] == 10
    assert str(script) in told.json["error"]["message"]
    assert "570.124" in told.json["error"]["why"]
    assert "Reboot" in told.json["error"]["hint"]
    text = Told()
    assert (text.code, text.out) == (10, "")
    assert "Driver/library version mismatch" in text.err


def test_this_machine_without_the_tool(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("envkit.probes.nvidia_smi._usual_folders", lambda: ())
    told = Told("--json")
    assert (told.code, told.json["error_kind"], told.json["gpus"]) == (10, "command-not-found", [])
    assert "/usr/lib/wsl/lib" in told.json["error"]["hint"]
    assert "NVSMI" in told.json["error"]["hint"]


def test_the_whole_program(envkit):
    done = envkit("gpu", "--from", "-", "--json", stdin=TWO_A100.read_text())
    assert done.code == 0, done.err
    assert [gpu["memory_used_mib"] for gpu in done.json["gpus"]] == [598, 602]
