"""The table of what a system needs."""

from __future__ import annotations

import pytest
import yaml

from envkit import resources
from envkit.compat.system_needs import system_fact

TABLE = yaml.safe_load(resources.data_file("system_needs.yaml").read_text(encoding="utf-8"))
STATUS = {"confirmed", "single", "derived", "inferred", "unconfirmed", "disputed", "unknown"}


@pytest.mark.parametrize("name", TABLE["needs"])
def test_each_row_cites_known_sources_and_says_how_well_it_is_known(name):
    row = TABLE["needs"][name]
    assert row["src"]
    assert set(row["src"]) <= set(TABLE["sources"])
    assert row["status"] in STATUS
    fact = system_fact(name)
    assert fact.known == row["status"]
    assert fact.source
    assert not {"src", "status"} & set(fact.values)


def test_no_source_is_there_for_nothing():
    cited = {source for row in TABLE["needs"].values() for source in row["src"]}
    assert set(TABLE["sources"]) - cited == set()


def test_avx2_is_no_fact_to_refuse_on():
    assert system_fact("avx2").known == "unconfirmed"


def test_an_unknown_fact_is_a_mistake():
    with pytest.raises(KeyError):
        system_fact("nothing")
