"""The contract's invariants under random sequences of what conda and a user do (docs/activation.md, "Invariants")."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from envkit.model.host_compiler import HostCompiler
    from envkit.model.toolkit import Toolkit

SEQUENCES, BLOCKS = {"tcsh": 60}, 3  # how many for a shell: 300 for any other; tcsh takes several times as long
CUDA, COMPILERS = ("CUDA_HOME", "CUDA_PATH"), ("CC", "CXX", "CUDAHOSTCXX")
VALUES = dict.fromkeys(CUDA, (None, "", "/opt/my cuda", "/opt/other"))
VALUES |= dict.fromkeys(COMPILERS, (None, "", "clang", "ccache gcc"))


@dataclass(frozen=True)
class Managed:
    """What an environment switches to; the toolkit is None for one that envkit did not make."""

    toolkit: Toolkit | None = None
    host: HostCompiler | None = None

    @property
    def words(self) -> dict[str, str]:
        """What it wants the compilers' variables to be."""
        return {} if self.host is None else {"CC": self.host.cc, "CXX": self.host.cxx, "CUDAHOSTCXX": self.host.cxx}


class Expected:
    """What the variables should be: the user's values, and what the environment in force makes of them."""

    def __init__(self, conda, envs, venvs, rng, path):
        self.conda, self.envs, self.venvs, self.rng, self.path = conda, envs, venvs, rng, path
        self.user = {name: conda.environment.get(name) for name in VALUES}
        self.folders = {managed.toolkit.path for managed in envs.values() if managed.toolkit}
        self.toolkit: Toolkit | None = None  # in force
        self.force: dict[str, str] = {}  # what that has set and the user has not changed since
        self.marked: set[str] = set()  # the compilers' variables that it has set, changed since or not
        self.edits = self.told = 0

    @property
    def values(self):
        return self.user | self.force

    def _enter(self, prefix):
        """What the hooks of ``prefix`` do; gives whether they have put a toolkit in force."""
        managed = self.envs[prefix]
        if managed.toolkit is None:
            return False
        self._leave(prefix)
        if not managed.toolkit.path.is_dir():
            self.told += 1
            return False
        self.toolkit = managed.toolkit
        self.marked = {name for name in managed.words if self.user[name] is None}
        self.force = dict.fromkeys(CUDA, str(managed.toolkit.path))
        self.force |= {name: managed.words[name] for name in self.marked}
        return True

    def _leave(self, prefix):
        if self.envs[prefix].toolkit is not None:
            self.toolkit, self.force, self.marked = None, {}, set()

    def step(self):
        """Do something at random; give whether an activation hook has just put a toolkit in force."""
        actions = [self._activate] * 5 + [self._edit_variable] * 3 + [self._stack] * 2
        actions += [self._edit_path, self._vanish_or_return, self._new_window, self._visit_a_venv]
        if self.conda.active:
            actions += [self.down] * 3 + [self._reactivate] * 2
        return self.rng.choice(actions)()

    def _activate(self, *, stack=False):
        prefix, active = self.rng.choice(list(self.envs)), self.conda.active
        if prefix == active:
            return self._reactivate()
        self.conda.activate(prefix, stack=stack)
        if active and not stack:
            self._leave(active)
        return self._enter(prefix)

    def _stack(self):
        return self._activate(stack=True)

    def _reactivate(self):
        self.conda.reactivate()
        self._leave(self.conda.active)
        return self._enter(self.conda.active)

    def down(self):
        self._leave(self.conda.active)
        self.conda.deactivate()
        return self.conda.active is not None and self._enter(self.conda.active)

    def _edit_variable(self):
        self.conda.edit(self._edit())
        return False

    def _edit(self):
        """While a toolkit is in force, what the user sets is his from now on: it stays when the environment is left."""
        name = self.rng.choice(list(VALUES))
        value = self.rng.choice(VALUES[name])
        self.user[name] = value
        self.force.pop(name, None)
        return set_to(self.conda.session.shell, name, value)

    def _edit_path(self):
        own = [entry for entry in self.path if entry.startswith("/opt/user")]
        if own and self.rng.random() < 0.4:
            gone = self.rng.choice(own)
            self.path.remove(gone)
            self.conda.edit(self.conda.export_path([entry for entry in self.conda.path() if entry != gone]))
        else:
            self.edits += 1
            self.path.insert(0, f"/opt/user{self.edits}/bin")
            self.conda.edit(self.conda.session.shell.prepend(self.path[0]))
        return False

    def _vanish_or_return(self):
        path = self.rng.choice(sorted(self.folders))
        aside = path.with_name(f"{path.name} aside")
        aside.rename(path) if aside.is_dir() else path.rename(aside)
        return False

    def _new_window(self):
        self.conda.move_to_a_new_window()
        return False

    def _visit_a_venv(self):
        """Enter a virtual environment, perhaps another one or the same after it; edit something in it; leave it."""
        shell, before, held = self.conda.session.shell, self.conda.environment["PATH"], self.values
        free = {name for name in COMPILERS if (name in self.force if name in self.marked else held[name] is None)}
        for _ in range(self.rng.choice([1, 1, 2])):
            venv, managed = self.rng.choice(list(self.venvs.items()))
            inside = self.conda.edit(shell.source(venv / "bin" / shell.script))
            expected = held | dict.fromkeys(CUDA, str(managed.toolkit.path))
            expected |= {name: word for name, word in managed.words.items() if name in free}
            assert {name: inside.get(name) for name in VALUES} == expected
            assert inside["PATH"] == f"{managed.toolkit.path}/bin:{venv}/bin:{before}"
        text = self._edit() if self.rng.random() < 0.5 else ""
        self.conda.edit(f"{text}deactivate\n")
        return False

    def check(self, *, activated):
        if self.rng.random() < 0.1:
            self.conda.environment = self.conda.session.do("")  # what is exported, not only what is set
        environment = self.conda.environment
        assert {name: environment.get(name) for name in VALUES} == self.values
        path = environment["PATH"].split(":")
        if activated:
            assert path[0] == f"{self.toolkit.path}/bin"
        toolkit_entries = {f"{folder}/bin" for folder in self.folders}
        ours = [entry for entry in path if entry in toolkit_entries]
        own = [entry for entry in self.path if entry in toolkit_entries]
        if self.conda.active is not None and self.envs[self.conda.active].toolkit is not None:
            assert sorted(ours) == sorted([*own, *([f"{self.toolkit.path}/bin"] if self.toolkit else [])])
        else:
            assert len(own) <= len(ours) <= len(own) + 1  # one may be stale until the next managed activation
        skip = toolkit_entries | {f"{prefix}/bin" for prefix in self.envs}
        assert [entry for entry in path if entry not in skip] == [entry for entry in self.path if entry not in skip]


