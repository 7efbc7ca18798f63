"""cuDNN into a toolkit and out again. The toolkits are stubs, the archives small; how they are laid out is NVIDIA's."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from envkit.errors import (
    DownloadError,
    ExistsError,
    InstallerRuleError,
    InvalidFileError,
    NotFoundError,
    UnfitMachineError,
    UsageError,
)
from envkit.installers.cudnn_archive import unpack_cudnn
from envkit.installers.cudnn_layout import add_links, cuda_major_of, places, platform_of
from envkit.model.cudnn_manifest import parse_cudnn_manifest
from envkit.model.locked import LockedPackage
from envkit.model.progress import Silent
from envkit.operations import cudnn, cudnn_files, cudnn_plan
from envkit.operations.cudnn import put_cudnn, remove_cudnn
from envkit.probes.toolkits import toolkit_at
from tests.support.cudnn import cudnn_tar, cudnn_wheel_file, cudnn_zip, tar_member
from tests.support.index import serve_index
from tests.support.toolkits import stub_toolkit
from tests.support.wheels import file_hash

NEW = "cudnn-linux-x86_64-8.9.7.29_cuda11-archive"
HEAD = "schema: 1\nversion: '8.9.7'\nsource: x\nsha256: x\ninstalled_at: x\ncreated_by: x\nfiles:\n"
OLD = "cudnn-11.3-linux-x64-v8.2.1.32"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="archives for Linux")


@pytest.fixture(autouse=True)
def _linux_64(monkeypatch):
    monkeypatch.setattr(cudnn, "current_platform", lambda: "linux-64")


@pytest.fixture
def toolkit(tmp_path) -> Path:
    """CUDA 11.3 as NVIDIA's packages lay it out: include and lib64 are links into targets."""
    folder = stub_toolkit(tmp_path / "cuda 11.3", "11.3")
    target = folder / "targets" / "x86_64-linux"
    target.mkdir(parents=True)
    (folder / "include").rename(target / "include")
    (target / "lib").mkdir()
    (folder / "include").symlink_to("targets/x86_64-linux/include")
    (folder / "lib64").symlink_to("targets/x86_64-linux/lib")
    return folder


@pytest.fixture
def archive(tmp_path) -> Path:
    return cudnn_tar(tmp_path / f"{NEW}.tar.xz", "8.9.7", root=NEW)


@pytest.fixture
def older(tmp_path) -> Path:
    return cudnn_tar(tmp_path / f"{OLD}.tgz", "8.2.1", root="cuda", lib="lib64")


class Notes(Silent):
    def __init__(self):
        self.told = []

    def note(self, text):
        self.told.append(text)


def put(what, into, notes=None):
    return put_cudnn(str(what), str(into), notes or Silent())


def tree(folder):
    """Every file and link below a folder, and what it is."""
    found = {}
    for top, folders, names in os.walk(folder):
        for name in [*names, *folders]:
            path = Path(top, name)
            if path.is_symlink():
                found[str(path.relative_to(folder))] = f"-> {os.readlink(path)}"
            elif path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@pytest.mark.parametrize("form", ["new", "old", "wheel", "plain folders"])
