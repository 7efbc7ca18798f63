"""kill -9 at 40 moments of a creation, 20 of a replacement and 20 of a removal; the campaign has more of them."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness.campaign import SEED, Campaign
from tests.support.kills import draw
from tests.support.world import make_world

CHUNK = 10
COUNTS = {"create": 40, "replace": 20, "remove": 20}
CHUNKS = [
    pytest.param(operation, start, id=f"{operation}-{start + 1}-{start + CHUNK}")
    for operation, count in COUNTS.items()
    for start in range(0, count, CHUNK)
]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "start"), CHUNKS)
def test_nothing_is_lost_by_kill_9(tmp_path, operation, start):
    seeded = random.Random(f"{SEED} {operation}")  # noqa: S311 - the same moments each time
    moments = draw(seeded, operation, COUNTS[operation])[start : start + CHUNK]
    root = tmp_path / "world"
    root.mkdir()
    with make_world(root) as world:
        campaign = Campaign(world)
        outcomes = [campaign.run(moment) for moment in moments]

    assert len(outcomes) == CHUNK
    lost = [f"{outcome.moment}: {outcome.listed}: {loss}" for outcome in outcomes for loss in outcome.losses]
    assert not lost, "\n".join(lost)


@pytest.mark.slow
def test_the_campaign_prints_moments_recoveries_and_losses():
    script = Path(__file__).with_name("campaign.py")
    done = subprocess.run(
        [sys.executable, script, "--moments", "3", "--operation", "remove", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    words = done.stdout.splitlines()[-3].split()
    assert words[:2] == ["operation", "moments"]
    assert {"recoveries", "losses"} <= set(words)
    assert done.stdout.splitlines()[-2].split()[:2] == ["remove", "3"]
    assert done.returncode == (0 if done.stdout.splitlines()[-2].split()[4] == "0" else 1)
