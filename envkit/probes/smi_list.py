"""What ``nvidia-smi -L`` and ``nvidia-smi --version`` print."""

from __future__ import annotations

import re
from dataclasses import replace

from envkit.model.driver import Gpu
from envkit.probes.smi_part import Part, cuda_in, driver_in, is_cut_name, is_placeholder, name_in, without_repeats

_GPU = re.compile(r"\bGPU (\d{1,3}): (.+?) \((?:UUID|S/N):([^)\n]*)")
_MIG = re.compile(r"(?:^|\s)MIG \d+[cg]\S*\s+Device\s+\d+:")
_OTHER = re.compile(r"^# gpu +(?:pid|idx|pwr|sm)\b|\bCPU Affinity +NUMA Affinity|^ +X +=? ?Self\b|^ *GPU0 +X\b")
_VERSION = re.compile(r"^\s*(NVIDIA-SMI|NVML|DRIVER|KMD|CUDA(?: UMD)?) version\s*:\s*(.*?)\s*$", re.IGNORECASE)


def parse_list(lines: list[str]) -> Part | None:
    """The GPUs of ``nvidia-smi -L``; MIG devices below a GPU tell that its MIG mode is on.

    Of the lists of several hosts it is the first one, and not complete.
    """
    gpus: list[Gpu] = []
    told: dict[str, set[tuple[str, str]]] = {}
    for line in lines:
        found = _GPU.search(line)
        if found is not None:
            name = name_in(found[2])
            gpus.append(Gpu(int(found[1]), name, name_truncated=is_cut_name(name)))
            told.setdefault(found[1], set()).add((found[2], found[3].strip()))
        elif gpus and _MIG.search(line):
            gpus[-1] = replace(gpus[-1], mig="Enabled")
    is_one_host = all(len(same) == 1 for same in told.values())
    return Part(without_repeats(gpus), is_complete=is_one_host) if gpus else None


def parse_other(lines: list[str]) -> Part | None:
    """What ``nvidia-smi topo``, ``dmon`` and ``pmon`` print: it tells nothing of what is read here."""
    return Part(is_complete=False) if any(_OTHER.search(line) for line in lines) else None


def parse_version(lines: list[str]) -> Part | None:
    """The versions of ``nvidia-smi --version``; since 610 some lines hold a text that leads to another line."""
    values: dict[str, str] = {}
    for number, line in enumerate(lines):
        found = _VERSION.match(line)
        if found is not None:
            is_cut = number + 1 == len(lines) and not found[1].upper().startswith("CUDA")
            values.setdefault(found[1].upper(), "" if is_cut else found[2])
    if not {"NVIDIA-SMI", "NVML"} & values.keys():
        return None
    told_driver = values.get("KMD") or values.get("DRIVER", "")
    told_cuda = values.get("CUDA UMD") or values.get("CUDA", "")
    driver, cuda = driver_in(told_driver), cuda_in(told_cuda)
    is_whole = (driver is not None or is_placeholder(told_driver)) and (cuda is not None or is_placeholder(told_cuda))
    return Part((), driver, cuda, is_complete=is_whole)
