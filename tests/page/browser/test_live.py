"""The page from a server, in a real browser: it follows a run that is being recorded, and asks for its token."""

import sys
from pathlib import Path

import pytest

from plaudit import Ledger
from plaudit.page.assets import build_shell
from plaudit.page.library import Library
from support.dashboards import serve
from support.forking import run_python
from support.moving import ONE, TWO, record_episode


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in range(3):
            record_episode(ledger, episode)
    return tmp_path / "rewards.db"


@pytest.fixture
def serve_page(path):
    """Serve the ledger with the real shell."""
    library = Library([str(path)], live=True)
    yield lambda **options: serve(library, shell=build_shell(live=True), **options)
    library.close()


RECORD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from plaudit import Ledger
from support.moving import record_episode

with Ledger(sys.argv[1]) as ledger:
    record_episode(ledger, int(sys.argv[2]))
"""


def record_elsewhere(path, episode):
    """Record an episode in a process of its own, as a training does."""
    run_python([sys.executable, "-c", RECORD, path, str(episode)], check=True)


def test_a_run_is_followed_while_it_is_recorded(browser, serve_page, path):
    with serve_page() as client, browser.open(client.url) as page:
        page.wait("document.querySelector('.status').textContent === 'Live'")
        page.go("run/l0/night")
        assert page.text(".lead") == "3 episodes, 18 steps."
        page.get_by_role("button", name="Single").click()
        page.settle()
        record_elsewhere(path, 3)
        page.wait("document.querySelector('.lead').textContent === '4 episodes, 24 steps. '")
        assert page.place == "run/l0/night?terms=single", "how it is looked at stays"
        page.go("episode/l0/night/3")
        assert page.text("h1") == "Episode 3"


def test_the_server_scores_the_whole_run_with_other_knobs(browser, serve_page, path):
    with Ledger(path, read_only=True) as ledger:
        rows = [record.signal.inputs for record in ledger.history(run="night")]
    after = sum(TWO.score(**row).total for row in rows) / 3
    assert after != pytest.approx(sum(ONE.score(**row).total for row in rows) / 3)
    with serve_page() as client, browser.open(client.url) as page:
        page.go("whatif/l0/night")
        page.locator("[data-knob='near.reach'] input[type=number]").fill("30")
        whole = page.section("The whole run")
        whole.locator("tbody tr").first.wait_for()
        shown = whole.locator("dd").all_inner_texts()
        assert float(shown[1].replace("\u2212", "-")) == pytest.approx(after, rel=1e-4)
        assert shown[3] == str(len(rows))


def test_a_server_with_a_token_is_opened_by_its_address_or_by_hand(browser, serve_page):
    with serve_page(with_token=True) as client:
        with browser.open(client.url) as page:
            assert page.text("h1") == "rewards.db"
            assert client.token not in page.evaluate("location.href")
            assert all(client.token not in url for url in page.asked[1:])
        address = client.url.partition("#")[0]
        with browser.open(address) as page:
            assert page.text("h1") == "A token is needed"
            page.get_by_label("Token").fill(client.token)
            page.get_by_role("button", name="Open").click()
            page.wait("document.querySelector('h1').textContent === 'rewards.db'")
            page.complaints.clear()  # the browser itself says that the first answers were 401


def test_a_server_that_has_ended_is_noticed(browser, serve_page):
    with serve_page() as client:
        opened = browser.open(client.url)
        page = opened.__enter__()
        page.wait("document.querySelector('.status').textContent === 'Live'")
    page.wait("document.querySelector('.status').textContent.startsWith('No connection')")
    page.complaints.clear()  # the browser itself says that nobody answers
    opened.__exit__(None, None, None)
