"""A real browser for pages that Endive makes: headless Chromium, driven as a person would use it.

Where there is none, tests that need it skip and say so; where `ENDIVE_REQUIRE_CHROMIUM` is set they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser(*, dark: bool = False, width: int = 1200, height: int = 1600) -> Iterator[Any]:
    """A browser window without a person in front of it."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        reason = "no Chromium with its driver here: apt-get install chromium chromium-driver"
        if os.environ.get("ENDIVE_REQUIRE_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    if dark:
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield window
    finally:
        window.quit()


def open_page(window: Any, path: Path) -> None:
    """Open a file; fails if the browser complains of anything."""
    window.get(path.resolve().as_uri())
    assert complaints(window) == []


def complaints(window: Any) -> list[str]:
    """What the browser has complained of since it was last asked."""
    return [entry["message"] for entry in window.get_log("browser")]
