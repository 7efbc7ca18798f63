"""The guard's hooks in real shells: UV_CONSTRAINT holds ours while active, and afterwards the user's state is back."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from envkit.activation import install_guard_hooks, quote_posix
from envkit.installers.guard import constraint_entry
from envkit.resources import hooks_dir
from tests.shells.conftest import read_dump
from tests.shells.test_strict_shells import CASES, IDS, start

USER = [None, "", "/opt/my.txt", "/opt/my.txt /opt/other.txt", " ", "/opt/a*b ~ $HOME"]
USER_IDS = ["unset", "empty", "one", "two", "blank", "odd"]


@pytest.fixture
def guarded(tmp_path):
    """Makes a prefix with the guard's hooks alone; gives its folder of hooks and what UV_CONSTRAINT gets."""

    def _make(name, slot="VENV", *, user_site_off=False):
        file = tmp_path / "envs" / name / ".envkit" / "constraints.txt"
        file.parent.mkdir(parents=True)
        file.touch()
        install_guard_hooks(
            file.parents[1], slot=slot, constraints=file, entry=constraint_entry(file), user_site_off=user_site_off
        )
        return file.parents[1] / "etc" / "conda", constraint_entry(file)

    return _make


def hook(made, direction, shell):
    return shell.source(made[0] / f"{direction}.d" / f"envkit-guard.{shell.extension}")


def with_user(base_env, value):
    return base_env if value is None else {**base_env, "UV_CONSTRAINT": value}


def joined(user, entry):
    return f"{user} {entry}" if user else entry


