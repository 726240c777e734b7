"""Episodes that were cut off, steps that could not be scored and several actors, in every document of the page."""

import json

import pytest

from plaudit import Ledger
from plaudit.page.addresses import format_address
from plaudit.page.library import Library
from plaudit.page.report import build_report, unpack
from support.moving import ONE, TWO, record_episode
from support.nights import SLOWER, STEPS, WALKING, Walker, record_night

RETURNS = {"env0/1": 2.9, "env0/2": 1.9, "env0/3": 3.7, "env1/1": 4.1, "env1/2": 4.5, "env1/3": 4.9}
"""Of the finished episodes; two steps of env0/2 have no score."""
SLOWER_RETURNS = {"env0/1": 2.7, "env0/2": 1.7, "env0/3": 3.1, "env1/1": 3.3, "env1/2": 3.5, "env1/3": 3.7}
CUT_OFF = ["env0/4", "env1/4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("night")
    record_night(folder / "night.db")
    (folder / "slower.json").write_text(SLOWER.to_json())
    return folder


@pytest.fixture
def library(folder):
    opened = Library([str(folder / "night.db"), str(folder / "slower.json")])
    yield opened
    opened.close()


@pytest.fixture
def started(tmp_path):
    """A library of a run in which no episode is finished yet."""
    with Ledger(tmp_path / "rewards.db") as ledger:
        walker = Walker(ledger, "night")
        walker.walk(0.5)
        walker.walk(7.0)
        walker.close()
    opened = Library([str(tmp_path / "rewards.db")])
    yield opened
    opened.close()


def compare(library):
    return library.get(format_address("compare", "l0", "night", WALKING.fingerprint, SLOWER.fingerprint))


# -- unfinished episodes ----------------------------------------------------------------------------------------------


def test_an_unfinished_episode_is_in_no_return(library):
    [run] = library.get("index")["sources"][0]["runs"]
    assert (run["episodes"], run["unfinished"]) == (8, 2)
    assert run["return"] == pytest.approx({"mean": sum(RETURNS.values()) / 6, "min": 1.9, "max": 4.9})
    curves = library.get("run/l0/night")
    assert (curves["episodes"], curves["unfinished"], curves["mean_length"]) == (8, 2, STEPS)
    assert dict(zip(curves["ids"], curves["return"]["mean"], strict=True)) == pytest.approx(RETURNS)
    assert curves["x"] == [0, 1, 2, 4, 5, 6]
    assert {len(each["mean"]) for each in (curves["length"], *curves["terms"].values())} == {6}
    assert [each is None for each in library.get("steps/l0/night")["native"]] == [False] * 3 + [True] + [False] * 3 + [
        True
    ]


def test_an_unfinished_episode_is_shown_apart(library):
    table = library.get("episodes/l0/night")
    columns = table["columns"]
    rows = dict(zip(columns["episode"], zip(columns["return"], columns["so_far"], strict=True), strict=True))
    assert {name: rows.pop(name) for name in CUT_OFF} == dict.fromkeys(CUT_OFF, (None, 1.5))
    assert {name: paid for name, (paid, _) in rows.items()} == pytest.approx(RETURNS)
    assert table["unfinished"] == 2
    assert columns["terms"]["pace"][3] is None
    episode = library.get(format_address("episode", "l0", "night", CUT_OFF[0]))
    assert (episode["return"], episode["so_far"], episode["end"]) == (None, 1.5, None)


def test_an_unfinished_episode_is_neither_scored_again_nor_compared(library):
    named = library.get("whatif/l0/night")
    assert [each["episode"] for each in named["episodes"]] == list(RETURNS)
    assert (named["of"], named["unfinished"], named["note"]) == (6, 2, None)
    scored = library.rescore("l0", "night", {"pace.weight": 0.5})
    assert {each["episode"]: each["before"] for each in scored["ranking"]} == pytest.approx(RETURNS)
    assert {each["episode"]: each["after"] for each in scored["ranking"]} == pytest.approx(SLOWER_RETURNS)
    assert scored["return"]["before"] == pytest.approx(sum(RETURNS.values()) / 6)
    returns = compare(library)["returns"]
    assert dict(zip(returns["ids"], returns["x"], strict=True)) == pytest.approx(RETURNS)
    assert dict(zip(returns["ids"], returns["y"], strict=True)) == pytest.approx(SLOWER_RETURNS)
    assert (returns["unfinished"], returns["broken"]) == (2, 0)


def test_a_run_in_which_no_episode_is_finished_has_no_return(started):
    [run] = started.get("index")["sources"][0]["runs"]
    assert (run["episodes"], run["unfinished"], run["return"], run["steps"], run["records"]) == (1, 1, None, 2, 2)
    assert run["last"] is not None
    curves = started.get("run/l0/night")
    assert (curves["x"], curves["return"]["mean"], curves["mean_length"], curves["unfinished"]) == ([], [], None, 1)
    named = started.get("whatif/l0/night")
    assert (named["episodes"], named["of"]) == ([], 0)
    assert "finished" in named["note"]
    assert started.rescore("l0", "night", {"pace.weight": 0.5})["return"] == {"before": None, "after": None}
    for kind in ("episodes", "steps", "audit"):
        json.dumps(started.get(f"{kind}/l0/night"), allow_nan=False)
    assert build_report(started).episodes == 1


def test_the_first_end_of_an_actor_makes_its_episodes_without_one_unfinished(tmp_path, monkeypatch):
    """No record of them is new: they are listed again for the sake of another one."""
    monkeypatch.setattr("plaudit.page.sources.FRESH", 0.0)
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episode(ledger, 1)
        library = Library([str(tmp_path / "rewards.db")], live=True)
        assert library.get("run/l0/night")["unfinished"] == 0
        ledger.record(ONE.score(distance=5.0, speed=1.0), run="night", episode=2, step=1, context={"terminated": True})
        assert library.get("run/l0/night")["ids"] == ["2"]
        assert library.get("run/l0/night")["unfinished"] == 1
        library.close()


def test_an_audit_says_nothing_of_returns_that_are_none(started):
    remarks = started.get("audit/l0/night")["remarks"]
    assert any("1 episode has no recorded end" in each for each in remarks)
    assert not any("may be unfinished" in each for each in remarks)


# -- steps without a score --------------------------------------------------------------------------------------------


def test_a_step_that_could_not_be_scored_has_no_number_and_a_reason(library):
    episode = library.get(format_address("episode", "l0", "night", "env0/2"))
    assert [each is None for each in episode["total"]] == [False, True, True, False]
    for column in (*episode["values"].values(), *episode["scores"].values()):
        assert [each is None for each in column] == [False, True, True, False]
    assert {at: reason.partition(":")[0] for at, reason in episode["masked"].items()} == {
        "1": "reward 'walking', field 'x'",
        "2": "reward 'walking', field 'road'",
    }
    assert episode["paths"][episode["path"][1]] == {}
    assert episode["return"] == pytest.approx(1.9)
    assert "nan" not in json.dumps(episode)


def test_a_step_that_could_not_be_scored_says_why(library):
    step = library.get(format_address("step", "l0", "night", "env0/2", 3))
    assert step["masked"] == "reward 'walking', field 'road': 'wet' is not one of its values."
    assert (step["total"], step["terms"], step["verified"]) == (None, [], True)
    assert {each["name"]: each["value"] for each in step["inputs"]} == {
        "x": 0.2,
        "road": None,
        "terminal": False,
        "left": None,
    }
    assert "not scored: reward 'walking', field 'road'" in step["why"]
    assert "nan" not in json.dumps(step)
    other = library.get(format_address("step", "l0", "night", "env0/2", 4))
    assert (other["masked"], other["total"]) == (None, 1.2)


def test_steps_without_a_score_are_counted_and_in_no_share(library):
    [run] = library.get("index")["sources"][0]["runs"]
    assert (run["steps"], run["records"], run["masked"]) == (26, 26, 2)
    assert library.get("run/l0/night")["masked"] == 2
    assert library.get("steps/l0/night")["branches"]["arrival: terminal"][:3] == [0.25, 0.5, 0.25]
    scored = library.rescore("l0", "night", {"pace.weight": 0.5})
    assert (scored["steps"], scored["masked"], scored["refused"], scored["broken"]) == (26, 2, 0, 0)
    assert compare(library)["scored"] == {"steps": 24, "of": 26, "masked": 2}


def test_a_run_of_nothing_but_steps_without_a_score_is_shown(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        walker = Walker(ledger, "night")
        for _ in range(STEPS):
            walker.walk(7.0)
        walker.close()
    (tmp_path / "slower.json").write_text(SLOWER.to_json())
    library = Library([str(tmp_path / "rewards.db"), str(tmp_path / "slower.json")])
    assert library.get("run/l0/night")["masked"] == STEPS
    assert library.get("steps/l0/night")["x"] == []
    assert compare(library)["scored"] == {"steps": 0, "of": STEPS, "masked": STEPS}
    assert library.rescore("l0", "night", {"pace.weight": 0.5})["masked"] == STEPS
    assert build_report(library).episodes == 1
    library.close()


# -- what was recorded with a step ------------------------------------------------------------------------------------


def test_a_step_has_everything_that_was_recorded_with_it(library):
    context = library.get(format_address("step", "l0", "night", "env0/1", STEPS))["context"]
    assert context == {"actor": "env0", "original_reward": 0.25, "terminated": True}


def test_an_episode_has_the_contexts_of_its_steps_unless_they_are_long(library, tmp_path):
    episode = library.get(format_address("episode", "l0", "night", "env0/2"))
    assert (episode["native"], episode["contexts"]) == ([0.25] * STEPS, {"3": {"terminated": True}})
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode, context in (("named", {"actor": "x"}), ("listed", [1, None]), ("long", {"board": "x" * 30_000})):
            ledger.record(ONE.score(distance=5.0, speed=1.0), run="r", episode=episode, actor="left", context=context)
    other = Library([str(tmp_path / "rewards.db")])
    found = [other.get(format_address("episode", "l0", "r", f"left/{name}")) for name in ("named", "listed", "long")]
    assert [each["contexts"] for each in found] == [{"0": {"actor": "x"}}, {"0": [1, None]}, None]
    record = format_address("step", "l0", "r", "left/named", found[0]["step_ids"][0])
    assert other.get(record)["context"] == {"actor": "left", "context": {"actor": "x"}}
    other.close()


# -- several actors ---------------------------------------------------------------------------------------------------


def test_episodes_of_actors_that_share_a_name_are_compared_once(tmp_path, monkeypatch):
    """Of a long run, episodes are chosen: each by its actor too."""
    monkeypatch.setattr("plaudit.page.documents.compare.MOST_STEPS", 20)
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in range(3):
            for actor in (None, "left", "right"):
                record_episode(ledger, episode, actor=actor)
    (tmp_path / "two.json").write_text(TWO.to_json())
    library = Library([str(tmp_path / "rewards.db"), str(tmp_path / "two.json")])
    found = library.get(format_address("compare", "l0", "night", ONE.fingerprint, TWO.fingerprint))
    listed = dict(zip(library.get("run/l0/night")["ids"], library.get("run/l0/night")["return"]["mean"], strict=True))
    assert found["returns"]["ids"] == ["0", "left/1", "right/2"]
    assert found["scored"]["steps"] == 18
    assert found["returns"]["x"] == pytest.approx([listed[each] for each in found["returns"]["ids"]])
    library.close()


# -- reports ----------------------------------------------------------------------------------------------------------


def read_embedded(made):
    documents = json.loads(made.html.partition('id="documents">')[2].partition("</script>")[0])
    return {address: unpack(packed) for address, packed in documents.items()}


def test_a_larger_report_explains_more_steps_and_holds_more_episodes(library, monkeypatch):
    """Also where a smaller one has room to spare: what is limited is how long it takes."""
    monkeypatch.setattr("plaudit.page.report.MOST_SINGLE", 9)
    monkeypatch.setattr("plaudit.page.report.MOST_EPISODES", 7)
    small, large = (build_report(library, max_size=size) for size in (3_000_000, 9_000_000))
    assert small.size < 1_000_000
    assert (small.episodes, large.episodes) == (7, 8)
    explained = [read_embedded(made)["index"]["embedded"]["explained"] for made in (small, large)]
    assert explained == [9, 26]


def test_a_report_explains_steps_that_have_a_score_first(library, monkeypatch):
    monkeypatch.setattr("plaudit.page.report.MOST_SINGLE", 20)
    addresses = read_embedded(build_report(library))
    start = format_address("step", "l0", "night", "env0/2", "")
    assert [each.removeprefix(start) for each in addresses if each.startswith(start)] == ["1", "4", "2"]
