"""Episodes that were cut off, steps that could not be scored and several actors, in a real browser."""

import re

import pytest

from plaudit import Ledger
from plaudit.page.addresses import format_address
from plaudit.page.library import Library
from plaudit.page.report import build_report
from support.browsers import as_file
from support.moving import ONE
from support.nights import SLOWER, WALKING, Walker, record_night


def write_report(folder, *sources):
    library = Library([str(folder / each) for each in sources])
    (folder / "report.html").write_text(build_report(library).html)
    library.close()
    return as_file(folder / "report.html")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("night")
    record_night(folder / "night.db")
    (folder / "slower.json").write_text(SLOWER.to_json())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("plaudit.page.report.MOST_SINGLE", 8)  # the worst step of each episode
        return write_report(folder, "night.db", "slower.json")


@pytest.fixture
def open_at(browser, report):
    return lambda place="", **options: browser.open(f"{report}#/{place}", offline=True, **options)


def name(kind, *parts):
    return format_address(kind, "l0", "night", *parts)


def list_facts(page):
    """Return what the view says of itself, by name."""
    return dict(each.split("\n") for each in page.texts("main > dl.facts > div"))


def test_no_view_shows_a_number_that_is_none(open_at):
    ids = WALKING.fingerprint, SLOWER.fingerprint
    places = [name("run"), name("episodes"), name("whatif"), name("compare", *ids)]
    places += [name("episode", each) for each in ("env0/2", "env0/4")]
    places += [name("step", "env0/2", step) for step in (1, 2, 3, 4)]
    with open_at() as page:
        for place in ["index", *places]:
            page.go(place)
            page.wait_for_timeout(100)  # what comes after the view is drawn
            found = re.search(r"(?i)\bnan\b|undefined|\bnull\b|\u22120(?![.\d])", page.text("main"))
            assert found is None, (place, found)


def test_unfinished_episodes_are_counted_apart(open_at):
    with open_at() as page:
        assert page.texts("tbody td")[1:6] == ["8 (2 unfinished)", "26 (2 not scored)", "3.6667", "1.9", "4.9"]
        page.go(name("run"))
        assert page.text(".lead") == "8 episodes (2 unfinished), 26 steps (2 not scored)."
        facts = list_facts(page)
        assert (facts["Mean return, last 10%"], facts["Lowest return"], facts["Steps per episode"]) == (
            "4.9",
            "1.9",
            "4 mean",
        )
        page.go(name("episode", "env0/4"))
        assert (list_facts(page)["Earned so far"], list_facts(page)["End"]) == ("1.5", "unfinished")


def test_a_point_of_a_curve_is_called_by_its_actor_and_episode(open_at):
    with open_at(name("run")) as page:
        over = page.section("Return").locator(".u-over")
        over.hover(position={"x": over.bounding_box()["width"] - 1, "y": 40})
        assert "episode env1/3" in page.section("Return").locator(".legend").inner_text()


def test_unfinished_episodes_come_last_however_the_table_is_sorted(open_at):
    with open_at(name("episodes")) as page:
        table = page.section("All episodes")
        assert "env0/4" not in page.section("Lowest and highest returns").inner_text()
        for sorted_by in ("pace", "Return"):
            for _ in range(2):
                table.get_by_role("button", name=sorted_by).click()
                rows = [each.split("\t") for each in table.locator("tbody tr").all_inner_texts()]
                assert [row[0] for row in rows[-2:]] == ["env0/4", "env1/4"]
        assert [row[1].strip() for row in rows[-2:]] == ["1.5 so far"] * 2
        assert [row[3].strip() for row in rows[-2:]] == ["unfinished"] * 2
        returns = [float(row[1]) for row in rows[:-2]]
        assert returns == sorted(returns)


def test_a_run_in_which_no_episode_is_finished_says_so(browser, tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        walker = Walker(ledger, "night")
        walker.walk(0.5)
        walker.close()
    with browser.open(f"{write_report(tmp_path, 'rewards.db')}#/index", offline=True) as page:
        assert page.texts("tbody td")[1:6] == ["1 (1 unfinished)", "1", "–", "–", "–"]
        page.go(name("run"))
        assert page.text(".empty-title") == "No finished episodes in this run yet."
        assert list_facts(page)["Mean return, last 10%"] == "–"
        page.go(name("episodes"))
        assert page.texts(".empty-title") == ["No finished episodes yet."] * 2
        page.go(name("whatif"))
        assert "No finished episodes yet" in page.text(".empty")


def test_a_step_without_a_score_says_why(open_at):
    reason = "Not scored: reward 'walking', field 'road': 'wet' is not one of its values."
    with open_at(f"{name('episode', 'env0/2')}?step=3") as page:
        assert page.text(".sticky .note") == reason
        assert list_facts(page)["Return"] == "1.9"
        assert list_facts(page)["Steps"] == "4 2 not scored"
        assert "2 steps that could not be scored" in page.text("figcaption")
        assert page.texts(".spark output") == ["0.2", "not given", "false", "not given"]
        page.go(name("step", "env0/2", "3"))
        assert reason in page.texts(".note")
        assert list_facts(page)["Total"] == "not scored"
        assert page.locator("#terms").count() == 0
        inputs = dict(each.split("\t")[:2] for each in page.section("Inputs").locator("tbody tr").all_inner_texts())
        assert (inputs["road"], inputs["left"]) == ("not given", "not given")


def test_what_was_recorded_with_a_step_is_shown_where_a_report_does_not_explain_it(open_at):
    with open_at(name("step", "env0/1", "4")) as page:
        note = page.text(".note")
        assert note.startswith(
            "This report has full details for 8 steps, the lowest-paid of each episode first, but not for"
        )
        assert "Use a larger --max-size for more steps" in note
        context = page.section("Context").inner_text().split()
        assert context == ["Context", "actor", "env0", "original_reward", "0.25", "terminated", "true"]


def test_what_if_leaves_out_what_has_no_score(open_at):
    """Also a step on no known road, which the first road must not stand in for."""
    with open_at(name("whatif")) as page:
        page.wait("document.getElementById('before')?.textContent === '3.6667'")
        said = page.texts("main .note")
        assert said == ["2 steps were recorded without a score and left out of all sums."]
        page.locator("[data-knob='pace.weight'] input[type=number]").fill("0.5")
        page.wait("document.getElementById('after').textContent === '3'")
        assert page.text("#changed") == "22"
        assert page.texts("main .note") == said


@pytest.mark.parametrize(
    ("numbers", "said"),
    [((7,), "step 7 (1 of 1 recorded)"), ((1, 2), "step 1 of 2"), ((0, 1), "step 0 (1 of 2 recorded)")],
)
def test_the_number_of_a_step_is_not_held_against_how_many_there_are(browser, tmp_path, numbers, said):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for number in numbers:
            ledger.record(ONE.score(distance=30.0, speed=0.0), run="night", episode=1, step=number)
    with browser.open(f"{write_report(tmp_path, 'rewards.db')}#/{name('episode', 1)}", offline=True) as page:
        assert page.text("output") == said
        assert page.texts(".sticky td.number") == ["0", "0", "0"]  # a speed of 0 costs -0.1 × 0 = -0.0
