from __future__ import annotations

import json
from typing import TYPE_CHECKING

from envkit.installers.conda_relocate import leave_conda, relocate

if TYPE_CHECKING:
    from pathlib import Path


def record(prefix: Path, **modes: str | None) -> None:
    """What conda keeps of a package with these files."""
    paths = [
        {"_path": name, **({"prefix_placeholder": "/opt/x", "file_mode": mode} if mode else {})}
        for name, mode in modes.items()
    ]
    (prefix / "conda-meta").mkdir(exist_ok=True)
    (prefix / "conda-meta" / "a-1-0.json").write_text(json.dumps({"paths_data": {"paths": paths}}))


def test_only_the_files_that_the_records_name_get_the_new_path(tmp_path):
    prefix = tmp_path / "staging" / "prefix"
    final = tmp_path / "cuda"
    prefix.mkdir(parents=True)
    old, new = str(prefix).encode(), str(final).encode()
    (prefix / "text").write_bytes(b"a=" + old + b"/lib\nb=" + old + b"\n")
    (prefix / "binary").write_bytes(b"\0" + old + b"/lib:" + old + b"\0rest")
    (prefix / "binary").chmod(0o755)
    (prefix / "other").write_bytes(old)
    record(prefix, text="text", binary="binary", other=None)
    relocate(prefix, final)
    assert (prefix / "text").read_bytes() == b"a=" + new + b"/lib\nb=" + new + b"\n"
    data = (prefix / "binary").read_bytes()
    assert len(data) == len(b"\0" + old + b"/lib:" + old + b"\0rest")
    assert data.startswith(b"\0" + new + b"/lib:" + new + b"\0")
    assert data.endswith(b"\0rest")
    assert (prefix / "binary").stat().st_mode & 0o777 == 0o755
    assert (prefix / "other").read_bytes() == old


def test_what_shares_the_bytes_keeps_them(tmp_path):
    prefix, notes = tmp_path / "prefix", tmp_path / "prefix" / ".envkit"
    notes.mkdir(parents=True)
    cached = tmp_path / "cached"
    cached.write_bytes(str(prefix).encode())
    for name in ("text", "plain"):
        (prefix / name).hardlink_to(cached)
    record(prefix, text="text", plain=None)
    relocate(prefix, tmp_path / "x")
    leave_conda(prefix, notes)
    assert cached.read_bytes() == str(prefix).encode()
    assert cached.stat().st_nlink == 1
    assert (prefix / "plain").read_bytes() == cached.read_bytes()
    assert (prefix / "text").read_bytes() == str(tmp_path / "x").encode()
    assert (notes / "conda-meta" / "a-1-0.json").is_file()
    assert not (prefix / "conda-meta").exists()
