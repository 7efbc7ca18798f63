"""The hooks under strict options, sourced alone and in any order, and what they leave behind: nothing."""

from __future__ import annotations

import pytest

from envkit.activation import quote_posix
from envkit.resources import hooks_dir

OPTIONS = {
    "bash": [
        ("-eu", "-o", "pipefail"),
        ("-eEufa",),
        ("--posix", "-eu"),
        ("-O", "nullglob", "-O", "nocasematch", "-O", "failglob"),
    ],
    "dash": [("-eu",), ("-euf",), ("-ea",)],
    "zsh": [
        ("-eu",),
        ("-o", "ksh_arrays", "-o", "sh_word_split", "-o", "glob_subst"),
        ("-o", "no_glob", "-o", "rc_quotes", "-o", "ignore_braces"),
        ("-o", "err_return", "-o", "all_export", "-o", "warn_create_global"),
        ("--emulate", "sh"),
        ("--emulate", "ksh"),
    ],
    "fish": [()],
    "tcsh": [(), ("-e",)],
}
CASES = [(name, options) for name, rows in OPTIONS.items() for options in rows]
IDS = [f"{name} {' '.join(options)}".strip() for name, options in CASES]


@pytest.fixture
def hooks(make_prefix, make_toolkit, make_host_compiler):
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit, host_compiler=make_host_compiler(10))
    return toolkit, prefix / "etc" / "conda"


def hook(hooks, direction, shell):
    return shell.source(hooks[1] / f"{direction}.d" / f"envkit-cuda.{shell.extension}")


