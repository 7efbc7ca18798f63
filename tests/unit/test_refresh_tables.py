"""scripts/refresh_tables.py against a loopback index in the place of PyPI."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from envkit import resources
from tests.support.loopback import Handler, listening

TABLE = resources.data_file("pytorch_releases.yaml")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@pytest.fixture(scope="module")
def script():
    path = Path(__file__).parents[2] / "scripts" / "refresh_tables.py"
    spec = importlib.util.spec_from_file_location("refresh_tables", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["refresh_tables"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["refresh_tables"]


class Page(Handler):
    """Answers with the page of torch (PEP 691); the subject is its list of files."""

    def answer(self, *, body: bool) -> None:
        data = json.dumps({"meta": {"api-version": "1.1"}, "name": "torch", "files": self.server.subject}).encode()
        self.send_response(200 if self.path.strip("/").endswith("torch") else 404)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)


def file(name, when="2030-01-02T10:00:00Z", **more):
    return {
        "filename": name,
        "url": name,
        "hashes": {},
        "size": 7,
        "upload-time": when,
        "requires-python": ">=3.11",
    } | more


def as_the_table_says(row):
    """Files of a release that say what the table says of it."""
    systems = {
        "linux_x86_64": "manylinux_2_28_x86_64",
        "windows_x86_64": "win_amd64",
        "linux_aarch64": "manylinux_2_28_aarch64",
        "macos_x86_64": "macosx_11_0_x86_64",
        "macos_arm64": "macosx_11_0_arm64",
    }
    for machine, versions in row["python"].items():
        for version in versions if machine != "status" else ():
            tag = "cp" + version.rstrip("t").replace(".", "")
            name = f"torch-{row['torch']}-{tag}-{tag}{'t' * version.endswith('t')}-{systems[machine]}.whl"
            size = row["pypi_plain_wheel"].get(machine, {}).get("sample_size")
            when = f"{row['released'] or '2029-05-06'}T01:02:03Z"
            yield file(name, when, size=size, **{"requires-python": row["requires_python"]})


@pytest.fixture
def small(tmp_path):
    """A table with two releases, the date of the second open."""
    head, *rows = TABLE.read_text(encoding="utf-8").split("\n- torch: ")
    kept = [row for row in rows if row.startswith(("2.13.0\n", "2.15.0\n"))]
    path = tmp_path / "table.yaml"
    text = "\n- torch: ".join([head, *kept]).rstrip("\n") + "\n"
    path.write_text(text.replace("  released: '2026-10-28'\n", "  released: null\n"), encoding="utf-8")
    return path


def rows_of(path):
    return {row["torch"]: row for row in yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)["releases"]}  # noqa: S506


def run(script, monkeypatch, capsys, files, *arguments):
    with listening(Page, files) as url:
        monkeypatch.setattr(sys, "argv", ["refresh_tables.py", url, *arguments])
        code = script.main()
    return code, capsys.readouterr().out.splitlines()


def test_what_is_open_is_filled_in_and_what_stands_there_stays(script, small, monkeypatch, capsys):
    rows = rows_of(small)
    files = [item for row in rows.values() for item in as_the_table_says(row)]
    files = [item for item in files if "2.13.0-cp310" not in item["filename"]]  # the index lacks one version
    files += [
        file("torch-2.14.9rc1-cp311-cp311-win_amd64.whl"),
        file("torch-0.1-cp36-cp36m-win_amd64.whl"),
        file("torch-2.15.9-cp311-cp311-win_amd64.whl", yanked="broken"),
        file("torch-2.15.0.tar.gz"),
    ]
    before = small.read_text(encoding="utf-8")
    code, told = run(script, monkeypatch, capsys, files, "--check", "--table", str(small))
    assert code == 1
    assert "2.15.0: released is 2029-05-06" in told
    assert any(line.startswith("2.13.0: Python on linux_x86_64: only the index has nothing") for line in told)
    assert not any(line.startswith(("2.14.9", "0.1", "2.15.9")) for line in told)
    assert small.read_text(encoding="utf-8") == before

    assert run(script, monkeypatch, capsys, files, "--write", "--table", str(small))[0] == 0
    assert small.read_text(encoding="utf-8") == before.replace("  released: null\n", "  released: '2029-05-06'\n")
    assert run(script, monkeypatch, capsys, files, "--check", "--table", str(small))[0] == 0


def test_a_new_release_gets_a_row_in_which_nothing_is_guessed(script, small, monkeypatch, capsys):
    files = [
        *(item for row in rows_of(small).values() for item in as_the_table_says(row)),
        file("torch-2.16.0-cp312-cp312-manylinux_2_28_x86_64.whl", "2030-01-03T00:00:00Z"),
        file("torch-2.16.0-cp311-cp311-manylinux_2_28_x86_64.whl", size=500_000_000),
        file("torch-2.16.0-cp314-cp314t-manylinux_2_28_x86_64.whl"),
        file("torch-2.16.0-cp311-cp311-win_amd64.whl"),
        file("torch-2.16.0-cp311-cp311-macosx_14_0_arm64.whl"),
    ]
    code, told = run(script, monkeypatch, capsys, files, "--write", "--table", str(small))
    assert code == 0
    assert "2.16.0: new, released 2030-01-02, Python 3.11, 3.12, 3.14t" in told
    row = rows_of(small)["2.16.0"]
    assert row["released"] == "2030-01-02"
    assert row["python"]["linux_x86_64"] == ["3.11", "3.12", "3.14t"]
    assert row["pypi_plain_wheel"]["linux_x86_64"] == {
        "build": None,
        "build_status": "unknown",
        "version_string": None,
        "sample_wheel": "torch-2.16.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        "sample_size": 500_000_000,
    }
    assert (row["torchvision"], row["torchaudio"], row["pair_status"]) == (None, None, "unknown")
    assert row["builds"] == {"linux_x86_64": {}, "windows_x86_64": {}}
    schema = json.loads(resources.data_file("pytorch_releases.schema.json").read_text(encoding="utf-8"))
    table = yaml.load(small.read_text(encoding="utf-8"), Loader=LOADER)  # noqa: S506
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(table)] == []
    assert run(script, monkeypatch, capsys, files, "--check", "--table", str(small))[0] == 0


def test_a_row_read_off_an_index_is_not_used_before_its_set_is_known(script, small, monkeypatch, capsys):
    from envkit.compat import releases, tables  # noqa: PLC0415 - its cache is emptied around this test

    files = [file("torch-2.16.0-cp311-cp311-win_amd64.whl")]
    run(script, monkeypatch, capsys, files, "--write", "--table", str(small))
    rows = tuple(rows_of(small).values())
    monkeypatch.setattr(releases, "releases_table", lambda: rows)
    assert [item.torch for item in releases.releases.__wrapped__()] == ["2.15.0", "2.13.0"]
    monkeypatch.setattr(resources, "table", lambda _name: {"releases": rows})
    assert tables.plain_wheel_build("2.16.0", "win-64") is None
