"""Plans to install a toolkit: every release on every system, and that the commands are what shells and apt take."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from envkit.cli.cuda_plan_text import plan_lines
from envkit.compat.installers import newest_installer, repositories, versions_of
from envkit.compat.toolkit_releases import releases
from envkit.errors import NotFoundError, UnfitMachineError, UsageError
from envkit.operations.cuda_plan import plan

SYSTEMS = (*repositories(), "windows", "wsl", "linux", "conda", "fedora", "opensuse")
FORBIDDEN = re.compile(
    r"cuda-drivers|--driver|Display\.Driver|apt-key|\b(apt-get|dnf|yum|zypper)\b.*\binstall\b.*\scuda(-\d+)?(-\d+)?(\s|$)"
)
"""What brings a driver: its packages, the run file's option, the installer's component, the package without toolkit."""

HOST = "https://developer.download.nvidia.com/compute/cuda"
REPOS = f"{HOST}/repos"
SIGNED = "signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg"
TEE = "| sudo tee /etc/apt/sources.list.d/cuda-ubuntu2004-x86_64.list"
RUN = "cuda_11.3.1_465.19.01_linux.run"
RUN_SHA256 = "ad93ea98efced35855c58d3a0fc326377c60917cb3e8c017d3e6d88819bf2934"
ALONE = "--override-channels --strict-channel-priority"
RUN_OPTIONS = "--silent --toolkit --toolkitpath=/usr/local/cuda-11.3"

pytestmark = pytest.mark.usefixtures("x86_64")


@pytest.fixture
def x86_64(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


def commands_of(result):
    return [command for route in result.routes for command in route.commands]


def route(result, kind):
    return next(item for item in result.routes if item.kind == kind)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_plan_touches_the_driver(system):
    for release in releases():
        result = plan(release, system)
        assert [line for line in plan_lines(result) if FORBIDDEN.search(line)] == []
        for command in commands_of(result):
            assert "\n" not in command
        assert result.to_json()["release"] == release


def test_what_would_touch_the_driver_is_noticed():
    bad = ("apt-get install cuda", "dnf install -y cuda-11-3", "sh x.run --driver", "x.exe -s Display.Driver")
    assert [line for line in bad if not FORBIDDEN.search(line)] == []
    assert not FORBIDDEN.search("apt-get install cuda-toolkit-11-3")
    assert not FORBIDDEN.search("envkit cuda install 13.0")


@pytest.mark.parametrize("system", [system for system in SYSTEMS if system != "windows"])
def test_a_shell_can_read_every_plan(system, tmp_path):
    script = tmp_path / "plan.sh"
    script.write_text("\n".join(line for release in releases() for line in plan_lines(plan(release, system))))
    done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("system", "kind", "expected"),
    [
        (
            "ubuntu2004",
            "packages",
            [
                f"wget {REPOS}/ubuntu2004/x86_64/cuda-archive-keyring.gpg",
                "sudo install -m 644 cuda-archive-keyring.gpg /usr/share/keyrings/cuda-archive-keyring.gpg",
                f"echo 'deb [{SIGNED}] {REPOS}/ubuntu2004/x86_64/ /' {TEE}",
                None,
                "sudo apt-get update",
                "sudo apt-get install --yes --no-install-recommends cuda-toolkit-11-3",
                "envkit cuda check 11.3",
            ],
        ),
        (
            "rhel8",
            "packages",
            [
                "sudo dnf install -y 'dnf-command(config-manager)'",
                f"sudo dnf config-manager --add-repo {REPOS}/rhel8/x86_64/cuda-rhel8.repo",
                None,
                "sudo dnf install -y cuda-toolkit-11-3",
                "envkit cuda check 11.3",
            ],
        ),
        (
            "opensuse",
            "packages",
            [
                f"sudo zypper addrepo --priority 150 {REPOS}/opensuse15/x86_64/cuda-opensuse15.repo",
                "sudo zypper refresh",
                "sudo zypper install -y --no-recommends cuda-toolkit-11-3",
                "envkit cuda check 11.3",
            ],
        ),
        (
            "linux",
            "runfile",
            [
                f"wget --continue {HOST}/11.3.1/local_installers/{RUN}",
                f"echo '{RUN_SHA256}  {RUN}' | sha256sum --check && sudo sh {RUN} {RUN_OPTIONS}",
                "envkit cuda check 11.3",
            ],
        ),
        ("conda", "conda", [f"conda create --yes --name cuda-11.3.1 {ALONE} -c nvidia/label/cuda-11.3.1 cuda-toolkit"]),
        (
            "debian12",
            "default",
            [
                "sudo update-alternatives --install /usr/local/cuda cuda /usr/local/cuda-11.3 113",
                "sudo update-alternatives --set cuda /usr/local/cuda-11.3",
            ],
        ),
    ],
)
def test_commands_for_11_3(system, kind, expected):
    found = route(plan("11.3", system), kind).commands
    assert len(found) == len(expected)
    assert [pair for pair in zip(found, expected, strict=True) if pair[1] not in (None, pair[0])] == []


def test_envkits_own_way_comes_first_where_it_has_one():
    assert plan("13.2", "linux").routes[0].commands[0] == "envkit cuda install 13.2"
    assert "conda channel" in plan("11.8", "linux").routes[0].title
    assert plan("10.2", "linux").routes[0].kind == "runfile"


def test_windows_names_each_component():
    found = route(plan("11.3.0", "windows"), "windows")
    download, install, _ = found.commands
    assert download.endswith("/11.3.0/local_installers/cuda_11.3.0_465.89_win10.exe")
    assert "-ArgumentList '-s -n nvcc_11.3 " in install
    assert "cudart_11.3" in install
    assert found.known == "single"
    assert [item.kind for item in plan("13.2", "windows").routes] == ["envkit", "windows", "conda"]
    assert [item.kind for item in plan("11.8", "windows").routes] == ["windows", "conda"]


@pytest.mark.parametrize(
    ("asked", "channels"),
    [
        ("11.7.1", "-c nvidia/label/cuda-11.7.1"),
        ("12.9", "-c nvidia/label/cuda-12.9.2 -c nvidia -c conda-forge"),
        ("13.5", None),
        ("11.2", None),
    ],
)
def test_conda_is_told_to_ask_no_other_channel_and_only_for_what_is_known_to_be_there(asked, channels):
    found = plan(asked, "conda").routes
    expected = [] if channels is None else [f"{ALONE} {channels} cuda-toolkit"]
    assert [item.commands[0].partition(" cuda-")[2].partition(" ")[2] for item in found] == expected


def test_the_users_own_folder_needs_no_root():
    found = route(plan("11.3", "linux"), "runfile-user")
    assert not found.needs_root
    assert [command for command in found.commands if "sudo" in command] == []
    assert '--toolkitpath="$HOME/cuda-11.3" --defaultroot="$HOME/cuda-11.3"' in found.commands[1]
    assert "--defaultroot" not in " ".join(route(plan("10.0", "linux"), "runfile-user").commands)


def test_an_old_release_on_a_new_system_has_no_packages_and_says_so():
    packages = route(plan("11.3", "ubuntu2204"), "packages")
    assert packages.commands == ()
    assert "begins with CUDA 11.7" in packages.notes[0]
    assert [item.kind for item in plan("11.3", "ubuntu2204").routes][:2] == ["envkit", "runfile"]
    assert [item.kind for item in plan("11.3", "ubuntu2004").routes][:2] == ["envkit", "packages"]


def test_what_is_not_known_is_said():
    unknown = route(plan("12.3", "debian12"), "packages")
    assert unknown.known == "unknown"
    assert any(note.startswith("unknown: look at https://") for note in unknown.notes)
    assert [item.kind for item in plan("12.3", "debian12").routes][:2] == ["envkit", "runfile"]
    newest = route(plan("13.5", "linux"), "runfile")
    assert newest.commands == ()
    assert newest.notes == ("unknown: look at https://developer.nvidia.com/cuda-toolkit-archive",)
    assert route(plan("13.5", "windows"), "windows").commands == ()
    without_hash = route(plan("9.2", "linux"), "runfile")
    assert "sha256sum" not in " ".join(without_hash.commands)
    assert any("md5sum" in note for note in without_hash.notes)
    assert [item.kind for item in plan("10.2", "conda").routes] == []
    assert "No way is known" in plan_lines(plan("10.2", "conda"))[-1]


def test_aarch64_has_repositories_and_run_files_of_its_own(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    result = plan("12.4", "ubuntu2204")
    assert route(result, "packages").known == "unknown"
    assert "/ubuntu2204/sbsa/" in route(result, "packages").commands[0]
    assert "_linux_sbsa.run" in route(result, "runfile").commands[0]


def test_the_driver_is_told_and_not_installed():
    told = plan("11.3", "linux").to_json()["driver"]
    assert told == {"minimum": "450.80.02", "toolkit": "465.19.01", "known": "confirmed", "installed_by_this": False}
    text = plan_lines(plan("11.3", "linux"))
    assert "No way installs or changes the NVIDIA driver." in text[1]
    assert "450.80.02" in text[2]
    assert any("In WSL the driver is Windows' own" in line for line in plan_lines(plan("11.8", "wsl")))


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("12.7", "Near it are 12.6 and 12.8."),
        ("11.9", "Near it are 11.8 and 12.0."),
        ("99.1", "The newest that envkit knows is 13.5."),
        ("9.0", "The tables begin with CUDA 9.2; 9.0 is older."),
        ("13.2.9", "Known of 13.2 are 13.2.0, 13.2.1, 13.2.2."),
    ],
)
def test_a_release_that_does_not_exist(asked, near):
    with pytest.raises(NotFoundError) as caught:
        plan(asked, "linux")
    assert near in caught.value.why


def test_an_update_that_does_not_exist():
    with pytest.raises(NotFoundError) as caught:
        plan("11.3.7", "linux")
    assert "11.3.0, 11.3.1" in caught.value.why


@pytest.mark.parametrize("asked", ["", "cuda", "11", "11.3.1.2", "11.3; rm -rf /", "۱۱.۳", "latest"])
def test_no_version(asked):
    with pytest.raises(UsageError):
        plan(asked, "linux")


def test_an_unknown_system():
    with pytest.raises(UsageError) as caught:
        plan("11.3", "solaris")
    assert "ubuntu2204" in caught.value.hint


OS_RELEASE = {
    "ubuntu2204": 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\nID_LIKE=debian\nUBUNTU_CODENAME=jammy',
    "ubuntu2404": 'ID=linuxmint\nVERSION_ID="22"\nID_LIKE="ubuntu debian"\nUBUNTU_CODENAME=noble',
    "debian12": 'ID=debian\nVERSION_ID="12"',
    "rhel9": 'ID="rocky"\nVERSION_ID="9.3"\nID_LIKE="rhel centos fedora"',
    "rhel8": "ID=ol\nVERSION_ID=8.9\nID_LIKE=fedora",
    "rhel10": 'ID="almalinux"\nVERSION_ID="10.0"\nID_LIKE="rhel centos fedora"',
    "fedora42": "ID=fedora\nVERSION_ID=42",
    "opensuse15": 'ID="opensuse-leap"\nVERSION_ID="15.6"\nID_LIKE="suse opensuse"',
    "sles15": 'ID="sles"\nVERSION_ID="15.6"',
    "amzn2023": 'ID="amzn"\nVERSION_ID="2023"\nID_LIKE="fedora"',
    "linux": "ID=arch\n# a comment\nBROKEN='",
}


@pytest.mark.parametrize(("name", "text"), OS_RELEASE.items(), ids=OS_RELEASE)
def test_this_system_is_told_by_its_own_files(tmp_path, name, text):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text(text)
    assert plan("12.4", root=tmp_path, platform_name="linux").system == name


def test_a_system_that_tells_nothing(tmp_path):
    assert plan("12.4", root=tmp_path, platform_name="linux").system == "linux"


def test_os_release_of_a_system_without_etc(tmp_path):
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "os-release").write_text(OS_RELEASE["debian12"])
    assert plan("12.4", root=tmp_path, platform_name="linux").system == "debian12"


def test_wsl_is_told_by_its_kernel(tmp_path):
    for folder, text in {
        "etc/os-release": OS_RELEASE["ubuntu2204"],
        "proc/version": "Linux 5.15-Microsoft-standard",
    }.items():
        (tmp_path / folder).parent.mkdir()
        (tmp_path / folder).write_text(text)
    result = plan("12.4", root=tmp_path, platform_name="linux")
    assert result.system == "wsl"
    assert "/wsl-ubuntu/" in route(result, "packages").commands[0]


def test_windows_and_macos():
    assert plan("12.4", platform_name="win32").system == "windows"
    with pytest.raises(UnfitMachineError):
        plan("12.4", platform_name="darwin")


def test_every_run_file_is_named_after_its_version():
    for release in releases():
        for version in versions_of(release):
            for kind, end in (("linux", "_linux.run"), ("sbsa", "_linux_sbsa.run"), ("windows", ".exe")):
                found = newest_installer(version, kind)
                if found is None or release in {"9.2", "10.0"}:
                    continue
                assert found.file.startswith(f"cuda_{version}_")
                assert found.file.endswith(end)
                assert found.sha256 is None or re.fullmatch("[0-9a-f]{64}", found.sha256)
                assert found.source


needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt-get is not on PATH")


@needs_apt
def test_apt_takes_the_source_and_the_pin(tmp_path):
    """The two files as the commands would write them, read by the real apt."""
    commands = route(plan("11.3", "ubuntu2004"), "packages").commands
    source, pin = tmp_path / "cuda.list", tmp_path / "pin"
    for command, path in ((commands[2], source), (commands[3], pin)):
        written = subprocess.run(
            ["sh", "-c", command.partition(" | sudo")[0]], capture_output=True, text=True, check=True
        )
        path.write_text(written.stdout)
    options = [
        f"Dir::Etc::sourcelist={source}", "Dir::Etc::sourceparts=/dev/null", f"Dir::Etc::preferences={pin}",
        "Dir::Etc::preferencesparts=/dev/null", f"Dir::State={tmp_path}", f"Dir::Cache={tmp_path}",
    ]  # fmt: skip
    flags = [word for option in options for word in ("-o", option)]
    (tmp_path / "lists" / "partial").mkdir(parents=True)
    update = subprocess.run(["apt-get", *flags, "update", "--print-uris"], capture_output=True, text=True, check=False)
    assert update.stderr == ""
    assert update.stdout.startswith(
        "'https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64/InRelease'"
    )
    policy = subprocess.run(["apt-cache", *flags, "policy"], capture_output=True, text=True, check=False)
    assert (policy.returncode, policy.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("update-alternatives") is None, reason="update-alternatives is not on PATH")
def test_update_alternatives_takes_the_default(tmp_path):
    """The real program, with folders of its own; /usr/local is the test's here, and the link there is a plain one."""
    for name in ("etc", "admin", "local/cuda-11.3", "local/cuda-12.4"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "local" / "cuda").symlink_to(tmp_path / "local" / "cuda-12.4")
    folders = f"update-alternatives --altdir {tmp_path}/etc --admindir {tmp_path}/admin --log {tmp_path}/log"
    for command in route(plan("11.3", "debian12"), "default").commands:
        text = command.replace("sudo update-alternatives", folders).replace("/usr/local", f"{tmp_path}/local")
        subprocess.run(["sh", "-c", text], check=True, capture_output=True)
    assert os.path.realpath(tmp_path / "local" / "cuda") == str(Path(tmp_path, "local", "cuda-11.3").resolve())


