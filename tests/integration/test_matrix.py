"""`envkit matrix` as a program, and its page in a real browser."""

from __future__ import annotations

import html.parser
import json
import re

import pytest

from envkit.operations import matrix as operation
from envkit.operations.machine import described_machine
from tests.support.browser import browser, browser_programs

needs_browser = pytest.mark.skipif(
    browser_programs() is None, reason="no Chromium with its driver here: apt-get install chromium chromium-driver"
)


def test_matrix_as_a_program(envkit, tmp_path):
    done = envkit("matrix", "--torch", "1.12", "--cuda", "11.3", "--html", "matrix.html", "--json")
    assert done.code == 0, done.err
    assert done.json["command"] == "matrix"
    assert [row["torch"] for row in done.json["rows"] if row["installer"] == "pip"] == ["1.12.1", "1.12.0"]
    assert done.json["rows"][0]["command"] == "envkit create torch112-cu113"
    page = envkit.cwd / done.json["html"]
    assert page == envkit.cwd / "matrix.html"
    assert "envkit create torch112-cu113" in page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page of a machine with an A100 and driver 525.60.13, described and not asked."""
    path = tmp_path_factory.mktemp("page") / "ma trix.html"
    patch = pytest.MonkeyPatch()
    patch.setattr(
        "envkit.operations.machine.this_machine",
        lambda: described_machine("525.60.13", ["NVIDIA A100-SXM4-80GB"], "linux-64"),
    )
    operation.matrix(page=path)
    patch.undo()
    return path


@pytest.fixture(scope="module")
def shown(page, tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as session:
        yield session


@needs_browser
def test_torch_112_with_cuda_113_is_picked_and_its_command_read(shown, page):
    shown.open(page.as_uri())
    shown.choose("torch", "1.12.1")
    shown.choose("cuda", "11.3")
    shown.choose("installer", "pip")
    assert shown.text("#command") == "envkit create torch112-cu113"
    assert shown.text("#verdict") == "PyTorch 1.12.1 for CUDA 11.3, by pip"
    assert shown.text("#fit") == "fits the machine"
    assert "torchvision 0.13.1, torchaudio 0.12.1" in shown.text("#set")
    assert shown.text("#count").startswith("(1 of ")
    shown.choose("python", "3.8")
    assert shown.text("#command") == "envkit create torch==1.12.1 --cuda 11.3 --python 3.8"
    assert shown.run("return location.hash") == "#torch=1.12.1&cuda=11.3&python=3.8&installer=pip"


@needs_browser
def test_what_does_not_exist_says_why_and_offers_what_does(shown, page):
    shown.open(page.as_uri())
    shown.choose("torch", "1.12.1")
    shown.choose("cuda", "12.1")
    assert shown.text("#verdict") == "There is no PyTorch 1.12.1 for CUDA 12.1."
    assert shown.text("#command-line") == ""
    assert shown.text("#why") == (
        "PyTorch 1.12.1 was built for CUDA 10.2, 11.3 and 11.6, and for the CPU. "
        "Built for CUDA 12.1: PyTorch 2.1.0 to 2.5.1."
    )
    shown.click('button[aria-label="Take CUDA 11.6"]')
    assert shown.text("#command") == "envkit create torch112-cu116"


@needs_browser
@pytest.mark.parametrize(
    ("fragment", "told"),
    [
        ("torch=1.12&python=3.11", "PyTorch 1.12.1 has files for Python 3.7 to 3.10."),
        ("torch=1.12&cuda=cu115&os=linux-aarch64", "No build is known for CUDA 11.5 with Linux on ARM."),
        ("torch=2.9&installer=conda", "No build is known of PyTorch 2.9.1 with conda."),
    ],
    ids=["python", "system", "installer"],
)
def test_a_choice_in_the_address_counts(shown, page, fragment, told):
    shown.open(f"{page.as_uri()}#{fragment}")
    assert told in shown.text("#why")


@needs_browser
def test_a_build_that_does_not_fit_the_machine_says_why(shown, page):
    shown.open(f"{page.as_uri()}#torch=2.11&cuda=13.0")
    assert shown.text("#fit").startswith(
        "does not fit the machine The CUDA build does not run with a driver older than 580"
    )
    shown.open(f"{page.as_uri()}#torch=1.12.1&cuda=10.2&installer=pip")
    assert "no kernels for compute capability 8.0" in shown.text("#fit")


@needs_browser
def test_the_page_asks_nothing_of_the_network_and_has_no_errors(shown, page):
    shown.open(page.as_uri())
    assert shown.run("return performance.getEntriesByType('resource').length") == 0
    assert shown.log() == []
    assert "A100" in shown.text("main")


@needs_browser
def test_every_field_has_a_label_and_can_be_reached_by_keyboard(shown, page):
    shown.open(page.as_uri())
    unlabelled = "return [...document.querySelectorAll('select')].filter((field) => !field.labels.length).length"
    assert shown.run(unlabelled) == 0
    assert shown.run("return document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length") == 0
    wide = "document.body.style.width = '360px'; return document.documentElement.scrollWidth <= window.innerWidth"
    assert shown.run(wide) is True


@needs_browser
def test_names_of_gpus_are_text_and_nothing_else(shown, monkeypatch, tmp_path):
    evil = "</script><script>document.title='evil'</script><!--<img src=x onerror=document.title='evil'>@DATA@"
    monkeypatch.setattr("envkit.operations.machine.this_machine", lambda: described_machine("525.60.13", [evil]))
    path = tmp_path / "page.html"
    operation.matrix(page=path)
    shown.open(path.as_uri())
    assert shown.run("return document.title").startswith("envkit matrix")
    assert evil in shown.text("main")
    assert shown.text("#verdict")


class _Table(html.parser.HTMLParser):
    """The rows of the page's table, as a reader without scripts has them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_without_scripts_the_table_has_it_all(page):
    text = page.read_text(encoding="utf-8")
    assert len(text) < 500_000
    table = _Table()
    table.feed(text.partition("<table>")[2].partition("</table>")[0])
    rows = [[cell.strip() for cell in row] for row in table.rows]
    found = [row for row in rows if row[:3] == ["1.12.1", "11.3", "pip"]]
    assert found == [["1.12.1", "11.3", "pip", "3.7 - 3.10", "Linux, Windows", "envkit create torch112-cu113", "fits"]]
    assert len(rows) == 1 + len(operation.matrix().rows)
    assert re.findall(r"""(?:src|href|action)\s*=|url\(|@import|https?://""", text) == []


def test_the_data_of_the_page_is_that_of_the_command(page):
    text = page.read_text(encoding="utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    first = data["rows"][0]
    assert (first["torch"], data["platform"], data["wanted"]) == ("2.15.0", "linux-64", {})
