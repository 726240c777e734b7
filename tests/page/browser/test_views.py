"""The page in a real browser: every view is opened from a file, with the network off, clicked, and compared with Python."""

import re
import shlex
import tomllib
from statistics import fmean

import pytest

from plaudit import Ledger
from plaudit.checks.check import check
from plaudit.page.addresses import format_address
from plaudit.page.library import Library
from plaudit.page.report import build_report
from support.browsers import NARROW, as_file
from support.samples import following

GENTLE = following.with_params({"comfort.weight": 0.5, "gap.far": 30.0}).with_version("gentle")
RUN = "night/3 <b>"
"""A name that would be markup, and that an address has to quote."""
STEPS = 12


def drive(episode):
    """Return the inputs of an episode: later ones keep more distance."""
    steps = range(STEPS)
    return {
        "distance": [3.0 + 2.5 * episode + (7 * n) % 23 for n in steps],
        "deceleration": [((5 * n + episode) % 12) - 4.0 for n in steps],
        "action": [(n + episode) % 4 for n in steps],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def ledger(folder):
    with Ledger(folder / "rewards.db") as ledger:
        for episode in range(8):
            ledger.record_batch(following, drive(episode), run=RUN, episode=str(episode), step=range(STEPS))
        for episode in range(3):
            ledger.record_batch(following, drive(episode + 4), run="second", episode=str(episode), step=range(STEPS))
        yield ledger


@pytest.fixture(scope="module")
def report(ledger, folder):
    (folder / "gentle.json").write_text(GENTLE.to_json())
    library = Library([str(folder / "rewards.db"), str(folder / "gentle.json")])
    (folder / "report.html").write_text(build_report(library).html)
    library.close()
    return as_file(folder / "report.html")


@pytest.fixture
def open_at(browser, report):
    """Open the report at a place, from its file and without a network."""
    return lambda place="", **options: browser.open(f"{report}#/{place}", offline=True, **options)


def name(kind, *parts):
    return format_address(kind, "l0", RUN, *parts)


def parse(text):
    """Return a number as the page writes it."""
    return float(text.replace("\u2212", "-").replace(",", "").replace("\u221e", "inf").replace("+", ""))


def find_reward_id(page):
    return page.evaluate("[...document.querySelectorAll('.tile')].map(each => each.hash)")[0].removeprefix("#/reward/")


def list_places(page):
    """Return a place of every view."""
    ids = [
        place.removeprefix("#/reward/")
        for place in page.evaluate("[...document.querySelectorAll('.tile')].map(each => each.hash)")
    ]
    runs = [name("run"), name("episodes"), name("episode", "3"), name("step", "3", "4"), name("whatif")]
    return ["index", f"reward/{ids[0]}", *runs, name("compare", *ids), "matrix"]


def test_every_view_opens_from_a_file_without_a_network(open_at):
    with open_at() as page:
        headings = {}
        for place in list_places(page):
            page.go(place)
            headings[place.split("/")[0]] = page.text("h1")
        assert headings.pop("index").startswith("rewards.db")
        assert headings == {
            "reward": "following 1",
            "run": RUN,
            "episodes": "Episodes",
            "episode": "Episode 3",
            "step": "Step 4 of episode 3 verified",
            "whatif": "What if",
            "compare": "following 1 vs. following gentle",
            "matrix": "Distances between rewards",
        }
        assert page.title() == "Distances between rewards · plaudit"


def test_nothing_is_wider_than_a_phone_and_dark_is_dark(open_at):
    with open_at(size=NARROW, color_scheme="dark") as page:
        for place in list_places(page):
            page.go(place)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, place
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(18, 20, 22)"


def test_axe_finds_no_serious_violation(open_at):
    axe = pytest.importorskip("axe_playwright_python.base").AXE_FILE_PATH.read_text()
    with open_at() as page:
        page.evaluate(axe)  # as a tool of the browser: the policy of the page would refuse it as a script
        found = {}
        for place in list_places(page):
            page.go(place)
            page.wait_for_timeout(50)  # charts are made with the first layout
            violations = page.evaluate(
                "axe.run({ resultTypes: ['violations'], preload: false }).then(result => result.violations)"
            )
            grave = [each for each in violations if each["impact"] in ("serious", "critical")]
            if grave:
                found[place] = [(each["id"], each["nodes"][0]["html"][:200]) for each in grave]
        assert found == {}


def test_the_overview_lists_runs_and_sorts_them(open_at):
    with open_at() as page:
        assert page.texts("tbody td:first-child") == [RUN, "second"]
        steps = page.get_by_role("button", name="Steps")
        steps.click()
        assert page.texts("tbody td:nth-child(3)") == ["96", "36"]
        steps.click()
        assert page.texts("tbody td:nth-child(3)") == ["36", "96"]
        page.get_by_role("link", name=RUN).click()
        page.settle()
        assert page.place == name("run")


def test_a_reward_shows_what_the_checks_found(open_at):
    with open_at() as page:
        page.go(f"reward/{find_reward_id(page)}")
        assert page.texts(".finding strong") == [finding.code for finding in check(following).findings]
        assert page.section("Terms").locator("h3").all_inner_texts() == list(following.program.terms)
        assert page.locator("math").count() >= 4
        assert page.section("Terms").locator("canvas").count() >= 2
        assert page.count_colours(".term canvas") > 3
        page.locator("summary", has_text="Source").first.click()
        assert "if distance < near:" in page.text("pre.source")


def test_a_run_is_smoothed_stacked_and_laid_over_another(open_at):
    with open_at(name("run")) as page:
        page.wait("document.querySelectorAll('section h3').length === 3")  # branches come after the run is drawn
        assert page.section("Branches taken, share of steps").locator("h3").all_inner_texts() == [
            "gap",
            "comfort",
            "needed",
        ]
        page.get_by_role("button", name="Log").click()
        page.get_by_role("button", name="Lines").click()
        page.get_by_label("Smoothing").select_option("5")
        page.get_by_label("Overlay").select_option(label="rewards.db / second")
        page.settle()
        assert page.place.partition("?")[2] == "axis=log&terms=single&smooth=5&with=l0%2Fsecond"
        assert page.section("Return").locator(".legend button").all_inner_texts() == [RUN, "second"]
        gap = page.section("Terms").get_by_role("button", name="gap")
        gap.click()
        assert gap.get_attribute("aria-pressed") == "false"


def test_a_click_on_a_curve_opens_the_episode(open_at):
    with open_at(name("run")) as page:
        over = page.section("Return").locator(".u-over")
        box = over.bounding_box()
        over.hover(position={"x": box["width"] - 1, "y": 40})
        assert "episode 7" in page.section("Return").locator(".legend").inner_text()
        over.click(position={"x": box["width"] - 1, "y": 40})
        page.settle()
        assert page.place.startswith(name("episode", "7"))


def test_episodes_are_sorted_and_two_stand_side_by_side(open_at, ledger):
    returns = {each.episode: each.total for each in ledger.episodes(run=RUN)}
    best = max(returns, key=returns.__getitem__)
    with open_at(name("episodes")) as page:
        page.section("All episodes").get_by_role("button", name="Return").click()
        assert page.section("All episodes").locator("tbody tr").first.locator("td").first.inner_text() == best
        assert page.place.endswith("sort=1.down")
        page.get_by_role("button", name="compare").nth(0).click()
        page.settle()
        page.get_by_role("button", name="compare", exact=True).nth(2).click()
        page.settle()
        pair = page.section("Side by side")
        shown = [parse(text) for text in pair.locator("dl dd").all_inner_texts()[::3]]
        chosen = re.findall(r"[ab]=(\d)", page.place)
        assert shown == pytest.approx([returns[each] for each in chosen])
        assert pair.locator("canvas").count() == 2


def test_an_episode_is_walked_through_with_the_keyboard(open_at, ledger):
    records = list(ledger.history(run=RUN, episode="3"))
    with open_at(name("episode", "3")) as page:
        for at in (1, 2, 3):
            page.keyboard.press("ArrowRight")
            assert page.text("aside, .sticky h2") == f"Step {at}"
            assert parse(page.text(".sticky strong")) == pytest.approx(records[at].signal.total)
        page.keyboard.press("ArrowLeft")
        assert page.texts(".spark output")[0] == f"{records[2].signal.inputs['distance']:g}"
        page.keyboard.press("End")
        assert page.text(".sticky h2") == f"Step {STEPS - 1}"
        page.locator("#lines summary").click()
        page.wait("document.querySelectorAll('#lines .taken').length > 3")  # a browser tells of it later
        page.locator("h1").click()
        page.keyboard.press("Home")
        page.keyboard.press(" ")
        page.wait("Number(document.querySelector('.sticky h2').textContent.slice('Step '.length)) >= 2")
        if page.text("#play") != "Play":  # it ends by itself, too
            page.keyboard.press(" ")
        assert page.text("#play") == "Play"
        page.keyboard.press("Enter")
        page.settle()
        assert page.place.startswith(name("step", "3"))


def test_a_view_that_is_left_does_not_keep_its_step_in_the_address(open_at):
    with open_at(name("episode", "3")) as page:
        page.evaluate("""place => {
          const started = [], wait = window.setTimeout;
          window.setTimeout = (action) => started.push(action);
          dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
          window.setTimeout = wait;
          location.hash = place;
          started.forEach((action) => action());
        }""", f"#/{name('run')}")  # fmt: skip
        page.wait("document.querySelector('h1').textContent !== 'Episode 3'")
        assert page.text("h1") == RUN
        assert page.place == name("run")


@pytest.mark.parametrize("kept", [True, False], ids=["whole", "from its episode"])
def test_a_step_says_what_ledger_why_says(open_at, ledger, kept):
    with open_at(name("episode", "3")) as page:
        addresses = page.evaluate("Object.keys(JSON.parse(document.getElementById('documents').textContent))")
        start = name("step", "3", "")
        embedded = {int(each.removeprefix(start)) for each in addresses if each.startswith(start)}
        step = min(embedded if kept else set(range(STEPS)) - embedded)
        [record] = [each for each in ledger.history(run=RUN, episode="3") if each.step == step]
        page.go(name("step", "3", step))
        for term in record.signal.terms:
            row = page.locator(f"tr[data-term='{term.name}'] td")
            exact = row.locator("[data-exact]").evaluate_all("cells => cells.map(cell => Number(cell.dataset.exact))")
            assert exact == [term.score, term.clamped, term.weight, term.value]
        assert page.locator(".taken").count() > 3
        inputs = page.section("Inputs").locator("tbody td:first-child").all_inner_texts()
        assert inputs == list(record.signal.inputs)
        if kept:
            assert page.text("#why-text") == str(ledger.why(record.id)).rstrip()
            assert page.locator(".nearest li").count() > 0
        page.keyboard.press("ArrowRight")
        page.wait(f"location.hash.endsWith('/{step + 1}')")


def test_what_if_gives_the_numbers_that_python_gives(open_at, ledger):
    changed = {"comfort.weight": 3.5, "gap.near": 9.0}
    other = following.with_params(changed)
    rows = [[record.signal.inputs for record in ledger.history(run=RUN, episode=str(each))] for each in range(8)]
    returns = [[sum(reward.score(**row).total for row in episode) for episode in rows] for reward in (following, other)]
    with open_at(name("whatif"), permissions=["clipboard-read", "clipboard-write"]) as page:
        page.wait_for_selector("#before")
        page.locator("[data-knob='comfort.weight'] input[type=number]").fill("3.5")
        page.locator("[data-knob='gap.near'] input[type=number]").fill("9")
        page.wait("document.getElementById('change').textContent !== '0'")
        page.wait_for_timeout(100)
        shown = [parse(page.text(f"#{each}")) for each in ("before", "after")]
        assert shown == pytest.approx([fmean(each) for each in returns], rel=1e-4)
        assert page.locator("section", has_text="Largest changes").last.locator("tbody tr").count() == 10
        copied = {}
        for at, kind in enumerate(("TOML", "--set", "Python")):
            page.get_by_role("button", name=kind, exact=True).click()
            page.wait(f"document.querySelectorAll('.copies button')[{at}].textContent === 'Copied'")
            copied[kind] = page.evaluate("navigator.clipboard.readText()")
        assert following.with_params(tomllib.loads(copied["TOML"])) == other
        sets = dict(each.split("=") for each in shlex.split(copied["--set"])[1::2])
        assert following.with_params({key: float(value) for key, value in sets.items()}) == other
        assert eval(copied["Python"], {"reward": following}) == other
        page.wait("location.hash.includes('set=')")
        page.reload()
        page.wait("document.querySelectorAll('.knob.changed').length === 2")
        page.get_by_role("button", name="Reset all").click()
        page.wait("document.getElementById('change')?.textContent === '0'")


def test_two_versions_are_compared_on_the_same_history(open_at):
    with open_at() as page:
        page.go(list_places(page)[-2])
        assert "96 steps" in page.text(".lead")
        assert page.section("Steps").locator("canvas").count() == 1
        assert page.section("Largest changes").locator("tbody tr").count() == 10
        assert "comfort.weight" in page.section("Diff").inner_text()
        page.section("Largest changes").get_by_role("link").first.click()
        page.wait("document.querySelector('h1').textContent.startsWith('Step')")


def test_what_a_report_does_not_hold_is_said(open_at):
    with open_at(name("episode", "99")) as page:
        assert page.text("h1") == "Not available"
        assert "--max-size" in page.text(".empty")
        page.go("nonsense/%E0%A4%A")
        assert "no view called" in page.text(".empty")
        page.get_by_role("link", name="Back to the overview").click()
        page.settle()
        assert page.text("h1").startswith("rewards.db")


def test_printing_leaves_out_what_can_only_be_clicked(open_at):
    with open_at(name("run")) as page:
        page.emulate_media(media="print")
        assert not page.locator(".tabs").is_visible()
        assert page.locator("canvas").first.is_visible()
        assert page.pdf().startswith(b"%PDF")


def test_the_policy_lets_nothing_else_run(open_at):
    with open_at() as page:
        before = len(page.complaints)
        page.evaluate("""() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<b onclick='window.ran = true' style='color: red'>x</b>");
          document.body.lastChild.click();
        }""")
        assert page.evaluate("window.ran") is None
        assert (
            "fetch"
            in page.evaluate("fetch('https://example.com').then(() => 'answered', error => error.message)").lower()
        )
        assert len(page.complaints) > before
        page.complaints.clear()
        page.asked.clear()