@pytest.mark.parametrize("user", USER, ids=USER_IDS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_three_states_under_options(name, options, user, shell_named, guarded, base_env, tmp_path):
    shell, options = start(shell_named(name), options)
    made = guarded("it's ünï $(touch pwned) A")
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    env = with_user(base_env, user)
    done = shell.run(f"DUMP\n{off}DUMP\n{on}DUMP\n{on}DUMP\n{off}DUMP\n{off}DUMP\n", env, tmp_path / "run", options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, alone, once, twice, after, again = done.dumps
    assert once == twice
    assert once["UV_CONSTRAINT"] == joined(user, made[1])
    assert made[1].startswith("file:///")
    assert " " not in made[1]
    assert alone == after == again == before
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("ifs", [",", ":/", "x", "", None], ids=["comma", "slash", "x", "empty", "unset"])
def test_any_ifs(posix_shell, ifs, guarded, base_env, tmp_path):
    made = guarded("A")
    on, off = hook(made, "activate", posix_shell), hook(made, "deactivate", posix_shell)
    change = "unset IFS\n" if ifs is None else f"IFS={posix_shell.quote(ifs)}\n"
    mine = posix_shell.export("UV_CONSTRAINT", f"/x/y.txt {made[1]} /z,x.txt")
    text = f"{change}DUMP\n{on}{on}DUMP\n{mine}{off}DUMP\n"
    done = posix_shell.run(text, {**base_env, "UV_CONSTRAINT": "/opt/x"}, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.dumps[1]["UV_CONSTRAINT"] == f"/opt/x {made[1]}"
    assert done.dumps[2] == {**done.dumps[0], "UV_CONSTRAINT": "/x/y.txt /z,x.txt"}


CHANGES = [
    ("{ours} /new.txt", "/new.txt"),
    ("/new.txt {ours}", "/new.txt"),
    ("/a.txt {ours} /b.txt", "/a.txt /b.txt"),
    ("/a.txt {ours} {ours} /b.txt", "/a.txt {ours} /b.txt"),
    ("{ours}", None),
    ("/elsewhere.txt", "/elsewhere.txt"),
    ("{ours}x", "{ours}x"),
    ("", ""),
    (None, None),
]


@pytest.mark.parametrize(("changed", "left"), CHANGES)
def test_what_the_user_changes_meanwhile_stays(shell, changed, left, guarded, base_env, tmp_path):
    made = guarded("A")
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    change = shell.unset("UV_CONSTRAINT")
    if changed is not None:
        change = shell.export("UV_CONSTRAINT", changed.format(ours=made[1]))
    done = shell.run(f"{on}{change}{off}DUMP\n", base_env, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    expected = None if left is None else left.format(ours=made[1])
    assert done.dumps[0].get("UV_CONSTRAINT") == expected
    assert not [name for name in done.dumps[0] if "ENVKIT" in name.upper()]


@pytest.mark.parametrize("user", USER[:4], ids=USER_IDS[:4])
def test_a_switch_leaves_the_new_one_alone(shell, user, guarded, base_env, tmp_path):
    a, b = guarded("A"), guarded("B")
    text = f"DUMP\n{hook(a, 'activate', shell)}{hook(b, 'activate', shell)}DUMP\n"
    text += f"{hook(a, 'activate', shell)}DUMP\n{hook(b, 'deactivate', shell)}DUMP\n"
    done = shell.run(text, with_user(base_env, user), tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, in_b, in_a, after = done.dumps
    assert in_b["UV_CONSTRAINT"] == joined(user, b[1])
    assert in_a["UV_CONSTRAINT"] == joined(user, a[1])
    assert after == before  # the slot, not the environment, says what is given back


def test_a_sub_shell_inherits_and_leaves(shell, guarded, base_env, tmp_path):
    made = guarded("A")
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    inner = tmp_path / f"inner.{shell.extension}"
    inner.write_text(on + shell.dump(tmp_path / "in") + off + shell.dump(tmp_path / "out"), encoding="utf-8")
    command = " ".join(map(shell.quote, (*shell.argv, str(inner))))
    env = {**base_env, "UV_CONSTRAINT": "/opt/my.txt"}
    done = shell.run(f"{on}{command}\nDUMP\n{off}DUMP\n", env, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    inside, outside = ((tmp_path / name).read_bytes().split(b"\0") for name in ("in", "out"))
    assert f"UV_CONSTRAINT=/opt/my.txt {made[1]}".encode() in inside
    assert b"UV_CONSTRAINT=/opt/my.txt" in outside
    assert done.dumps[0]["UV_CONSTRAINT"] == f"/opt/my.txt {made[1]}"
    assert done.dumps[1]["UV_CONSTRAINT"] == "/opt/my.txt"


def test_slots_do_not_disturb_each_other(shell, guarded, base_env, tmp_path):
    outer, inner = guarded("conda", "CONDA"), guarded("venv")
    text = f"DUMP\n{hook(outer, 'activate', shell)}{hook(inner, 'activate', shell)}DUMP\n"
    text += f"{hook(inner, 'deactivate', shell)}DUMP\n{hook(outer, 'deactivate', shell)}DUMP\n"
    done = shell.run(text, base_env, tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert [dump.get("UV_CONSTRAINT") for dump in done.dumps] == [None, f"{outer[1]} {inner[1]}", outer[1], None]
    assert done.dumps[3] == done.dumps[0]


def test_without_the_file_nothing_is_set(shell, guarded, base_env, tmp_path):
    made = guarded("A")
    (made[0].parents[1] / ".envkit" / "constraints.txt").unlink()
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    done = shell.run(f"DUMP\n{on}DUMP\n{off}DUMP\n", base_env, tmp_path / "run", ())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert done.dumps[0] == done.dumps[1] == done.dumps[2]


def test_a_universal_variable_of_fish_shows_again(shell_named, guarded, base_env, tmp_path):
    fish, made = shell_named("fish"), guarded("A")
    fish = replace(fish, argv=fish.argv[:1])  # with --no-config there are no universal variables
    on, off = hook(made, "activate", fish), hook(made, "deactivate", fish)
    text = f"set -Ux UV_CONSTRAINT /opt/my.txt\nDUMP\n{on}DUMP\n{off}DUMP\nset -qg UV_CONSTRAINT; and echo global\n"
    done = fish.run(text, base_env, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    assert [dump["UV_CONSTRAINT"] for dump in done.dumps] == ["/opt/my.txt", f"/opt/my.txt {made[1]}", "/opt/my.txt"]


SITES = [None, "", "1", "yes"]
SITE_IDS = ["unset", "empty", "same", "other"]


@pytest.mark.parametrize("user", SITES, ids=SITE_IDS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_the_user_site_is_off_while_active(name, options, user, shell_named, guarded, base_env, tmp_path):
    shell, options = start(shell_named(name), options)
    made = guarded("A", "CONDA", user_site_off=True)
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    env = base_env if user is None else {**base_env, "PYTHONNOUSERSITE": user}
    done = shell.run(f"DUMP\n{off}DUMP\n{on}DUMP\n{on}DUMP\n{off}DUMP\n{off}DUMP\n", env, tmp_path / "run", options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, alone, once, twice, after, again = done.dumps
    assert once == twice
    assert once["PYTHONNOUSERSITE"] == "1"
    assert once["UV_CONSTRAINT"] == made[1]
    assert before.get("PYTHONNOUSERSITE") == user
    assert alone == after == again == before


@pytest.mark.parametrize("changed", [None, "", "mine"], ids=["unset", "empty", "value"])
def test_a_user_site_that_is_set_meanwhile_stays(shell, changed, guarded, base_env, tmp_path):
    made = guarded("A", "CONDA", user_site_off=True)
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    change = shell.unset("PYTHONNOUSERSITE") if changed is None else shell.export("PYTHONNOUSERSITE", changed)
    done = shell.run(f"{on}{change}{off}DUMP\n", {**base_env, "PYTHONNOUSERSITE": "yes"}, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert done.dumps[0].get("PYTHONNOUSERSITE") == changed
    assert not [name for name in done.dumps[0] if "ENVKIT" in name.upper()]


@pytest.mark.parametrize("user", [None, ""], ids=["unset", "empty"])
def test_without_constraints_uv_is_left_alone(shell, user, tmp_path, base_env):
    prefix = tmp_path / "env"
    install_guard_hooks(prefix, slot="CONDA", constraints=None, user_site_off=True)
    made = (prefix / "etc" / "conda", "")
    on, off = hook(made, "activate", shell), hook(made, "deactivate", shell)
    env = with_user(base_env, user)
    done = shell.run(f"DUMP\n{on}DUMP\n{off}DUMP\n", env, tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, inside, after = done.dumps
    ours = {"PYTHONNOUSERSITE": "1", "_ENVKIT_CONDA_SITE": "1"}
    assert inside == {**before, **ours}
    assert after == before


def test_a_virtual_environment_leaves_the_user_site_alone(shell, guarded, base_env, tmp_path):
    done = shell.run(f"{hook(guarded('A'), 'activate', shell)}DUMP\n", base_env, tmp_path / "run")
    assert "PYTHONNOUSERSITE" not in done.dumps[0]


@pytest.mark.parametrize("extension", ["sh", "fish", "csh"])
def test_undo_is_the_same_text_in_both_directions(extension):
    texts = [(hooks_dir("guard") / f"{way}.{extension}").read_text() for way in ("activate", "deactivate")]
    one, two = (re.search(r"^# Undo .*?^# End of undo\.\n", text, re.DOTALL | re.MULTILINE)[0] for text in texts)
    assert one.replace("activate.", "") == two.replace("activate.", "")


@pytest.mark.parametrize("user", USER[:4], ids=USER_IDS[:4])
@pytest.mark.parametrize("direction", ["activate", "deactivate"])
def test_an_interrupt_between_any_two_commands_is_undone(direction, user, shell_named, guarded, base_env, tmp_path):
    bash, made = shell_named("bash"), guarded("A", "CONDA", user_site_off=True)
    on, off = (f". {quote_posix(str(made[0] / f'{way}.d' / 'envkit-guard.sh'))}" for way in ("activate", "deactivate"))
    # with extdebug a DEBUG trap that returns 2 ends the sourced file before the command at hand
    loop = f"""
step () {{
    [ "$((++count))" -gt "$last" ] || return 0
    trap - DEBUG
    return 2
}}
shopt -s extdebug
env -0 > before
for last in {{1..40}}; do
    {"" if direction == "activate" else on}
    count=0
    trap step DEBUG
    {on if direction == "activate" else off}
    trap - DEBUG
    {off}
    env -0 > "after$last"
    [ "$count" -gt "$last" ] || break  # the hook had run to its end
done
echo "$last"
"""
    folder = tmp_path / "run"
    env = {**with_user(base_env, user), **({} if user is None else {"PYTHONNOUSERSITE": user})}
    done = bash.run(loop, env, folder)
    assert done.stderr == ""
    steps = int(done.stdout)
    assert 5 < steps < 40
    before = read_dump(folder / "before")
    ours = ("UV_CONSTRAINT", "PYTHONNOUSERSITE", "ENVKIT")
    for number in range(1, steps + 1):
        after = read_dump(folder / f"after{number}")
        assert {name: value for name, value in after.items() if any(word in name for word in ours)} == {
            name: value for name, value in before.items() if name in {"UV_CONSTRAINT", "PYTHONNOUSERSITE"}
        }, number


@pytest.mark.parametrize("seed", range(4))
def test_random_sequences(shell, seed, guarded, base_env, start_session):
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    envs = [guarded(name) for name in ("A", "B b", "C")]
    user = rng.choice(USER)
    session = start_session(shell, with_user(base_env, user))
    active = None
    for _ in range(25):
        step = rng.random()
        if step < 0.5:
            old, active = active, rng.choice(envs)
            text = hook(old, "deactivate", shell) if old and rng.random() < 0.5 else ""
            found = session.do(text + hook(active, "activate", shell))
        elif step < 0.8 and active:
            found, active = session.do(hook(active, "deactivate", shell)), None
        elif not active:
            user = rng.choice(USER)
            found = session.do(shell.unset("UV_CONSTRAINT") if user is None else shell.export("UV_CONSTRAINT", user))
        else:
            found = session.do("")
        assert found.get("UV_CONSTRAINT") == (joined(user, active[1]) if active else user)
        assert bool([name for name in found if "ENVKIT" in name]) == bool(active)
    assert (session.stdout, session.stderr()) == ("", "")
