"""Does this machine, or the one that the user describes, fit a lock? Judged before a byte is downloaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.compat.needs import check_needs
from envkit.errors import UnfitMachineError, UsageError
from envkit.probes.host import glibc_version
from envkit.probes.nvidia_smi import query_gpus

if TYPE_CHECKING:
    from envkit.model.driver import SmiReport
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.options import CreateOptions


def check_fit(lock: Lock, platform: str, options: CreateOptions, progress: Progress) -> None:
    """Refuse a machine that cannot run what the lock gives; say what only may not work.

    A machine without a GPU is no obstacle: environments are made on login nodes and used elsewhere. Where the user
    names the target's CUDA (``--cuda``), that counts instead of this machine's driver.

    Raises:
        UnfitMachineError: a fact that is known well enough speaks against it, and --force was not given.
        UsageError: --cuda is no version.
    """
    needs = dict(lock.platforms[platform].needs)
    target = _target_cuda(options)
    if target is not None:
        needs.pop("driver", None)
        needs.pop("compute_capability", None)
        _check_target(lock, target, options, progress)
    smi = query_gpus() if "driver" in needs or "compute_capability" in needs else None
    findings = check_needs(
        needs,
        driver=options.driver or (smi.driver_version if smi is not None else None),
        capabilities=_capabilities(smi) if options.driver is None else [],
        glibc=glibc_version(),
    )
    for finding in findings:
        what = finding.id.replace("_", " ")
        told = f"{what}: found {finding.found}, needed {finding.needed} ({finding.known}). {finding.why or ''}".strip()
        if finding.status == "fail" and not options.force:
            raise UnfitMachineError(
                f"This machine does not fit {lock.spec}: {what} {finding.found}, needed {finding.needed}.",
                why=told,
                hint="Choose a spec that fits (`envkit specs`), or go on with --force.",
            )
        if finding.status in {"fail", "warn"}:
            progress.note(told)
    is_told = target is not None or options.driver is not None
    if lock.cuda is not None and smi is not None and smi.driver_version is None and not is_told:
        progress.note(
            f"No NVIDIA driver answers here, so the fit of a CUDA {lock.cuda} build cannot be judged. "
            "State what the target machine's driver serves with --cuda V; the build stays the one of the lock."
        )


def _capabilities(smi: SmiReport | None) -> list[str]:
    return [gpu.compute_capability for gpu in smi.gpus if gpu.compute_capability] if smi is not None else []


def _target_cuda(options: CreateOptions) -> tuple[int, int] | None:
    if options.cuda in {None, "auto"}:
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)", str(options.cuda))
    if found is None:
        raise UsageError(f"--cuda {options.cuda} is no version.", hint="Write it as in --cuda 12.4, or --cuda auto.")
    return int(found[1]), int(found[2])


def _check_target(lock: Lock, target: tuple[int, int], options: CreateOptions, progress: Progress) -> None:
    """A driver serves builds of its own CUDA major version and older ones (minor-version compatibility, from 11 on)."""
    if lock.cuda is None:
        return
    major, minor = (int(part) for part in lock.cuda.split("."))
    if target >= (major, minor):
        return
    said = f"The build needs CUDA {lock.cuda}, the target's driver serves {options.cuda}."
    if target[0] == major and major >= 11:  # noqa: PLR2004 - minor-version compatibility began with CUDA 11
        progress.note(f"{said} Within one major version that works, but for features of the newer driver.")
    elif options.force:
        progress.note(said)
    else:
        raise UnfitMachineError(
            f"The target machine does not fit {lock.spec}.",
            why=said,
            hint="Take a build for an older CUDA, or --force.",
        )