def start(shell, options):
    # zsh takes --emulate only as its very first option
    from dataclasses import replace  # noqa: PLC0415

    if "--emulate" in options:
        return replace(shell, argv=(shell.argv[0], *options, *shell.argv[1:])), ()
    return shell, options


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_activate_and_deactivate_under_options(name, options, shell_named, hooks, base_env, tmp_path):
    """EK-C04 and, in dash, EK-C05; the options before and after: test_full_state.py."""
    shell, options = start(shell_named(name), options)
    on, off = hook(hooks, "activate", shell), hook(hooks, "deactivate", shell)
    done = shell.run(f"DUMP\n{on}DUMP\n{on}DUMP\n{off}DUMP\n", base_env, tmp_path / "run", options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, once, twice, after = done.dumps
    assert once == twice
    assert once["CUDA_HOME"] == once["CUDA_PATH"] == str(hooks[0].path)
    assert [once[variable] for variable in ("CC", "CXX", "CUDAHOSTCXX")] == ["gcc-10", "g++-10", "g++-10"]
    assert after == before


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_deactivate_alone_changes_nothing(name, options, shell_named, hooks, base_env, tmp_path):
    """EK-C04 and C05: deactivate alone, twice, and then a pair."""
    shell, options = start(shell_named(name), options)
    on, off = hook(hooks, "activate", shell), hook(hooks, "deactivate", shell)
    env = {**base_env, "CUDA_HOME": "/opt/mine", "PATH": f"{hooks[0].path}/bin:/usr/bin:/bin"}
    done = shell.run(f"DUMP\n{off}DUMP\n{off}DUMP\n{on}{off}DUMP\n", env, tmp_path / "run", options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert done.dumps[0] == done.dumps[1] == done.dumps[2] == done.dumps[3]


def test_the_status_of_each_sourced_file_is_0(shell, hooks, base_env, tmp_path):
    """EK-C04 and C09: also where what is to be undone does not exist."""
    on, off = hook(hooks, "activate", shell), hook(hooks, "deactivate", shell)
    status = "echo $status\n" if shell.extension in {"fish", "csh"} else "echo $?\n"
    text = "".join(f"{step}{status}" for step in (off, off, on, on, off, off))
    done = shell.run(text, base_env, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n" * 6, "")


@pytest.mark.parametrize("ifs", [",", ":/", "x", "", None], ids=["comma", "slash", "x", "empty", "unset"])
def test_any_ifs(posix_shell, ifs, hooks, base_env, tmp_path):
    on, off = hook(hooks, "activate", posix_shell), hook(hooks, "deactivate", posix_shell)
    change = "unset IFS\n" if ifs is None else f"IFS={posix_shell.quote(ifs)}\n"
    done = posix_shell.run(f"{change}DUMP\n{on}{on}DUMP\n{off}DUMP\n", base_env, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.dumps[1]["PATH"] == f"{hooks[0].path}/bin:{base_env['PATH']}"
    assert done.dumps[2] == done.dumps[0]


def test_vanished_toolkit_does_not_end_a_strict_shell(posix_shell, hooks, base_env, tmp_path):
    """EK-C07."""
    hooks[0].path.rename(tmp_path / "gone")
    on, off = hook(hooks, "activate", posix_shell), hook(hooks, "deactivate", posix_shell)
    # zsh ends any script whose printf cannot write, so only the others are tried with a stderr that fails
    fail = "" if posix_shell.name == "zsh" else f"exec 2>/dev/full\n{on}exec 2>&-\n{on}"
    text = f"DUMP\n{on}{off}DUMP\n{fail}echo alive\n"
    done = posix_shell.run(text, base_env, tmp_path / "run", ("-eu",))
    assert (done.returncode, done.stdout) == (0, "alive\n")
    assert done.stderr.count("\n") == 1
    assert done.dumps[0] == done.dumps[1]


def test_hooks_need_no_program_on_path(shell, hooks, base_env, tmp_path):
    on, off = hook(hooks, "activate", shell), hook(hooks, "deactivate", shell)
    env = {**base_env, "PATH": "/nonexistent"}
    done = shell.run(f"DUMP\n{on}DUMP\n{off}DUMP\n", env, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.dumps[1]["PATH"] == f"{hooks[0].path}/bin:/nonexistent"
    assert done.dumps[2] == done.dumps[0]


def test_a_subshell_can_deactivate(shell, hooks, base_env, tmp_path):
    on, off = hook(hooks, "activate", shell), hook(hooks, "deactivate", shell)
    inner = tmp_path / f"inner.{shell.extension}"
    inner.write_text(off + shell.dump(tmp_path / "inner-dump"))
    run_inner = " ".join(map(shell.quote, (*shell.argv, str(inner))))
    done = shell.run(f"DUMP\n{on}{run_inner}\n", base_env, tmp_path / "run")
    assert done.stderr == ""
    from_inner = (tmp_path / "inner-dump").read_bytes()
    assert b"CUDA_HOME" not in from_inner
    assert b"ENVKIT" not in from_inner
    assert f"PATH={base_env['PATH']}\0".encode() in from_inner


@pytest.mark.parametrize("direction", ["activate", "deactivate"])
@pytest.mark.parametrize("again", [False, True], ids=["left", "activated again and left"])
def test_an_interrupt_between_any_two_commands_is_undone(
    direction, again, shell_named, make_prefix, make_toolkit, make_host_compiler, tmp_path
):
    bash = shell_named("bash")
    toolkit = make_toolkit("11.3")
    etc = make_prefix("A", toolkit, library_path=True, host_compiler=make_host_compiler(10)) / "etc" / "conda"
    on, off = (f". {quote_posix(str(etc / f'{name}.d' / 'envkit-cuda.sh'))}" for name in ("activate", "deactivate"))
    prepare = "" if direction == "activate" else f"{on}\n"
    # with extdebug a DEBUG trap that returns 2 ends the sourced file before the command at hand
    loop = f"""
step () {{
    [ "$((++count))" -gt "$last" ] || return 0
    trap - DEBUG
    return 2
}}
shopt -s extdebug
env -0 > before
for last in {{1..99}}; do
    {prepare}
    count=0
    trap step DEBUG
    {on if direction == "activate" else off}
    trap - DEBUG
    {on if again else ""}
    {off}
    env -0 > "after$last"
    [ "$count" -gt "$last" ] || break  # the hook had run to its end
done
echo "$last"
"""
    entry = f"{toolkit.path}/bin"
    env = {"PATH": f"/usr/bin:{entry}:/bin", "CUDA_HOME": "/opt/mine", "LD_LIBRARY_PATH": f"{toolkit.path}/lib64:/x:"}
    done = bash.run(loop, env, tmp_path / "run")
    assert done.stderr == ""
    reached = int(done.stdout)
    assert 25 < reached < 99
    before = read_environment(tmp_path / "run" / "before")
    for last in range(1, reached + 1):
        assert read_environment(tmp_path / "run" / f"after{last}") == before, f"ended after {last} commands"


def read_environment(file):
    return {item for item in file.read_bytes().split(b"\0") if not item.startswith(b"_=")}


@pytest.mark.parametrize("extension", ["sh", "fish", "csh"])
def test_undo_is_the_same_in_both_hooks(extension):
    parts = []
    for direction in ("activate", "deactivate"):
        text = (hooks_dir("cuda") / f"{direction}.{extension}").read_text(encoding="utf-8")
        part = text[text.index("# Undo (") : text.index("# End of undo.")]
        parts.append(part)
    assert parts[0] == parts[1]
    assert len(parts[0].splitlines()) > 40


def test_status_of_a_wrapped_command_survives(posix_shell, hooks, base_env, tmp_path):
    on, off = hook(hooks, "activate", posix_shell), hook(hooks, "deactivate", posix_shell)
    done = posix_shell.run(f"{on}(exit 7)\nkept=$?\n{off}exit $kept\n", base_env, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
