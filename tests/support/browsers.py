"""A real browser for tests of the page: Chromium from the system, with everything it complains of and asks for noted."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
MISSING = "no Chromium here (Debian: apt-get install chromium)"
UNUSED = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "SpareRendererForSitePerProcess")
"""What would take a third of the browser's time: suggestions of an address bar that nobody sees, a process in reserve."""
UNWANTED = (
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay"),
    *("MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    "ThirdPartyStoragePartitioning",
)
"""What Playwright disables; a list that is given to the browser replaces its own."""
FLAGS = (
    *("--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"),  # as root, in a container
    *("--disable-gpu", "--in-process-gpu"),  # there is none, and a process that stands in for it takes time
    f"--disable-features={','.join((*UNUSED, *UNWANTED))}",
)

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}


def need_chromium() -> str:
    """Return the path of Chromium; skip the test, loudly, where it is not installed."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip(MISSING)
    return found


@contextmanager
def start_browser() -> Iterator["Browser"]:
    """Start one browser."""
    path = need_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield Browser(browser.new_page())
        finally:
            browser.close()


class Browser:
    """Opens one page after another, all in one tab: another tab takes as long as a test."""

    def __init__(self, page):
        self._view = View(page)

    @contextmanager
    def open(self, address, *, offline=False, size=WIDE, color_scheme="light", permissions=()):
        """Yield a page that was opened at an address; fail where it complained, or asked anybody else for anything."""
        page, context = self._view.page, self._view.page.context
        context.set_offline(offline)
        context.clear_permissions()
        context.grant_permissions(list(permissions))
        page.set_viewport_size(size)
        page.emulate_media(media="screen", color_scheme=color_scheme)
        try:
            with self._view.visit(address) as view:
                yield view
        finally:
            context.clear_cookies()


class View:
    """A page and what happens to it; what it does not know, the page of Playwright does."""

    def __init__(self, page):
        self.page, self.address = page, ""
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(300_000)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def __getattr__(self, name):
        return getattr(self.page, name)

    @contextmanager
    def visit(self, address):
        """Open an address, with nothing left of the one before; fail where it complained, or asked anybody else."""
        if self.address:
            self.page.goto("about:blank")
            self.page.mouse.move(0, 0)
        self.address = str(address)
        self.complaints.clear()
        self.asked.clear()
        self.page.goto(self.address)
        self.settle()
        yield self
        assert self.complaints == []
        assert self.foreign == []

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    @property
    def foreign(self) -> list[str]:
        """Requests to anything but the file or the server that was opened, and what the page made itself."""
        own = self.address.split("#")[0].split("?")[0]
        return [url for url in self.asked if not url.startswith((own, "data:", "blob:"))]

    def go(self, place):
        """Follow an address inside the page."""
        self.page.evaluate("place => { location.hash = place; }", f"#/{place}")
        self.settle()

    def settle(self):
        """Wait until the view of the address is drawn."""
        self.wait("document.querySelector('main')?.dataset.shown === location.hash")

    def wait(self, condition, seconds=300.0):
        """Wait until a condition holds; Playwright's own way of waiting evaluates text, which the policy forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"still not so after {seconds:g} s: {condition}"
            self.page.wait_for_timeout(20)

    @property
    def place(self) -> str:
        """Where in the page it is."""
        return self.page.evaluate("location.hash").removeprefix("#/")

    def text(self, selector) -> str:
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def section(self, heading):
        """Return the part of the view under a heading."""
        return self.page.locator("section", has=self.page.get_by_role("heading", name=heading, exact=True))

    def count_colours(self, selector) -> int:
        """Return how many colours a canvas has: one that was not drawn has one."""
        script = """canvas => {
          const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
          return new Set(pixels).size;
        }"""
        return self.page.locator(selector).first.evaluate(script)


def as_file(path: Path) -> str:
    return path.resolve().as_uri()
