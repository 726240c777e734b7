"""Documents of the page say what the ledger and the reward say."""

import json

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import Abstained, DefinitionError, FileError, LedgerError, UnknownParameter
from plaudit.llm import Scoring, feature
from plaudit.page.addresses import PARTS, UnknownDocument, format_address
from plaudit.page.documents.run import Reduction
from plaudit.page.library import Library
from support.edits import BRIEF, words
from support.moving import ONE, ONLY_NEAR, TWO, draw, record_episode


def list_addresses(library):
    """Return an address of every kind that the library has a document for."""
    index = library.get("index")
    found = ["index", "matrix"]
    rewards = [reward["id"] for source in index["sources"] for reward in source["rewards"]]
    found += [format_address(kind, each) for each in rewards for kind in ("definition", "reward")]
    for source in index["sources"]:
        for run in source.get("runs", ()):
            where = source["id"], run["run"]
            found += [format_address(kind, *where) for kind in ("run", "steps", "audit", "episodes", "whatif")]
            found.append(format_address("compare", *where, rewards[0], rewards[-1]))
            for episode in library.get(format_address("episodes", *where))["columns"]["episode"]:
                found.append(format_address("episode", *where, episode))
                steps = library.get(found[-1])["step_ids"]
                found += [format_address("step", *where, episode, step) for step in (steps[0], steps[-1])]
    return found


def test_every_kind_of_document_is_json(library):
    addresses = list_addresses(library)
    shown = {address.partition("/")[0] for address in addresses}
    assert shown == PARTS.keys() - {"frames"}  # this reward has no pictures of its world
    for address in addresses:
        json.dumps(library.get(address), allow_nan=False)


def test_the_index_tells_every_run_and_reward(library):
    [source] = library.get("index")["sources"]
    runs = {run["run"]: run for run in source["runs"]}
    assert list(runs) == ["night", "a/b c", None]
    assert (runs["night"]["episodes"], runs["night"]["steps"], source["records"]) == (5, 30, 38)
    listed = library.find_ledger("l0").ledger.episodes(run="night")
    assert runs["night"]["return"]["min"] == min(each.total for each in listed)
    assert [reward["version"] for reward in source["rewards"]] == ["1", "3"]
    assert runs["a/b c"]["rewards"] == [ONLY_NEAR.fingerprint]


def test_an_episode_is_what_was_recorded(library):
    document = library.get("episode/l0/night/3")
    records = list(library.find_ledger("l0").ledger.history(run="night", episode="3"))
    assert document["record_ids"] == [record.id for record in records]
    assert document["total"] == [record.total for record in records]
    assert document["inputs"]["distance"] == [record.signal.inputs["distance"] for record in records]
    for term_name in ("near", "haste"):
        assert document["values"][term_name] == [record.signal[term_name].value for record in records]
        assert document["scores"][term_name] == [record.signal[term_name].score for record in records]
    assert (document["previous"], document["next"], document["units"]["distance"]) == ("2", "4", "m")


def test_the_lines_of_a_term_are_those_that_its_source_runs(library):
    """The conditions that were asked, and the return that was reached, by the text that the page shows."""
    document = library.get("episode/l0/night/3")
    reward = library.get(format_address("reward", document["reward"]))
    near = next(each for each in reward["terms"] if each["name"] == "near")
    lines = near["source"]["text"].splitlines()
    values = {"near": {1.0: "return 1.0", -1.0: "return -1.0", 0.0: "return 0.0"}}["near"]
    for at, score in enumerate(document["scores"]["near"]):
        taken = document["paths"][document["path"][at]]["near"]
        assert lines[taken[-1] - 1].strip() == values[score]
        asked = [lines[line - 1].strip() for line in taken[:-1]]
        assert asked == ["if distance < reach:", "if distance > far:"][: len(asked)]
    assert {len(path["near"]) for path in document["paths"]} == {2, 3}


