from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.errors import InvalidFileError
from envkit.installers import indexes
from envkit.installers.indexes import (
    PipConfig,
    find_local_wheel_dirs,
    for_uv,
    local_path,
    pip_config_files,
    pip_index_arguments,
    pip_index_environment,
    read_pip_config,
    uv_index_arguments,
    uv_index_environment,
)
from envkit.installers.uv_settings import UvSettings, read_uv_settings, uv_config_files
from envkit.model.addresses import redacted


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(indexes, "_SYSTEM_FILE", tmp_path / "etc/pip.conf")
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_DIRS": str(tmp_path / "site")}


def test_read_pip_config_later_files_and_install_section_and_variables_win(tmp_path: Path, environ):
    write(
        tmp_path / "site/pip/pip.conf",
        "[global]\nindex-url = https://one/simple\nproxy = http://p:1\ncert = /site.pem\nextra_index_url = https://x/s\n",
    )
    write(tmp_path / "home/.pip/pip.conf", "[global]\nindex-url = https://two/simple\ntrusted-host = a b\n")
    write(
        tmp_path / "home/.config/pip/pip.conf",
        "[install]\nindex-url = https://three/simple\nfind-links =\n    /a\n    https://b/c.html\n"
        "[download]\nno-index = 1\n",
    )
    config = read_pip_config(environ | {"PIP_CERT": "/mine.pem"})
    assert config == PipConfig(
        index_url="https://three/simple",
        extra_index_urls=("https://x/s",),
        find_links=("/a", "https://b/c.html"),
        cert="/mine.pem",
        proxy="http://p:1",
        trusted_hosts=("a", "b"),
    )
    assert read_pip_config(environ | {"PIP_INDEX_URL": "https://four/simple"}).index_url == "https://four/simple"


def test_read_pip_config_null_device_turns_files_off_but_not_variables(tmp_path: Path, environ):
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://one/simple\n")
    chosen = environ | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "true"}
    assert read_pip_config(chosen) == PipConfig(no_index=True)


def test_read_pip_config_chosen_file_replaces_the_users_own(tmp_path: Path, environ):
    write(tmp_path / "site/pip/pip.conf", "[global]\nproxy = http://p:1\n")
    write(tmp_path / "home/.config/pip/pip.conf", "[global]\nindex-url = https://one/simple\n")
    chosen = write(tmp_path / "chosen.ini", "[global]\nindex-url = https://%chosen/simple\n")
    config = read_pip_config(environ | {"PIP_CONFIG_FILE": str(chosen)})
    assert config == PipConfig(index_url="https://%chosen/simple", proxy="http://p:1")
    absent = environ | {"PIP_CONFIG_FILE": str(tmp_path / "absent")}
    assert read_pip_config(absent).index_url == "https://one/simple"


def test_read_pip_config_broken_file_is_an_error_without_secrets(tmp_path: Path, environ):
    path = write(tmp_path / "home/.config/pip/pip.conf", "index-url = https://me:secret@host/simple\n")
    with pytest.raises(InvalidFileError) as caught:
        read_pip_config(environ)
    assert str(path) in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", "/h/.pip/pip.conf", "/h/.config/pip/pip.conf"]),
        (
            "darwin",
            ["/Library/Application Support/pip/pip.conf", "/h/.pip/pip.conf", "/h/.config/pip/pip.conf"],
        ),
        ("win32", ["/data/pip/pip.ini", "/h/pip/pip.ini", "/roaming/pip/pip.ini"]),
    ],
)
def test_pip_config_files_are_those_of_the_platform(platform, expected):
    environ = {"HOME": "/h", "USERPROFILE": "/h", "PROGRAMDATA": "/data", "APPDATA": "/roaming"}
    assert [path.as_posix() for path in pip_config_files(environ, platform)] == expected


def test_redacted_hides_user_and_password_only():
    text = "see https://me:s3cret@host/simple and http://token@x/y, mail me@here"
    assert redacted(text) == "see https://***@host/simple and http://***@x/y, mail me@here"


def test_find_local_wheel_dirs_wheelhouse_first_and_only_what_exists(tmp_path: Path):
    house, links = tmp_path / "house", tmp_path / "a b"
    links.mkdir()
    config = PipConfig(find_links=(links.as_uri(), str(tmp_path / "absent"), "https://h/page", str(links)))
    assert find_local_wheel_dirs(config, house) == [house, links]
    assert find_local_wheel_dirs(config) == [links]


def test_local_path_reads_file_addresses():
    assert local_path("file:///a%20b/c") == Path("/a b/c")
    assert local_path("file:///C:/x") == Path("C:/x")
    assert local_path("https://h/x") is None


