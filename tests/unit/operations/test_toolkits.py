from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from envkit.errors import InvalidFileError, NotFoundError, UsageError
from envkit.model.progress import Silent
from envkit.operations import toolkits
from envkit.operations.toolkits import add_toolkit, forget_toolkit, toolkit_for, toolkit_inside
from envkit.probes.added_toolkits import added_file, read_added
from tests.support.toolkit_folders import make_toolkit


class Notes(Silent):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture(autouse=True)
def _only_what_is_configured(tmp_path, monkeypatch):
    """Nothing of this machine: neither its roots nor PATH."""
    monkeypatch.setenv("PATH", "")
    found, searched = toolkits.find_toolkits, toolkits.search_toolkits
    monkeypatch.setattr(toolkits, "find_toolkits", lambda: found(roots=[tmp_path]))
    monkeypatch.setattr(toolkits, "search_toolkits", lambda prefixes: searched(None, [tmp_path], prefixes))


def test_nothing_is_switched_where_nothing_is_named():
    assert toolkit_for(None, None) is None
    assert toolkit_for("11.3", "none") is None


def test_what_the_lock_names_may_be_missing():
    assert toolkit_for("11.3", None) is None


@pytest.mark.parametrize("asked", ["11.3", "11.3.1"])
def test_a_version_is_looked_up(tmp_path, asked):
    folder = make_toolkit(tmp_path / "cuda-11.3")
    make_toolkit(tmp_path / "cuda-11.8", "11.8.0")
    assert toolkit_for("11.8", asked).path == folder
    assert toolkit_for(asked, None).path == folder


def test_another_update_is_not_what_was_asked_for(tmp_path):
    make_toolkit(tmp_path / "cuda-11.3", "11.3.0")
    with pytest.raises(NotFoundError, match=r"no CUDA toolkit 11\.3\.1 ") as caught:
        toolkit_for(None, "11.3.1")
    assert caught.value.why == f"Found: 11.3.0 in {tmp_path}/cuda-11.3."
    assert "`envkit cuda install 11.3.1`" in caught.value.hint


@pytest.mark.parametrize("asked", ["eleven", "11", "cu113"])
def test_a_word_that_is_no_version_is_told_how_one_looks(asked):
    with pytest.raises(NotFoundError) as caught:
        toolkit_for("11.3", asked)
    assert caught.value.why == "No toolkit was found."
    assert "11.3" in caught.value.hint
    assert caught.value.hint.endswith("Or give its folder.")


def test_a_folder_is_taken_as_it_is_named(tmp_path, monkeypatch):
    folder = make_toolkit(tmp_path / "store" / "my cuda")
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path / "store")
    assert toolkit_for(None, f"{tmp_path}/link/").path == tmp_path / "link"
    assert toolkit_for(None, "my cuda").path == folder
    os.chdir("/")


def test_what_looks_like_a_version_is_one_and_a_folder_of_that_name_has_a_point(tmp_path, monkeypatch):
    make_toolkit(tmp_path / "apps" / "11.3", "11.8.0")
    monkeypatch.chdir(tmp_path / "apps")
    with pytest.raises(NotFoundError):
        toolkit_for(None, "11.3")
    assert toolkit_for(None, "./11.3").version == "11.8.0"
    os.chdir("/")


def test_a_folder_without_a_toolkit_says_why(tmp_path):
    folder = make_toolkit(tmp_path / "x")
    with pytest.raises(NotFoundError) as caught:
        toolkit_for(None, f"{folder}/bin")
    assert caught.value.hint == f"The toolkit's folder is the one above: {folder}."
    with pytest.raises(NotFoundError) as caught:
        toolkit_for(None, f"{tmp_path}/gone")
    assert (caught.value.why, caught.value.hint) == (f"{tmp_path}/gone is not there.", None)
    with pytest.raises(UsageError, match="A path is empty"):
        toolkit_for(None, "")