def test_a_step_says_what_why_says(library):
    document = library.get("step/l0//solo/2")
    ledger = library.find_ledger("l0").ledger
    assert document["why"] == str(ledger.why(document["record"]))
    assert document["verified"] is True
    assert document["context"] == {"terminated": True, "note": "</script><b>"}
    near, haste = document["terms"]
    assert [condition["true"] for condition in near["conditions"]] == [False, True]
    assert (haste["score"], haste["clamped"], haste["weight"], haste["value"]) == (25.0, 20.0, -0.1, -2.0)
    assert near["nearest"][0]["text"].startswith("10 m less distance (40)")
    assert (document["previous"], document["next"]) == ("1", None)
    assert library.get(f"step/l0//solo/record-{document['record']}") == document


def test_a_record_that_was_changed_is_not_verified(tmp_path):
    import sqlite3

    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(ONE.score(distance=5.0, speed=1.0), run="r", episode=1, step=1)
    with sqlite3.connect(tmp_path / "rewards.db") as database:
        [outputs] = database.execute("SELECT outputs FROM blocks").fetchone()
        numbers = np.frombuffer(outputs, "<f8").copy()
        numbers[0] += 1
        database.execute("UPDATE blocks SET outputs = ?", (numbers.tobytes(),))
    library = Library([str(tmp_path / "rewards.db")])
    assert library.get("step/l0/r/1/1")["verified"] is False
    library.close()


