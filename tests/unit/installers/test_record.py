"""Reading RECORD files."""

from __future__ import annotations

import os

import pytest

from envkit.installers.installed import files_of
from envkit.installers.record import NO_RECORD, record_rows


@pytest.fixture
def info(tmp_path):
    folder = tmp_path / "lib" / "python3.9" / "site-packages" / "a-1.dist-info"
    folder.mkdir(parents=True)
    return folder


def test_names_are_read_as_csv_has_them(info, tmp_path):
    text = 'a/b.py,sha256=x,1\r\n"a/c ""d"", e.py",,\n../../../bin/tool,,\n\na/f.py\n'
    (info / "RECORD").write_text(text)
    assert list(record_rows(info / "RECORD")) == [
        ("a/b.py", "sha256=x", "1"),
        ('a/c "d", e.py', "", ""),
        ("../../../bin/tool", "", ""),
        ("a/f.py", "", ""),
    ]
    site = "lib/python3.9/site-packages"
    found = {path for path in files_of(info, tmp_path) if ".dist-info/" not in path}
    assert found == {f"{site}/a/b.py", f'{site}/a/c "d", e.py', "bin/tool", f"{site}/a/f.py"}


def test_what_is_no_record_is_said(info, tmp_path):
    assert files_of(info, tmp_path) == set()
    os.mkfifo(info / "RECORD")
    with pytest.raises(OSError, match="no regular file"):
        list(record_rows(info / "RECORD"))
    (info / "RECORD").unlink()
    (info / "RECORD").write_text("a.py,,\n" + "x" * 200_000)
    with pytest.raises(NO_RECORD):
        list(record_rows(info / "RECORD"))
    assert "lib/python3.9/site-packages/a.py" in files_of(info, tmp_path)
