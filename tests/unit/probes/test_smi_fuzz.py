"""Pastes of nvidia-smi's output that are cut, shifted, decorated or damaged: nothing raises, nothing is invented."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envkit.probes.smi_text import parse_smi
from tests.support.smi import ENTRIES, MORE, facts, text_of

TEXTS = tuple(text_of(entry) for entry in (*ENTRIES, *MORE))
SHORT = tuple(text for text in TEXTS if len(text) < 4000)
TABLES = tuple(text for text in SHORT if "Bus-Id" in text and text.count("NVIDIA-SMI") == 1 and "\n|=" in text)
fuzz = settings(
    derandomize=True, database=None, deadline=None, max_examples=60, suppress_health_check=list(HealthCheck)
)


def numbers(text):
    return set(re.findall(r"\d+", text))


def assert_part_of(found, whole):
    """Each fact of ``found`` is unknown or the one of ``whole``."""
    for name in ("driver_version", "cuda_version"):
        assert found[name] in {None, whole[name]}
    by_index = {gpu["index"]: gpu for gpu in whole["gpus"]}
    for gpu in found["gpus"]:
        known = by_index[gpu["index"]]
        for name in ("name", "memory_total_mib", "memory_used_mib", "mig"):
            assert gpu[name] in {None, known[name]}


def assert_nothing_invented(text, report):
    """Names and numbers stand in the text, memory not in a process's row."""
    plain = " ".join(text.split())
    for gpu in report.gpus:
        assert gpu.name is None or gpu.name in plain
        assert {str(size) for size in (gpu.memory_total_mib, gpu.memory_used_mib) if size is not None} <= numbers(text)
        assert gpu.mig is None or gpu.mig in text
    assert report.driver_version is None or str(report.driver_version) in text
    assert report.cuda_version is None or report.cuda_version in text


@fuzz
@given(st.sampled_from(TEXTS), st.floats(0, 1))
def test_a_text_that_is_cut_tells_less_and_nothing_else(text, share):
    whole = facts(parse_smi(text))
    assert_part_of(facts(parse_smi(text[: int(len(text) * share)])), whole)


@fuzz
@given(st.sampled_from(TABLES), st.integers(0, 10**6), st.booleans())
def test_a_table_with_a_line_lost_or_doubled_tells_nothing_else(text, number, is_doubled):
    lines = text.split("\n")
    place = number % len(lines)
    lines[place : place + 1] = [lines[place]] * 2 if is_doubled else []
    assert_part_of(facts(parse_smi("\n".join(lines))), facts(parse_smi(text)))


@fuzz
@given(st.sampled_from(TABLES), st.integers(1, 9), st.booleans())
def test_a_table_with_other_widths_tells_the_same(text, width, is_narrower):
    if is_narrower:
        changed = re.sub(r"(?m)(?<=[|\w%.]) {2,}(?=[|\w])", "  ", text)
    else:
        changed = re.sub(r" {2,}", lambda found: found[0] + " " * width, text).replace("--+", "-" * width + "+")
    assert facts(parse_smi(changed))["gpus"] == facts(parse_smi(text))["gpus"]
    assert facts(parse_smi(changed))["driver_version"] == facts(parse_smi(text))["driver_version"]


def _coloured(line):
    return f"\x1b[1;32m{line[:9]}\x1b[0m{line[9:]}\x1b[K"


DECORATIONS = {
    "carriage returns": lambda text: text.replace("\r", "").replace("\n", "\r\n"),
    "doubled carriage returns": lambda text: text.replace("\r", "").replace("\n", "\r\r\n"),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
    "of docker compose": lambda text: "".join(f"gpu-test-1  | {line}\n" for line in text.split("\n")),
    "of a log": lambda text: "".join(
        f"2024-05-17T08:{n % 60:02}:11.{n:07}Z {line}\n" for n, line in enumerate(text.split("\n"))
    ),
    "coloured": lambda text: "".join(f"{_coloured(line)}\n" for line in text.split("\n")),
    "odd blanks": lambda text: text.replace("  ", "\u00a0\u00a0"),
    "fenced": lambda text: f"Here is what it says:\n\n```text\n{text}\n```\n\nThanks!\n",
    "under a French date": lambda text: f"lun. 12 févr. 2024 14:02:11\n{text}",
    "a string": lambda text: text.replace("\r", "").replace("\n", "\\n"),
    "before a byte order mark": lambda text: f"\ufeff{text}",
}


def test_what_is_put_around_a_table_changes_nothing():
    for text in TABLES:
        expected = facts(parse_smi(text))
        for name, decorate in DECORATIONS.items():
            found = facts(parse_smi(decorate(text)))
            assert found["gpus"] == expected["gpus"], (name, text)
            assert (found["driver_version"], found["cuda_version"]) == (
                expected["driver_version"],
                expected["cuda_version"],
            ), (name, text)


@fuzz
@given(st.lists(st.sampled_from([line for text in SHORT for line in text.split("\n")]), max_size=25))
def test_lines_of_different_outputs_in_any_order_invent_nothing(lines):
    text = "\n".join(lines)
    assert_nothing_invented(text, parse_smi(text))


PIECES = (
    "|", "NVIDIA-SMI 470.57", "Driver Version: ", "MiB / ", " GPU 0: ", "\n", "nvidia-smi", ", ", "--query-gpu=name",
    "\x1b[",
)  # fmt: skip


@fuzz
@given(
    st.lists(st.text("aZ9 .:|+-=[](),\t\r\0é未\x1b\u2028", max_size=8) | st.sampled_from(PIECES), max_size=40).map(
        "".join
    )
)
def test_any_text_at_all_raises_nothing(text):
    assert parse_smi(text).status in {"ok", "partial", "error"}


def test_a_process_is_never_a_gpu():
    rows = (
        "|    0   N/A  N/A            1001      G   /usr/bin/gnome-shell                    173MiB |\n"
        "|    1      101      G   /usr/bin/X                                  1025MiB |\n"
        "|    2     4711      C   ./run | 00000000:01:00.0 Off |                  N/A |\n"
        "| N/A   42C    P0    29W / 250W |      9MiB / 16280MiB |      0%      Default |\n"
    )
    for text in TABLES:
        if "Processes:" in text and text.count("\n|=") == 2:
            report = parse_smi(text + "\n" + rows)
            assert report.gpus == parse_smi(text + "\n").gpus
