from __future__ import annotations

import re

import pytest
import yaml

from envkit import resources
from envkit.compat.tables import version_key
from envkit.compat.toolkit_channels import (
    channel_libraries,
    channel_toolkit,
    channel_toolkits,
    newest_channel_toolkit,
)

TABLE = yaml.safe_load(resources.data_file("toolkit_channels.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("family", TABLE["families"], ids=[family["name"] for family in TABLE["families"]])
def test_each_family_cites_its_sources_and_is_in_order(family):
    assert family["status"] in {"confirmed", "single"}
    assert family["src"]
    assert set(family["src"]) <= set(TABLE["sources"])
    assert family["toolkits"] == sorted(set(family["toolkits"]), key=version_key)
    assert family["channels"][0] == "nvidia/label/cuda-{version}"
    assert not {"cudatoolkit", "cudatoolkit-dev"} & set(family["compiler"])


def test_each_source_has_an_address_and_no_toolkit_is_there_twice():
    assert all(source["url"].startswith("https://") for source in TABLE["sources"].values())
    versions = list(channel_toolkits())
    assert versions == sorted(set(versions), key=version_key, reverse=True)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)


@pytest.mark.parametrize(("asked", "meant"), [("11.3", "11.3.1"), ("12.6.1", "12.6.1"), ("12.7", None), ("10.2", None)])
def test_a_release_means_its_newest_update(asked, meant):
    assert newest_channel_toolkit(asked) == meant


def test_up_to_124_the_label_is_asked_alone():
    asked = channel_toolkit("11.8.0", ("cublas",))
    assert asked.channels == ("nvidia/label/cuda-11.8.0",)
    assert asked.specs[-1] == "libcublas-dev"
    divided = channel_toolkit("12.6.3")
    assert divided.channels == ("nvidia/label/cuda-12.6.3", "nvidia", "conda-forge")
    assert "cuda-version 12.6.*" in divided.specs


def test_what_comes_anyway_may_be_asked_for():
    assert channel_toolkit("11.3.1", channel_libraries()) == channel_toolkit("11.3.1")