@pytest.mark.parametrize(
    ("release", "system", "told"),
    [
        ("11.3", "ubuntu2204", "sudo apt-get install gcc-10 g++-10"),
        ("11.3", "debian12", "To compile, gcc 10 or an older one is needed beside it."),
        ("11.8", "debian12", "sudo apt-get install gcc-11 g++-11"),
        ("11.3", "rhel9", "To compile, gcc 10 or an older one"),
        ("11.3", "ubuntu2004", None),
        ("13.0", "debian12", None),
        ("11.3", "opensuse15", None),
    ],
)
def test_a_gcc_that_is_too_new_is_told(release, system, told):
    result = plan(release, system)
    assert any(told in note for note in result.notes) if told else result.notes == ()
    assert all(f"# {note}" in plan_lines(result) for note in result.notes)
    assert result.to_json()["notes"] == list(result.notes)


@pytest.mark.parametrize(("release", "system"), [("11.3", "debian12"), ("11.1", "debian12"), ("11.8", "debian13")])
def test_a_release_older_than_the_system_has_no_commands(release, system):
    packages = route(plan(release, system), "packages")
    assert packages.commands == ()
    assert "came out after" in packages.notes[0]


@pytest.mark.parametrize(
    ("asked", "meant"), [("ubuntu22.04", "ubuntu2204"), ("Ubuntu-22.04", "ubuntu2204"), ("wsl-ubuntu", "wsl")]
)
def test_other_ways_to_write_a_system(asked, meant):
    assert plan("12.4", asked).system == meant


@pytest.mark.parametrize(
    ("asked", "near"), [("ubuntu", "ubuntu2204"), ("win", "windows"), ("debian", "debian12"), ("rehl9", "rhel9")]
)
def test_a_system_that_is_nearly_known(asked, near):
    with pytest.raises(UsageError, match=f"Did you mean .*{near}"):
        plan("12.4", asked)


def test_where_windows_puts_it_is_told():
    notes = " ".join(route(plan("11.3", "windows"), "windows").notes)
    assert "CUDA\\v11.3" in notes
    assert "Visual Studio" in notes