def test_put_and_undo_leave_no_trace(tmp_path, toolkit, form):
    source, version = {
        "new": lambda: (cudnn_tar(tmp_path / f"{NEW}.tar.xz", "8.9.7", root=NEW), "8.9.7"),
        "old": lambda: (cudnn_tar(tmp_path / f"{OLD}.tgz", "8.2.1", root="./cuda", lib="lib64"), "8.2.1"),
        "wheel": lambda: (cudnn_wheel_file(tmp_path, "8.9.6", "11"), "8.9.6"),
        "plain folders": lambda: (cudnn_tar(tmp_path / "cudnn.tar.gz", "9.1.0", root="."), "9.1.0"),
    }[form]()
    before = tree(toolkit)
    result = put(source, toolkit)
    assert (result.version, result.what, result.kept) == (version, "put", ())
    major = version.partition(".")[0]
    assert (toolkit / "include" / "cudnn_version.h").read_text().startswith(f"#define CUDNN_MAJOR {major}")
    assert os.readlink(toolkit / "lib64" / "libcudnn.so") == f"libcudnn.so.{major}"
    assert (toolkit / "lib64" / "libcudnn_ops_infer.so").read_text() == f"libcudnn_ops_infer {version}"
    assert sorted(p.name for p in (toolkit / ".envkit").iterdir()) == ["cudnn.yaml"]
    assert set(tree(toolkit)) - set(before) - {".envkit/cudnn.yaml"} == {
        str(Path(os.path.realpath((toolkit / name).parent), Path(name).name).relative_to(os.path.realpath(toolkit)))
        for name in result.files
    }
    undone = remove_cudnn(str(toolkit), Silent())
    assert (undone.what, sorted(undone.files)) == ("removed", sorted(result.files))
    assert tree(toolkit) == before
    assert not (toolkit / ".envkit").exists()


def test_the_same_again_changes_nothing(toolkit, archive):
    put(archive, toolkit)
    before = tree(toolkit)
    again = put(archive, toolkit)
    assert again.what == "there"
    assert not again.to_json()["changed"]
    assert tree(toolkit) == before


def test_envkits_own_older_one_is_replaced_whole(toolkit, older, archive):
    put(older, toolkit)
    put(archive, toolkit)
    names = {path.name for path in (toolkit / "lib64").iterdir()}
    assert "libcudnn.so.8.9.7" in names
    assert "libcudnn.so.8.2.1" not in names
    remove_cudnn(str(toolkit), Silent())
    assert list((toolkit / "lib64").iterdir()) == []


def test_what_was_lost_of_it_is_put_again(toolkit, archive):
    put(archive, toolkit)
    (toolkit / "lib64" / "libcudnn.so").unlink()
    assert put(archive, toolkit).what == "put"
    assert (toolkit / "lib64" / "libcudnn.so").exists()


@pytest.mark.parametrize("name", ["include/cudnn.h", "lib64/libcudnn.so.8.9.7", "lib64/libcudnn.so"])
def test_another_cudnn_is_never_overwritten(toolkit, archive, name):
    (toolkit / name).symlink_to("nowhere") if name.endswith(".so") else (toolkit / name).write_text("mine")
    before = tree(toolkit)
    with pytest.raises(ExistsError) as caught:
        put(archive, toolkit)
    assert name in caught.value.why
    assert tree(toolkit) == before
    assert not (toolkit / ".envkit").exists()


def test_a_changed_file_of_its_own_is_not_replaced_and_stays_on_undo(toolkit, older, archive):
    put(older, toolkit)
    (toolkit / "include" / "cudnn.h").write_text("patched by hand")
    before = tree(toolkit)
    with pytest.raises(ExistsError) as caught:
        put(archive, toolkit)
    assert "include/cudnn.h" in caught.value.why
    assert tree(toolkit) == before
    undone = remove_cudnn(str(toolkit), Silent())
    assert undone.kept == ("include/cudnn.h",)
    assert (toolkit / "include" / "cudnn.h").read_text() == "patched by hand"
    assert [path.name for path in (toolkit / "lib64").iterdir()] == []


def test_undo_of_what_is_partly_gone(toolkit, archive):
    result = put(archive, toolkit)
    (toolkit / "include" / "cudnn.h").unlink()
    undone = remove_cudnn(str(toolkit), Silent())
    assert set(undone.files) == set(result.files) - {"include/cudnn.h"}
    with pytest.raises(NotFoundError):
        remove_cudnn(str(toolkit), Silent())


class Killed(BaseException):
    """Stands for a kill: nothing after it runs, not even what cleans up."""


def killed_at(number, action, monkeypatch):
    """Run ``action`` until right before its n-th rename; gives whether it came so far."""
    real, count = Path.rename, 0

    def rename(self, target):
        nonlocal count
        count += 1
        if count == number:
            raise Killed
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        try:
            action()
        except Killed:
            return True
    return False


