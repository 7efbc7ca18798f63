"""Check a CUDA toolkit: does it compile and link, and does its program compute on the GPU?"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from envkit import fs, resources
from envkit.compat.toolkit_releases import architectures
from envkit.errors import EnvkitError, ProgramError, UsageError, VerificationFailedError
from envkit.model.toolkit_report import STEPS, CheckStep, ToolkitReport
from envkit.operations.toolkit_host import NvccHost, choose_host
from envkit.operations.toolkits import toolkit_for
from envkit.probes.nvcc import LEFT_OUT, Nvcc
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.progress import Progress
    from envkit.model.report import Status
    from envkit.model.toolkit import Toolkit
    from envkit.process import CompletedProgram

STEP_TIMEOUT_S = 300.0
"""For one run of nvcc or of its program; a slow disk takes minutes to read a toolkit for the first time."""
_NO_GPU = 2
"""The exit status of ``check.cu`` when no GPU can be used."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How ``envkit cuda check`` ended.

    Attributes:
        report: the steps.
    """

    report: ToolkitReport

    @property
    def error(self) -> EnvkitError | None:
        """The failure that the command ends with; None also where there is no GPU to run on."""
        failure, toolkit = self.report.failure, self.report.toolkit
        if failure is None:
            return None
        return VerificationFailedError(
            f"CUDA {toolkit.version or '?'} in {toolkit.path} does not work: step {failure.step} failed.",
            why=failure.reason,
            hint=failure.hint,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda check --json``."""
        return {"toolkit": self.report.toolkit.to_json(), "steps": [step.to_json() for step in self.report.steps]}


def check(asked: str, progress: Progress) -> CheckResult:
    """Check the toolkit that ``asked``, a release or a folder, means.

    Raises:
        NotFoundError: there is none.
    """
    toolkit = toolkit_for(None, asked, progress)
    if toolkit is None:
        raise UsageError(f"{asked!r} is no toolkit.", hint="Give a release such as 11.3, or a toolkit's folder.")
    return CheckResult(check_toolkit(toolkit, progress))


def check_toolkit(toolkit: Toolkit, progress: Progress, *, timeout_s: float = STEP_TIMEOUT_S) -> ToolkitReport:
    """Compile, link and run with a toolkit.

    Args:
        toolkit: the one.
        progress: told of each step.
        timeout_s: how long each run of a program may take.
    """
    for name in (name for name in LEFT_OUT if os.environ.get(name)):
        progress.note(f"{name} is set; the check leaves it out, so that the toolkit alone is judged.")
    with scratch_folder() as folder:
        fs.write_bytes(folder / "check.cu", resources.data_file("check.cu").read_bytes())
        trial = _Trial(toolkit, Nvcc(toolkit.path, folder, timeout_s))
        steps: list[CheckStep] = []
        for name in STEPS:
            if any(step.status == "fail" for step in steps):
                steps.append(CheckStep(name, "skip", f"Step {steps[-1].step} did not pass."))
                continue
            progress.step(f"check {name}")
            steps.append(trial.take(name))
    return ToolkitReport(toolkit, tuple(steps))


