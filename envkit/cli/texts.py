"""What people read: each result as lines of text."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from envkit.cli.colours import paint
from envkit.cli.render import table
from envkit.model.environment import scripts_of
from envkit.operations.environments import word_for
from envkit.operations.places import is_elsewhere
from envkit.operations.specs import shipped_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.model.environment import Environment
    from envkit.model.snapshot import Snapshot
    from envkit.operations.add import AddResult
    from envkit.operations.create import CreateResult
    from envkit.operations.export import Export
    from envkit.operations.inspect import Info
    from envkit.operations.lock import LockResult
    from envkit.operations.remove import RemoveResult
    from envkit.operations.verify import VerifyResult

_COLOURS = {"pass": "green", "fail": "red", "skip": "yellow"}


def create_lines(result: CreateResult) -> list[str]:
    """What create and restore say at their end."""
    if result.plan is not None:
        return _plan_lines(result)
    environment = result.environment
    if environment is None:
        return []
    if not result.created:
        failed = " Its last verification failed: `envkit verify` tells." if environment.last_verify == "fail" else ""
        line = f"{environment.name}: already there, at {environment.prefix}.{failed}"
        return [line, *_how_to_activate(environment)]
    check = result.verification
    if check is None:
        verdict = "created, not verified: not asked for"
    elif check.report.verified:
        verdict = "created and verified"
    elif check.report.failed:
        verdict = "created, but it is broken"
    else:
        verdict = f"created, not verified: {check.report.reason}"
    lines = [f"{environment.name}: {verdict}"]
    if check is not None:
        lines += [f"  {line}" for line in layer_lines(check)]
    lines.append(f"  prefix    {environment.prefix}")
    if environment.toolkit is not None:
        lines.append(f"  toolkit   CUDA {environment.toolkit.version} in {environment.toolkit.path}")
    if check is not None and check.snapshot is not None:
        lines.append(f"  snapshot  {check.snapshot}")
    return [*lines, *_how_to_activate(environment)]


def _how_to_activate(environment: Environment) -> list[str]:
    if environment.backend == "conda":
        from envkit.backends.conda import find_conda  # noqa: PLC0415 - start-up counts

        word = word_for(environment)
        program = find_conda()
        if program is None:
            return [
                f"Use it:  envkit shell {word}, or envkit run {word} -- CMD (there is no conda here to activate it)"
            ]
        return [f"Activate it:  {program.name} activate {word}"]
    if os.name == "nt":
        return [f'Activate it:  "{scripts_of(environment.prefix) / "activate"}"']
    scripts = scripts_of(environment.prefix)
    lines = [f"Activate it:  . {shlex.quote(str(scripts / 'activate'))}"]
    if os.path.basename(os.environ.get("SHELL", "")) == "fish":  # noqa: PTH119 - text
        from envkit.activation import quote_fish  # noqa: PLC0415 - for users of fish

        lines = [f"Activate it:  source {quote_fish(str(scripts / 'activate.fish'))}"]
    return lines


def _plan_lines(result: CreateResult) -> list[str]:
    plan = result.plan
    if plan is None:
        return []
    locked = plan.lock.platforms[plan.platform]
    packages = [*locked.packages, *locked.base]
    lines = [
        f"Would make {plan.name} at {plan.prefix}",
        f"  Python    {plan.python_version} ({plan.interpreter.path if plan.interpreter else 'a conda package'})",
        f"  toolkit   {plan.toolkit.path if plan.toolkit else 'none'}",
        f"  packages  {len(packages)}, of which {len(plan.files)} lie on this disk",
        f"  download  {plan.download.size if plan.download else 'unknown size'}, less what the caches hold",
    ]
    lines += [
        f"    {item.name}=={item.version}" + (f"  from {item.source}" if item.source else "")
        for item in locked.packages
    ]
    lines += [f"    {item.name}={item.version}={item.build}  from {item.channel}" for item in locked.base]
    return [*lines, "Nothing was changed."]


def verify_lines(result: VerifyResult) -> list[str]:
    """What verify says at its end."""
    environment, report = result.environment, result.report
    if report.verified:
        verdict = "verified"
    elif report.failed:
        verdict = "broken"
    elif report.not_verifiable:
        verdict = "not verifiable here"
    else:
        verdict = "imports; level import proves no more"
    lines = [f"{environment.name}: {verdict}", *(f"  {line}" for line in layer_lines(result))]
    if result.snapshot is not None:
        lines.append(f"  snapshot  {result.snapshot}")
    return lines


def layer_lines(result: VerifyResult) -> list[str]:
    """One line per layer; a reason that several share is told once."""
    lines, told = [], None
    for item in result.report.layers:
        reason = f"  {item.reason}" if item.reason and item.reason != told else ""
        told = item.reason or told
        lines.append(f"{item.layer:<9} {paint(item.status, _COLOURS[item.status])}  {item.seconds:5.1f} s{reason}")
    return lines


def lock_lines(result: LockResult) -> list[str]:
    """What lock says at its end: what changed, and where the lock is."""
    lines = []
    for change in result.changes:
        if change.before is None:
            text = f"+ {change.name} {change.after}"
        elif change.after is None:
            text = f"- {change.name} {change.before}"
        else:
            text = f"  {change.name} {change.before} -> {change.after}"
        lines.append(f"{change.platform}: {text}")
    return [*lines, f"{'Wrote' if result.changes else 'No package changed in'} {result.path}"]


def add_lines(result: AddResult) -> list[str]:
    """What add says at its end."""
    name = result.environment.name
    if not result.changes:
        return [f"{name}: all of it is there already."]
    lines = [
        f"+ {item.name} {item.after}" if item.before is None else f"  {item.name} {item.before} -> {item.after}"
        for item in result.changes
    ]
    return [*lines, f"Added to {name} and its lock. Does it still compute? `envkit verify {name}` tells."]


def list_lines(environments: Sequence[Environment]) -> list[str]:
    """The table of environments."""
    if not environments:
        return ["There is no environment yet. `envkit specs` shows what `envkit create` can make."]
    rows = []
    for item in environments:
        state = item.state if item.state != "complete" else _verdict(item)
        build = item.build_cuda or ("cpu" if item.python else "?")
        rows.append((item.name, item.python or "?", build, state, str(item.prefix)))
    return table(("NAME", "PYTHON", "CUDA", "STATE", "PREFIX"), rows)


def _verdict(environment: Environment) -> str:
    if environment.last_verify == "fail":
        return "verification failed"
    return f"verified {environment.verified_at}" if environment.verified_at else "not verified"


def info_lines(result: Info) -> list[str]:
    """All about one environment."""
    item = result.environment
    toolkit = f"CUDA {item.toolkit.version} in {item.toolkit.path}" if item.toolkit else "none"
    where = "conda prefix" if item.backend == "conda" else item.backend
    lines = [
        f"{item.name}  ({item.state if item.state != 'complete' else _verdict(item)})",
        *([f"  problem    {item.problem}"] if item.problem else []),
        f"  prefix     {item.prefix}",
        f"  made from  {item.spec}, {item.created_at}, by {item.engine} in a {where}",
        f"  Python     {item.python}",
        f"  build      {f'CUDA {item.build_cuda}' if item.build_cuda else 'CPU'}",
        f"  toolkit    {toolkit}",
        f"  guard      {_guard(item)}",
        f"  snapshots  {', '.join(snapshot.id for snapshot in result.snapshots) or 'none'}",
        f"  packages   {len(result.packages)}",
    ]
    equals = {"pip": "==", "conda": "="}
    return lines + [
        f"    {p.name}{equals[p.installer]}{p.version}" + (f"  from {p.source}" if p.source else "")
        for p in result.packages
    ]


def _guard(environment: Environment) -> str:
    if not environment.guard:
        return "none (--no-guard)" if environment.guard is False else "none"
    if environment.installer == "conda":
        return "pip and uv are kept out"
    keeps = "pip and uv keep the locked versions"
    return f"{keeps}, conda is kept out" if environment.backend == "conda" else keeps


def remove_lines(result: RemoveResult) -> list[str]:
    """What remove says at its end."""
    is_away, path = is_elsewhere(result.removed), shlex.quote(str(result.removed))
    if result.snapshots:
        word = path if is_away else result.removed.name
        count = "Its snapshot stays" if result.snapshots == 1 else f"Its {result.snapshots} snapshots stay"
        return [f"Removed {result.removed}. {count}: `envkit restore {word}` makes it again."]
    place = f" --prefix {path}" if is_away else f" --name {result.removed.name}" if result.has_own_name else ""
    again = ""
    if result.spec in shipped_names():
        again = f" `envkit create {result.spec}{place}` makes it again."
    elif result.spec:
        again = f" `envkit create FILE{place}`, with the file that it was made from, makes it again."
    return [f"Removed {result.removed}. It had no snapshot.{again}"]


def snapshots_lines(snapshots: Sequence[Snapshot]) -> list[str]:
    """The table of snapshots."""
    if not snapshots:
        return ["There is no snapshot yet; one is taken at each successful verify."]
    rows = [
        (item.id, item.driver_version or "no driver", item.torch_version or "?", ", ".join(item.gpus) or "no GPU")
        for item in snapshots
    ]
    return table(("SNAPSHOT", "DRIVER", "TORCH", "GPUS"), rows)


def snapshot_lines(snapshot: Snapshot) -> list[str]:
    """All about one snapshot."""
    lines = [
        f"{snapshot.environment['name']}@{snapshot.id}  taken {snapshot.taken_at}",
        f"  torch      {snapshot.torch_version or '?'}",
        f"  driver     {snapshot.driver_version or 'none'}",
        f"  GPUs       {', '.join(snapshot.gpus) or 'none'}",
    ]
    lines += [f"  {key:<10} {value}" for key, value in snapshot.host.items()]
    lines += [f"  file       {snapshot.path / name}" for name in sorted(snapshot.files)]
    return lines


def export_lines(result: Export) -> list[str]:
    """The exported text, or where it was written."""
    return result.text.splitlines() if result.path is None else [f"Wrote {result.path}."]