@pytest.mark.parametrize("first", ["nothing", "an older one", "the same files of another archive"])
def test_a_kill_before_any_move_is_undone_by_the_next_run(tmp_path, toolkit, older, archive, monkeypatch, first):
    """Every other rename is the one that does not happen any more; then every third of those that undo it."""
    monkeypatch.setattr("envkit.fs.flush", lambda *_, **__: None)  # a kill is no loss of power, and it takes its time
    if first == "an older one":
        put(older, toolkit)
    elif first != "nothing":
        put(cudnn_tar(tmp_path / "again.tar.gz", "8.9.7", root="x"), toolkit)
    before = tree(toolkit)

    def without_cleaning_up():
        with monkeypatch.context() as patched:
            patched.setattr(cudnn_files, "recover", lambda _: False)
            patched.setattr(cudnn, "_remove_if_empty", lambda _: None)
            put(archive, toolkit)

    recover, kills = cudnn_files.recover, 0
    for number in range(1, 100, 2):
        was_killed = killed_at(number, without_cleaning_up, monkeypatch)
        if not was_killed:
            break
        second = 1
        while was_killed and killed_at(second, lambda: recover(toolkit), monkeypatch):
            kills += 1
            recover(toolkit)
            assert tree(toolkit) == before
            was_killed = killed_at(number, without_cleaning_up, monkeypatch)
            second += 3
        recover(toolkit)
        assert tree(toolkit) == before
        kills += 1
    assert kills > 5
    recover(toolkit)  # tidies up after the one that was in force
    assert sorted(path.name for path in (toolkit / ".envkit").iterdir()) == ["cudnn.yaml"]
    assert cudnn_files.read_manifest(toolkit).source == archive.name


def test_a_full_disk_leaves_everything_as_it_was(toolkit, older, archive, monkeypatch):
    put(older, toolkit)
    before = tree(toolkit)
    real = Path.rename

    def rename(self, target):
        if Path(target).name == "libcudnn_ops_infer.so" and "placed" in str(self):
            raise OSError(28, "No space left on device", str(target))
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        with pytest.raises(OSError, match="No space"):
            put(archive, toolkit)
    assert tree(toolkit) == before


