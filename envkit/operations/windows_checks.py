"""What torch needs of Windows besides a driver. Written for Windows and never run there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.compat.system_needs import system_fact
from envkit.model.fit import FitCheck
from envkit.probes.windows import windows_facts

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.probes.windows import WindowsFacts

_DOWNLOAD = "https://aka.ms/vs/17/release/vc_redist.x64.exe"
_SITE_PACKAGES = r"\Lib\site-packages" + "\\"
_BITS = 64


def windows_checks(folder: Path, facts: WindowsFacts | None = None) -> tuple[FitCheck, ...]:
    """The checks for an environment at ``folder``; ``facts`` are this machine's where none are given."""
    if facts is None:
        facts = windows_facts(tuple(system_fact("visual_cpp").values["files"]))
    return (_runtime(facts), _bits(facts), _long_paths(facts, str(folder)), _profile(facts, str(folder)))


def _runtime(facts: WindowsFacts) -> FitCheck:
    fact = system_fact("visual_cpp")
    names: list[str] = fact.values["files"]
    missing = [name for name in names if name not in facts.runtime_files]
    needed = "the Visual C++ runtime of 2015 to 2022 for x64"
    found = f"version {facts.runtime}" if facts.runtime is not None else "not in the registry"
    found += f"; in System32 missing: {', '.join(missing)}" if missing else "; its files are in System32"
    if not missing:
        return FitCheck("visual-cpp", "ok", found, needed, source=fact.source, known=fact.known)
    why = "torch loads these files first; without them its own libraries may not load (WinError 126). "
    why += "A conda environment may have its own."
    return FitCheck("visual-cpp", "warn", found, needed, why, f"Install {_DOWNLOAD}.", fact.source, fact.known)


def _bits(facts: WindowsFacts) -> FitCheck:
    found, needed = f"{facts.bits}-bit Python runs envkit", f"{_BITS}-bit"
    if facts.bits == _BITS:
        return FitCheck("python-bits", "ok", found, needed, source="this Python")
    why = "torch has wheels for 64-bit Python alone; pip of this one says `no matching distribution`."
    return FitCheck(
        "python-bits", "warn", found, needed, why, "Install a 64-bit Python.", "the names of torch's wheels"
    )


def _long_paths(facts: WindowsFacts, folder: str) -> FitCheck:
    limit, unpacked = system_fact("windows_path"), system_fact("unpacked")
    longest = len(folder) + len(_SITE_PACKAGES) + unpacked.number("longest_name")
    state = {True: "on", False: "off", None: "not told"}[facts.has_long_paths]
    found = f"long paths {state}; torch's longest path in {folder} would have {longest} characters"
    needed = f"{limit.number('longest')} characters at most, or long paths"
    if facts.has_long_paths or longest <= limit.number("longest"):
        return FitCheck("long-paths", "ok", found, needed, source=limit.source, known=limit.known)
    why = "Windows refuses longer paths, and the installation stops in the middle."
    hint = "Set LongPathsEnabled to 1 (as administrator) and log in anew, or choose a shorter --prefix."
    return FitCheck("long-paths", "warn", found, needed, why, hint, limit.source, "derived")


def _profile(facts: WindowsFacts, folder: str) -> FitCheck:
    fact = system_fact("ascii_profile")
    needed = "ASCII letters alone"
    if facts.profile.isascii() and folder.isascii():
        return FitCheck("ascii-path", "ok", facts.profile or folder, needed, source=fact.source, known=fact.known)
    found = folder if not folder.isascii() else facts.profile
    why = "Some libraries and compilers on Windows do not find files below such a folder."
    hint = r"Choose a --prefix such as C:\envs\NAME, and set ENVKIT_HOME and TEMP likewise."
    return FitCheck("ascii-path", "warn", found, needed, why, hint, fact.source, fact.known)
