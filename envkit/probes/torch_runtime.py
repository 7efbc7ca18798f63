"""Verification of an environment's torch, in the environment's own interpreter; torch is never imported here."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

from envkit import process, resources
from envkit.model.report import LAYERS, LayerResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from envkit.model.driver import SmiReport

IMPORT_TIMEOUT_S = 300.0
"""The first import of torch from a cold network disk reads gigabytes."""

LAYER_TIMEOUT_S = 120.0

_POLL_S = 0.2
_GRACE_S = 2.0
_TAIL_BYTES = 8192
_TAIL_LINES = 40
_LINE_BYTES = 1 << 20

_CRASHES: Mapping[str, str] = MappingProxyType(
    {
        "SIGSEGV": "segmentation fault",
        "SIGBUS": "bus error; shared memory or a disk may be full",
        "SIGILL": "illegal instruction: this CPU lacks one that the build uses, such as AVX or AVX2",
        "SIGFPE": "arithmetic exception",
        "SIGABRT": "aborted by a library",
        "SIGKILL": "killed from outside, most often because memory ran out",
        "SIGTERM": "stopped from outside",
    }
)
_WINDOWS_CRASHES: Mapping[int, str] = MappingProxyType(
    {
        0xC0000005: "SIGSEGV",
        0xC000001D: "SIGILL",
        0xC0000094: "SIGFPE",
        0xC0000409: "SIGABRT",
    }
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an environment should hold, and what is known of this machine's GPUs.

    Attributes:
        packages: version by name, from the lock.
        build_cuda: the CUDA that torch should be built for, ``11.3``; None for a CPU build.
        smi: what nvidia-smi answered; None: the script asks it itself, if it needs to know.
        hidden_by: why no GPU is visible, if the caller knows; None: the script looks at its own environment.
    """

    packages: Mapping[str, str]
    build_cuda: str | None
    smi: SmiReport | None = None
    hidden_by: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object that check_env.py takes with ``--expect``."""
        value: dict[str, Any] = {"packages": dict(self.packages), "build_cuda": self.build_cuda}
        if self.hidden_by is not None:
            value["hidden_by"] = self.hidden_by
        if self.smi is not None:
            value["smi"] = {
                "gpus": [gpu.name or "a GPU without a name" for gpu in self.smi.gpus],
                "driver_version": str(self.smi.driver_version) if self.smi.driver_version else None,
                "error_kind": self.smi.error_kind,
                "message": self.smi.message,
            }
        return value


def verify_runtime(
    python: Path,
    *,
    expect: Expectation,
    layers: Sequence[str] = LAYERS,
    import_timeout_s: float = IMPORT_TIMEOUT_S,
    layer_timeout_s: float = LAYER_TIMEOUT_S,
    env: Mapping[str, str | None] | None = None,
) -> tuple[LayerResult, ...]:
    """Run the layers of verification with an environment's interpreter.

    A crash, a hang or an answer that makes no sense is the failure of the layer that was running; the later ones are
    skipped. Nothing is raised for them.

    Args:
        python: the environment's interpreter.
        expect: what the lock says.
        layers: those to run, in their order.
        import_timeout_s: time limit of the layer import, the start of the interpreter included.
        layer_timeout_s: time limit of each other layer.
        env: changes to the environment variables; None removes. CUDA_VISIBLE_DEVICES is the caller's own otherwise.

    Returns:
        One result for each of ``layers``.
    """
    command = [str(python), "-I", str(resources.check_env_script()), "--json", "--layers", ",".join(layers)]
    command += ["--expect", json.dumps(expect.to_json())]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=process.clean_environment({"PYTHONNOUSERSITE": "1", **(env or {})}),
            start_new_session=os.name == "posix",
            preexec_fn=process.die_with_parent(),  # noqa: PLW1509 - no other thread runs yet
        )
    except OSError as error:
        return _fill_up({}, layers, f"cannot run the interpreter {python}: {error.strerror or error}", {})
    limits = {layer: import_timeout_s if layer == "import" else layer_timeout_s for layer in layers}
    conversation = _Conversation(child, tuple(layers), limits)
    try:
        problem = conversation.listen()
    finally:
        conversation.close()
    return _fill_up(conversation.results, layers, problem, conversation.evidence())


def _fill_up(
    results: Mapping[str, LayerResult], layers: Sequence[str], problem: str | None, evidence: Mapping[str, Any]
) -> tuple[LayerResult, ...]:
    """A result for every layer: the first without one fails with ``problem``, those after it are skipped."""
    answer: list[LayerResult] = []
    broken: str | None = None
    for layer in layers:
        if layer in results:
            answer.append(results[layer])
        elif broken is None:
            broken = layer
            answer.append(LayerResult(layer, "fail", problem, evidence))
        else:
            answer.append(LayerResult(layer, "skip", f"layer {broken} failed"))
    return tuple(answer)


@dataclass(slots=True)
class _Conversation:
    """Listens to check_env.py: one JSON object per line as a layer starts and ends."""

    child: subprocess.Popen[bytes]
    layers: tuple[str, ...]
    limits: Mapping[str, float]
    results: dict[str, LayerResult] = field(default_factory=dict)
    strange: str | None = None
    tail: bytes = b""
    threads: list[threading.Thread] = field(default_factory=list)

    def listen(self) -> str | None:
        """Follow the child to its end; why a layer is left without a result, or None when none is."""
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for target, arguments in ((_read_lines, (self.child.stdout, lines)), (self._keep_tail, (self.child.stderr,))):
            thread = threading.Thread(target=target, args=arguments, daemon=True)
            thread.start()
            self.threads.append(thread)
        return self._follow(lines)

    def close(self) -> None:
        """Stop the child and what it started, and take in its last words."""
        process.kill_group(self.child)
        self.child.wait()
        for thread in self.threads:
            thread.join(_GRACE_S)  # longer only where a grandchild in a session of its own holds the pipe open

    def _follow(self, lines: queue.SimpleQueue[bytes | None]) -> str | None:
        deadline = time.monotonic() + self.limits[self.layers[0]]
        while (layer := self._running()) is not None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return f"no answer within {self.limits[layer]:g} s in layer {layer}; stopped"
            try:
                line = lines.get(timeout=min(remaining, _POLL_S))
            except queue.Empty:
                if self.child.poll() is None:
                    continue
                self.threads[0].join(_GRACE_S)  # for ever, where a grandchild holds the pipe open
                lines.put(None)
                continue
            if line is None:
                return self._ended(layer)
            if self._take(line):
                deadline = time.monotonic() + self.limits[self._running() or layer]
        return None

    def _running(self) -> str | None:
        return next((layer for layer in self.layers if layer not in self.results), None)

    def _take(self, line: bytes) -> bool:
        """Note what a line says; whether it was one of the protocol."""
        text = line.decode("utf-8", "replace").strip()
        try:
            match json.loads(text):
                case {"event": "start", "layer": str(layer)} if layer in self.layers:
                    return True
                case {"event": "end", "layer": str(layer)} as value if layer in self.layers:
                    self.results[layer] = LayerResult.from_json(value)
                    return True
        except ValueError:
            pass
        if text and self.strange is None:
            self.strange = text[:200]
        return False

    def _ended(self, layer: str) -> str:
        try:
            code = self.child.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return f"closed its output in layer {layer} and went on; stopped"
        name = _WINDOWS_CRASHES.get(code) if os.name == "nt" else _signal_name(code)
        if name is not None:
            return f"crashed with {name} in layer {layer} ({_CRASHES.get(name, 'a signal')})"
        if self.strange is not None:
            return f"gave an answer that is not JSON in layer {layer} and ended with exit status {code}: {self.strange}"
        self.threads[1].join(_GRACE_S)
        said = self.tail.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "it said nothing")
        return f"ended with exit status {code} in layer {layer} without an answer: {last[:300]}"

    def evidence(self) -> dict[str, Any]:
        """The last lines the child wrote to stderr, and the first one on stdout that was not the protocol."""
        said = self.tail.decode("utf-8", "replace").splitlines()
        facts: dict[str, Any] = {"exit_status": self.child.returncode, "stderr_tail": said[-_TAIL_LINES:]}
        if self.strange is not None:
            facts["stdout"] = self.strange
        return facts

    def _keep_tail(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                self.tail = (self.tail + chunk)[-_TAIL_BYTES:]


def _read_lines(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with stream:
        while line := stream.readline(_LINE_BYTES):
            lines.put(line)
    lines.put(None)


def _signal_name(code: int) -> str | None:
    if code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