def test_a_file_that_appears_meanwhile_is_not_overwritten(toolkit, archive, monkeypatch):
    real = cudnn_files.check_free

    def then_somebody_else(folder, *arguments):
        real(folder, *arguments)
        (folder / "lib64" / "libcudnn.so").write_text("somebody else's")

    monkeypatch.setattr(cudnn_files, "check_free", then_somebody_else)
    with pytest.raises(ExistsError):
        put(archive, toolkit)
    assert [path.name for path in (toolkit / "lib64").iterdir()] == ["libcudnn.so"]
    assert (toolkit / "lib64" / "libcudnn.so").read_text() == "somebody else's"


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (tar_member(f"{NEW}/../../evil", size=1), "outside of itself"),
        (tar_member("/etc/evil", size=1), "outside of itself"),
        (tar_member(f"{NEW}/lib/..", size=0), "outside of itself"),
        (tar_member("C:\\evil.dll", size=1), "outside of itself"),
        (tar_member(f"{NEW}/lib/libcudnn_x.so", tarfile.SYMTYPE, "/etc/passwd"), "no file beside it"),
        (tar_member(f"{NEW}/lib/libcudnn_x.so", tarfile.SYMTYPE, "../../x"), "no file beside it"),
        (tar_member(f"{NEW}/elsewhere", tarfile.SYMTYPE, "/"), "no file beside it"),
        (tar_member(f"{NEW}/lib/libcudnn_x.so", tarfile.LNKTYPE, f"{NEW}/LICENSE"), "neither a file"),
        (tar_member(f"{NEW}/lib/libcudnn_x.so", tarfile.CHRTYPE), "neither a file"),
        (tar_member(f"{NEW}/pipe", tarfile.FIFOTYPE), "neither a file"),
        (tar_member(f"{NEW}/lib/libcudnn.so.8.9.7", size=1), "twice"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_dangerous_archives_are_refused(tmp_path, toolkit, member, said):
    source = cudnn_tar(tmp_path / f"{NEW}.tar.xz", "8.9.7", root=NEW, extra=(member,))
    before = tree(tmp_path)
    with pytest.raises(InvalidFileError, match=said):
        put(source, toolkit)
    assert {name: data for name, data in tree(tmp_path).items() if not name.startswith(".own")} == {
        name: data for name, data in before.items() if not name.startswith(".own")
    }


def test_dangerous_zips_are_refused(tmp_path, toolkit):
    names = {"../evil": 0o100644, "root/lib/libcudnn.so": 0o120777, "root/device": 0o020644}
    for name, mode in names.items():
        source = tmp_path / "cudnn.zip"
        with zipfile.ZipFile(source, "w") as archive:
            item = zipfile.ZipInfo(name)
            item.external_attr = mode << 16
            archive.writestr(item, "/etc/passwd")
        with pytest.raises(InvalidFileError):
            put(source, toolkit)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("what", ["cut off", "no archive", "empty", "cut off zip", "encrypted"])
def test_broken_archives_are_refused(tmp_path, toolkit, archive, what):
    before = tree(toolkit)
    source = tmp_path / "broken.tar.xz"
    whole = archive.read_bytes()
    if what == "cut off zip":
        zipped = cudnn_wheel_file(tmp_path, "8.9.6", "11").read_bytes()
        source.write_bytes(zipped[:100] + b"\0" * 60 + zipped[160:])
    elif what == "encrypted":
        zipped = bytearray(cudnn_wheel_file(tmp_path, "8.9.6", "11").read_bytes())
        for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            start = -1
            while (start := zipped.find(mark, start + 1)) >= 0:
                zipped[start + place] |= 1
        source.write_bytes(zipped)
    else:
        source.write_bytes({"cut off": whole[: len(whole) // 2], "no archive": b"hello" * 99, "empty": b""}[what])
    with pytest.raises(InvalidFileError):
        put(source, toolkit)
    assert tree(toolkit) == before


def test_an_archive_without_cudnn(tmp_path, toolkit):
    source = make = tmp_path / "other.tar.gz"
    with tarfile.open(make, "w:gz") as archive:
        archive.addfile(tar_member("include/other.h"))
    with pytest.raises(InvalidFileError, match="no header tells"):
        put(source, toolkit)
    only_headers = cudnn_tar(tmp_path / "headers.tar.gz", "8.9.7", root="x", lib="elsewhere")
    with pytest.raises(InvalidFileError, match="no library"):
        put(only_headers, toolkit)


def test_another_cuda_is_refused(tmp_path, toolkit):
    source = cudnn_tar(tmp_path / "cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz", "8.9.7", root="x")
    with pytest.raises(InvalidFileError) as caught:
        put(source, toolkit)
    assert "is for CUDA 12, the toolkit is CUDA 11.3" in caught.value.message


def test_another_system_is_refused(tmp_path, toolkit):
    source = cudnn_zip(tmp_path / "cudnn-windows-x86_64-8.9.7.29_cuda11-archive.zip", "8.9.7", root="x")
    with pytest.raises(InvalidFileError, match="win-64"):
        put(source, toolkit)


def test_a_name_that_tells_nothing_is_taken_on_trust_and_said(tmp_path, toolkit):
    notes = Notes()
    put(cudnn_tar(tmp_path / "download.tar.xz", "8.9.7", root="x"), toolkit, notes)
    assert "make sure" in notes.told[0]


@pytest.mark.parametrize(
    ("name", "cuda", "system"),
    [
        ("cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz", "12", "linux-64"),
        ("cudnn-linux-x86_64-8.3.2.44_cuda11.5-archive.tar.xz", "11", "linux-64"),
        ("cudnn-linux-sbsa-9.1.0.70_cuda12-archive.tar.xz", "12", "linux-aarch64"),
        ("cudnn-windows-x86_64-8.9.7.29_cuda12-archive.zip", "12", "win-64"),
        ("cudnn-11.3-linux-x64-v8.2.1.32.tgz", "11", "linux-64"),
        ("cudnn-10.2-windows10-x64-v7.6.5.32.zip", "10", "win-64"),
        ("nvidia_cudnn_cu13-9.12.0.46-py3-none-manylinux_2_27_x86_64.whl", "13", "linux-64"),
        ("nvidia_cudnn_cu12-9.10.2.21-py3-none-win_amd64.whl", "12", "win-64"),
        ("download (1).tar.xz", None, None),
    ],
)
def test_what_an_archives_name_tells(name, cuda, system):
    assert (cuda_major_of(name), platform_of(name)) == (cuda, system)


@pytest.mark.parametrize("lib", ["lib/x64", "lib"])
def test_windows_has_dlls_in_bin_and_import_libraries_in_lib_x64(tmp_path, toolkit, lib):
    folder = tmp_path / "unpacked"
    unpack_cudnn(cudnn_zip(tmp_path / "cudnn.zip", "8.9.7", root="cudnn-windows", lib=lib), folder)
    found = {place.path for place in places(folder, toolkit_at(toolkit, "test"), "win-64")}
    assert found == {"include/cudnn.h", "include/cudnn_version.h", "bin/cudnn64_8.dll", "lib/x64/cudnn.lib"}


def test_a_toolkit_without_lib64_gets_it_into_lib(tmp_path, archive):
    folder = stub_toolkit(tmp_path / "cuda", "11.3")
    assert "lib/libcudnn.so" in put(archive, folder).files


def test_links_are_made_where_an_archive_has_none(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libcudnn.so.8.2.1").write_text("x")
    (tmp_path / "lib" / "libcudnn_static.a").write_text("x")
    add_links(tmp_path)
    assert os.readlink(tmp_path / "lib" / "libcudnn.so") == "libcudnn.so.8"
    assert os.readlink(tmp_path / "lib" / "libcudnn.so.8") == "libcudnn.so.8.2.1"


def test_a_folder_that_leads_out_of_the_toolkit_is_refused(tmp_path, archive):
    folder = stub_toolkit(tmp_path / "cuda", "11.3")
    (tmp_path / "system").mkdir()
    (folder / "lib64").symlink_to(tmp_path / "system")
    with pytest.raises(UnfitMachineError, match="leads out"):
        put(archive, folder)


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}- {{path: PATH, sha256: x}}\n",
        "[]",
        "schema: 1",
    ],
)
@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "bin/nvcc", "lib64/../include/cudnn.h", "include/cuda.h"]
)
def test_a_manifest_that_is_not_envkits_removes_nothing(toolkit, text, path):
    (toolkit / ".envkit").mkdir()
    (toolkit / ".envkit" / "cudnn.yaml").write_text(text.replace("PATH", path))
    before = tree(toolkit)
    with pytest.raises(InvalidFileError):
        remove_cudnn(str(toolkit), Silent())
    assert tree(toolkit) == before