def test_steps_without_a_number_or_with_the_same_have_addresses(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for step in (1, 1, None):
            ledger.record(ONE.score(distance=5.0, speed=1.0), run="r", episode=1, step=step)
    library = Library([str(tmp_path / "rewards.db")])
    names = library.get("episode/l0/r/1")["step_ids"]
    found = [library.get(format_address("step", "l0", "r", "1", name))["record"] for name in names]
    assert found == library.get("episode/l0/r/1")["record_ids"]
    library.close()


def test_episodes_of_one_name_have_ids_of_their_own(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for actor in ("left", "right"):
            record_episode(ledger, 1, actor=actor)
        record_episode(ledger, 1, reward=TWO, actor="left")
    library = Library([str(tmp_path / "rewards.db")])
    ids = library.get("episodes/l0/night")["columns"]["episode"]
    assert ids == ["left/1", "right/1", "left/1 moving@2"]
    documents = [library.get(format_address("episode", "l0", "night", each)) for each in ids]
    assert [(each["actor"], each["of"]) for each in documents] == [("left", 6), ("right", 6), ("left", 6)]
    assert [each["reward"] for each in documents] == [ONE.fingerprint, ONE.fingerprint, TWO.fingerprint]
    compared = library.get(format_address("compare", "l0", "night", ONE.fingerprint, TWO.fingerprint))
    for each in compared["largest"]:
        assert library.get(each["address"])["record"] == each["record"]
    library.close()


def test_long_tables_and_long_episodes_are_cut_and_say_so(library, monkeypatch):
    monkeypatch.setattr("plaudit.page.documents.episodes.MOST_ROWS", 4)
    table = library.get("episodes/l0/night")
    listed = library.find_ledger("l0").ledger.episodes(run="night")
    assert (table["shown"], table["of"]) == (4, 5)
    assert {0, 4} <= set(table["columns"]["index"])
    assert {min(each.total for each in listed), max(each.total for each in listed)} <= set(table["columns"]["return"])
    assert "spread evenly" in table["chosen"]
    from plaudit.page.documents.episode import build_episode

    cut = build_episode(library.find_ledger("l0"), "night", "3", most=4)
    assert (cut["shown"], cut["of"], len(cut["total"]), len(cut["path"])) == (4, 6, 4, 4)


def test_a_run_has_a_point_for_each_episode_and_the_shares_of_terms(library):
    document = library.get("run/l0/night")
    listed = library.find_ledger("l0").ledger.episodes(run="night")
    assert document["return"]["mean"] == [each.total for each in listed]
    assert document["ids"] == ["0", "1", "2", "3", "4"]
    assert document["reduced"] is None
    shares = np.array(list(document["share"].values()))
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)


def test_a_term_that_vanished_between_versions_leaves_a_gap(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episode(ledger, 1)
        record_episode(ledger, 2, reward=ONLY_NEAR)
    library = Library([str(tmp_path / "rewards.db")])
    document = library.get("run/l0/night")
    assert document["rewards"] == [ONE.fingerprint, ONLY_NEAR.fingerprint]
    assert document["terms"]["haste"]["mean"][1] is None
    assert document["share"]["haste"][1] == 0.0
    assert library.get("episodes/l0/night")["columns"]["terms"]["haste"][1] is None
    library.close()


def test_clamps_branches_and_native_rewards_over_training(library):
    document = library.get("steps/l0/night")
    episodes = [library.get(f"episode/l0/night/{episode}") for episode in range(5)]
    bound = [np.mean(np.array(each["inputs"]["speed"]) > 20) for each in episodes]
    near = [np.mean(np.array(each["inputs"]["distance"]) < 20) for each in episodes]
    assert document["clamps"]["haste"] == pytest.approx(bound)
    assert document["branches"]["near: distance < reach"] == pytest.approx(near)
    assert document["sampled"] == {"episodes": 5, "of": 5, "steps": 30, "of_steps": 30}
    assert library.get("steps/l0/")["native"] == [2.0]


def test_an_audit_marks_where_a_finding_begins(tmp_path):
    """A clamp that binds in every step of every episode is found, at the first record that it bound."""
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in range(20):
            columns = {"distance": np.full(50, 5.0), "speed": np.full(50, 25.0)}
            ledger.record_batch(ONE, columns, run="r", episode=str(episode), step=range(50))
    library = Library([str(tmp_path / "rewards.db")])
    document = library.get("audit/l0/r")
    found = {finding["code"]: finding for finding in document["findings"]}
    assert (found["clamp-bound"]["x"], found["clamp-bound"]["episode"], found["clamp-bound"]["where"]) == (
        0,
        "0",
        "haste",
    )
    assert library.get(found["clamp-bound"]["address"])["record"] == 1
    library.close()


# -- rewards ----------------------------------------------------------------------------------------------------------


def test_a_term_is_drawn_with_its_zones_and_the_last_number_before_each_jump(library):
    document = library.get(format_address("reward", ONE.fingerprint))
    near, haste = document["terms"]
    curve = near["curve"]
    assert [zone["label"] for zone in curve["zones"]] == ["distance < reach", "otherwise", "distance > far"]
    assert (curve["zones"][0]["to"], curve["zones"][1]["from"]) == (float(np.nextafter(20, 0)), 20.0)
    for x, y in zip(curve["x"], curve["y"], strict=True):
        assert y == ONE.score(distance=x, speed=0)["near"].value
    assert haste["clamp"] == [None, 20.0]
    assert haste["bounds"] == [-2.0, 0.0]
    assert "<math>" in near["mathml"]
    knobs = {knob["name"]: knob for knob in document["knobs"]}
    assert (knobs["haste.weight"]["kind"], knobs["haste.high"]["kind"], knobs["near.reach"]["term"]) == (
        "weight",
        "clamp",
        "near",
    )
    assert "scoreBatch" in document["module"]
    assert document["findings"]


def test_witnesses_stand_on_the_curve():
    reward = Reward("moving", version="1", terms=[near_of_two, ONE.terms[0]], fields=FIELDS_OF_TWO)
    from plaudit.page.documents.reward import build_definition, build_reward

    document = build_reward(build_definition("x", reward), reward)
    marked = [(each, term) for term in document["terms"] for each in term["witnesses"]]
    assert marked
    for each, term_document in marked:
        assert document["findings"][each["finding"]]["code"] == each["code"]
        if term_document["curve"]["kind"] == "line":
            assert each["y"] == each["value"]
    assert document["terms"][0]["curve"]["kind"] == "heat"


FIELDS_OF_TWO = [Field("distance", low=0, high=60), Field("lane", values=(0, 1, 2))]


@term
def near_of_two(distance, lane):
    return 1.0 if distance < 20 and lane == 1 else 0.0


def test_a_reward_that_javascript_cannot_express_says_so(monkeypatch):
    from plaudit.errors import UnsupportedNode
    from plaudit.page.documents.reward import build_definition

    def refuse(self, target, **options):
        if target == "javascript":
            raise UnsupportedNode("no such operation in JavaScript")
        return compiled(self, target, **options)

    compiled = Reward.compile
    monkeypatch.setattr(Reward, "compile", refuse)
    document = build_definition("x", ONE)
    assert (document["module"], document["module_missing"]) == (None, "no such operation in JavaScript")


def test_a_definition_is_there_without_any_check(library, monkeypatch):
    """Whoever needs knobs and the module, as a what-if does, does not wait for findings."""

    def refuse(*arguments, **options):
        raise AssertionError("a check was run")

    from plaudit.page.documents import reward

    with monkeypatch.context() as patched:
        patched.setattr(reward, "check", refuse)
        patched.setattr(reward, "bounds", refuse)
        definition = library.get(format_address("definition", ONE.fingerprint))
    whole = library.get(format_address("reward", ONE.fingerprint))
    assert {name: whole[name] for name in definition if name not in ("terms", "total")} == {
        name: definition[name] for name in definition if name not in ("terms", "total")
    }
    assert [each["name"] for each in definition["terms"]] == ["near", "haste"]


# -- what if, compare -------------------------------------------------------------------------------------------------


def test_what_if_scores_the_whole_run(library):
    found = library.rescore("l0", "night", {"haste.weight": 0.0, "near.reach": 30.0})
    after = ONE.with_params({"haste.weight": 0.0, "near.reach": 30.0})
    returns = [
        sum(after.score(**dict(zip(columns, row, strict=True))).total for row in zip(*columns.values(), strict=True))
        for columns in (draw(6, episode) for episode in range(5))
    ]
    assert found["steps"] == 30
    assert found["return"]["after"] == pytest.approx(np.mean(returns))
    by_episode = {each["episode"]: each for each in found["ranking"]}
    assert [by_episode[str(at)]["after"] for at in range(5)] == pytest.approx(returns)
    assert found["terms"]["haste"]["after"] == 0.0
    with pytest.raises(UnknownParameter, match=r"haste\.wieght"):
        library.rescore("l0", "night", {"haste.wieght": 0.0})


def test_records_without_a_run_are_scored_apart_from_those_of_runs(library):
    assert library.rescore("l0", "", {"haste.weight": 0.0})["steps"] == 2
    document = library.get(format_address("compare", "l0", None, ONE.fingerprint, ONE.fingerprint))
    assert (document["scored"], document["returns"]["ids"]) == ({"steps": 2, "of": 2, "masked": 0}, ["solo"])
    assert "separately" in library.get("audit/l0/")["remarks"][0]


def test_what_if_names_the_episodes_that_a_browser_scores(library):
    document = library.get("whatif/l0/night")
    assert (document["shown"], document["of"], document["steps"], document["of_steps"]) == (5, 5, 30, 30)
    assert library.get(document["episodes"][0]["address"])["episode"] == "0"
    assert document["reward"] == ONE.fingerprint


def test_two_versions_on_the_same_history(library, recorded, tmp_path):
    spec = tmp_path / "two.json"
    spec.write_text(TWO.to_json())
    opened = Library([str(recorded), str(spec)])
    document = opened.get(format_address("compare", "l0", "night", ONE.fingerprint, TWO.fingerprint))
    assert {"kind": "number", "name": "near.reach", "what": "changed", "before": 20.0, "after": 30.0} in document[
        "definitions"
    ]
    assert document["scatter"]["of"] == document["scored"]["steps"] == 30
    changed = [each for each in document["largest"] if each["before"] != each["after"]]
    assert changed
    for each in changed:
        assert opened.get(each["address"])["record"] == each["record"]
        assert opened.get(each["address"])["total"] == each["before"]
    assert document["distances"][0]["measure"] == "EPIC distance"
    assert opened.get("matrix")["names"] == ["moving@2", "moving@1", "moving@3"]
    opened.close()


def test_versions_that_no_step_allows_to_compare_say_what_is_missing(recorded, tmp_path):
    @term
    def other(height):
        return height

    spec = tmp_path / "other.json"
    spec.write_text(Reward("moving", version="9", terms=[other], fields=[Field("height", low=0, high=1)]).to_json())
    opened = Library([str(recorded), str(spec)])
    other_id = next(each for each in opened.list_rewards() if opened.rewards[each].version == "9")
    document = opened.get(format_address("compare", "l0", "night", ONE.fingerprint, other_id))
    assert document["scatter"]["of"] == 0
    assert "lack height" in document["remarks"][0]
    opened.close()


# -- reduction --------------------------------------------------------------------------------------------------------


def test_no_peak_is_lost_however_many_episodes_there_are():
    values = np.random.default_rng(0).normal(size=100_003)
    values[77_777] = 50.0
    values[12] = -50.0
    reduction = Reduction(len(values))
    found = reduction.reduce(values)
    assert max(found["max"]) == 50.0
    assert min(found["min"]) == -50.0
    assert len(found["mean"]) <= 1000
    assert all(low <= mean <= high for low, mean, high in zip(*(found[k] for k in ("min", "mean", "max")), strict=True))
    assert reduction.describe()["from"] == 100_003


def test_infinite_and_unknown_values_of_a_curve_are_told_apart():
    found = Reduction(4, most=2).reduce([np.inf, 1.0, np.nan, np.nan])
    assert found == {"mean": ["inf", None], "min": [1.0, None], "max": ["inf", None]}
    assert Reduction(0).reduce([]) == {"mean": [], "min": [], "max": []}


# -- bad input --------------------------------------------------------------------------------------------------------


def test_an_empty_ledger_is_an_honest_empty_view(tmp_path):
    Ledger(tmp_path / "empty.db").close()
    library = Library([str(tmp_path / "empty.db")])
    [source] = library.get("index")["sources"]
    assert (source["records"], source["runs"], source["rewards"]) == (0, [], [])
    with pytest.raises(UnknownDocument, match="has no run"):
        library.get("run/l0/night")
    library.close()


def test_records_without_an_episode_are_counted(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(ONE.score(distance=5.0, speed=1.0), run="r")
    library = Library([str(tmp_path / "rewards.db")])
    [run] = library.get("index")["sources"][0]["runs"]
    assert (run["episodes"], run["records"], run["return"]) == (0, 1, None)
    assert library.get("run/l0/r")["x"] == []
    assert library.get("steps/l0/r")["sampled"]["episodes"] == 0
    assert library.get("episodes/l0/r")["columns"]["episode"] == []
    with pytest.raises(UnknownDocument, match="no episodes"):
        library.get("whatif/l0/r")
    library.close()


def test_an_infinite_input_is_text(tmp_path):
    reward = Reward("far", version="1", terms=[ONE.terms[0]], fields=[Field("distance", low=0, infinite=True)])
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(reward.score(distance=float("inf")), run="r", episode=1, step=1)
    library = Library([str(tmp_path / "rewards.db")])
    assert library.get("episode/l0/r/1")["inputs"]["distance"] == ["inf"]
    step = library.get("step/l0/r/1/1")
    assert step["inputs"][0]["value"] == "inf"
    json.dumps(step, allow_nan=False)
    library.close()


def test_hostile_names_are_found_by_their_addresses(tmp_path):
    names = ["x" * 10_000, "\u202eevil", "a\x1b[31m\n", "../../etc/passwd", "%2F", "</script>", "?#&", "é/😀"]
    with Ledger(tmp_path / "rewards.db") as ledger:
        for name in names:
            ledger.record(ONE.score(distance=5.0, speed=1.0), run=name, episode=name, step=1)
    library = Library([str(tmp_path / "rewards.db")])
    for name in names:
        document = library.get(format_address("step", "l0", name, name, 1))
        assert (document["run"], document["episode"]) == (name, name)
        assert "\x1b" not in document["why"]
    library.close()


@pytest.mark.parametrize(
    "address",
    ["", "nothing", "run/l0", "run/l9/night", "run/l0/nigth", "episode/l0/night/99", "step/l0/night/1/99", "reward/ab"],
)
def test_an_address_that_names_nothing_is_unknown(library, address):
    with pytest.raises(UnknownDocument):
        library.get(address)


def test_what_is_no_ledger_is_refused(tmp_path, recorded):
    text = tmp_path / "notes.txt"
    text.write_text("not a ledger")
    with pytest.raises((LedgerError, FileError), match=r"notes\.txt"):
        Library([str(recorded), str(text)])
    with pytest.raises(FileError, match="does not exist"):
        Library([str(tmp_path / "missing.db")])
    with pytest.raises(DefinitionError, match="give a ledger or a reward"):
        Library([])
    with pytest.raises(DefinitionError, match="there is no reward 'roadsens'"):
        Library(["roadsens"])


def test_one_run_is_chosen(recorded):
    library = Library([str(recorded)], run="a/b c")
    [run] = library.get("index")["sources"][0]["runs"]
    assert run["run"] == "a/b c"
    library.close()


# -- while somebody records -----------------------------------------------------------------------------------------


def test_new_records_change_the_documents_of_their_run(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.page.sources.FRESH", 0.0)
    path = tmp_path / "rewards.db"
    with Ledger(path) as ledger:
        record_episode(ledger, 1)
        record_episode(ledger, 1, run="day")
        library = Library([str(path)], live=True)
        assert library.get("run/l0/night")["episodes"] == 1
        assert library.changed() == []
        record_episode(ledger, 2)
        assert library.changed() == ["index", "run/l0/night", "steps/l0/night", "episodes/l0/night", "whatif/l0/night"]
        assert library.changed() == []
        assert library.get("run/l0/night")["episodes"] == 2
        assert library.get("episode/l0/night/1")["next"] == "2"
        library.close()


def test_while_somebody_records_only_the_episodes_with_new_records_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.page.sources.FRESH", 0.0)
    path = tmp_path / "rewards.db"
    with Ledger(path) as ledger:
        for episode in range(3):
            record_episode(ledger, episode)
        library = Library([str(path)], live=True)
        library.get("index")
        asked, listed = [], Ledger.episodes
        monkeypatch.setattr(Ledger, "episodes", lambda self, **query: asked.append(query) or listed(self, **query))
        ledger.record(ONE.score(distance=5.0, speed=1.0), run="night", episode="1", step=6)
        ledger.record(ONE.score(distance=5.0, speed=1.0), run="day", episode="9", step=0)
        table = library.get("episodes/l0/night")["columns"]
        assert (table["episode"], table["length"]) == (["0", "1", "2"], [6, 7, 6])
        assert library.get("episodes/l0/day")["columns"]["episode"] == ["9"]
        assert asked == [{"episode": "1", "run": "night"}, {"episode": "9", "run": "day"}]
        monkeypatch.setattr("plaudit.page.sources.MOST_NEW", 0)
        record_episode(ledger, 4)
        assert library.get("run/l0/night")["episodes"] == 4
        assert asked[-1] == {}
        library.close()


def test_a_ledger_that_is_compacted_meanwhile_stays_readable(tmp_path, monkeypatch):
    monkeypatch.setattr("plaudit.page.sources.FRESH", 0.0)
    path = tmp_path / "rewards.db"
    with Ledger(path) as ledger:
        for step in range(40):
            ledger.record(ONE.score(distance=5.0, speed=1.0), run="r", episode=step // 20, step=step % 20)
        library = Library([str(path)])
        before = library.get("episode/l0/r/1")
        ledger.compact()
        assert library.get("episode/l0/r/1") == before
        library.close()


def test_nothing_is_written(recorded):
    before = recorded.read_bytes()
    library = Library([str(recorded)])
    for address in ("index", "run/l0/night", "steps/l0/night", "step/l0/night/1/1"):
        library.get(address)
    library.rescore("l0", "night", {"haste.weight": 0.0})
    with pytest.raises(LedgerError, match="read"):
        library.find_ledger("l0").ledger.record(ONE.score(distance=5.0, speed=1.0))
    library.close()
    assert recorded.read_bytes() == before


def test_a_long_run_is_listed_once_and_its_records_are_not_read(recorded, monkeypatch):
    """The first views follow from sums that are kept: no block is opened for them."""
    from plaudit.ledger.history import History

    library = Library([str(recorded)])
    library.get("index")

    def refuse(self):
        raise AssertionError("records were read")

    monkeypatch.setattr(History, "pages", refuse)
    monkeypatch.setattr("plaudit.page.sources.FRESH", 60.0)
    library.find_ledger("l0")._fresh_until = float("inf")
    for address in ("index", "run/l0/night", "episodes/l0/night", "whatif/l0/night"):
        library.get(address)
    library.close()


def test_a_step_that_is_a_rollout_shows_its_whole_text(tmp_path):
    said = [{"role": "assistant", "content": "long" * 3000, "reasoning_content": "hm"}]
    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring = Scoring(BRIEF, [words], ledger=ledger, run="night")
        scoring.score([{"prompt": "why?", "completion": said}, {"prompt": "who?", "completion": "me"}])
        library = Library([str(tmp_path / "rewards.db")], live=True)
        (first, second) = library.get("episodes/l0/night")["columns"]["episode"]
        document = library.get(format_address("step", "l0", "night", first, "record-1"))
        assert ["prompt", "why?"] in [list(part) for part in document["texts"]]
        assert ["completion, assistant", "long" * 3000] in [list(part) for part in document["texts"]]
        assert "long" not in document["why"]
        ledger.forget(run="night")
        assert library.get(format_address("step", "l0", "night", second, "record-2"))["texts"] == [
            ("prompt", None),
            ("rollout", None),
        ]


def test_a_rollout_without_a_reward_has_no_return(tmp_path):
    @feature(name="words")
    def count(text):
        if text == "skip":
            raise Abstained("nothing to count")
        return len(text.split())

    with Ledger(tmp_path / "rewards.db") as ledger:
        scoring = Scoring(BRIEF, [count], ledger=ledger, run="night")
        scoring.score([{"prompt": "why?", "completion": text} for text in ("so", "skip")])
    library = Library([str(tmp_path / "rewards.db")])
    [run] = library.get("index")["sources"][0]["runs"]
    assert (run["episodes"], run["unfinished"], run["masked"]) == (2, 0, 1)
    assert run["return"]["min"] == run["return"]["max"] == pytest.approx(0.9)
    table = library.get("episodes/l0/night")
    columns = table["columns"]
    assert (columns["return"], columns["so_far"], table["unfinished"]) == ([pytest.approx(0.9), None], [None] * 2, 0)
    assert columns["terms"]["short"] == [pytest.approx(0.9), None]
    episode = library.get(format_address("episode", "l0", "night", columns["episode"][1]))
    assert (episode["return"], episode["so_far"]) == (None, None)
    for address in list_addresses(library):
        json.dumps(library.get(address), allow_nan=False)
    library.close()
