from __future__ import annotations

import json

import pytest

from envkit.model.report import LAYERS, LAYERS_OF_LEVEL, LayerResult, VerifyReport


def report(*statuses, level="device", more=()):
    results = [
        LayerResult(layer, status, None if status == "pass" else f"{layer} {status}", {"n": index}, 0.5)
        for index, (layer, status) in enumerate(zip(LAYERS, statuses, strict=False))
    ]
    return VerifyReport(level, (*results, *more))


@pytest.mark.parametrize(
    ("given", "verified", "failed", "not_verifiable", "reason"),
    [
        (report("pass", "pass", "pass", "pass"), True, False, False, None),
        (report("pass", "fail", "skip", "skip"), False, True, False, "device fail"),
        (report("pass", "skip", "skip", "fail"), False, True, False, "memory fail"),
        (report("pass", "skip", "skip", "skip"), False, False, True, "device skip"),
        (report("pass", "pass", "pass", "skip"), False, False, True, "memory skip"),
        (report("pass", level="import"), False, False, False, None),
        (report("fail", level="import"), False, True, False, "import fail"),
        (
            report("pass", "pass", "pass", "pass", level="full", more=[LayerResult("training", "fail", "slow")]),
            False,
            True,
            False,
            "slow",
        ),
        (
            report("pass", "pass", "pass", "pass", level="full", more=[LayerResult("training", "skip", "no")]),
            True,
            False,
            False,
            "no",
        ),
    ],
    ids=[
        "all-pass",
        "device-fails",
        "fail-wins-over-skip",
        "no-gpu",
        "one-skipped",
        "import-only",
        "import-fails",
        "further-layer-fails",
        "further-layer-skipped",
    ],
)
def test_verify_report_gives_a_verdict(given, verified, failed, not_verifiable, reason):
    assert (given.verified, given.failed, given.not_verifiable) == (verified, failed, not_verifiable)
    assert given.reason == reason


def test_verify_report_to_json_has_the_documented_fields():
    value = report("pass", "skip").to_json()
    assert value == {
        "level": "device",
        "layers": [
            {"layer": "import", "status": "pass", "reason": None, "facts": {"n": 0}, "seconds": 0.5},
            {"layer": "device", "status": "skip", "reason": "device skip", "facts": {"n": 1}, "seconds": 0.5},
        ],
        "verified": False,
    }


def test_verify_report_comes_back_from_json():
    given = report("pass", "pass", "fail", "skip")
    value = json.loads(json.dumps(given.to_json()))
    assert VerifyReport.from_json(value) == given
    value["verified"] = True
    value["more"] = 1
    value["layers"][0]["more"] = 1
    assert not VerifyReport.from_json(value).verified


@pytest.mark.parametrize(
    "change",
    [{"status": "maybe"}, {"reason": 3}, {"seconds": "1"}, {"facts": None}, {"layer": None}],
    ids=lambda change: next(iter(change)),
)
def test_verify_report_from_json_refuses_a_layer_of_another_form(change):
    value = report("pass").to_json()
    value["layers"][0].update(change)
    with pytest.raises(ValueError, match="not a layer of a verify report"):
        VerifyReport.from_json(value)


@pytest.mark.parametrize("value", [None, [], {}, {"level": "all", "layers": []}, {"level": "device", "layers": {}}])
def test_verify_report_from_json_refuses_another_object(value):
    with pytest.raises(ValueError, match="not a verify report"):
        VerifyReport.from_json(value)


def test_facts_of_a_layer():
    assert report("pass", "pass").facts("device") == {"n": 1}
    assert report("pass").facts("device") == {}


def test_levels_run_the_first_layers():
    assert LAYERS_OF_LEVEL["import"] == ("import",)
    assert LAYERS_OF_LEVEL["device"] == ("import", "device", "compute", "memory")
    assert LAYERS_OF_LEVEL["full"][:4] == LAYERS
