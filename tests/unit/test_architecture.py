"""The shape of the code: which module may import which, how long things are, what is documented or never said."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "envkit"
IN_ENVIRONMENTS = PACKAGE / "probes" / "check_env.py"  # runs alone, in the environment's interpreter

LAYERS = (
    {"cli", "plugins", "__main__"},
    {"operations"},
    {"compat", "backends", "installers", "probes", "activation"},
    {"model", "process", "fs", "owner", "resources", "paths", "scratch", "settings"},
    {"errors"},
)
"""From top to bottom: a module may import its own layer and those below it."""

HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "deb.debian" + ".org", "npmjs" + ".org")
"""Registries' hosts, which any mirror may stand in for; put together so that this file does not hold them."""


def modules(folder: Path = PACKAGE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "_data" not in path.parts)


def layer_of(path: Path) -> int | None:
    """The number of a module's layer; None for the package's own ``__init__``, which everybody may import."""
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part == "__init__":
        return None
    return next(number for number, names in enumerate(LAYERS) if part in names)


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Line and full name of everything that a module imports, at any depth, TYPE_CHECKING too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def wrong_directions(path: Path, here: int) -> list[str]:
    wrong = []
    for line, name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "envkit" or len(parts) == 1 or parts[1].startswith("__"):
            continue
        there = next((number for number, names in enumerate(LAYERS) if parts[1] in names), None)
        if there is None:
            wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}, which has no layer")
        elif there < here:
            wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}, from a layer above")
    return wrong


def test_imports_point_one_way():
    wrong = []
    for path in modules():
        here = layer_of(path)
        wrong += [] if here is None else wrong_directions(path, here)
    assert wrong == []


def test_an_import_from_above_is_noticed(tmp_path, monkeypatch):
    module = tmp_path / "envkit" / "model" / "bad.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from envkit.operations.create import CreateResult\n"
        "def f():\n    import envkit.cli.main\n"
    )
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path / "envkit")
    assert [line.split(" imports ")[0] for line in wrong_directions(module, layer_of(module))] == [
        "envkit/model/bad.py:3",
        "envkit/model/bad.py:5",
    ]


@pytest.mark.parametrize("layer", sorted(set().union(*LAYERS)))
def test_layers_name_what_exists(layer):
    assert (PACKAGE / layer).is_dir() or (PACKAGE / f"{layer}.py").is_file()


def test_model_and_errors_do_no_io():
    io = {
        "subprocess",
        "shutil",
        "tempfile",
        "socket",
        "urllib.request",
        "http",
        "requests",
        "envkit.process",
        "envkit.fs",
    }
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in [*modules(PACKAGE / "model"), PACKAGE / "errors.py"]
        for line, name in imports_of(path)
        if any(name == module or name.startswith(f"{module}.") for module in io)
    ]
    assert wrong == []


def test_torch_is_imported_nowhere_but_in_the_environments():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules()
        if path != IN_ENVIRONMENTS
        for line, name in imports_of(path)
        if name.split(".")[0] in {"torch", "torchvision", "torchaudio", "numpy"}
    ]
    assert wrong == []


def test_the_plugin_for_conda_stands_alone():
    """It may live in an environment that has conda and nothing of envkit."""
    plugin = [PACKAGE / "plugins" / "conda.py", *modules(PACKAGE / "plugins" / "conda_work")]
    assert len(plugin) > 5
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in plugin
        for line, name in imports_of(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "conda"}
        and not name.startswith("envkit.plugins.conda_work")
    ]
    assert wrong == []


def test_conda_loads_nothing_of_the_plugin_but_markers():
    tree = ast.parse((PACKAGE / "plugins" / "conda.py").read_text(encoding="utf-8"))
    loaded = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert loaded == [
        "from __future__ import annotations",
        "from typing import TYPE_CHECKING, Any",
        "from conda.plugins import hookimpl",
    ]


def test_conda_is_imported_by_its_plugin_alone():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules()
        if not path.is_relative_to(PACKAGE / "plugins")
        for line, name in imports_of(path)
        if name.split(".")[0] == "conda"
    ]
    assert wrong == []


def starts_programs(tree: ast.Module) -> bool:
    starting = {
        "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput"},
        "os": {"system", "popen"},
    }
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in starting.get(node.value.id, ())
        and isinstance(node.ctx, ast.Load)
        for node in ast.walk(tree)
    )


def test_outside_programs_are_started_in_few_places():
    starters = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        if starts_programs(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert starters == {
        "process.py",
        "plugins/conda_work/command.py",  # stands alone, without process.py
        "operations/run.py",  # hands its standard streams and signals on to the child
        "probes/check_env.py",  # runs without envkit
        "probes/torch_runtime.py",  # reads the child's lines as they come, with a time limit for each layer
    }


def test_modules_have_at_most_300_lines():
    limits = {IN_ENVIRONMENTS: 400}
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    too_long = {
        str(path.relative_to(ROOT)): length for path, length in lengths.items() if length > limits.get(path, 300)
    }
    assert too_long == {}


def test_functions_have_at_most_40_lines():
    too_long = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                documented = ast.get_docstring(node, clean=False)
                length -= len(documented.splitlines()) if documented else 0
                if length > 40:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines")
    assert too_long == []


def public_things(tree: ast.Module) -> list[ast.AST]:
    """The module, its public classes and functions, and the public methods of public classes."""
    found: list[ast.AST] = [tree]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith("_"):
            found.append(node)
            members = node.body if isinstance(node, ast.ClassDef) else []
            found += [item for item in members if isinstance(item, kinds) and not item.name.startswith("_")]
    return found


def test_everything_public_has_a_docstring():
    missing = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)} {getattr(node, 'name', 'module')}"
        for path in modules()
        if path != IN_ENVIRONMENTS  # a script, of 400 lines at most: its functions are nobody's interface
        for node in public_things(ast.parse(path.read_text(encoding="utf-8")))
        if not ast.get_docstring(node)
    ]
    assert missing == []


def test_python_37_can_read_what_runs_in_environments():
    ast.parse(IN_ENVIRONMENTS.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_no_process_is_started_by_a_shell():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "shell"
    ]
    assert wrong == []


def project_files() -> list[Path]:
    """Files that git tracks or would track; outside a git checkout (an unpacked sdist) all there are."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0 and listed.stdout:
        return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not any(p.startswith(".") for p in path.parts)]


def test_no_registry_host_is_named():
    """Any mirror may serve what comes from PyPI, so no file names its host."""
    wrong = []
    for path in project_files():
        content = path.read_bytes().lower()
        wrong += [f"{path.relative_to(ROOT)} names {host}" for host in HOSTS if host.encode() in content]
    assert wrong == []


def test_nothing_points_outside_the_repository():
    said = ("/work" + "/", ".." + "/shared", "/root" + "/")
    wrong = []
    for path in project_files():
        content = path.read_bytes()
        wrong += [f"{path.relative_to(ROOT)} names {text}" for text in said if text.encode() in content]
    assert wrong == []
