"""Doctor: what is wrong with this machine's environments, or with one of them. It takes no lock and changes nothing."""

from __future__ import annotations

import contextlib
import os
import platform
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from envkit.errors import EnvkitError, NotFoundError, VerificationFailedError
from envkit.installers.conda_meta import is_conda_prefix
from envkit.installers.installed import installed_packages, site_packages
from envkit.model.environment import unreadable
from envkit.model.finding import SEVERITIES, Finding
from envkit.model.hooks_record import HOOKS_RECORD
from envkit.operations.cleanup import stale_entry
from envkit.operations.diagnosis import leftovers_of_envkit, of_contents, of_guard, of_projects, of_state
from envkit.operations.environments import all_environments, find_environment, is_path, prefix_at, word_for
from envkit.operations.hooks_diagnosis import of_hooks, of_unmanaged_hooks
from envkit.operations.hooks_unmanaged import recorded_hooks
from envkit.operations.host_compiler import of_host_compiler
from envkit.operations.installer_diagnosis import of_installers, of_unmanaged, of_user_site
from envkit.operations.toolkit_diagnosis import of_toolkit, of_users_files
from envkit.operations.torch_build import build_cudas
from envkit.probes.nvidia_smi import query_gpus

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the environment and of the machine; None for what is not.

    ``cuda_available`` is for torch itself to tell (``envkit verify``), so it is None here.
    """

    torch_version: str | None
    build_cuda: str | None
    driver_version: str | None
    gpus: tuple[str, ...]
    python: str | None
    packages: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The object ``facts`` (docs/json.md)."""
        return {
            "torch_version": self.torch_version,
            "build_cuda": self.build_cuda,
            "cuda_available": None,
            "driver_version": self.driver_version,
            "gpus": list(self.gpus),
            "python": self.python,
            "os": platform.platform(),
            "packages": self.packages,
        }


@dataclass(frozen=True, slots=True)
class DoctorResult:
    """A diagnosis.

    Attributes:
        subject: name of the environment, or None when all were looked at.
        facts: what is known.
        findings: the worst first.
        looked_at: how many environments.
        toolkit: what the activation of the one environment switches to, or None.
    """

    subject: str | None
    facts: Facts
    findings: tuple[Finding, ...]
    looked_at: int
    toolkit: Toolkit | None = None

    @property
    def error(self) -> VerificationFailedError | None:
        """The failure that the command ends with, which leaves the rest to the findings; None when none is an error."""
        errors = [item for item in self.findings if item.severity == "error"]
        if not errors:
            return None
        count = "an error" if len(errors) == 1 else f"{len(errors)} errors"
        where = f"in {self.subject}" if self.subject else "in the environments"
        return VerificationFailedError(f"Found {count} {where}.")

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit doctor --json`` (docs/json.md)."""
        return {"facts": self.facts.to_json(), "findings": [item.to_json() for item in self.findings]}


_LOOKS = (of_installers, of_contents, of_projects, of_hooks, of_host_compiler, of_guard, of_user_site)


def doctor(env: str | None, progress: Progress) -> DoctorResult:
    """Look at one environment, files and all, or at the state of each; by its path any conda environment.

    Of any other prefix that has hooks of envkit's only these are looked at.

    Raises:
        NotFoundError: there is no such environment.
    """
    if env is None:
        environments = all_environments()
        findings = [finding for item in environments for look in (of_state, of_toolkit) for finding in look(item)]
        findings += of_users_files() + leftovers_of_envkit() + stale_entry(os.environ)
        return _result(None, findings, len(environments))
    try:
        environment = find_environment(env)
    except NotFoundError:
        prefix = prefix_at(env) if env else None
        if prefix is not None and is_path(env) and is_conda_prefix(prefix):
            return _of_unmanaged(prefix, progress)
        if prefix is None or not os.path.lexists(prefix / HOOKS_RECORD):
            raise
        return _result(_standing_for(prefix), of_unmanaged_hooks(prefix), 1)
    findings = [*of_state(environment), *of_toolkit(environment)]
    if environment.state == "complete":
        progress.step(f"check the files of {environment.name} by their hashes")
        findings += [finding for look in _LOOKS for finding in look(environment)]
    return _result(environment, findings, 1)


def _of_unmanaged(prefix: Path, progress: Progress) -> DoctorResult:
    environment = _standing_for(prefix)
    progress.step(f"check the files of {environment.name} by their hashes")
    findings = of_unmanaged(environment) + of_user_site(environment) + of_unmanaged_hooks(prefix)
    return _result(environment, findings, 1)


def _standing_for(prefix: Path) -> Environment:
    """An environment as far as a prefix tells that envkit did not make."""
    folder, builds, toolkit = site_packages(prefix), build_cudas(prefix), None
    with contextlib.suppress(EnvkitError):  # a damaged record is a finding
        record = recorded_hooks(prefix)
        toolkit = None if record is None else record.toolkit
    return replace(
        unreadable(prefix, "complete", ""),
        problem=None,
        python=folder.parent.name.removeprefix("python") if folder is not None and os.name != "nt" else "",
        build_cuda=builds[0] if len(builds) == 1 and builds != ("cpu",) else None,
        toolkit=toolkit,
    )


def _result(environment: Environment | None, findings: list[Finding], looked_at: int) -> DoctorResult:
    smi = query_gpus()
    packages: dict[str, str] = {}
    if environment is not None:
        try:
            packages = dict(sorted(installed_packages(environment.prefix).items()))
        except OSError as error:
            findings.append(_unlisted(environment, error))
    facts = Facts(
        torch_version=packages.get("torch"),
        build_cuda=None if environment is None else environment.build_cuda,
        driver_version=str(smi.driver_version) if smi.driver_version else None,
        gpus=tuple(gpu.name or "unknown" for gpu in smi.gpus),
        python=(environment.python or None) if environment is not None else None,
        packages=packages,
    )
    ordered = tuple(sorted(findings, key=lambda item: SEVERITIES.index(item.severity)))
    if environment is None:
        return DoctorResult(None, facts, ordered, looked_at)
    return DoctorResult(environment.name, facts, ordered, looked_at, environment.toolkit)


def _unlisted(environment: Environment, error: OSError) -> Finding:
    return Finding(
        "packages-unreadable",
        "error",
        f"The packages of {environment.name} cannot be listed.",
        why=str(error),
        fix=(f"Make it again: `envkit restore {word_for(environment)} --replace`.",),
    )
