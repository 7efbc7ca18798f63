from __future__ import annotations

import pytest

from envkit.errors import InvalidFileError
from envkit.installers.condarc import CondaSettings
from envkit.installers.rattler.network import plan_network
from envkit.installers.toml import parse_toml

ALIAS = "https://conda.anaconda.org"


def mirrors(network):
    return parse_toml(network.config)["mirrors"]


def test_a_plain_channel_needs_no_mirror():
    network = plan_network(["conda-forge"], CondaSettings(), "linux-64")
    assert network.urls("conda-forge") == [f"{ALIAS}/conda-forge"]
    assert mirrors(network) == {}
    assert network.passwords == {}
    assert network.notes == ()


def test_mirrors_stand_for_the_channel():
    settings = CondaSettings(mirrors={"conda-forge": (f"{ALIAS}/conda-forge", "https://prefix.dev/conda-forge")})
    assert mirrors(plan_network(["conda-forge"], settings, "linux-64")) == {
        f"{ALIAS}/conda-forge": [f"{ALIAS}/conda-forge", "https://prefix.dev/conda-forge"]
    }
    assert mirrors(plan_network(["pytorch"], settings, "linux-64")) == {}


def test_a_channel_that_the_user_has_placed_is_asked_there_first():
    """Miniforge's own configuration has mirrors for conda-forge, which conda itself does not look at."""
    settings = CondaSettings(
        custom_channels={"conda-forge": "https://m/cloud"}, mirrors={"conda-forge": ("https://prefix.dev/conda-forge",)}
    )
    assert mirrors(plan_network(["conda-forge"], settings, "linux-64")) == {
        "https://m/cloud/conda-forge": ["https://m/cloud/conda-forge", "https://prefix.dev/conda-forge"]
    }


def test_a_token_goes_into_a_mirror_and_a_password_does_not():
    settings = CondaSettings(
        channel_alias="https://h/t/tk-12345",
        custom_channels={"my": "https://me:p%40ss@corp/c", "b": "https://me:p%40ss@corp"},
    )
    network = plan_network(["conda-forge", "my", "b"], settings, "linux-64")
    assert mirrors(network) == {"https://h/conda-forge": ["https://h/t/tk-12345/conda-forge"]}
    assert network.passwords == {"corp": ("me", "p@ss")}
    shown = network.hide("failed: https://h/t/tk-12345/conda-forge https://me:p%40ss@corp/c and p%40ss alone")
    assert "tk-12345" not in shown
    assert "p%40ss" not in shown


def test_two_passwords_for_one_host_are_refused():
    settings = CondaSettings(custom_channels={"a": "https://me:one1@corp", "b": "https://me:two2@corp"})
    with pytest.raises(InvalidFileError, match="different passwords for corp") as caught:
        plan_network(["a", "b"], settings, "linux-64")
    assert "one1" not in str(caught.value)


@pytest.fixture
def no_proxy(monkeypatch):
    with monkeypatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patch.delenv(name, raising=False)
        yield patch


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ({"https": "http://p:1", "http": "http://p:2"}, "http://p:1"),
        ({"https": "p:1"}, "http://p:1"),
        ({"all": "http://p:3"}, "http://p:3"),
        ({"https": "http://p:1", "https://conda.anaconda.org": "http://p:4"}, "http://p:4"),
        ({"https://other.org": "http://p:4"}, None),
        ({}, None),
    ],
)
def test_proxies_are_chosen_as_requests_does(no_proxy, servers, expected):
    network = plan_network(["conda-forge"], CondaSettings(proxy_servers=servers), "linux-64")
    assert network.environment.get("https_proxy") == expected
    no_proxy.setenv("HTTPS_PROXY", "http://mine")
    network = plan_network(["conda-forge"], CondaSettings(proxy_servers=servers), "linux-64")
    assert "https_proxy" not in network.environment


def test_different_proxies_for_hosts_of_one_spec_are_refused(no_proxy):
    settings = CondaSettings(proxy_servers={"https://h": "http://me:secret@p"}, custom_channels={"my": "https://h"})
    assert plan_network(["my"], settings, "linux-64").environment["https_proxy"] == "http://me:secret@p"
    with pytest.raises(
        InvalidFileError, match=r"different proxies for the https hosts conda\.anaconda\.org, h"
    ) as caught:
        plan_network(["my", "conda-forge"], settings, "linux-64")
    assert "secret" not in str(caught.value)


def test_certificates_reach_the_worker(tmp_path, no_proxy):
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        no_proxy.delenv(name, raising=False)
    assert plan_network(["a"], CondaSettings(ssl_verify=str(bundle)), "linux-64").environment == {
        "SSL_CERT_FILE": str(bundle)
    }
    assert plan_network(["a"], CondaSettings(ssl_verify=str(tmp_path)), "linux-64").environment == {
        "SSL_CERT_DIR": str(tmp_path)
    }
    assert plan_network(["a"], CondaSettings(ssl_verify="truststore"), "linux-64").environment == {}
    assert parse_toml(plan_network(["a"], CondaSettings(ssl_verify=False), "linux-64").config)["tls-no-verify"] is True
    no_proxy.setenv("CURL_CA_BUNDLE", str(bundle))
    assert plan_network(["a"], CondaSettings(), "linux-64").environment == {"SSL_CERT_FILE": str(bundle)}
    no_proxy.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    assert plan_network(["a"], CondaSettings(), "linux-64").environment == {"SSL_CERT_FILE": str(bundle)}


def test_parts_of_defaults_have_names_of_their_own():
    network = plan_network(["defaults"], CondaSettings(), "linux-64")
    assert network.described("defaults", CondaSettings()) == {
        "name": "defaults",
        "urls": {"https://repo.anaconda.com/pkgs/main": "pkgs/main", "https://repo.anaconda.com/pkgs/r": "pkgs/r"},
    }
    assert plan_network(["pkgs/r"], CondaSettings(), "linux-64").urls("pkgs/r") == ["https://repo.anaconda.com/pkgs/r"]