def test_index_arguments_leave_out_what_is_not_there_and_what_is_secret(tmp_path: Path):
    config = PipConfig(
        index_url="https://me:secret@host/simple",
        extra_index_urls=((tmp_path / "absent").as_uri(), tmp_path.as_uri()),
        find_links=("/nowhere", str(tmp_path)),
        cert="/ca.pem",
        proxy="http://me:secret@proxy:8080",
        trusted_hosts=("host",),
    )
    uv = uv_index_arguments(config, UvSettings())
    assert uv == ["--index", tmp_path.as_uri(), "--find-links", str(tmp_path), "--allow-insecure-host", "host"]
    variables = uv_index_environment(config, UvSettings())
    assert variables["UV_DEFAULT_INDEX"] == config.index_url
    assert variables["HTTPS_PROXY"] == config.proxy
    pip = pip_index_arguments(config)
    assert "secret" not in " ".join([*uv, *pip])
    assert pip[:2] == ["--extra-index-url", tmp_path.as_uri()]
    assert pip[-4:] == ["--cert", "/ca.pem", "--trusted-host", "host"]
    assert pip_index_environment(config) == {"PIP_INDEX_URL": config.index_url, "PIP_PROXY": config.proxy}


def test_index_arguments_secrets_in_other_addresses_go_to_variables():
    config = PipConfig(extra_index_urls=("https://a:b@h/s", "https://c/s"), find_links=("https://a:b@h/l",))
    assert uv_index_arguments(config, UvSettings()) == []
    assert uv_index_environment(config, UvSettings()) == {
        "UV_INDEX": "https://a:b@h/s https://c/s",
        "UV_FIND_LINKS": "https://a:b@h/l",
    }
    assert pip_index_arguments(config) == []
    assert pip_index_environment(config) == {
        "PIP_EXTRA_INDEX_URL": "https://a:b@h/s https://c/s",
        "PIP_FIND_LINKS": "https://a:b@h/l",
    }


def test_index_arguments_plain_and_no_index():
    config = PipConfig(index_url="https://h/s", find_links=("https://h/l",))
    assert uv_index_arguments(config, UvSettings()) == ["--default-index", "https://h/s", "--find-links", "https://h/l"]
    off = PipConfig(index_url="https://h/s", no_index=True, proxy="http://p:1")
    assert uv_index_arguments(off, UvSettings()) == ["--no-index"]
    assert pip_index_arguments(off) == ["--no-index", "--proxy", "http://p:1"]


def test_uv_certificates_come_from_pip_only_where_the_user_named_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cert = write(tmp_path / "ca.pem", "")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert uv_index_environment(PipConfig(cert=str(cert)), UvSettings()) == {"SSL_CERT_FILE": str(cert)}
    monkeypatch.setenv("SSL_CERT_FILE", "/own.pem")
    assert uv_index_environment(PipConfig(cert=str(cert)), UvSettings()) == {}


def test_uv_settings_file_and_variables(tmp_path: Path, environ):
    write(tmp_path / "site/uv/uv.toml", 'index-url = "https://site/s"\nnative-tls = true\n')
    write(
        tmp_path / "home/.config/uv/uv.toml",
        'offline = false\n[[index]]\nname = "corp"\nurl = "https://corp/s"\n[[index]]\nurl = "https://main/s"\n'
        'default = true\n[[index]]\nname = "x"\nurl = "https://x/s"\nexplicit = true\n[pip]\ntorch-backend = "auto"\n'
        'find-links = ["/l"]\n',
    )
    settings = read_uv_settings(environ)
    assert settings == UvSettings(
        index_url="https://main/s",
        extra_index_urls=("corp=https://corp/s",),
        find_links=("/l",),
        connection={"native-tls": True, "offline": False},
    )
    assert settings.connection_toml() == "native-tls = true\noffline = false\n"
    other = read_uv_settings(
        environ | {"UV_INDEX_URL": "https://v/s", "UV_INDEX": "https://a/s", "UV_FIND_LINKS": "a,b"}
    )
    assert (other.index_url, other.extra_index_urls, other.find_links) == ("https://v/s", ("https://a/s",), ("a", "b"))
    assert read_uv_settings(environ | {"UV_NO_CONFIG": "1"}) == UvSettings()


def test_uv_settings_broken_file_is_an_error(tmp_path: Path, environ):
    path = write(tmp_path / "own.toml", "index-url = ")
    with pytest.raises(InvalidFileError, match=r"own\.toml"):
        read_uv_settings(environ | {"UV_CONFIG_FILE": str(path)})


def test_uv_config_files_on_windows():
    files = uv_config_files({"PROGRAMDATA": "/data", "APPDATA": "/roaming"}, "win32")
    assert [path.as_posix() for path in files] == ["/data/uv/uv.toml", "/roaming/uv/uv.toml"]


def test_for_uv_own_settings_win_over_pips():
    pip = PipConfig(
        index_url="https://pip/s", extra_index_urls=("https://more/s",), find_links=("/p",), proxy="http://p"
    )
    own = for_uv(pip, UvSettings(index_url="https://uv/s", find_links=("/u",)))
    assert own == PipConfig(index_url="https://uv/s", find_links=("/u",), proxy="http://p")
    assert for_uv(pip, UvSettings()) == pip
