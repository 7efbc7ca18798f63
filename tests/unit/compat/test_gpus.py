from __future__ import annotations

import pytest

from envkit.compat import gpus, tables
from envkit.compat.gpus import GpuFact, gpu_fact


@pytest.mark.parametrize(
    ("name", "capability", "known"),
    [
        ("NVIDIA GeForce RTX 3090", "8.6", "confirmed"),
        ("GeForce RTX 3090", "8.6", "confirmed"),
        ("NVIDIA Tesla K80", "3.7", "confirmed"),
        ("nvidia geforce  rtx 2080 super", "7.5", "derived"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0", "confirmed"),
        ("NVIDIA H100 80GB HBM3 MIG 1c.2g.20gb", "9.0", "confirmed"),
        ("Orin (nvgpu)", "8.7", "derived"),
        ("TITAN X (Pascal)", "6.1", "confirmed"),
        ("GeForce RTX 208...", "7.5", "derived"),
        ("NVIDIA GeForce RTX 2080 ...", "7.5", "derived"),
        ("NVIDIA GeForce RTX 4050 ...", "8.9", "derived"),
        ("Tesla P100-PCIE...", "6.0", "derived"),
        ("GeForce GTX 108\u2026", "6.1", "derived"),
        ("GRID T4-16Q", "7.5", "unconfirmed"),
        ("NVIDIA A40-8Q", "8.6", "unconfirmed"),
        ("NVIDIA A100-1-5C", "8.0", "unconfirmed"),
        ("NVIDIA A16-2B", "8.6", "unconfirmed"),
        ("Tesla K80 12GB", "3.7", "derived"),
        ("A100-SXM-80GB", "8.0", "derived"),
        ("NVIDIA H200 141GB", "9.0", "derived"),
        ("RTX 4090", "8.9", "confirmed"),
        ("RTX 3050", "8.6", "confirmed"),
        ("A100", "8.0", "derived"),
        ("V100", "7.0", "derived"),
        ("T4", "7.5", "derived"),
        ("1080 Ti", "6.1", "derived"),
        ("RTX 6000 Ada", "8.9", "derived"),
        ("RTX PRO 6000", "12.0", "derived"),
    ],
)  # fmt: skip
def test_gpu_fact(name, capability, known):
    fact = gpu_fact(name)
    assert fact is not None
    assert (fact.capability, fact.known, fact.others) == (capability, known, ())


def test_gpu_fact_names_the_row():
    assert gpu_fact("Tesla T4") == GpuFact("Tesla T4", "7.5", "confirmed", ())
    assert gpu_fact("T4") == GpuFact("Tesla T4", "7.5", "derived", ())
    assert gpu_fact("NVIDIA GeForce RTX 2080 ...") == GpuFact("NVIDIA GeForce RTX 2080 ...", "7.5", "derived", ())


def test_gpu_fact_of_a_name_with_several_chips():
    assert gpu_fact("NVIDIA GeForce GTX 750 Ti") == GpuFact("GeForce GTX 750 Ti", "5.0", "ambiguous", ("3.0",))


@pytest.mark.parametrize(
    "name",
    [
        None, "", "   ", "...", "NVIDIA", "NVIDIA GeForce ...", "NVIDIA RTX A...", "Graphics Device", "Quadro",
        "NVIDIA RTX", "NVIDIA GeForce RTX 305...", "GeForce GTX 75...", "GeForce GTX TIT...", "GeForce RTX 209...",
        "NVIDIA GeForce RTX 6090", "GeForce GT 610", "Radeon RX 7900 XTX", "RTX 6000", "RTX 4000", "TITAN X",
        "GRID X9-16Q", "NVIDIA GeForce RTX 3050 A Desktop", "GeForce RTX 20", "GeForce GT 730-2Q",
    ],
)  # fmt: skip
def test_gpu_fact_guesses_nothing(name):
    assert gpu_fact(name) is None


def test_every_row_is_found_as_the_table_has_it():
    for row in tables.gpus_table()["gpus"]:
        for name in (row["name"], row["name"].removeprefix("NVIDIA "), f"{row['name']} MIG 1g.5gb"):
            fact = gpu_fact(name)
            assert fact is not None
            assert (fact.capability, fact.others) == (row["cc"], tuple(row.get("cc_other", ()))), name


def test_names_that_differ_in_the_prefix_alone_agree():
    found = {}
    for row in tables.gpus_table()["gpus"]:
        assert found.setdefault(gpus._key(row["name"]), row["cc"]) == row["cc"], row["name"]