def test_a_folder_without_bin_cannot_be_switched_to(tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3", nvcc=None)
    (folder / "bin").rmdir()
    with pytest.raises(NotFoundError, match="Activation cannot switch to") as caught:
        toolkit_for(None, str(folder))
    assert "no folder bin" in caught.value.why
    assert toolkit_for("11.3", None) is None


def test_one_that_path_cannot_hold_is_refused_by_its_folder_and_passed_over_by_its_release(tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3:old")
    with pytest.raises(UsageError, match="the PATH separator"):
        toolkit_for(None, str(folder))
    assert toolkit_for("11.3", None) is None
    good = make_toolkit(tmp_path / "cuda-11.3x")
    assert toolkit_for("11.3", None).path == good


def test_one_whose_name_is_no_text(tmp_path):
    """As of another encoding: refused by its folder, passed over by its release, and found all the same."""
    folder = make_toolkit(Path(os.fsdecode(os.fsencode(tmp_path) + b"/cuda-\xff")), "11.3.1")
    assert [item.path for item in toolkits.find_toolkits()] == [folder]
    assert toolkit_for("11.3", None) is None
    for refuse in (lambda: toolkit_for(None, str(folder)), lambda: add_toolkit(str(folder))):
        with pytest.raises(UsageError, match="not UTF-8"):
            refuse()


def test_a_partial_one_is_taken_last_and_told(tmp_path):
    partial = make_toolkit(tmp_path / "cuda-11.3", headers=False)
    progress = Notes()
    assert toolkit_for("11.3", None, progress).path == partial
    assert toolkit_for(None, str(partial), progress).path == partial
    assert progress.notes == [f"The CUDA toolkit in {partial} is a partial one: no headers."] * 2
    whole = make_toolkit(tmp_path / "cuda-11.3.0", "11.3.0")
    progress = Notes()
    assert toolkit_for("11.3", None, progress).path == whole
    assert progress.notes == []


@pytest.mark.parametrize("kind", ["conda", "site-packages", "active"])
def test_one_in_an_environment_is_taken_by_its_folder_alone(tmp_path, monkeypatch, kind):
    """It goes when that environment goes, and a conda prefix would bring its own Python to the front of PATH."""
    prefix = Path(os.environ["ENVKIT_HOME"]) / "envs" / "other"
    if kind == "site-packages":
        folder = make_toolkit(prefix / "lib" / "python3.11" / "site-packages" / "nvidia" / "cu13", "13.0.1")
        (prefix / "pyvenv.cfg").write_text("")
    else:
        folder = make_toolkit(prefix, "13.0.1")
        (prefix / "conda-meta").mkdir()
    if kind == "active":
        monkeypatch.setenv("CONDA_PREFIX", str(prefix))
        monkeypatch.setenv("PATH", f"{prefix}/bin")
        monkeypatch.setenv("CUDA_PATH", str(prefix))
    assert toolkit_for("13.0", None) is None
    with pytest.raises(NotFoundError) as caught:
        toolkit_for(None, "13.0")
    assert f"13.0.1 in {folder}" in caught.value.why
    assert "taken only when their folder is given" in caught.value.why
    assert toolkit_for(None, str(folder)).path == folder
    add_toolkit(str(folder))
    assert toolkit_for(None, "13.0").path == folder


def test_a_prefix_with_its_own_nvcc_is_its_own_toolkit(tmp_path):
    assert toolkit_inside(tmp_path) is None
    make_toolkit(tmp_path / "env")
    assert toolkit_inside(tmp_path / "env").found_via == "prefix"


def test_add_and_forget(tmp_path):
    one, two = make_toolkit(tmp_path / "a" / "x y"), make_toolkit(tmp_path / "b" / "été-11.8", "11.8.0")
    assert add_toolkit(f"{one}/../x y//").is_new
    assert not add_toolkit(str(one)).is_new
    assert add_toolkit(str(two)).to_json() == {
        "toolkit": {
            "version": "11.8.0",
            "release": "11.8",
            "path": str(two),
            "found_via": "added",
            "has_nvcc": True,
            "has_headers": True,
            "cudnn": None,
            "cudnn_missing": None,
            "environment": None,
        },
        "added": True,
    }
    assert read_added() == (one, two)
    assert oct(added_file().stat().st_mode & 0o777) == "0o644"
    assert toolkit_for(None, "11.8").found_via == "added"
    assert forget_toolkit(one)
    assert not forget_toolkit(one)
    assert read_added() == (two,)
    assert (one / "bin").is_dir()


def test_a_list_that_is_not_there_forgets_nothing(tmp_path):
    assert not forget_toolkit(tmp_path)
    assert not added_file().exists()


def test_many_adds_at_once_are_all_kept(tmp_path):
    folders = [make_toolkit(tmp_path / f"{number}" / "kit") for number in range(8)]
    threads = [threading.Thread(target=add_toolkit, args=(str(folder),)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_added()) == folders


@pytest.mark.parametrize("name", ["a:b", "a\nb", "a\x1b[2Jb", "a\udcffb", "a\u202eb"])
def test_names_that_path_or_the_list_cannot_hold_are_refused(tmp_path, name):
    folder = make_toolkit(tmp_path / name)
    with pytest.raises(UsageError):
        add_toolkit(str(folder))
    assert not added_file().exists()


def test_a_damaged_list_is_not_written_over(tmp_path):
    added_file().parent.mkdir(parents=True)
    added_file().write_text("toolkits: {")
    for change in (lambda: add_toolkit(str(make_toolkit(tmp_path / "x"))), lambda: forget_toolkit(tmp_path)):
        with pytest.raises(InvalidFileError):
            change()
    assert added_file().read_text() == "toolkits: {"
