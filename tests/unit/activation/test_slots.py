from __future__ import annotations

import pytest

from envkit.activation import slot_of
from envkit.errors import ExitCode, NotFoundError


@pytest.mark.parametrize(
    ("files", "slot"),
    [
        (["conda-meta/history"], "CONDA"),
        (["pyvenv.cfg"], "VENV"),
        (["pyvenv.cfg", "conda-meta/history"], "CONDA"),
        (["pyvenv.cfg", "conda-meta/python.json"], "VENV"),
    ],
)
def test_what_made_a_prefix_decides(tmp_path, files, slot):
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert slot_of(tmp_path) == slot


def test_a_folder_that_is_no_environment(tmp_path):
    (tmp_path / "conda-meta").mkdir()
    with pytest.raises(NotFoundError, match="is no environment") as caught:
        slot_of(tmp_path)
    assert caught.value.exit_code is ExitCode.NOT_FOUND
