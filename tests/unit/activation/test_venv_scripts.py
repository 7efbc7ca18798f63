from __future__ import annotations

import stat

import pytest

from envkit.activation import attach_hooks, attachment_states, detach_hooks
from envkit.errors import InvalidFileError, NotFoundError

POSIX = """# stdlib
deactivate () {
    unset VIRTUAL_ENV
}

# unset irrelevant variables
deactivate nondestructive

VIRTUAL_ENV=/x
"""
FISH = (
    "function deactivate  -d 'Exit'\n    set -e VIRTUAL_ENV\nend\n\ndeactivate nondestructive\nset -gx VIRTUAL_ENV /x\n"
)
SCRIPTS = ["activate", "activate.fish", "activate.csh"]
CSH = """# stdlib and uv
alias deactivate 'test $?_OLD != 0 && setenv PATH "$_OLD"; test "\\!:*" != "nondestructive" && unalias deactivate'

# Unset irrelevant variables.
deactivate nondestructive
setenv VIRTUAL_ENV /x
"""
CSH_OF_VIRTUALENV = """if ($?_OLD_VIRTUAL_PATH) source /x/bin/deactivate.csh
setenv VIRTUAL_ENV /x
alias deactivate 'source "$deactivate_script:q"'
rehash
"""


@pytest.fixture
def prefix(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "activate").write_text(POSIX)
    (tmp_path / "bin" / "activate.fish").write_text(FISH)
    (tmp_path / "bin" / "activate.csh").write_text(CSH)
    return tmp_path


def contents(prefix):
    return {path.name: path.read_text(encoding="utf-8") for path in (prefix / "bin").iterdir()}


def test_attach_puts_ours_at_both_places(prefix):
    assert [path.name for path in attach_hooks(prefix)] == SCRIPTS
    lines = contents(prefix)["activate"].splitlines()
    assert lines[lines.index("deactivate () {") + 1].strip() == "# >>> envkit deactivate hooks >>>"
    assert lines[-1] == "# <<< envkit activate hooks <<<"
    lines = contents(prefix)["activate.fish"].splitlines()
    assert lines[1].strip() == "# >>> envkit deactivate hooks >>>"
    assert lines[-1] == "# <<< envkit activate hooks <<<"
    lines = contents(prefix)["activate.csh"].splitlines()
    assert lines[1].startswith("alias deactivate ': envkit hooks; ")
    assert '/.envkit/deactivate.csh"; : end of envkit hooks; test $?_OLD != 0 && ' in lines[1]
    assert lines[-1] == "# <<< envkit activate hooks <<<"
    assert "deactivate.d" in (prefix / ".envkit" / "deactivate.csh").read_text(encoding="utf-8")


def test_a_file_that_the_alias_sources_gets_ours_at_its_start(prefix):
    (prefix / "bin" / "activate.csh").write_text(CSH_OF_VIRTUALENV)
    (prefix / "bin" / "deactivate.csh").write_text("unsetenv VIRTUAL_ENV\n")
    before = contents(prefix)
    assert [path.name for path in attach_hooks(prefix)] == SCRIPTS
    assert contents(prefix)["activate.csh"].startswith(CSH_OF_VIRTUALENV + "# >>> envkit activate hooks >>>\n")
    text = contents(prefix)["deactivate.csh"]
    assert text.startswith("# >>> envkit deactivate hooks >>>\n")
    assert text.endswith("# <<< envkit deactivate hooks <<<\nunsetenv VIRTUAL_ENV\n")
    attach_hooks(prefix)
    assert contents(prefix)["deactivate.csh"] == text
    assert [path.name for path in detach_hooks(prefix)] == SCRIPTS
    assert contents(prefix) == before


@pytest.mark.parametrize(
    "text",
    ["setenv VIRTUAL_ENV /x\n", CSH.replace("deactivate nondestructive", "true"), CSH_OF_VIRTUALENV, CSH + CSH],
    ids=["no alias", "never called", "no file beside it", "two aliases"],
)
def test_an_unknown_csh_script_is_refused_and_no_script_changed(prefix, text):
    (prefix / "bin" / "activate.csh").write_text(text)
    before = contents(prefix)
    with pytest.raises(InvalidFileError, match=r"activate\.csh"):
        attach_hooks(prefix)
    assert contents(prefix) == before


