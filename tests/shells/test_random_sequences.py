"""The contract's invariants under random sequences of what conda and a user do (docs/activation.md, "Invariants")."""

from __future__ import annotations

import random

import pytest

SEQUENCES = 60
STEPS = 12


class Expected:
    """What the variables should be: the user's values, and the toolkit in force."""

    def __init__(self, conda, toolkits, rng):
        self.conda, self.toolkits, self.rng = conda, toolkits, rng
        self.user = {name: conda.environment.get(name) for name in ("CUDA_HOME", "CUDA_PATH")}
        self.path = conda.environment["PATH"].split(":")
        self.edited: set[str] = set()
        self.toolkit = None
        self.edits = 0

    def _left(self, prefix):
        if self.toolkits[prefix]:
            self._put_in_force(None)

    def _entered(self, prefix):
        if self.toolkits[prefix]:
            self._put_in_force(self.toolkits[prefix])

    def _put_in_force(self, toolkit):
        self.toolkit, self.edited = toolkit, set()

    def step(self):
        """Do something at random; give whether an activation hook of a managed environment has just run."""
        active = self.conda.active
        actions = ["activate", "activate", "stack", "edit variable", "edit path"]
        if active:
            actions += ["deactivate", "deactivate", "reactivate"]
        action = self.rng.choice(actions)
        prefix = self.rng.choice(list(self.toolkits))
        if action == "edit variable":
            return self._edit_variable()
        if action == "edit path":
            return self._edit_path()
        if action == "deactivate":
            return self._down()
        if action == "reactivate" or prefix == active:
            self.conda.reactivate()
            self._left(active)
            self._entered(active)
            return self.toolkits[active] is not None
        stack = action == "stack"
        self.conda.activate(prefix, stack=stack)
        if active and not stack:
            self._left(active)
        self._entered(prefix)
        return self.toolkits[prefix] is not None

    def _down(self):
        self._left(self.conda.active)
        self.conda.deactivate()
        below = self.conda.active
        if below:
            self._entered(below)
        return below is not None and self.toolkits[below] is not None

    def _edit_variable(self):
        name = self.rng.choice(["CUDA_HOME", "CUDA_PATH"])
        value = self.rng.choice([None, "", "/opt/my cuda", "/opt/other"])
        shell = self.conda.session.shell
        self.conda.edit(shell.unset(name) if value is None else shell.export(name, value))
        # While a toolkit is in force, what the user sets is his from now on: it stays when the environment is left.
        self.user[name] = value
        self.edited.add(name)
        return False

    def _edit_path(self):
        self.edits += 1
        entry = f"/opt/user{self.edits}/bin"
        self.path.insert(0, entry)
        self.conda.edit(self.conda.session.shell.prepend(entry))
        return False

    def check(self, *, activated):
        environment = self.conda.environment
        for name, value in self.user.items():
            in_force = self.toolkit is not None and name not in self.edited
            assert environment.get(name) == (str(self.toolkit.path) if in_force else value), name
        path = environment["PATH"].split(":")
        if activated:
            assert path[0] == f"{self.toolkit.path}/bin"
        toolkit_entries = {f"{toolkit.path}/bin" for toolkit in self.toolkits.values() if toolkit}
        ours = [entry for entry in path if entry in toolkit_entries]
        own = [entry for entry in self.path if entry in toolkit_entries]
        top_is_managed = self.conda.active is not None and self.toolkits[self.conda.active] is not None
        if top_is_managed:
            assert sorted(ours) == sorted([*own, f"{self.toolkit.path}/bin"])
        else:
            assert len(own) <= len(ours) <= len(own) + 1  # one may be stale until the next managed activation
        prefixes = {f"{prefix}/bin" for prefix in self.toolkits}
        skip = toolkit_entries | prefixes
        assert [entry for entry in path if entry not in skip] == [entry for entry in self.path if entry not in skip]


def run_sequence(seed, conda, toolkits, initial_path):
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    expected = Expected(conda, toolkits, rng)
    expected.path = list(initial_path)
    for _ in range(STEPS):
        expected.check(activated=expected.step())
    while conda.history:
        expected.check(activated=expected._down())
    environment = conda.environment
    assert environment["PATH"].split(":") == expected.path
    assert environment.get("CUDA_HOME") == expected.user["CUDA_HOME"]
    assert environment.get("CUDA_PATH") == expected.user["CUDA_PATH"]
    assert not [name for name in environment if "ENVKIT" in name.upper()]
    assert conda.session.stdout == ""
    assert conda.session.stderr() == ""


@pytest.fixture
def toolkits(make_prefix, make_toolkit):
    first, second = make_toolkit("11.3"), make_toolkit("11.8")
    rows = {"A": first, "B": second, "C": first, "plain": None}
    return {make_prefix(name, toolkit): toolkit for name, toolkit in rows.items()}


@pytest.mark.parametrize("block", range(3))
def test_random_sequences_keep_the_invariants(shell, block, start_conda, toolkits, base_env):
    entry = f"{next(iter(toolkits.values())).path}/bin"
    for seed in range(block * SEQUENCES // 3, (block + 1) * SEQUENCES // 3):
        rng = random.Random(-seed - 1)  # noqa: S311
        path = ["/usr/local/bin", "/usr/bin", "/bin", *[entry] * rng.choice([0, 0, 1, 2])]
        rng.shuffle(path)
        env = {**base_env, "PATH": ":".join(path)}
        for name in ("CUDA_HOME", "CUDA_PATH"):
            value = rng.choice([None, "", "/opt/my cuda", entry.removesuffix("/bin")])
            if value is not None:
                env[name] = value
        try:
            run_sequence(seed, start_conda(shell, env), toolkits, path)
        except AssertionError as error:
            error.add_note(f"seed {seed}") if hasattr(error, "add_note") else None
            raise
