"""A real browser for tests: Debian's chromium with its driver, and axe-core to look for barriers."""

import base64
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
ROOT = Path(__file__).parents[1]
FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None or find_spec("selenium") is None,
    reason="no browser to drive: apt-get install chromium chromium-driver, pip install selenium",
)
SIZES = {"desk": (1200, 900), "phone": (390, 844), "small phone": (320, 800)}


class Browser:
    """A browser with a size and a colour scheme, whatever was done with it before."""

    def __init__(self, driver: Any, size: str = "desk", scheme: str = "light") -> None:
        self.driver, self.size = driver, size
        self.command("Emulation.setScriptExecutionDisabled", {"value": False})
        self.complaints()  # are not about what is opened from now on
        width, height = SIZES[size]
        self.command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": "phone" in size},
        )
        self.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def command(self, name: str, arguments: dict[str, Any]) -> Any:
        """A command of the DevTools."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def open(self, address: str) -> None:
        """Go to a page, and mark it: a mark that is still there later shows that it was not loaded anew."""
        self.driver.get(address)
        self.script("window.notReloaded = true")

    @property
    def was_not_reloaded(self) -> bool:
        """Whether the page is still the one that was opened."""
        return bool(self.script("return window.notReloaded === true"))

    def script(self, text: str, *arguments: Any) -> Any:
        """Run JavaScript, by the browser's own right: the page's policy does not hold for it."""
        return self.driver.execute_script(text, *arguments)

    def wait(self, happened: Callable[[], object], what: str) -> Any:
        """Wait for something that a page shows."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: happened(), what)

    def find(self, selector: str) -> Any:
        """An element by a CSS selector."""
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str = "main") -> str:
        """What an element says."""
        return str(self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def fill(self, **fields: str) -> None:
        """Write into fields, by their ids."""
        for name, text in fields.items():
            self.find(f"#{name}").send_keys(text)

    def press(self, words: str) -> None:
        """Press a button or follow a link with these words, and wait for the page that follows."""
        path = f"//*[(self::button or self::a) and normalize-space(.)='{words}']"
        before = self.find("html")
        self.driver.find_element("xpath", path).click()
        self.wait(lambda: self._is_gone(before), f"{words!r} leads on")
        self.wait(lambda: self.script("return document.readyState") == "complete", "the page is there")

    def _is_gone(self, element: Any) -> bool:
        from selenium.common.exceptions import StaleElementReferenceException, WebDriverException

        try:
            return element.tag_name != "html"
        except (StaleElementReferenceException, WebDriverException):
            return True

    @property
    def is_too_wide(self) -> bool:
        """Whether the page is wider than the screen."""
        return bool(self.script("return document.documentElement.scrollWidth > document.documentElement.clientWidth"))

    def complaints(self) -> list[str]:
        """What the browser complained about: scripts or styles that the policy forbids, faults in ours."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def barriers(self) -> list[str]:
        """What axe-core finds that keeps people out, serious or worse."""
        self.script(axe_source())
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run(document).then(done)")
        return [
            f"{one['id']} ({one['impact']}): {node['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def shoot(self, path: Path, height: int | None = None) -> None:
        """A picture of the page, from its top, so many pixels high."""
        width, screen = SIZES[self.size]
        clip = {"x": 0, "y": 0, "width": width, "height": height or screen, "scale": 1}
        taken = self.command("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def driven() -> Iterator[Any]:
    """A fresh browser, by its driver."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def axe_source() -> str:
    """The text of axe-core: of npm, where it was installed (npm install axe-core), or else of a Python package."""
    installed = ROOT / "node_modules/axe-core/axe.min.js"
    spec = find_spec("axe_core_python")
    packaged = Path(next(iter(spec.submodule_search_locations or []), "")) / "axe.min.js" if spec else installed
    found = next((path for path in (installed, packaged) if path.is_file()), None)
    if found is None:
        pytest.skip("no axe-core: npm install axe-core, or pip install axe-core-python")
    return found.read_text(encoding="utf-8")
