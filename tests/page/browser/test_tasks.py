"""The page shows a reward's task: what is said, and where each line comes from."""

import pytest

from plaudit import Field, Reward, Seen, Task, term
from plaudit.page.library import Library
from plaudit.page.report import build_report
from support.browsers import as_file

NAME = "<b>convoy"


@term
def far(distance):
    """Stay behind."""
    return distance


BARE = Reward("following", version="1", terms=[far], fields=[Field("distance", unit="m")])
TASK = Task(
    NAME,
    doc="Keep up.",
    better={"distance": "low"},
    states=["distance"],
    horizon=500,
    fields=[Field("distance", low=0, high=50)],
    seen={"horizon": Seen(12, 12, "episodes"), "fields.distance": Seen(90, 90)},
    source="Convoy-v1",
)


@pytest.fixture
def open_reward(tmp_path, browser):
    """Open the page of one reward."""

    def open_page(reward):
        (tmp_path / "reward.json").write_text(reward.to_json(), encoding="utf-8")
        library = Library([str(tmp_path / "reward.json")])
        (tmp_path / "report.html").write_text(build_report(library).html, encoding="utf-8")
        library.close()
        place = f"#/reward/{reward.fingerprint}"
        return browser.open(as_file(tmp_path / "report.html") + place, offline=True)

    return open_page


def test_a_reward_is_shown_with_its_task(open_reward):
    with open_reward(BARE.with_task(TASK)) as page:
        task = page.section("Task")
        assert task.locator("p").first.inner_text() == f"{NAME} 1 {TASK.fingerprint[:12]} seen in Convoy-v1"
        rows = [" ".join(row.split()) for row in task.locator("tbody tr").all_inner_texts()]
        assert rows == [
            "horizon 500 steps seen in 12 of 12 episodes",
            "better distance low declared",
            "fields distance 0 … 50 seen in 90 of 90 steps",
            "states distance persists declared",
        ]
        finding = page.section("Findings").locator(".finding", has_text="wrong-way")
        assert "Seen, not declared: the range of distance (90 of 90 steps)." in finding.locator("p").all_inner_texts()


def test_a_reward_without_a_task_shows_none(open_reward):
    with open_reward(BARE) as page:
        assert page.locator("h2", has_text="Task").count() == 0