def set_to(shell, name, value):
    return shell.unset(name) if value is None else shell.export(name, value)


def outside(environment):
    return {name: value for name, value in environment.items() if not name.startswith(("CONDA_", "PS"))}


def run_sequence(seed, conda, envs, venvs, front=()):
    """Prepare the shell, do some steps, leave everything; raises AssertionError where the contract does not hold.

    PATH begins with the entries ``front``.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    conda.watched = ("PATH", *VALUES)
    entries = sorted({f"{managed.toolkit.path}/bin" for managed in envs.values() if managed.toolkit})
    path = ["/usr/local/bin", "/usr/bin", "/bin", *rng.choices(entries, k=rng.choice([0, 0, 1, 2]))]
    rng.shuffle(path)
    path = [*front, *path]
    start = {name: rng.choice(values) for name, values in VALUES.items()}
    if rng.random() < 0.3:
        start |= {"CUDA_HOME": entries[0].removesuffix("/bin"), "CC": "gcc-10"}  # what is in force later
    conda.edit("".join(set_to(conda.session.shell, name, value) for name, value in start.items()))
    conda.edit(conda.export_path(path))
    before, said = outside(conda.session.do("")), conda.session.stderr()
    expected = Expected(conda, envs, venvs, rng, path)
    try:
        for _ in range(rng.randint(6, 12)):
            expected.check(activated=expected.step())
        while conda.history:
            expected.check(activated=expected.down())
    finally:
        for folder in expected.folders:
            if not folder.is_dir():
                folder.with_name(f"{folder.name} aside").rename(folder)
    conda.environment = conda.session.do("")
    users = {name: value for name, value in expected.user.items() if value is not None}
    unchanged = {name: value for name, value in before.items() if name not in VALUES}
    assert outside(conda.environment) == {**unchanged, **users, "PATH": ":".join(expected.path)}
    assert conda.session.stdout == ""
    lines = conda.session.stderr().removeprefix(said).splitlines()
    assert all(line.startswith("envkit: there is no CUDA toolkit /") for line in lines)
    assert len(lines) == expected.told


@pytest.fixture
def toolkits(make_toolkit):
    """Two that are found at their own place only, and one for virtual environments."""
    return [replace(make_toolkit(name), version=None, release=None) for name in ("11.3", "11.8", "12.4")]


@pytest.fixture
def envs(make_prefix, make_host_compiler, toolkits):
    first, second, _ = toolkits
    rows = {
        "A": Managed(first, make_host_compiler(10)),
        "B": Managed(second, make_host_compiler(11)),
        "C": Managed(first),
        "plain": Managed(),
    }
    return {make_prefix(name, row.toolkit, host_compiler=row.host): row for name, row in rows.items()}


@pytest.fixture
def venvs(make_venv, make_host_compiler, toolkits, tmp_path):
    rows = {"v": Managed(toolkits[2], make_host_compiler(9)), "w": Managed(toolkits[2])}
    return {make_venv("uv", tmp_path / name, row.toolkit, host_compiler=row.host): row for name, row in rows.items()}


@pytest.fixture
def base_env(base_env):
    return {**base_env, "VIRTUAL_ENV_DISABLE_PROMPT": "1", "OSTYPE": "linux"}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_sequences_keep_the_invariants(shell, block, start_conda, envs, venvs):
    """One shell for all sequences of a block: what one of them left behind would be seen in the next."""
    conda = start_conda(shell)
    for seed in range(block, SEQUENCES.get(shell.name, 300), BLOCKS):
        print(f"seed {seed}")  # noqa: T201 - shown when the sequence fails
        run_sequence(seed, conda, envs, venvs)


BROKEN = {
    "does not undo first": {
        "sh": {"activate": (r"(?s)# Undo \(.*# End of undo\.\n", "")},
        "fish": {"activate": (r"(?s)# Undo \(.*# End of undo\.\n", "")},
    },
    "puts a saved PATH back": {
        "sh": {
            "activate": (r'export (_ENVKIT_CONDA_)BIN="', r'export \1ALL="$PATH" \1BIN="'),
            "deactivate": (
                r"# End of undo\.\n",
                'if [ "${_ENVKIT_CONDA_ALL-}" ]; then export PATH="$_ENVKIT_CONDA_ALL"; unset _ENVKIT_CONDA_ALL; fi\n',
            ),
        },
        "fish": {
            "activate": (r"(?=set -gx _ENVKIT_CONDA_BIN)", "set -gx _ENVKIT_CONDA_ALL $PATH\n"),
            "deactivate": (
                r"# End of undo\.\n",
                "if set -q _ENVKIT_CONDA_ALL\nset -gx PATH $_ENVKIT_CONDA_ALL\nset -e _ENVKIT_CONDA_ALL\nend\n",
            ),
        },
    },
    "takes empty for unset": {
        "sh": {"activate": (r"\$\{CUDA_HOME\+x\}", "${CUDA_HOME-}")},
        "fish": {"activate": (r"set -qg CUDA_HOME\n", 'test -n "$CUDA_HOME"\n')},
    },
    "takes the user's compiler for unset": {
        "sh": {"activate": (r'"\$\{CC\+x\$\{CC\}\}"', '""')},
        "fish": {"activate": (r'set users "x\$CC"', "set users")},
    },
}
"""What to change in the hooks, by the extension of the file and its folder: a pattern, and what comes in its place."""


@pytest.mark.parametrize("mistake", BROKEN)
@pytest.mark.parametrize("name", ["bash", "dash", "zsh", "fish"])
def test_a_broken_hook_is_caught(name, mistake, shell_named, start_conda, envs, venvs):
    shell = shell_named(name)
    for direction, (pattern, text) in BROKEN[mistake][shell.extension].items():
        for prefix in envs:
            for hook in (prefix / "etc" / "conda" / f"{direction}.d").glob(f"envkit-cuda.{shell.extension}"):
                changed, count = re.subn(pattern, text, hook.read_text(encoding="utf-8"))
                assert count == 1
                hook.write_text(changed, encoding="utf-8")
    assert any(fails(seed, start_conda(shell), envs, venvs) for seed in range(20))


def fails(*arguments):
    try:
        run_sequence(*arguments)
    except AssertionError:
        return True
    return False
