from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from envkit.errors import DownloadError
from envkit.installers.toolkit_layout import finish_toolkit, toolkit_from_wheels
from envkit.probes.toolkits import toolkit_at

if TYPE_CHECKING:
    from pathlib import Path


def site(folder: Path) -> Path:
    """What uv makes of NVIDIA's wheels, as far as names go."""
    for name, text in {
        "nvidia/cu13/bin/nvcc": "#!/bin/sh\n",
        "nvidia/cu13/bin/nvcc.profile": "",
        "nvidia/cu13/nvvm/bin/cicc": "",
        "nvidia/cu13/include/cuda.h": "#define CUDA_VERSION 13020\n",
        "nvidia/cu13/lib/libcudart.so.13": "runtime",
        "nvidia/cu13/lib/libcudart_static.a": "",
        "nvidia/cu13/lib/libnvrtc-builtins.so.13.2": "builtins",
        "nvidia/cu13/cuda_cccl/lib/cmake/cub/cub-config.cmake": "",
        "nvidia_cuda_nvcc-13.2.86.dist-info/METADATA": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_wheels_become_a_toolkit_that_tools_recognise(tmp_path):
    toolkit = toolkit_from_wheels(site(tmp_path), "13.2.2", "linux-64")
    assert json.loads((toolkit / "version.json").read_text()) == {"cuda": {"name": "CUDA SDK", "version": "13.2.2"}}
    assert os.readlink(toolkit / "lib64") == "lib"
    assert (toolkit / "lib64/libcudart.so").read_text() == "runtime"
    assert os.readlink(toolkit / "lib/libnvrtc-builtins.so") == "libnvrtc-builtins.so.13.2"
    assert (toolkit / "targets/x86_64-linux/include/cuda.h").is_file()
    assert (toolkit / "targets/x86_64-linux/lib/libcudart.so.13").is_file()
    assert (toolkit / "lib/cmake/cub/cub-config.cmake").is_file()
    assert (toolkit / "dist-info/nvidia_cuda_nvcc-13.2.86.dist-info").is_dir()
    found = toolkit_at(toolkit, "envkit")
    assert found is not None
    assert (found.version, found.release, found.has_nvcc) == ("13.2.2", "13.2", True)


def test_programs_can_be_run_whatever_the_archive_said(tmp_path):
    toolkit = toolkit_from_wheels(site(tmp_path), "13.2.2", "linux-64")
    assert os.access(toolkit / "bin/nvcc", os.X_OK)
    assert os.access(toolkit / "nvvm/bin/cicc", os.X_OK)
    assert (toolkit / "bin/nvcc.profile").stat().st_mode & 0o111 == 0


def test_links_lead_nowhere_else(tmp_path):
    toolkit = toolkit_from_wheels(site(tmp_path / "a"), "13.2.2", "linux-aarch64")
    moved = toolkit.rename(tmp_path / "moved")
    assert (moved / "targets/sbsa-linux/lib/libcudart.so").read_text() == "runtime"
    for path in moved.rglob("*"):
        if path.is_symlink():
            assert not os.path.isabs(os.readlink(path))
            assert path.exists()


def test_windows_has_no_links(tmp_path):
    toolkit = toolkit_from_wheels(site(tmp_path), "13.2.2", "win-64")
    assert not [path for path in toolkit.rglob("*") if path.is_symlink()]
    assert (toolkit / "version.json").is_file()


def test_wheels_of_another_layout_are_refused(tmp_path):
    (tmp_path / "nvidia/cuda_nvcc/bin").mkdir(parents=True)
    with pytest.raises(DownloadError, match="nvidia/cu12/bin"):
        toolkit_from_wheels(tmp_path, "12.4.1", "linux-64")


def test_what_lies_below_targets_is_linked_to_where_tools_look(tmp_path):
    for name in ("bin/nvcc", "targets/x86_64-linux/include/cuda.h", "targets/x86_64-linux/lib/libcudart.so.12"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    finish_toolkit(tmp_path, "12.6.3", "linux-64")
    assert os.readlink(tmp_path / "include/cuda.h") == "../targets/x86_64-linux/include/cuda.h"
    assert (tmp_path / "lib64/libcudart.so").read_text() == "x"
    finish_toolkit(tmp_path, "12.6.3", "linux-64")
    assert len(list((tmp_path / "include").iterdir())) == 1
