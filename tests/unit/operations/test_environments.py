from __future__ import annotations

from pathlib import Path

import pytest

from envkit import paths
from envkit.operations import environments
from envkit.operations.environments import forget, nearest, register, registered_prefixes


@pytest.mark.parametrize("change", [register, forget])
def test_a_list_of_prefixes_that_cannot_be_read_is_not_written_over(monkeypatch, tmp_path, change):
    register(tmp_path / "first")
    before = (paths.data_home() / "prefixes.txt").read_bytes()

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(environments.Path, "read_bytes", refuse)
        with pytest.raises(PermissionError):
            change(tmp_path / "first" if change is forget else tmp_path / "second")
        assert registered_prefixes() == []
    assert (paths.data_home() / "prefixes.txt").read_bytes() == before


def test_one_folder_is_remembered_once_whatever_leads_to_it(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real")
    register(tmp_path / "real" / "env")
    register(tmp_path / "way" / "env")
    assert registered_prefixes() == [tmp_path / "real" / "env"]
    forget(tmp_path / "way" / "env")
    assert registered_prefixes() == []


def test_environments_in_envkits_own_folder_need_no_list():
    register(Path(paths.envs_dir() / "demo"))
    forget(Path(paths.envs_dir() / "demo"))
    assert not (paths.data_home() / "prefixes.txt").exists()


def test_a_hint_with_many_names_says_how_many_it_leaves_out():
    names = [f"env{number}" for number in range(14)]
    assert nearest("x", names[:12]).endswith("env10, env11.")
    assert nearest("x", names).endswith("env10, env11 and 2 more.")
