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
        page.get_by_role("button", name="Lines").click()
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
        whole = page.section("Whole run")
        whole.locator("tbody tr").first.wait_for()
        shown = whole.locator("dd").all_inner_texts()
        assert float(shown[1].replace("\u2212", "-")) == pytest.approx(after, rel=1e-4)
        assert shown[3] == str(len(rows))


def wait_for(page, heading):
    """Wait until a page with this heading is seen, whatever pages come before it."""
    page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()


def test_the_address_with_the_token_is_needed_once(browser, serve_page):
    with serve_page() as client, browser.open(f"{client.url}#/run/l0/night") as page:
        assert page.text("h1") == "night"
        assert page.evaluate("location.href") == f"http://127.0.0.1:{client.port}/#/run/l0/night"
        assert all(client.token not in url for url in page.asked[1:])
        assert page.evaluate("document.cookie") == "", "no script can read it"
        page.goto(f"http://127.0.0.1:{client.port}/")
        wait_for(page, "rewards.db")


def test_the_token_is_in_no_referer(browser, serve_page):
    with serve_page() as client, browser.open(client.url) as page:
        sent = []

        def note(request):
            sent.append(request)

        page.on("request", note)
        page.goto(client.url)
        wait_for(page, "rewards.db")
        page.go("run/l0/night")
        page.remove_listener("request", note)
        assert len(sent) > 3
        assert [each.url for each in sent if "referer" in each.all_headers()] == []


def test_without_the_token_the_page_asks_for_it(browser, serve_page):
    with serve_page() as client, browser.open(client.url) as page:
        page.context.clear_cookies()
        page.goto(client.url.partition("?")[0])
        wait_for(page, "Token required")
        for token, heading in (("wrong", "Token required"), (client.token, "rewards.db")):
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Open").click()
            page.wait_for_load_state()
            wait_for(page, heading)
        page.complaints.clear()  # the browser itself says that the first answers were 401


@pytest.mark.parametrize("token", [True, False], ids=["with the token", "with its cookie"])
def test_a_link_from_elsewhere_leads_to_the_page_though_the_cookie_is_kept_back(browser, serve_page, tmp_path, token):
    with serve_page() as client, browser.open(client.url) as page:
        link = f"{client.url if token else client.url.partition('?')[0]}#/run/l0/night"
        if token:
            page.context.clear_cookies()
        (tmp_path / "start.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}">')
        page.goto((tmp_path / "start.html").as_uri())
        wait_for(page, "night")
        assert page.evaluate("location.href") == f"http://127.0.0.1:{client.port}/#/run/l0/night"
        assert any(url.split("#")[0].endswith("/?") for url in page.asked), "the page leads there itself"
        page.complaints.clear()  # the browser itself says that an answer was 401
        page.asked[:] = [url for url in page.asked if not url.startswith("file:")]


def test_a_page_whose_server_was_started_again_asks_for_its_new_token(browser, serve_page):
    with serve_page() as client:
        port = client.port
        opened = browser.open(client.url)
        page = opened.__enter__()
        page.wait("document.querySelector('.status').textContent === 'Live'")
    with serve_page(port=port):
        wait_for(page, "Token required")
        page.complaints.clear()
        opened.__exit__(None, None, None)


def test_a_server_that_has_ended_is_noticed(browser, serve_page):
    with serve_page() as client:
        opened = browser.open(client.url)
        page = opened.__enter__()
        page.wait("document.querySelector('.status').textContent === 'Live'")
    page.wait("document.querySelector('.status').textContent.startsWith('Disconnected')")
    page.complaints.clear()  # the browser itself says that nobody answers
    opened.__exit__(None, None, None)
