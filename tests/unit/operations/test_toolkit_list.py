from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.operations.toolkit_list import list_toolkits
from tests.support.toolkit_folders import make_toolkit


@pytest.fixture
def kits(tmp_path):
    """Two toolkits, 11.3 and 11.8, in a root whose ``cuda`` leads to the first."""
    root = tmp_path / "root"
    old, new = make_toolkit(root / "cuda-11.3"), make_toolkit(root / "cuda-11.8", "11.8.0")
    (root / "alternatives").symlink_to("cuda-11.3")
    (root / "cuda").symlink_to("alternatives")
    return root, old, new


def listed(environ, root, mark):
    return [item.toolkit.path for item in list_toolkits(environ, [root]).toolkits if getattr(item, mark)]


def test_the_default_is_what_the_link_leads_to(kits):
    root, old, new = kits
    assert [item.toolkit.path for item in list_toolkits({}, [root]).toolkits] == [new, old]
    assert listed({}, root, "is_default") == [old]
    (root / "cuda").unlink()
    assert listed({}, root, "is_default") == []
    assert list_toolkits({}, []).toolkits == ()


@pytest.mark.parametrize(
    ("environ", "active"),
    [
        ({}, None),
        ({"CUDA_HOME": "{root}/cuda-11.8/"}, "cuda-11.8"),
        ({"CUDA_HOME": "{root}/cuda"}, "cuda-11.3"),
        ({"CUDA_PATH": "{root}/cuda-11.8", "PATH": "{root}/cuda-11.3/bin"}, "cuda-11.8"),
        ({"CUDA_HOME": "", "PATH": "/nowhere:{root}/cuda-11.8/bin:{root}/cuda-11.3/bin"}, "cuda-11.8"),
        ({"CUDA_HOME": "{root}/cuda-11.3", "CUDA_PATH": "{root}/cuda-11.8"}, "cuda-11.3"),
        ({"CUDA_HOME": "/nowhere", "PATH": "{root}/cuda-11.8/bin"}, None),
    ],
    ids=["none", "CUDA_HOME", "a link", "CUDA_PATH before PATH", "PATH", "both differ", "leads nowhere"],
)
def test_the_active_one(kits, environ, active):
    root = kits[0]
    given = {name: value.format(root=root) for name, value in environ.items()}
    assert [path.name for path in listed(given, root, "is_active")] == ([active] if active else [])


def test_variables_that_differ_are_told(kits):
    root, old, new = kits
    environ = {"CUDA_HOME": str(old), "CUDA_PATH": str(new)}
    (note,) = list_toolkits(environ, [root]).notes
    assert note.message == f"CUDA_HOME is {old} and CUDA_PATH is {new}: some programs take the one, some the other."
    assert list_toolkits({"CUDA_HOME": str(old), "CUDA_PATH": f"{root}/cuda"}, [root]).notes == ()


def test_two_of_one_release_are_told_with_the_one_that_is_taken(kits):
    root, old, _ = kits
    other = make_toolkit(root / "cuda-11.3.0", "11.3.0")
    (note,) = list_toolkits({}, [root]).notes
    assert note.message == f"CUDA 11.3 is here 2 times: {old}, {other}. envkit takes {old} unless told."
    (old / "include" / "cuda.h").unlink()
    (note,) = list_toolkits({}, [root]).notes
    assert f"envkit takes {other} unless told." in note.message


def test_toolkits_in_environments_are_listed_and_double_nothing(kits):
    root, old, new = kits
    home = Path(os.environ["ENVKIT_HOME"])
    wheels = make_toolkit(home / "envs" / "a" / "lib" / "python3.12" / "site-packages" / "nvidia" / "cu13", "11.8.0")
    (home / "envs" / "a" / "pyvenv.cfg").write_text("")
    conda = make_toolkit(Path.home() / "conda-env", "11.3.0")
    (conda / "conda-meta").mkdir()
    (conda / "conda-meta" / "history").write_text("")
    (Path.home() / ".conda").mkdir()
    (Path.home() / ".conda" / "environments.txt").write_text(f"{conda}\n")
    elsewhere = make_toolkit(Path.home() / "venv" / "lib" / "python3.9" / "site-packages" / "nvidia" / "cu12", "12.9.0")
    (Path.home() / "venv" / "pyvenv.cfg").write_text("")
    (home / "prefixes.txt").write_text(f"{Path.home() / 'venv'}\n")
    result = list_toolkits({}, [root])
    assert [(item.toolkit.path, item.toolkit.environment) for item in result.toolkits] == [
        (elsewhere, Path.home() / "venv"),
        (new, None),
        (wheels, home / "envs" / "a"),
        (old, None),
        (conda, conda),
    ]
    assert result.notes == ()


def test_a_broken_condarc_leaves_the_environments_of_conda_out_and_is_told(kits):
    root = kits[0]
    (Path.home() / ".condarc").write_text("envs_dirs: [")
    result = list_toolkits({}, [root])
    assert len(result.toolkits) == 2
    (note,) = result.notes
    assert "Environments of conda are left out." in note.message
