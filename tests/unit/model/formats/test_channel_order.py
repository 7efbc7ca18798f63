from __future__ import annotations

from envkit.model.conda_record import CondaRecord
from envkit.model.formats.environment_text import channels_of

RECORDS = [
    CondaRecord(name, "1", "0", channel, "linux-64", f"{name}-1-0.conda", "ab" * 32)
    for name, channel in (("a", "conda-forge"), ("b", "pytorch"), ("c", "conda-forge"), ("d", "nvidia"))
]


def test_without_a_statement_general_channels_come_last():
    assert channels_of(RECORDS) == ["nvidia", "pytorch", "conda-forge"]


def test_the_order_that_a_lock_states_counts_and_a_channel_without_packages_stays():
    assert channels_of(RECORDS, ("conda-forge", "pytorch", "other")) == ["conda-forge", "pytorch", "other", "nvidia"]