def test_attach_again_changes_nothing_and_detach_gives_the_original(prefix):
    before = contents(prefix)
    attach_hooks(prefix)
    once = contents(prefix)
    inode = (prefix / "bin" / "activate").stat().st_ino
    attach_hooks(prefix)
    assert contents(prefix) == once != before
    assert (prefix / "bin" / "activate").stat().st_ino == inode
    assert [path.name for path in detach_hooks(prefix)] == SCRIPTS
    assert contents(prefix) == before
    assert not (prefix / ".envkit").exists()
    assert detach_hooks(prefix) == ()


def test_an_older_text_of_ours_is_replaced(prefix):
    attach_hooks(prefix)
    wanted = contents(prefix)
    script = prefix / "bin" / "activate"
    script.write_text(script.read_text().replace("_envkit_source", "_older_name"))
    attach_hooks(prefix)
    assert contents(prefix) == wanted


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600])
def test_the_mode_stays(prefix, mode):
    (prefix / "bin" / "activate").chmod(mode)
    attach_hooks(prefix)
    assert stat.S_IMODE((prefix / "bin" / "activate").stat().st_mode) == mode


@pytest.mark.parametrize(
    "text",
    [
        "VIRTUAL_ENV=/x\n",
        POSIX.replace("deactivate nondestructive", "deactivate"),
        POSIX + POSIX,
        POSIX + "# >>> envkit activate hooks >>>\n",
    ],
    ids=["no function", "never called", "two functions", "marker without end"],
)
def test_an_unknown_shape_is_refused_and_no_script_changed(prefix, text):
    (prefix / "bin" / "activate").write_text(text)
    before = contents(prefix)
    with pytest.raises(InvalidFileError) as caught:
        attach_hooks(prefix)
    assert str(prefix / "bin" / "activate") in caught.value.message
    assert contents(prefix) == before


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_without_final_newline_gets_one_and_loses_it_again(prefix, script):
    file = prefix / "bin" / script
    file.write_text(file.read_text(encoding="utf-8").rstrip("\n"))
    before = contents(prefix)
    attach_hooks(prefix)
    once = contents(prefix)
    assert "/x\n# >>> envkit activate hooks (and the line break before) >>>\n" in once[script]
    attach_hooks(prefix)
    assert contents(prefix) == once
    detach_hooks(prefix)
    assert contents(prefix) == before


def test_a_script_that_is_a_link_stays_one(prefix):
    script = prefix / "bin" / "activate"
    script.rename(prefix / "real")
    script.symlink_to("../real")
    before = contents(prefix)
    attach_hooks(prefix)
    assert script.is_symlink()
    assert (prefix / "real").read_text(encoding="utf-8") != before["activate"]
    detach_hooks(prefix)
    assert contents(prefix) == before


def test_states_of_the_scripts(prefix):
    def states():
        return {item.file.name: item.state for item in attachment_states(prefix)}

    assert states() == dict.fromkeys(SCRIPTS, "missing")
    attach_hooks(prefix)
    assert states() == dict.fromkeys(SCRIPTS, "current")
    (prefix / ".envkit" / "deactivate.csh").unlink()
    (prefix / "bin" / "activate").write_text(POSIX)
    fish = prefix / "bin" / "activate.fish"
    fish.write_text(fish.read_text(encoding="utf-8").replace("builtin source", "source", 1))
    assert states() == {"activate": "missing", "activate.fish": "stale", "activate.csh": "stale"}
    attach_hooks(prefix)
    (prefix / "bin" / "activate").write_text(contents(prefix)["activate"].replace("nondestructive", "now"))
    assert states()["activate"] == "stale"


def test_one_shell_is_enough_and_none_is_told(prefix):
    (prefix / "bin" / "activate.fish").unlink()
    (prefix / "bin" / "activate.csh").unlink()
    assert [path.name for path in attach_hooks(prefix)] == ["activate"]
    (prefix / "bin" / "activate").unlink()
    with pytest.raises(NotFoundError, match="no activation script"):
        attach_hooks(prefix)
