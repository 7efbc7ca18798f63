"""Files against RECORD: what is told, what is no false alarm, and what must not be followed or believed."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from pathlib import Path

import pytest

from envkit.installers.content import check_content, glance_at_content

SITE = "lib/python3.9/site-packages"


def digest(data: bytes, algorithm: str = "sha256") -> str:
    value = base64.urlsafe_b64encode(hashlib.new(algorithm, data).digest()).decode().rstrip("=")
    return f"{algorithm}={value}"


METADATA = f"one-1.0.dist-info/METADATA,{digest(b'M')},1\n"


def install(prefix: Path, name: str, files: dict[str, bytes], *, version: str = "1.0", record: str = "") -> Path:
    """Put a package there as an installer does; ``record`` is added to its RECORD. Gives its dist-info folder."""
    site = prefix / SITE
    lines = []
    for path, data in {**files, f"{name}-{version}.dist-info/METADATA": b"M"}.items():
        target = Path(os.path.normpath(site / path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        quoted = f'"{path}"' if "," in path or '"' in path else path
        lines.append(f"{quoted},{digest(data)},{len(data)}\n")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    lines.append(f"{info.name}/RECORD,,\n{info.name}/INSTALLER,,\n{name}/__pycache__/x.cpython-39.pyc,,\n")
    (info / "RECORD").write_text("".join(lines) + record, encoding="utf-8")
    return info


def kinds(prefix: Path) -> list[tuple[str, str]]:
    return [(item.path.removeprefix(f"{SITE}/"), item.kind) for item in check_content(prefix).findings]


def test_untouched_files_are_no_finding_whatever_they_are_called(tmp_path):
    install(
        tmp_path,
        "odd",
        {
            "odd/a b.py": b"1",
            "odd/a,b.py": b"2",
            "odd/ünï中.txt": b"3",
            "odd/..dots.py": b"4",
            "odd/empty": b"",
            "../../../bin/tool": b"#!python",
            "../../../share/odd/data": b"5",
        },
    )
    (tmp_path / SITE / "odd" / "not recorded.py").write_text("mine")
    report = check_content(tmp_path)
    assert report.findings == report.leftovers == report.duplicates == ()
    assert report.files_checked == 8
    assert report.bytes_checked == 14


def test_changed_missing_and_replaced_files_are_told_with_their_package(tmp_path):
    install(
        tmp_path, "one", {"one/flip.py": b"abc", "one/grow.py": b"abc", "one/gone.py": b"abc", "one/link.py": b"abc"}
    )
    install(tmp_path, "two", {"two/folder.py": b"abc", "two/pipe.py": b"abc", "two/fine.py": b"abc"})
    site = tmp_path / SITE
    (site / "one/flip.py").write_bytes(b"abd")
    (site / "one/grow.py").write_bytes(b"abcd")
    (site / "one/gone.py").unlink()
    (site / "one/link.py").unlink()
    (site / "one/link.py").symlink_to(tmp_path / SITE / "two/fine.py")
    (site / "two/folder.py").unlink()
    (site / "two/folder.py").mkdir()
    (site / "two/pipe.py").unlink()
    os.mkfifo(site / "two/pipe.py")

    assert kinds(tmp_path) == [
        ("one/flip.py", "changed"),
        ("one/gone.py", "missing"),
        ("one/grow.py", "changed"),
        ("one/link.py", "changed"),
        ("two/folder.py", "unreadable"),
        ("two/pipe.py", "unreadable"),
    ]
    found = {item.path.rpartition("/")[2]: item for item in check_content(tmp_path).findings}
    assert found["flip.py"].package == "one"
    assert (found["flip.py"].expected, found["flip.py"].found) == (digest(b"abc"), digest(b"abd"))
    assert (found["grow.py"].expected, found["grow.py"].found) == ("3 bytes", "4 bytes")
    assert str(found["gone.py"]) == f"{SITE}/one/gone.py of one (missing)"
    assert check_content(tmp_path).damaged_packages == ("one", "two")


def test_a_file_of_two_packages_is_fine_when_it_is_that_of_either(tmp_path):
    install(tmp_path, "one", {"tests/__init__.py": b"one"})
    install(tmp_path, "two", {"tests/__init__.py": b"second"})
    assert kinds(tmp_path) == []
    (tmp_path / SITE / "tests/__init__.py").write_bytes(b"one")
    assert kinds(tmp_path) == []
    (tmp_path / SITE / "tests/__init__.py").write_bytes(b"eno")
    assert kinds(tmp_path) == [("tests/__init__.py", "changed")]


@pytest.mark.parametrize("algorithm", ["sha384", "sha512"])
def test_longer_hashes_count_and_unknown_ones_do_not(tmp_path, algorithm):
    info = install(tmp_path, "one", {"one/a.py": b"abc"})
    (info / "RECORD").write_text(f"one/a.py,{digest(b'abc', algorithm)},3\none/b.py,md5=abc,3\n{METADATA}")
    assert kinds(tmp_path) == []
    (tmp_path / SITE / "one/a.py").write_bytes(b"abd")
    assert kinds(tmp_path) == [("one/a.py", "changed")]


@pytest.mark.parametrize(
    "path", ["../../../../secret", "/etc/passwd", "../../../../../../../../etc/passwd", "a/../../../../../x"]
)
def test_entries_that_leave_the_prefix_are_told_and_not_followed(tmp_path, path):
    (tmp_path / "secret").write_text("secret")
    prefix = tmp_path / "env"
    install(prefix, "evil", {"evil/a.py": b"a"}, record=f"{path},{digest(b'x')},1\n")
    report = check_content(prefix)
    assert [(item.path, item.kind, item.found) for item in report.findings] == [(path, "outside", None)]


def test_a_record_that_is_gone_or_nonsense_is_a_finding_and_no_traceback(tmp_path):
    good = install(tmp_path, "good", {"good/a.py": b"abc"})
    for name in ("gone", "huge", "field", "hash", "folder", "zero", "pipe", "empty"):
        install(tmp_path, name, {f"{name}/a.py": b"abc"})
    site = tmp_path / SITE
    (site / "gone-1.0.dist-info/RECORD").unlink()
    with (site / "huge-1.0.dist-info/RECORD").open("r+b") as file:
        file.truncate(65 << 20)
    (site / "field-1.0.dist-info/RECORD").write_text("x" * 200_000)
    (site / "hash-1.0.dist-info/RECORD").write_text("hash/a.py,sha256=,3\n")
    (site / "folder-1.0.dist-info/RECORD").unlink()
    (site / "folder-1.0.dist-info/RECORD").mkdir()
    (site / "zero-1.0.dist-info/RECORD").write_bytes(f"a\0b,{digest(b'x')},1\n".encode())
    (site / "pipe-1.0.dist-info/RECORD").unlink()
    os.mkfifo(site / "pipe-1.0.dist-info/RECORD")

    (site / "empty-1.0.dist-info/RECORD").write_text("")

    found = {item.package: item.kind for item in check_content(tmp_path).findings}
    for name in ("gone", "huge", "field", "hash", "folder", "pipe", "empty"):
        assert found.get(name) == "record", name
    assert found["zero"] in {"record", "outside"}  # Python 3.10's csv refuses the byte
    assert "good" not in found
    (good / "RECORD").write_text(
        f"good/a.py,{digest(b'abc')},999999999999999999999999999\n,,\n\ngood\n{METADATA.replace('one', 'good')}"
    )
    assert "good" not in {item.package for item in check_content(tmp_path).findings}


def test_names_that_are_no_utf_8_are_read_and_shown_with_escapes(tmp_path):
    info = install(tmp_path, "odd", {"odd/a.py": b"a"})
    name = os.fsdecode(b"odd/\xff.py")
    (tmp_path / SITE / name).write_bytes(b"abc")
    (info / "RECORD").write_bytes(os.fsencode(f"{name},{digest(b'abc')},3\n{METADATA.replace('one', 'odd')}"))
    assert kinds(tmp_path) == []
    (tmp_path / SITE / name).write_bytes(b"abd")
    (finding,) = check_content(tmp_path).findings
    assert finding.to_json()["path"] == f"{SITE}/odd/\\xff.py"


def test_leftovers_of_pip_and_uv_and_projects_that_are_there_twice(tmp_path):
    install(tmp_path, "torch", {"torch/a.py": b"a"})
    install(tmp_path, "torch", {"torch/b.py": b"b"}, version="2.0")
    site = tmp_path / SITE
    (site / "~orch").mkdir()
    (site / "~orch-0.9.dist-info").mkdir()
    for name in (".tmpIH1DF2", "torch/.tmp2CwgJp", "torch/.tmp-mine", "torch/.tmpIH1DF2.txt"):
        (site / name).write_bytes(b"")
    report = check_content(tmp_path)
    assert report.leftovers == (".tmpIH1DF2", "torch/.tmp2CwgJp", "~orch", "~orch-0.9.dist-info")
    assert report.duplicates == (("torch", ("torch-1.0.dist-info", "torch-2.0.dist-info")),)


def test_a_prefix_without_packages_and_one_with_a_file_for_a_folder(tmp_path):
    assert check_content(tmp_path).findings == ()
    (tmp_path / "lib/python3.9").mkdir(parents=True)
    (tmp_path / SITE).write_text("a file")
    (finding,) = check_content(tmp_path).findings
    assert finding.kind == "unreadable"


def test_a_glance_sees_sizes_missing_files_and_what_is_newer(tmp_path):
    install(tmp_path, "one", {"one/a.py": b"abc", "one/b.py": b"abc", "one/c.py": b"abc", "one/d.py": b"abc"})
    now, site = time.time(), tmp_path / SITE / "one"
    for name in "abcd":
        os.utime(site / f"{name}.py", (now - 100, now - 100))
    os.utime(site.parent / "one-1.0.dist-info/METADATA", (now - 100, now - 100))
    assert glance_at_content(tmp_path, now - 50).bytes_checked == 0
    (site / "a.py").write_bytes(b"abd")
    (site / "b.py").write_bytes(b"abcd")
    (site / "c.py").unlink()
    (site / "d.py").write_bytes(b"abd")
    os.utime(site / "b.py", (now - 100, now - 100))
    os.utime(site / "d.py", (now - 100, now - 100))
    found = [item.path.rpartition("/")[2] for item in glance_at_content(tmp_path, now - 50).findings]
    assert found == ["a.py", "b.py", "c.py"]  # d.py looks untouched; level full of verify reads it
    assert len(check_content(tmp_path).findings) == 4
