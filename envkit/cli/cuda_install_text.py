"""What ``envkit cuda install`` and ``envkit cuda remove`` say at their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.cuda_check_text import check_lines

if TYPE_CHECKING:
    from envkit.operations.cuda_install import InstallResult
    from envkit.operations.cuda_remove import ToolkitRemoval


def install_lines(result: InstallResult) -> list[str]:
    """Where the toolkit is, and how it is used."""
    toolkit = result.toolkit
    if not result.installed:
        return [f"CUDA {toolkit.version}: already there, in {toolkit.path}"]
    report = check_lines(result.report)[1:] if result.report is not None else []
    if result.lacks_host_compiler:
        report.append("  There is no C++ compiler here, which nvcc needs: install g++ and run `envkit cuda check`.")
    libraries = ", ".join(result.record.libraries) or "none; --with adds some"
    return [
        f"CUDA {toolkit.version} is installed in {toolkit.path}",
        f"  from       {len(result.record.packages)} files of {_places(result)}",
        f"  libraries  {libraries}",
        *report,
        f"In this window:     envkit cuda use {toolkit.release} --shell SHELL prints the code that switches to it",
        f"In an environment:  --toolkit {toolkit.release} of envkit create and envkit hooks install",
    ]


def _places(result: InstallResult) -> str:
    if result.record.source == "pypi":
        return "PyPI or your mirror"
    return ", ".join(sorted({item.channel for item in result.record.packages if hasattr(item, "channel")}))


def removal_lines(result: ToolkitRemoval) -> list[str]:
    """What was deleted, or only forgotten."""
    if result.removed is not None:
        return [f"Removed {result.removed}."]
    return [f"Forgot {result.forgotten}; the folder itself is as it was."]
