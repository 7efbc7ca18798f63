"""Virtual environments of every kind, in every shell: their own scripts run the hooks."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace

import pytest

KINDS = ["venv", "virtualenv", "uv"]


@pytest.fixture(scope="module")
def templates(tmp_path_factory, make_venv):
    """One environment of each kind, made once; see ``managed``."""
    folder = tmp_path_factory.mktemp("venvs")
    made = {}

    def _get(kind):
        if kind not in made:
            made[kind] = make_venv(kind, folder / kind, None, attach=False)
        return made[kind]

    return _get


@pytest.fixture
def managed(tmp_path, templates):
    """A copy at its own place: the scripts name their folder, which is all that matters here."""
    from envkit.activation import attach_hooks, install_hooks  # noqa: PLC0415

    def _make(kind, name, toolkit, *, library_path=False, attach=True):
        source = templates(kind)
        prefix = tmp_path / name
        shutil.copytree(source, prefix, symlinks=True)
        for script in (prefix / "bin").glob("activate*"):
            script.write_bytes(script.read_bytes().replace(bytes(source), bytes(prefix)))
        install_hooks(prefix, slot="VENV", toolkit=toolkit, library_path=library_path)
        if attach:
            attach_hooks(prefix)
        return prefix

    return _make


def activate(shell, prefix):
    return shell.source(prefix / "bin" / shell.script)


def in_force(environment, toolkit, prefix):
    assert environment["CUDA_HOME"] == environment["CUDA_PATH"] == str(toolkit.path)
    path = environment["PATH"].split(":")
    assert path[:2] == [f"{toolkit.path}/bin", f"{prefix}/bin"]
    assert path.count(path[0]) == 1
    assert environment["VIRTUAL_ENV"] == str(prefix)


def without_prompt(environment):
    # The scripts leave these themselves: PS1 after a switch, PKG_CONFIG_PATH when the next one is not virtualenv's.
    return {name: value for name, value in environment.items() if name not in {"PS1", "PS2", "PS4"}}


@pytest.fixture
def plain_env(base_env):
    return {**base_env, "VIRTUAL_ENV_DISABLE_PROMPT": "1", "OSTYPE": "linux"}


@pytest.mark.parametrize("kind", KINDS)
def test_activate_twice_and_deactivate(shell, kind, managed, make_toolkit, start_session, plain_env):
    toolkit = make_toolkit("11.3")
    prefix = managed(kind, "A", toolkit)
    session = start_session(shell, plain_env)
    before = session.do("")
    in_force(session.do(activate(shell, prefix)), toolkit, prefix)
    in_force(session.do(activate(shell, prefix)), toolkit, prefix)
    session.do("nvcc > nvcc.out\n")
    assert "release 11.3" in (session.folder / "nvcc.out").read_text(encoding="utf-8")
    after = session.do("deactivate\n")
    after = {k: v for k, v in after.items() if k not in {"PKG_CONFIG_PATH", "_OLD_PKG_CONFIG_PATH"}}
    assert without_prompt(after) == without_prompt(before)
    assert session.stdout == ""
    assert session.stderr() == ""


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_switching_without_deactivate(shell, kind, other, managed, make_toolkit, start_session, plain_env):
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a, b = managed(kind, "A", old), managed(other, "B", new, library_path=True)
    session = start_session(shell, {**plain_env, "CUDA_PATH": "", "CUDA_HOME": "/opt/my cuda"})
    before = session.do("")
    in_force(session.do(activate(shell, a)), old, a)
    environment = session.do(activate(shell, b))
    in_force(environment, new, b)
    assert environment["LD_LIBRARY_PATH"] == f"{new.path}/lib64"
    environment = session.do(activate(shell, a))
    in_force(environment, old, a)
    assert "LD_LIBRARY_PATH" not in environment
    after = session.do("deactivate\n")
    assert {after[k] == before[k] for k in ("CUDA_HOME", "CUDA_PATH", "PATH")} == {True}
    assert not [name for name in after if "ENVKIT" in name or name.startswith(("VIRTUAL_ENV_P", "LD_"))]
    assert session.stdout == ""
    assert session.stderr() == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bash", ("-eu", "-o", "pipefail")),
        ("bash", ("-f", "-O", "failglob")),
        ("bash", ("-O", "nullglob", "-O", "nocasematch")),
        ("dash", ("-e",)),
        ("dash", ("-f",)),
        ("zsh", ("-eu",)),
        ("zsh", ("-o", "no_glob", "-o", "warn_create_global")),
        ("zsh", ("-o", "ksh_arrays", "-o", "sh_word_split", "-o", "rc_quotes")),
        ("zsh", ("-o", "no_bare_glob_qual", "-o", "ignore_braces")),
    ],
    ids=" ".join,
)
def test_options_of_the_shell(name, options, kind, shell_named, managed, make_toolkit, plain_env, tmp_path):
    shell = shell_named(name)
    toolkit = make_toolkit("11.3")
    prefix = managed(kind, "A", toolkit)
    (prefix / "etc/conda/deactivate.d/envkit-zz.sh").write_text('export ORDER="${ORDER-}zz"\n')
    (prefix / "etc/conda/activate.d/envkit-zz.sh").write_text('export ORDER="${CUDA_HOME}"\n')
    show = 'echo "$-"\n'
    text = f"{show}{activate(shell, prefix)}DUMP\n{show}deactivate\nDUMP\n{show}"
    done = shell.run(text, plain_env, tmp_path / "run", options)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(done.stdout.splitlines())) == 1  # the options are what they were
    in_force(done.dumps[0], toolkit, prefix)
    assert done.dumps[0]["ORDER"] == str(toolkit.path)
    assert done.dumps[1]["ORDER"] == f"{toolkit.path}zz"
    assert "CUDA_HOME" not in done.dumps[1]


def test_every_file_runs_in_order_and_back_in_reverse(shell, managed, start_session, plain_env):
    prefix = managed("uv", "A", None)
    for direction in ("activate", "deactivate"):
        folder = prefix / "etc" / "conda" / f"{direction}.d"
        folder.mkdir(parents=True)
        for word in ("b", "a b", "c"):
            line = {
                "fish": f'set -gx SEEN "$SEEN/{word}"',
                "csh": f'if (! $?SEEN) setenv SEEN ""\nsetenv SEEN "${{SEEN}}/{word}"',
            }.get(shell.extension, f'export SEEN="${{SEEN-}}/{word}"')
            (folder / f"{word}.{shell.extension}").write_text(line + "\n")
            (folder / f"{word}.txt").write_text("echo never\n")
    session = start_session(shell, plain_env)
    assert session.do(activate(shell, prefix))["SEEN"] == "/a b/b/c"
    assert session.do("deactivate\n")["SEEN"] == "/a b/b/c/c/b/a b"
    assert (session.stdout, session.stderr()) == ("", "")


@pytest.mark.parametrize("state", ["no folders", "empty folders", "folders gone while active"])
def test_missing_hooks_are_harmless(shell, state, managed, make_toolkit, start_session, plain_env):
    prefix = managed("uv", "A", make_toolkit("11.3") if "gone" in state else None)
    if state == "empty folders":
        (prefix / "etc/conda/activate.d").mkdir(parents=True)
        (prefix / "etc/conda/deactivate.d").mkdir(parents=True)
    session = start_session(shell, plain_env)
    before = session.do("")
    assert session.do(activate(shell, prefix))["VIRTUAL_ENV"] == str(prefix)
    shutil.rmtree(prefix / "etc", ignore_errors=True)
    after = session.do("deactivate\n")
    assert after["PATH"] == before["PATH"]
    assert (session.stdout, session.stderr()) == ("", "")


def test_an_environment_entered_in_a_subshell_of_itself(shell, managed, make_toolkit, plain_env, tmp_path):
    toolkit = make_toolkit("11.3")
    prefix = managed("uv", "A", toolkit)
    inner = tmp_path / f"inner.{shell.extension}"
    text = activate(shell, prefix) + shell.dump(tmp_path / "in") + "deactivate\n" + shell.dump(tmp_path / "out")
    inner.write_text(text)
    command = " ".join(map(shell.quote, (*shell.argv, str(inner))))
    done = shell.run(f"{activate(shell, prefix)}{command}\n", plain_env, tmp_path / "run")
    assert done.stderr == ""
    inside = (tmp_path / "in").read_bytes().split(b"\0")
    assert f"CUDA_HOME={toolkit.path}".encode() in inside
    (path,) = (item for item in inside if item.startswith(b"PATH="))
    assert path.startswith(f"PATH={toolkit.path}/bin:{prefix}/bin:".encode())
    assert path.count(f"{toolkit.path}/bin".encode()) == 1
    assert b"ENVKIT" not in (tmp_path / "out").read_bytes()


ODD_NAMES = [
    "my tools",
    "it's",
    "a$HOME",
    "$(touch pwned)",
    "back`touch pwned`tick",
    "ünï",
    "中文",
    'a"b',
    "back\\slash",
]


# An older `python -m venv` (CVE-2024-9287) does not quote its folder, an older virtualenv not a backslash at its end, for
# fish; virtualenv is slow, so one name has all oddities.
@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("uv", name) for name in ODD_NAMES), ("virtualenv", "it's ünï 中文 a$HOME $(touch pwned) `touch pwned`\\ x")],
)
def test_odd_names(kind, name, every_shell, make_venv, make_toolkit, plain_env, tmp_path):
    toolkit = make_toolkit("11.3", parent=tmp_path / "tk" / name)
    prefix = make_venv(kind, tmp_path / "envs" / name, toolkit)
    for shell in every_shell:  # one environment for all: making it takes longer than using it
        done = shell.run(f"DUMP\n{activate(shell, prefix)}DUMP\ndeactivate\nDUMP\n", plain_env, tmp_path / shell.name)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), shell.name
        before, inside, after = done.dumps
        in_force(inside, toolkit, prefix)
        assert {after[k] == before[k] for k in ("PATH", "HOME")} == {True}
        assert "CUDA_HOME" not in after
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    ("name", "show"),
    [
        ("bash", "declare -p; declare -f"),
        ("zsh", "typeset -p; functions"),
        ("dash", "set"),
        ("fish", "set; functions -a"),
        ("tcsh", "set; env; alias"),
    ],
)
def test_no_variable_or_function_of_ours_is_left(name, show, shell_named, managed, make_toolkit, plain_env, tmp_path):
    shell = shell_named(name)
    prefix = managed("uv", "A", make_toolkit("11.3"))
    showing = {"fish": f"begin; {show}; end", "tcsh": f"( {show} )"}.get(name, f"{{ {show}; }}")
    text = f"{activate(shell, prefix)}{showing} > inside\ndeactivate\n{showing} > outside\n"
    done = shell.run(text, plain_env, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    inside, outside = ((tmp_path / "run" / file).read_text(errors="replace") for file in ("inside", "outside"))
    assert "_ENVKIT_VENV_TOOLKIT" in inside
    assert "_envkit" not in outside.lower()


def test_vanished_toolkit_names_the_repair(shell, managed, make_toolkit, plain_env, tmp_path):
    toolkit = make_toolkit("11.3")
    prefix = managed("uv", "A", toolkit)
    toolkit.path.rename(tmp_path / "gone")
    env = {**plain_env, "CUDA_HOME": "/opt/other"}
    done = shell.run(f"{activate(shell, prefix)}DUMP\ndeactivate\nDUMP\n", env, tmp_path / "run")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert str(toolkit.path) in line
    assert 'envkit hooks install "$VIRTUAL_ENV" --toolkit' in line
    assert [dump["CUDA_HOME"] for dump in done.dumps] == ["/opt/other"] * 2


@pytest.mark.parametrize("seed", range(5))
def test_random_sequences(shell, seed, managed, make_toolkit, start_session, plain_env):
    rng = random.Random(seed)  # noqa: S311
    toolkits = [make_toolkit("11.3"), make_toolkit("11.8")]
    envs = {managed(rng.choice(KINDS), f"v{number}", toolkit): toolkit for number, toolkit in enumerate(toolkits)}
    user = {"CUDA_HOME": rng.choice([None, "", "/opt/x y"]), "CUDA_PATH": rng.choice([None, "", str(toolkits[0].path)])}
    session = start_session(shell, {**plain_env, **{k: v for k, v in user.items() if v is not None}})
    before = session.do("")
    active = None
    for _ in range(8):
        if active and rng.random() < 0.4:
            environment, active = session.do("deactivate\n"), None
        else:
            active = rng.choice(list(envs))
            environment = session.do(activate(shell, active))
        if active:
            in_force(environment, envs[active], active)
        else:
            assert {k: environment.get(k) for k in user} == user
            assert environment["PATH"] == before["PATH"]
            assert not [name for name in environment if "ENVKIT" in name]
    assert (session.stdout, session.stderr()) == ("", "")


def test_dash_dash_unset_variables_with_venv_and_virtualenv(shell_named, managed, make_toolkit, plain_env, tmp_path):
    # uv's own script reads OSTYPE, which dash does not set: `dash -u` fails in it, with or without envkit.
    shell = replace(shell_named("dash"))
    for kind in ("venv", "virtualenv"):
        prefix = managed(kind, f"env-{kind}", make_toolkit(f"11.{len(kind)}"))
        env = {name: value for name, value in plain_env.items() if name != "OSTYPE"}
        done = shell.run(f"{activate(shell, prefix)}deactivate\nDUMP\n", env, tmp_path / "run", ("-eu",))
        assert (done.returncode, done.stderr) == (0, "")
        assert "CUDA_HOME" not in done.dumps[0]