def test_a_manifest_with_a_link_out_is_refused():
    with pytest.raises(InvalidFileError, match="no name of a library"):
        parse_cudnn_manifest(f"{HEAD}- {{path: lib64/libcudnn.so, link: ../../x}}\n", "cudnn.yaml")


def test_what_is_neither_version_nor_file(toolkit):
    with pytest.raises(NotFoundError):
        put("9.13", toolkit)
    with pytest.raises(NotFoundError):
        put("nowhere.tar.xz", toolkit)
    with pytest.raises(UsageError):
        put_cudnn("8.9.7", "none", Silent())


def test_a_version_that_no_wheel_holds(toolkit):
    with pytest.raises(NotFoundError) as caught:
        put("8.2.1", toolkit)
    assert "8.9.6" in caught.value.why
    assert "archive" in caught.value.hint


def test_a_toolkit_that_tells_no_version(tmp_path, monkeypatch):
    folder = stub_toolkit(tmp_path / "cuda", "11.3", version="exit 1")
    (folder / "include" / "cuda.h").write_text("")
    with pytest.raises(NotFoundError, match="not known"):
        put("8.9.6", folder)


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel on a loopback index, which stands for the one that the table names under 8.9.6."""
    folder = tmp_path / "index"
    made = cudnn_wheel_file(folder, "8.9.6", "11")
    row = LockedPackage("nvidia-cudnn-cu11", "8.9.6.1", made.name, file_hash(made), made.stat().st_size)
    monkeypatch.setattr(cudnn, "cudnn_wheel", lambda asked, major, platform: row if asked == "8.9.6" else None)
    with serve_index(folder) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
        yield index, made


def test_a_version_comes_as_a_wheel_of_the_index(toolkit, wheel):
    notes = Notes()
    result = put("8.9.6", toolkit, notes)
    assert result.version == "8.9.6"
    assert "usually used with cuDNN 8.2.0" in notes.told[0]
    assert os.readlink(toolkit / "lib64" / "libcudnn.so") == "libcudnn.so.8"
    assert not [path for path in result.files if path.endswith(".py")]
    assert (toolkit / "lib64" / "libcudnn.so.8").stat().st_nlink == 1  # shares nothing with uv's cache
    asked = len(wheel[0].requests)
    assert put("8.9.6", toolkit).what == "there"
    assert len(wheel[0].requests) == asked
    remove_cudnn(str(toolkit), Silent())


def test_a_wheel_with_other_bytes_is_refused(toolkit, wheel):
    before = tree(toolkit)
    index, made = wheel
    index.replace(made.name, made.read_bytes() + b"x")
    with pytest.raises(DownloadError):
        put("8.9.6", toolkit)
    assert tree(toolkit) == before


def test_the_plan_for_an_archive_does_what_envkit_would(tmp_path, toolkit, older, monkeypatch):
    """The commands are run, with a stub of sudo."""
    with monkeypatch.context() as patched:
        patched.setattr(cudnn_plan, "is_writable", lambda folders: False)
        before = tree(toolkit)
        result = put(older, toolkit)
        assert (result.what, result.version, result.files) == ("planned", "8.2.1", ())
        assert result.to_json()["done"] is False
        assert tree(toolkit) == before
    by_hand = _run_plan(tmp_path, result.plan, toolkit)
    put(older, remove_all(toolkit))
    assert {name: data for name, data in tree(toolkit).items() if ".envkit" not in name} == by_hand


def test_the_plan_for_a_wheel_file_makes_the_links(tmp_path, toolkit, monkeypatch):
    """The commands are run, with a stub of sudo."""
    source = cudnn_wheel_file(tmp_path, "8.9.6", "11")
    with monkeypatch.context() as patched:
        patched.setattr(cudnn_plan, "is_writable", lambda folders: False)
        result = put(source, toolkit)
    by_hand = _run_plan(tmp_path, result.plan, toolkit)
    put(source, remove_all(toolkit))
    assert {name: data for name, data in tree(toolkit).items() if ".envkit" not in name} == by_hand


def remove_all(toolkit):
    """Take out what a plan has put."""
    for path in [*(toolkit / "include").glob("cudnn*"), *(toolkit / "lib64").iterdir()]:
        path.unlink()
    return toolkit


def _run_plan(tmp_path, commands, toolkit):
    folder = tmp_path / "empty"
    folder.mkdir()
    (tmp_path / "stubs").mkdir()
    sudo = tmp_path / "stubs" / "sudo"
    sudo.write_text('#!/bin/sh\n# a stub of sudo\nexec "$@"\n')
    sudo.chmod(0o755)
    environ = {**os.environ, "PATH": f"{sudo.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-ec", "\n".join(commands)], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return tree(toolkit)


def test_the_plan_for_a_version_is_hash_checked(toolkit, monkeypatch):
    monkeypatch.setattr(cudnn_plan, "is_writable", lambda folders: False)
    result = put("8.9.6", toolkit)
    assert (result.what, result.version) == ("planned", "8.9.6")
    text = "\n".join(result.plan)
    assert "nvidia-cudnn-cu11==8.9.6.50" in text
    assert "sha256sum --check" in text
    assert subprocess.run(["sh", "-nc", text], check=False).returncode == 0


@pytest.mark.parametrize("name", ["lib64/libcudnn_ops.so.9", "include/cudnn_graph.h"])
def test_no_plan_where_any_cudnn_is(toolkit, archive, monkeypatch, name):
    """Of another version, with other files: `cp -n` would mix the two."""
    monkeypatch.setattr(cudnn_plan, "is_writable", lambda folders: False)
    (toolkit / name).write_text("")
    for what in ("8.9.6", archive):
        with pytest.raises(ExistsError, match=r"There is a cuDNN in .* already") as caught:
            put(what, toolkit)
        assert name in caught.value.why


@pytest.mark.parametrize("mark", ["conda-meta/frozen", "pyvenv.cfg"])
def test_a_toolkit_of_an_environment_is_refused(tmp_path, archive, mark):
    prefix = tmp_path / "env"
    folder = stub_toolkit(prefix / "nvidia" / "cu11" if mark == "pyvenv.cfg" else prefix, "11.3")
    (prefix / mark).parent.mkdir(exist_ok=True)
    (prefix / mark).write_text("")
    before = tree(prefix)
    with pytest.raises(InstallerRuleError, match="part of the environment") as caught:
        put(archive, folder)
    assert f"envkit add {prefix}" in caught.value.hint
    assert ("conda install" in caught.value.hint) is (mark != "pyvenv.cfg")
    assert tree(prefix) == before


def test_a_manifest_that_is_no_text(toolkit, archive):
    (toolkit / ".envkit").mkdir()
    (toolkit / ".envkit" / "cudnn.yaml").write_bytes(b"\xff")
    with pytest.raises(InvalidFileError, match="no text"):
        put(archive, toolkit)


def test_a_dangerous_archive_gets_no_plan(tmp_path, toolkit, monkeypatch):
    monkeypatch.setattr(cudnn_plan, "is_writable", lambda folders: False)
    source = cudnn_tar(tmp_path / f"{NEW}.tar.xz", "8.9.7", root=NEW, extra=(tar_member("/etc/evil"),))
    with pytest.raises(InvalidFileError):
        put(source, toolkit)


def test_folders_of_somebody_else_are_not_writable(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    assert cudnn_plan.is_writable([locked, locked / "not" / "there"])
    locked.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.setreuid(65534, 0)  # access(2) asks for the real user
    try:
        assert not cudnn_plan.is_writable([locked])
        assert not cudnn_plan.is_writable([locked / "not" / "there"])
    finally:
        if is_root:
            os.setreuid(0, 0)


@pytest.mark.parametrize(
    ("asked", "release", "why", "hint"),
    [
        ("8.9.6", "13.2", "PyPI has it for CUDA 11 and 12. Known on PyPI for CUDA 13: ", "Give one of these."),
        ("8.2.1", "12.1", "Known on PyPI for CUDA 12: ", "Give one of these."),
        ("8.2.1", "10.2", "Known on PyPI for CUDA 10: none.", "Download NVIDIA's archive"),
        ("9.99.0", "11.8", "Known on PyPI for CUDA 11: ", "Give one of these."),
        ("9.99", "13.2", "Known on PyPI for CUDA 13: 9.28.1, ", "three numbers"),
        ("9", "11.8", "Known on PyPI for CUDA 11: 9.10.2, ", "three numbers"),
        ("8", "13.2", "Known on PyPI for CUDA 13: 9.28.1, ", "three numbers"),
    ],
)
def test_only_what_there_may_be_is_advised(tmp_path, asked, release, why, hint):
    folder = stub_toolkit(tmp_path / "cuda", release)
    with pytest.raises(NotFoundError) as caught:
        put(asked, folder)
    assert caught.value.why.startswith(why)
    assert hint in caught.value.hint


def test_an_unpacked_folder_is_told_to_be_one(tmp_path, toolkit):
    (tmp_path / NEW).mkdir()
    with pytest.raises(UsageError, match="is a folder") as caught:
        put(tmp_path / NEW, toolkit)
    assert ".tar.xz" in caught.value.hint
