"""A headless Chromium for tests: opens a page and tells what it did, and what it asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a Chromium without a window, or skip the test where there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no Chromium with its driver here (Debian: apt-get install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield Browser(started)
    finally:
        started.quit()


class Browser:
    """A running Chromium.

    Parameters
    ----------
    driver
        What drives it.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path | str, *, width: int = 1100, dark: bool = False, printed: bool = False) -> None:
        """Open a page, from disk or by its address, in some width, light or dark, or as printed."""
        self.show(width=width, dark=dark, printed=printed)
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page if isinstance(page, str) else page.resolve().as_uri())

    def show(
        self, *, width: int = 1100, height: int = 900, dark: bool = False, printed: bool = False
    ) -> None:
        """Show the open page in a window of some size, light or dark, or as it is printed."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": "print" if printed else "", "features": [scheme]}
        )
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script: str) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script)

    def wait(self, script: str, *, seconds: float = 30) -> None:
        """Wait until a script returns something true, for half a minute at most, or as long as is said.

        A script that fails has to wait, too: the element that it asks for may not be there yet.
        """
        from selenium.common.exceptions import JavascriptException
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(
            self.driver, seconds, poll_frequency=0.1, ignored_exceptions=[JavascriptException]
        )
        waiting.until(lambda driver: driver.execute_script(script))

    def click(self, selector: str) -> None:
        """Click on the first element that a selector finds."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).click(self.driver.find_element("css selector", selector)).perform()

    def complaints(self) -> list[str]:
        """Return what stands in the console since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened, but for the page itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        urls = [params["request"]["url"] for params in asked if params.get("type") != "Document"]
        return [url for url in urls if not url.startswith("data:")]
