"""``envkit cuda plan`` as a program."""

from __future__ import annotations

import subprocess


def test_plan_for_this_system(envkit):
    done = envkit("cuda", "plan", "11.3", "--json")
    assert done.code == 0, done.err
    assert done.json["command"] == "cuda plan"
    assert done.json["release"] == "11.3"
    assert done.json["version"] == "11.3.1"
    needs_root = {route["kind"]: route["needs_root"] for route in done.json["routes"]}
    assert needs_root["envkit"] is needs_root["runfile-user"] is False
    assert needs_root["runfile"] is True
    known = {route["kind"]: route["known"] for route in done.json["routes"]}
    assert (known["envkit"], known["runfile"]) == ("single", "confirmed")


def test_the_text_can_be_saved_and_run_by_sh(envkit, tmp_path):
    done = envkit("cuda", "plan", "11.3", "--system", "ubuntu2004")
    assert done.code == 0
    script = tmp_path / "plan.sh"
    script.write_text(done.out)
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert done.err == ""


def test_a_release_that_does_not_exist_is_9_and_names_the_near_ones(envkit):
    done = envkit("cuda", "plan", "12.7", "--json")
    assert done.code == 9
    assert done.json["error"]["type"] == "NotFound"
    assert "12.6 and 12.8" in done.json["error"]["why"]
    assert done.json["routes"] == []
    assert envkit("cuda", "plan", "next").code == 2
