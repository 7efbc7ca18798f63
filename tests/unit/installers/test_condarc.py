"""conda's configuration as envkit reads it; the expected values are those of conda 26.7 for the same files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.errors import ExitCode, InvalidFileError
from envkit.installers.condarc import read_conda_settings
from envkit.installers.condarc_files import config_files

TUNA = """\
channels:
  - defaults
show_channel_urls: true
default_channels:
  - https://mirrors.tuna.tsinghua.edu.cn/anaconda/pkgs/main
  - https://mirrors.tuna.tsinghua.edu.cn/anaconda/pkgs/r
  - https://mirrors.tuna.tsinghua.edu.cn/anaconda/pkgs/msys2
custom_channels:
  conda-forge: https://mirrors.tuna.tsinghua.edu.cn/anaconda/cloud
  pytorch: https://mirrors.tuna.tsinghua.edu.cn/anaconda/cloud
"""
CLOUD = "https://mirrors.tuna.tsinghua.edu.cn/anaconda"


@pytest.fixture
def read(tmp_path):
    """Reads settings from ``~/.condarc`` with this text, and variables."""

    def settings(text="", **variables):
        (tmp_path / ".condarc").write_text(text, encoding="utf-8")
        return read_conda_settings({"HOME": str(tmp_path), "PATH": "", **variables})

    return settings


def test_without_configuration_conda_s_own_places_hold(read, tmp_path):
    settings = read()
    assert settings.channel_urls("conda-forge") == ("https://conda.anaconda.org/conda-forge",)
    assert settings.channel_urls("nvidia/label/cuda-11.3.0") == ("https://conda.anaconda.org/nvidia/label/cuda-11.3.0",)
    main, r = "https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r"
    assert settings.channel_urls("defaults", "linux-64") == (main, r)
    assert settings.channel_urls("defaults", "win-64") == (main, r, "https://repo.anaconda.com/pkgs/msys2")
    assert settings.channel_urls("https://h/c/") == ("https://h/c",)
    assert (settings.offline, settings.ssl_verify, settings.connect_timeout_s, settings.read_timeout_s) == (
        False, True, 9.15, 60.0,
    )  # fmt: skip
    assert settings.envs_dirs == (tmp_path / ".conda/envs",)
    assert settings.pkgs_dirs == (tmp_path / ".conda/pkgs",)


def test_the_configuration_that_tuna_tells_its_users_to_write(read):
    settings = read(TUNA)
    assert settings.channel_urls("conda-forge") == (f"{CLOUD}/cloud/conda-forge",)
    assert settings.channel_urls("pytorch") == (f"{CLOUD}/cloud/pytorch",)
    assert settings.channel_urls("defaults") == tuple(f"{CLOUD}/pkgs/{part}" for part in ("main", "r", "msys2"))
    assert settings.channel_urls("pkgs/main") == (f"{CLOUD}/pkgs/main",)
    assert settings.channel_urls("nvidia") == ("https://conda.anaconda.org/nvidia",)
    assert settings.channels().name_of(f"{CLOUD}/cloud/conda-forge") == "conda-forge"
    assert settings.channels().name_of(f"{CLOUD}/pkgs/main") == "pkgs/main"


def test_later_files_win_and_lists_join(tmp_path):
    first, second = tmp_path / "etc", tmp_path / "home"
    for folder in (first, second):
        folder.mkdir()
    (first / ".condarc").write_text(
        "channel_alias: https://first\noffline: true  #!final\npkgs_dirs: [/one, /two]\ncustom_channels: {a: https://x}\n"
    )
    (second / ".condarc").write_text(
        "channel_alias: https://second\noffline: false\npkgs_dirs:\n  - /three\n  - /two\n"
        "custom_channels:\n  a: https://y\n  b: https://z\n"
    )
    settings = read_conda_settings({"HOME": str(second), "CONDA_PREFIX": "", "XDG_CONFIG_HOME": "", "PATH": ""})
    assert settings.channel_alias == "https://second"
    both = {"HOME": str(first), "CONDA_PREFIX": str(second), "PATH": ""}
    settings = read_conda_settings(both)
    assert settings.channel_alias == "https://second"
    assert settings.offline is True
    assert settings.pkgs_dirs == (Path("/three"), Path("/two"), Path("/one"))
    assert settings.custom_channels == {"a": "https://y", "b": "https://z"}
    assert settings.files == (first / ".condarc", second / ".condarc")


def test_marked_items_go_to_the_ends(tmp_path):
    (tmp_path / ".condarc").write_text("pkgs_dirs:\n  - /a  #!bottom\n  - /b\n  - /t  #!top\n")
    (tmp_path / "prefix").mkdir()
    (tmp_path / "prefix/.condarc").write_text("pkgs_dirs:\n  - /c\n  - /d\n")
    environ = {"HOME": str(tmp_path), "CONDA_PREFIX": str(tmp_path / "prefix"), "PATH": ""}
    assert [str(path) for path in read_conda_settings(environ).pkgs_dirs] == ["/t", "/c", "/d", "/b", "/a"]


def test_variables_come_last(read):
    settings = read(
        TUNA,
        CONDA_CHANNEL_ALIAS="https://alias",
        CONDA_OFFLINE="1",
        CONDA_SSL_VERIFY="false",
        CONDA_ENVS_PATH=os.pathsep.join(["/e1", "/e2"]),
        CONDA_PKGS_DIRS="/p1,/p2",
        CONDA_REMOTE_READ_TIMEOUT_SECS="7.5",
        CONDA_REMOTE_CONNECT_TIMEOUT_SECS="3",
        CONDA_DEFAULT_ENV="base",
    )
    assert settings.channel_urls("nvidia") == ("https://alias/nvidia",)
    assert settings.offline is True
    assert settings.ssl_verify is False
    assert settings.envs_dirs[:2] == (Path("/e1"), Path("/e2"))
    assert settings.pkgs_dirs == (Path("/p1"), Path("/p2"))
    assert (settings.read_timeout_s, settings.connect_timeout_s) == (7.5, 3.0)


def test_variables_in_values_are_replaced(read):
    text = "channel_alias: https://$USER_X:${PASS_X}@h\nclient_ssl_cert: ~/me.pem\nproxy_servers: {http: 'http://%USER_X%'}\n"
    settings = read(text, USER_X="me", PASS_X="word")  # noqa: S106 - of a test
    assert settings.channel_alias == "https://me:word@h"
    assert settings.proxy_servers == {"http": "http://me"}
    assert settings.client_ssl_cert.endswith("/me.pem")
    assert "~" not in settings.client_ssl_cert
    assert read("channel_alias: https://h/$NOT_SET").channel_alias == "https://h/$NOT_SET"


def test_old_names_count(read):
    settings = read("verify_ssl: false\nwhitelist_channels: [conda-forge]\nenvs_path: [/e]\nclient_cert: /c.pem\n")
    assert settings.ssl_verify is False
    assert settings.allowlist_channels == ("conda-forge",)
    assert settings.envs_dirs[0] == Path("/e")
    assert settings.client_ssl_cert == "/c.pem"


def test_mirrors_of_mamba_and_miniforge_are_read(read):
    text = (
        "mirrored_channels:\n  conda-forge: [https://conda.anaconda.org/conda-forge, https://prefix.dev/conda-forge]\n"
    )
    assert read(text).mirrors == {
        "conda-forge": ("https://conda.anaconda.org/conda-forge", "https://prefix.dev/conda-forge")
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "no_such_key: [1, {2: 3}]\n", "channels: [a]\nsolver: classic\n"])
def test_what_envkit_does_not_need_is_ignored(read, text):
    assert read(text).channel_urls("conda-forge") == ("https://conda.anaconda.org/conda-forge",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("channels:\n  - a\n - b\n", 3),
        ("a: 1\nchannel_alias: {b: c}\n", 2),
        ("a: 1\ncustom_channels: [b]\n", 2),
        ("\n\ndefault_channels: secret-text\n", 3),
        ("offline: perhaps\n", 1),
        ("remote_read_timeout_secs: soon\n", 1),
        ("remote_read_timeout_secs: -1\n", 1),
        ("ssl_verify: /no/such/file\n", 1),
        ("channel_alias: secret-text/without/scheme\n", 1),
        ("custom_multichannels: {a: secret-text}\n", 1),
        ("- a list\n", 1),
        ("a: 1\na: 2\n", 2),
    ],
)
def test_a_broken_file_is_named_with_its_line(read, tmp_path, text, line):
    with pytest.raises(InvalidFileError) as caught:
        read(text)
    error = caught.value
    assert (error.path, error.line, error.exit_code) == (str(tmp_path / ".condarc"), line, ExitCode.INVALID_FILE)
    assert "secret-text" not in f"{error.message}{error.why}{error.hint}"


def test_a_file_in_another_encoding_is_named(tmp_path):
    (tmp_path / ".condarc").write_bytes(b"channel_alias: https://h\xff\n")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        read_conda_settings({"HOME": str(tmp_path), "PATH": ""})


def test_a_wrong_variable_is_named(read):
    with pytest.raises(InvalidFileError, match="the variable CONDA_OFFLINE: offline must be true or false"):
        read(CONDA_OFFLINE="perhaps")


def test_files_are_looked_for_where_conda_looks(tmp_path):
    """Of those below a test's own folder; the system's come before all."""
    places = [
        "root/.condarc", "root/condarc", "root/condarc.d/a.yml", "root/condarc.d/b.yaml", "xdg/conda/.condarc",
        "xdg/conda/condarc.d/c.yml", "home/.config/conda/condarc", "home/.conda/.condarc", "home/.condarc",
        "prefix/.condarc", "prefix/condarc.d/d.yml", "mine.yml",
    ]  # fmt: skip
    for place in [*places, "root/condarc.d/ignored.txt"]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    environ = {
        "HOME": str(tmp_path / "home"),
        "CONDA_ROOT": str(tmp_path / "root"),
        "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
        "CONDA_PREFIX": str(tmp_path / "prefix"),
        "CONDARC": str(tmp_path / "mine.yml"),
        "PATH": "",
    }
    found = [path for path in config_files(environ) if path.is_relative_to(tmp_path)]
    assert [str(path.relative_to(tmp_path)) for path in found] == places


def test_the_installation_of_the_conda_on_path_is_found(tmp_path):
    root = tmp_path / "conda"
    for folder in ("condabin", "conda-meta", "bin"):
        (root / folder).mkdir(parents=True)
    for program in ("condabin/conda", "bin/conda"):
        (root / program).write_text("#!/bin/sh\n")
        (root / program).chmod(0o755)
    (root / ".condarc").write_text("channel_alias: https://site\n")
    for folder in ("condabin", "bin"):
        settings = read_conda_settings({"HOME": str(tmp_path / "home"), "PATH": str(root / folder)})
        assert settings.channel_alias == "https://site"
        assert settings.pkgs_dirs[0] == root / "pkgs"


@pytest.mark.parametrize(
    ("text", "allowed", "forbidden"),
    [
        ("allowlist_channels: [conda-forge]\n", "conda-forge", "pytorch"),
        ("denylist_channels: [pytorch]\n", "conda-forge", "pytorch"),
        ("denylist_channels: ['https://conda.anaconda.org/pytorch']\n", "conda-forge", "pytorch"),
        ("denylist_channels: [defaults]\n", "conda-forge", "defaults"),
        ("denylist_channels: [defaults]\n", "conda-forge", "https://repo.anaconda.com/pkgs/main"),
    ],
)
def test_a_channel_that_is_forbidden_is_refused(read, text, allowed, forbidden):
    settings = read(text)
    assert settings.channel_urls(allowed)
    with pytest.raises(InvalidFileError, match=r"\.condarc: the channel \S+ must not be used here"):
        settings.channel_urls(forbidden)


def test_names_inherit_the_place_of_their_first_part(read):
    settings = read("custom_channels: {my: https://h/x, my/sub: https://i}\n")
    assert settings.channel_urls("my/label/dev") == ("https://h/x/my/label/dev",)
    assert settings.channel_urls("my/sub/deep") == ("https://i/my/sub/deep",)
    assert settings.channel_urls("mine") == ("https://conda.anaconda.org/mine",)


def test_moved_channels_are_found_at_their_new_place(read):
    text = "channel_alias: https://new\nmigrated_channel_aliases: ['https://old/x']\nmigrated_custom_channels: {a: https://older}\n"
    settings = read(text + "custom_channels: {a: https://here}\n")
    assert settings.channel_urls("https://old/x/conda-forge") == ("https://new/conda-forge",)
    assert settings.channel_urls("https://older/a/b") == ("https://here/a/b",)
    assert settings.channels().name_of("https://old/x/conda-forge") == "conda-forge"


def test_credentials_are_apart_from_the_address(read):
    settings = read("channel_alias: https://h/t/tk-1/base\ncustom_channels: {my: 'https://me:pw@corp:8443/c'}\n")
    plain, own = settings.places("conda-forge")[0], settings.places("my")[0]
    assert (plain.url, plain.access) == ("https://h/base/conda-forge", "https://h/base/t/tk-1/conda-forge")
    assert (own.url, own.access) == ("https://corp:8443/c/my", "https://me:pw@corp:8443/c/my")
    assert settings.places("https://corp:8443/c/my")[0].access == "https://me:pw@corp:8443/c/my"
    assert settings.places("http://corp:8443/c/my")[0].access == "http://corp:8443/c/my"
    assert settings.places("https://corp:8443/other")[0].is_secret is False


def test_folders_are_channels(read, tmp_path):
    settings = read()
    assert settings.channel_urls(str(tmp_path)) == (tmp_path.as_uri(),)
    assert settings.channel_urls("file:///srv/chan/") == ("file:///srv/chan",)


def test_a_name_for_several_channels(read):
    settings = read(
        "custom_multichannels:\n  ours: [https://h/a, conda-forge]\ncustom_channels: {conda-forge: https://m}\n"
    )
    assert settings.channel_urls("ours") == ("https://h/a", "https://conda.anaconda.org/conda-forge")


@pytest.mark.parametrize(
    "text",
    [
        "channel_alias: https://me:s3cr3t@[bad/x",
        "custom_channels: {x: 'https://me:s3cr3t@host:port/c'}",
        "default_channels: ['https://me:s3cr3t@[bad/x']",
        "mirrored_channels: {conda-forge: ['https://me:s3cr3t@[bad/x']}",
        "proxy_servers: {https: 'http://me:s3cr3t@host:port'}",
    ],
)
def test_an_address_that_no_program_can_take_apart_is_told_without_its_password(read, text):
    with pytest.raises(InvalidFileError, match=r"no URL|cannot be taken apart") as caught:
        read(text)
    assert "s3cr3t" not in f"{caught.value} {caught.value.why} {caught.value.hint}"
