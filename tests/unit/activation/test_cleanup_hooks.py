from __future__ import annotations

import pytest

from envkit.activation.cleanup_hooks import install_cleanup_hooks, remove_cleanup_hooks
from envkit.resources import hooks_dir

FILES = [f"etc/conda/activate.d/envkit-cleanup.{end}" for end in ("csh", "fish", "ps1", "sh")]


def names(prefix):
    return sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob("*"))


@pytest.fixture
def prefix(tmp_path):
    (tmp_path / "env" / "bin").mkdir(parents=True)
    return tmp_path / "env"


def test_there_and_back(prefix):
    assert install_cleanup_hooks(prefix)
    assert [name for name in names(prefix) if name.count(".") == 2] == FILES
    assert not install_cleanup_hooks(prefix)
    (prefix / FILES[0]).unlink()
    assert install_cleanup_hooks(prefix)
    assert remove_cleanup_hooks(prefix)
    assert names(prefix) == ["bin"]
    assert not remove_cleanup_hooks(prefix)


def test_other_hooks_stay(tmp_path):
    other = tmp_path / "etc" / "conda" / "activate.d" / "nvcc.sh"
    other.parent.mkdir(parents=True)
    other.touch()
    install_cleanup_hooks(tmp_path)
    assert remove_cleanup_hooks(tmp_path)
    assert other.exists()


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    file = tmp_path / FILES[1]
    file.parent.mkdir(parents=True)
    file.write_text("echo mine\n")
    with pytest.raises(FileExistsError):
        install_cleanup_hooks(tmp_path)
    assert list(file.parent.iterdir()) == [file]
    assert not remove_cleanup_hooks(tmp_path)
    assert file.read_text() == "echo mine\n"


@pytest.mark.parametrize(
    ("extension", "start"), [("sh", "\n        *"), ("fish", "\n    begin"), ("csh", "\n    set ")]
)
def test_path_is_healed_by_the_text_of_undo(extension, start):
    """The same lines as in the hooks that switch, so that what is tried there is tried here."""
    text = (hooks_dir("cleanup") / f"activate.{extension}").read_text(encoding="utf-8")
    part = text[text.index(start) : text.index("_ENVKIT_@SLOT@_IN")].rsplit("\n", 3)[0]
    assert part.count("\n") > 8
    assert part in (hooks_dir("cuda") / f"activate.{extension}").read_text(encoding="utf-8")
