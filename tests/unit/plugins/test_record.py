from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from envkit.plugins.conda_work.record import Managed, has_pip_torch, read_managed
from envkit.plugins.conda_work.rules import frozen_hint, torch_veto

NOBODY = 65534


def write(prefix: Path, content: object) -> Path:
    path = prefix / ".envkit" / "environment.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return prefix


@pytest.mark.parametrize("installer", ["pip", "conda"])
def test_a_record_is_read(tmp_path, installer):
    write(tmp_path, {"name": "torch112_cu113_py39", "installer": installer, "more": []})
    managed = read_managed(str(tmp_path))
    assert managed == Managed(str(tmp_path), name="torch112_cu113_py39", installer=installer)
    assert managed.lock == tmp_path / ".envkit" / "lock.yaml"


def test_other_places_are_none_of_envkits(tmp_path):
    (tmp_path / "file").write_text("")
    for prefix in (tmp_path, tmp_path / "gone", tmp_path / "file", tmp_path / ("x" * 300)):
        assert read_managed(str(prefix)) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": 1, "installer": "pip"}', "[" * 100_000])
def test_a_damaged_record_is_told(tmp_path, content):
    managed = read_managed(str(write(tmp_path, content)))
    assert managed == Managed(str(tmp_path), problem=f"{tmp_path}/.envkit/environment.json is damaged.")


def test_a_record_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / ".envkit" / "environment.json").mkdir(parents=True)
    managed = read_managed(str(tmp_path))
    assert managed is not None
    assert "cannot be read: Is a directory." in str(managed.problem)


@pytest.mark.parametrize(("closed", "seen"), [(".envkit/environment.json", True), (".envkit", True), (".", False)])
def test_closed_places(closed, seen):
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, whose parents are closed to others than root
        folder = Path(name)
        folder.chmod(0o755)
        prefix = write(folder / "p", {"name": "x", "installer": "pip"})
        (prefix / closed).chmod(0)
        before = os.geteuid()
        os.seteuid(NOBODY if before == 0 else before)  # root may read everything
        try:
            managed = read_managed(str(prefix))
        finally:
            os.seteuid(before)
            (prefix / closed).chmod(0o755)
    problem = f"{prefix}/.envkit/environment.json cannot be read: Permission denied."
    assert managed == (Managed(str(prefix), problem=problem) if seen else None)


def test_the_word_is_the_name_where_envkit_finds_it(tmp_path):
    prefix = tmp_path / "my envs" / "torch"
    managed = Managed(str(prefix), name="torch", installer="pip")
    assert managed.word([str(tmp_path / "gone")]) == f"'{prefix}'"
    prefix.mkdir(parents=True)
    assert managed.word([str(tmp_path / "gone"), str(prefix.parent)]) == "torch"
    assert Managed(str(prefix), name="other", installer="pip").word([str(prefix.parent)]) == f"'{prefix}'"


def with_torch(prefix: Path, place: str = "lib/python3.9/site-packages") -> Managed:
    info = prefix / place / "torch-1.12.1+cu113.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: torch\n")
    return Managed(str(prefix), name="mine", installer="pip")


@pytest.mark.parametrize("place", ["lib/python3.9/site-packages", "Lib/site-packages"])
def test_torch_by_pip_is_seen(tmp_path, place):
    prefix = tmp_path / "a [b]*"
    assert not has_pip_torch(str(prefix))
    with_torch(prefix, place)
    assert has_pip_torch(str(prefix))


@pytest.mark.parametrize("name", ["pytorch", "pytorch-cpu", "pytorch-gpu", "libtorch"])
def test_a_second_torch_is_vetoed(tmp_path, name):
    text = torch_veto(with_torch(tmp_path), "mine", ["numpy", name])
    assert text is not None
    assert text.startswith(f"{name} would be a second torch in mine.\n")
    assert "`envkit add mine PACKAGE`" in text
    assert "--no-plugins" in text


def test_what_is_no_second_torch_goes_on(tmp_path):
    managed = with_torch(tmp_path / "pip")
    assert torch_veto(managed, "mine", ["numpy", "pytorch-lightning", "torchvision"]) is None
    assert torch_veto(Managed(managed.prefix, name="mine", installer="conda"), "mine", ["pytorch"]) is None
    assert torch_veto(Managed(managed.prefix, problem="damaged"), "mine", ["pytorch"]) is None
    assert torch_veto(Managed(str(tmp_path / "none"), name="mine", installer="pip"), "mine", ["pytorch"]) is None


def test_the_hint_names_the_installer_and_the_command():
    text = frozen_hint(Managed("/p", name="mine", installer="pip"), "mine")
    assert text == (
        "mine belongs to envkit, and its packages come by pip alone: `envkit add mine PACKAGE` adds one and keeps what "
        "is locked."
    )
    assert "`envkit doctor /p`" in frozen_hint(Managed("/p", problem="damaged"), "/p")
