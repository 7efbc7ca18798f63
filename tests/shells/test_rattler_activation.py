"""py-rattler's own activator, as pixi and others use it: the same files, another order, no stack."""

from __future__ import annotations

import subprocess
import sys

import pytest

from envkit.activation import install_hooks
from envkit.activation.cleanup_hooks import install_cleanup_hooks
from tests.shells.conftest import get_shell
from tests.shells.test_conda_hooks import in_force

ASK = """
import sys
from pathlib import Path
from rattler.shell import ActivationVariables, PathModificationBehavior, Shell, activate
shell, prefix, current, path = sys.argv[1:]
replace = PathModificationBehavior.Replace  # by itself it writes the PATH it was given in front of $PATH
variables = ActivationVariables(Path(current) if current else None, path.split(":"), replace)
print(activate(Path(prefix), variables, getattr(Shell, shell)).script)
"""


class Rattler:
    """A shell that is told what py-rattler's activator says, which is asked anew at each step as conda would be."""

    def __init__(self, session):
        self.session, self.active, self.environment = session, None, session.do("")

    def activate(self, prefix):
        words = [self.session.shell.name, prefix, self.active or "", self.environment["PATH"]]
        done = subprocess.run(
            [sys.executable, "-c", ASK, *map(str, words)], capture_output=True, text=True, check=True, timeout=60
        )
        self.active = prefix
        self.environment = self.session.do(done.stdout)
        return self.environment


@pytest.fixture(params=["bash", "zsh", "fish"])
def rattler(request, start_session):
    return Rattler(start_session(get_shell(request.param)))


def test_switching_and_reactivating(rattler, make_prefix, make_toolkit):
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a, b = make_prefix("A", old), make_prefix("B", new)
    for prefix, toolkit, other in ((a, old, new), (a, old, new), (b, new, old), (a, old, new)):
        environment = rattler.activate(prefix)
        in_force(environment, toolkit)
        path = environment["PATH"].split(":")
        assert f"{other.path}/bin" not in path
        assert path.count(f"{prefix}/bin") == 1
    assert (rattler.session.stdout, rattler.session.stderr()) == ("", "")


def test_an_environment_that_switches_nothing(rattler, make_prefix, make_toolkit):
    a, plain, clean = make_prefix("A", make_toolkit("11.3")), make_prefix("plain"), make_prefix("clean")
    install_cleanup_hooks(clean)
    install_hooks(plain, slot="CONDA", toolkit=None)
    rattler.activate(a)
    for prefix in (plain, clean):
        environment = rattler.activate(prefix)
        assert not [name for name in environment if name.startswith("CUDA_")]
        assert not [entry for entry in environment["PATH"].split(":") if "/cuda-" in entry]
        rattler.activate(a)
    assert (rattler.session.stdout, rattler.session.stderr()) == ("", "")
