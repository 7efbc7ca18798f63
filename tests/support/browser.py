"""A real Chromium without a screen, driven by its own driver over the W3C WebDriver protocol: JSON over HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's reference: https://www.w3.org/TR/webdriver2/#elements."""
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def browser_programs() -> tuple[str, str] | None:
    """Chromium and its driver, or None where one of the two is missing."""
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    return None if chromium is None or driver is None else (chromium, driver)


class Browser:
    """One session of the driver."""

    def __init__(self, address: str, chromium: str, folder: Path) -> None:
        arguments = [
            "--headless=new",
            "--no-sandbox",  # it does not run as root otherwise
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}",
        ]
        options = {"binary": chromium, "args": arguments}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        self._session = f"{address}/session"
        self._session += f"/{self._ask('POST', '', wanted)['sessionId']}"

    def open(self, address: str) -> None:
        """Load a page and wait for it; a new fragment alone would not load it."""
        self._ask("POST", "/url", {"url": "about:blank"})
        self._ask("POST", "/url", {"url": address})

    def choose(self, name: str, option: str) -> None:
        """Click on the option of a list that has this text, as a user does."""
        found = self._ask("POST", "/elements", {"using": "css selector", "value": f"#{name} option"})
        for element in found:
            path = f"/element/{element[_ELEMENT]}"
            if self._ask("GET", f"{path}/text").partition(" (")[0] == option:
                self._ask("POST", f"{path}/click", {})
                return
        raise AssertionError(f"no option {option} in {name}")

    def click(self, selector: str) -> None:
        """Click on the first element of a CSS selector."""
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"/element/{element[_ELEMENT]}/click", {})

    def text(self, selector: str) -> str:
        """The text of an element as a user sees it: empty for a hidden one."""
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return str(self._ask("GET", f"/element/{element[_ELEMENT]}/text"))

    def run(self, script: str) -> Any:
        """The value that a script returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def log(self) -> list[Any]:
        """What the page has written to the console, errors included."""
        return self._ask("POST", "/se/log", {"type": "browser"})

    def close(self) -> None:
        """End the session, and the browser with it."""
        self._ask("DELETE", "")

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._session}{path}", data, method=method)  # noqa: S310 - http
        with _DIRECT.open(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with its profile in ``folder``; nothing runs any more afterwards."""
    programs = browser_programs()
    assert programs is not None
    chromium, driver = programs
    own = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own
    ) as started:
        try:
            assert started.stdout is not None
            port = next(
                found[1] for line in started.stdout if (found := re.search(r"successfully on port (\d+)", line))
            )
            session = Browser(f"http://127.0.0.1:{port}", chromium, folder)
            try:
                yield session
            finally:
                session.close()
        finally:
            started.terminate()
