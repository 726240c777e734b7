"""Pictures of the world in a real browser: beside the timeline, moved by keys, by the mouse and by playing, and read out."""

import pytest

from plaudit import Ledger
from plaudit.page import report as report_module
from plaudit.page.library import Library
from plaudit.page.report import build_report
from plaudit.systems import hackmatrix, roadsense
from support.browsers import as_file

BOARD = "/".join([". 3c C2 *4 . EXIT", *[". . #,5pt . . ."] * 4, "@ . . . V2 ."])
PLACE = "episode/l0/drive/0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("frames")


@pytest.fixture(scope="module")
def library(folder):
    """A drive that was recorded twice, and a game."""
    path = folder / "rewards.db"
    with Ledger(path) as ledger:
        for episode in (0, 1):
            for step, row in enumerate(roadsense.episode()):
                ledger.record(roadsense.reward.score(**row), run="drive", episode=episode, step=step)
        for step, row in enumerate(hackmatrix.episode()[:3]):
            context = {"board": BOARD} if step else None
            ledger.record(hackmatrix.reward.score(**row), run="game", episode=0, step=step, context=context)
    opened = Library([str(path)])
    yield opened
    opened.close()


def write_report(library, path):
    path.write_text(build_report(library).html)
    return as_file(path)


@pytest.fixture(scope="module")
def report(library, folder):
    return write_report(library, folder / "report.html")


@pytest.fixture
def open_report(browser, report):
    """Open the report without a network."""
    return lambda place, **options: browser.open(f"{report}#/{place}", offline=True, **options)


def read_label(page):
    return page.get_by_role("img").and_(page.locator(".frame svg")).get_attribute("aria-label")


def test_the_picture_moves_with_keys_the_mouse_and_playing(open_report):
    distances = [row["distance"] for row in roadsense.episode()]

    def shows(at):
        ahead = f"is {distances[at]:.1f} m away" if at else "There is no car ahead"
        return f"(document.querySelector('.frame svg')?.getAttribute('aria-label') ?? '').includes('{ahead}')"

    with open_report(PLACE) as page:
        page.wait(shows(0))
        page.keyboard.press("ArrowRight")
        page.wait(shows(1))
        assert read_label(page) == page.locator(".frame svg title").text_content()
        assert page.locator(".frame figcaption").count() == 0
        over = page.section("Terms per step").locator(".u-over")
        box = over.bounding_box()
        over.hover(position={"x": box["width"] - 2, "y": 40})
        page.wait(shows(len(distances) - 1))
        assert page.text(".frame figcaption") == f"step {len(distances) - 1}"
        assert page.text(".sticky h2") == "Step 1"
        page.locator("h1").hover()
        page.wait(shows(1))
        page.keyboard.press(" ")
        page.wait(" || ".join(map(shows, range(3, len(distances)))))  # a busy machine skips some
        page.keyboard.press(" ")
        picture = page.locator(".frame svg").bounding_box()
        assert picture["width"] > 200
        assert 60 < picture["height"] < 340
        ink = page.locator(".frame svg").evaluate("svg => getComputedStyle(svg).fill")
        assert ink == page.evaluate("getComputedStyle(document.body).color")


def test_a_board_is_drawn_where_a_record_has_one(open_report):
    with open_report("episode/l0/game/0?step=1", color_scheme="dark") as page:
        page.wait("document.querySelectorAll('.frame svg g').length === 36")
        assert "virus at row 0, column 4" in read_label(page)
        page.keyboard.press("ArrowLeft")
        assert page.text(".frame") == "No picture of this step."


def test_a_report_says_that_it_does_not_hold_the_pictures(browser, library, folder, monkeypatch):
    monkeypatch.setattr(report_module, "DRAWING_SECONDS", -1.0)
    report = write_report(library, folder / "without.html")
    with browser.open(f"{report}#/episode/l0/drive/1", offline=True) as page:
        page.wait("document.querySelector('.note')?.textContent.includes('does not contain the pictures')")
        page.go(PLACE)
        page.wait("document.querySelector('.frame svg') !== null")
