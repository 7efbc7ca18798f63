"""Everything that makes up a shell, before, during and after: only the contract's variables differ, and only during."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import pytest

from tests.shells.states import PREPARED, changed_names, show, stable_lines

CONTRACT = re.compile(r"CUDA_HOME|CUDA_PATH|PATH|path|LD_LIBRARY_PATH|CC|CXX|CUDAHOSTCXX|_ENVKIT_CONDA_[A-Z_]+")
CASES = [(name, case) for name, rows in PREPARED.items() for case in rows]


def states(done, folder, names):
    """The recorded states, as sorted lines."""
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    texts = ((folder / name).read_text(encoding="utf-8", errors="replace") for name in names)
    return [Counter(stable_lines(text)) for text in texts]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name} {case}" for name, case in CASES])
def test_only_the_contracts_variables_differ(
    name, case, shell_named, make_prefix, make_toolkit, make_host_compiler, base_env, tmp_path
):
    """EK-C04: the options of the shell, and all else, are the same before and after."""
    shell, folder = shell_named(name), tmp_path / "run"
    prefix = make_prefix("A", make_toolkit("11.3"), library_path=True, host_compiler=make_host_compiler(10))
    on, off = (
        shell.source(prefix / "etc" / "conda" / f"{direction}.d" / f"envkit-cuda.{shell.extension}")
        for direction in ("activate", "deactivate")
    )
    options, prepare = PREPARED[name][case]
    names = ("before", "during", "twice", "after", "again")
    steps = ("", on, on, off, off)
    # once unobserved, so that what a shell makes on first use is there before
    text = prepare + on + off + show(shell, "unobserved")
    text += "".join(step + show(shell, file) for step, file in zip(steps, names, strict=True))
    done = shell.run(text, {**base_env, "LD_LIBRARY_PATH": ""}, folder, options)
    before, during, twice, after, again = states(done, folder, names)
    assert sum(before.values()) > 20
    assert after == before
    assert again == before
    assert twice == during
    changed = changed_names((before - during) + (during - before))
    assert [word for word in changed if not CONTRACT.fullmatch(word)] == []
    assert {"CUDA_HOME", "CUDA_PATH", "PATH", "CC", "_ENVKIT_CONDA_TOOLKIT"} <= changed
    assert not (folder / "errors").exists()  # the trap for errors has seen none


@pytest.mark.parametrize("name", PREPARED)
def test_a_difference_is_seen(name, shell_named, base_env, tmp_path):
    """What the comparison is worth: each part of the state, changed, shows in it."""
    shell, folder = shell_named(name), tmp_path / "run"
    changes = {
        "sh": [
            "IFS=-",
            "\\set -o noglob",
            "umask 077",
            "new=1",
            "alias newer=true",
            "newest () { :; }",
            "shift",
            "cd /",
        ],
        "fish": ["set unmade 1", "umask 077", "function unmade; end", "cd /", "abbr -a unmade x", "set -Ux unmade 2"],
        "csh": ["set noglob", "umask 077", "set unmade = 1", "alias unmade true", "cd /", "set argv = (1)"],
    }[shell.extension]
    options, prepare = PREPARED[name][next(iter(PREPARED[name]))]
    text = prepare + show(shell, "state0") + show(shell, "state1")
    for number, change in enumerate(changes, 2):
        text += f"{change}\n" + show(shell, folder / f"state{number}")
    env = {**base_env, "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = shell.run(text, env, folder, options)
    first, *rest = states(done, folder, [f"state{number}" for number in range(len(changes) + 2)])
    assert rest[0] == first
    for number, (one, two) in enumerate(itertools.pairwise(rest)):
        assert one != two, changes[number]
