"""What ``envkit cuda install`` and ``envkit cuda remove`` say at their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.activation.user_shell import WINDOW_SHELLS, user_shell, window_line
from envkit.cli.cuda_check_text import check_lines

if TYPE_CHECKING:
    from envkit.model.toolkit import Toolkit
    from envkit.operations.cuda_install import InstallResult
    from envkit.operations.cuda_remove import ToolkitRemoval


def install_lines(result: InstallResult) -> list[str]:
    """Where the toolkit is, and how it is used."""
    toolkit = result.toolkit
    if not result.installed:
        return [f"CUDA {toolkit.version}: already there, in {toolkit.path}", _in_this_window(toolkit)]
    report = check_lines(result.report)[1:] if result.report is not None else []
    if result.lacks_host_compiler:
        report.append("  There is no C++ compiler here, which nvcc needs: install g++ and run `envkit cuda check`.")
    libraries = ", ".join(result.record.libraries) or "none; --with adds some"
    return [
        f"CUDA {toolkit.version} is installed in {toolkit.path}",
        f"  from       {len(result.record.packages)} files of {_places(result)}",
        f"  libraries  {libraries}",
        *report,
        f"In an environment:  --toolkit {toolkit.release} of envkit create and envkit hooks install",
        _in_this_window(toolkit),
    ]


def _in_this_window(toolkit: Toolkit) -> str:
    """To be pasted into the user's shell."""
    shell = user_shell(WINDOW_SHELLS) or "bash"
    return f"In this window:     {window_line(str(toolkit.release), shell)}"


def _places(result: InstallResult) -> str:
    if result.record.source == "pypi":
        return "PyPI or your mirror"
    return ", ".join(sorted({item.channel for item in result.record.packages if hasattr(item, "channel")}))


def removal_lines(result: ToolkitRemoval) -> list[str]:
    """What was deleted, or only forgotten."""
    if result.removed is not None:
        return [f"Removed {result.removed}."]
    return [f"Forgot {result.forgotten}; the folder itself is as it was."]