class _EndError(Exception):
    """A step ends without passing."""

    def __init__(
        self, status: Status, reason: str, hint: str | None = None, facts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.hint, self.facts = status, reason, hint, facts or {}


def _fail(reason: str, hint: str | None = None, facts: Mapping[str, Any] | None = None) -> NoReturn:
    raise _EndError("fail", reason, hint, facts)


@dataclass(slots=True)
class _Trial:
    """The steps of one check; each gives its facts, or raises ``_EndError``."""

    toolkit: Toolkit
    nvcc: Nvcc
    host: NvccHost = field(init=False)
    capability: int | None = None

    def take(self, name: str) -> CheckStep:
        """Run one step."""
        since = time.monotonic()
        try:
            facts = getattr(self, f"_{name}")()
        except _EndError as end:
            done = CheckStep(name, end.status, end.reason, end.hint, end.facts)
        else:
            done = CheckStep(name, "pass", facts=facts)
        return replace(done, seconds=round(time.monotonic() - since, 3))

    def _version(self) -> dict[str, Any]:
        if not self.toolkit.has_nvcc:
            _fail(
                f"{self.toolkit.path} has no compiler (bin/nvcc): only the runtime libraries are there.",
                f"Install the whole toolkit: `envkit cuda plan {self.toolkit.release or 'V'}` prints how.",
            )
        try:
            said = self.nvcc.said_version()
        except ProgramError as error:
            _fail(_told(error), _moved(self.toolkit))
        if said is None:
            _fail(f"{self.nvcc.program} --version tells no version.", _moved(self.toolkit))
        release = said.release
        facts = {"nvcc": said.version, "release": release}
        if self.toolkit.release not in (None, release):
            _fail(
                f"nvcc says release {release}, the folder says {self.toolkit.release}: two toolkits are mixed.",
                f"Install CUDA {self.toolkit.release} again, in a folder of its own.",
                facts,
            )
        return facts

    def _compile(self) -> dict[str, Any]:
        self.host = choose_host(self.toolkit.release)
        if self.host.facts.get("host_compiler") is None:
            _fail(self.host.problem or "", self.host.hint, self.host.facts)
        self.nvcc = replace(self.nvcc, host=self.host.program)
        newest = max(architectures(self.toolkit.release), default=None)
        facts = {**self.host.facts, "architecture": f"compute_{newest}" if newest else None}
        try:
            self.nvcc.compile(f"arch=compute_{newest},code=compute_{newest}" if newest else None)
        except ProgramError as error:
            said = _told(error)
            if self.host.problem is not None:
                _fail(f"{self.host.problem}\n{said}", self.host.hint, facts)
            _fail(said, _hint_for(error, self.toolkit), facts)
        return facts

    def _link(self) -> dict[str, Any]:
        try:
            self.nvcc.link()
        except ProgramError as error:
            _fail(_told(error), _hint_for(error, self.toolkit))
        return {}

    def _device(self) -> dict[str, Any]:
        done = self._run()
        facts = _facts(done.stdout)
        driver = facts["driver_cuda"]
        if done.returncode == _NO_GPU and driver is None:
            raise _EndError("skip", "There is no NVIDIA driver here, so no GPU to run on.", facts=facts)
        if done.returncode == _NO_GPU and facts["error"] == "cudaErrorNoDevice":
            hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
            why = f"CUDA_VISIBLE_DEVICES={hidden!r} hides it" if hidden is not None else "the driver shows none"
            raise _EndError("skip", f"No GPU is visible: {why}.", facts=facts)
        if done.returncode == _NO_GPU and facts["error"] == "cudaErrorInsufficientDriver":
            _fail(
                f"The NVIDIA driver serves CUDA {driver}: too old for programs of CUDA {facts['runtime_cuda']}.",
                "Update the driver, or use an older toolkit; what is compiled with this one runs on newer drivers.",
                facts,
            )
        if done.returncode != 0 or not facts["devices"]:
            _fail(_program_said(done, facts), facts=facts)
        self.capability = int(facts["devices"][0]["compute_capability"].replace(".", ""))
        return facts

    def _kernel(self) -> dict[str, Any]:
        if self.capability is None:
            raise _EndError("skip", "There is no GPU to run it on.")
        generate = _code_for(self.capability, architectures(self.toolkit.release))
        if generate is None:
            reason = f"CUDA {self.toolkit.release} makes no code for compute capability {_dotted(self.capability)}."
            raise _EndError("skip", reason, "Use an older toolkit for this GPU.")
        facts = {"code": generate}
        try:
            self.nvcc.compile(generate)
            self.nvcc.link()
        except ProgramError as error:
            _fail(_told(error), facts=facts)
        done = self._run("kernel")
        if done.returncode != 0:
            _fail(_program_said(done, _facts(done.stdout)), facts=facts)
        match = re.search(r"^compared (\d+)$", done.stdout, re.MULTILINE)
        return {**facts, "compared": int(match[1]) if match else None}

    def _run(self, *words: str) -> CompletedProgram:
        try:
            return self.nvcc.run_program(*words)
        except ProgramError as error:
            _fail(_told(error))


def _code_for(capability: int, known: tuple[int, ...]) -> str | None:
    """What ``-gencode`` makes that runs on a GPU; None: nothing that this nvcc makes does.

    Its own machine code, or the newest PTX that its driver compiles for it: PTX runs on its own capability and newer.
    https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-compilation
    """
    if not known or capability in known:
        return f"arch=compute_{capability},code=sm_{capability}"
    older = [number for number in known if number < capability]
    return f"arch=compute_{max(older)},code=compute_{max(older)}" if older else None


def _facts(said: str) -> dict[str, Any]:
    """The lines of ``check.cu``; a version 13000 is "13.0", 0 is none."""
    lines = [line.split(" ", 1) for line in said.splitlines() if " " in line]
    values = {name: value for name, value in lines if name != "device"}
    devices = [value.split(" ", 1) for name, value in lines if name == "device"]
    return {
        "driver_cuda": _cuda(values.get("driver")),
        "runtime_cuda": _cuda(values.get("runtime")),
        "devices": [{"name": name, "compute_capability": capability} for capability, name in devices],
        "error": values.get("error"),
        "error_text": values.get("error_text"),
    }


def _cuda(number: str | None) -> str | None:
    value = int(number) if number and number.isdigit() else 0
    return f"{value // 1000}.{value % 1000 // 10}" if value else None


def _dotted(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _program_said(done: CompletedProgram, facts: Mapping[str, Any]) -> str:
    if facts["error_text"]:
        return str(facts["error_text"])
    status = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
    return f"The program ended with {status} and told no reason. {done.stderr.strip()}".strip()


def _told(error: ProgramError) -> str:
    return "\n".join(filter(None, (error.message, error.why)))


def _moved(toolkit: Toolkit) -> str:
    return f"Is {toolkit.path} whole? Install it again; `envkit cuda plan {toolkit.release or 'V'}` prints how."


def _hint_for(error: ProgramError, toolkit: Toolkit) -> str | None:
    """What to do about the failures that are known by their words."""
    said = f"{error.stdout}\n{error.stderr}"
    if re.search(r"unsupported GNU version|unsupported clang version|unsupported Microsoft Visual Studio", said):
        return "The host compiler is too new for this toolkit; name one that it takes with NVCC_CCBIN."
    if re.search(r"Cannot find compiler 'cl.exe'", said):
        return "Run it in Visual Studio's x64 Native Tools Command Prompt, where cl.exe is on PATH."
    if re.search(r"cannot find -l(cuda\w*)|(libcud\w+\.a): No such file", said):
        return f"The toolkit's libraries are not all there. {_moved(toolkit)}"
    if re.search(r"(cuda_runtime|crt/host_config|cuda)\.h: No such file", said):
        return f"The toolkit's headers are not all there. {_moved(toolkit)}"
    return None
