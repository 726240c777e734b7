"""What a finding shows is held against steps that happened: seen, contradicted, or not tried."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.simulators import Row, Simulator, play

from plaudit import Field, Reward, Task, check, term
from plaudit.checks.evidence import judge_findings
from plaudit.checks.finding import Evidence, Finding, Step
from plaudit.checks.formats.json import format_json
from plaudit.checks.model import RewardModel
from plaudit.checks.report import LocatedReport
from plaudit.checks.seen_steps import SeenSteps
from plaudit.errors import DefinitionError


def begin(rng: np.random.Generator) -> Row:
    return {"place": float(rng.integers(0, 10))}


def walk(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
    """Left, stay or right in a corridor of ten cells."""
    return {"place": min(max(row["place"] + action - 1, 0.0), 9.0)}, False


def ride(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
    """A belt that goes round by two cells, whatever is done."""
    return {"place": (row["place"] + 2) % 10}, False


def climb(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
    """A shaft in which one can stay or rise, and that ends at the top."""
    place = row["place"] + (action > 0)
    return {"place": place}, place >= 9


def fall(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
    """A corridor with a hole at its right end."""
    made, _ = walk(row, action, rng)
    return made, made["place"] >= 9


def play_steps(step: Callable[..., tuple[Row, bool]]) -> SeenSteps:
    return play(Simulator("world", begin, step, actions=3, idle=1, limit=60), steps=4000).to_seen_steps()


@term
def near_the_end(place):
    """Paid for being in the last cells."""
    return 1.0 if place > 7 else 0.0


def pay_for_staying(high: float = 9) -> Reward:
    def is_home(place):
        return place < 0.5

    return Reward(
        "waiting",
        version="1",
        terms=[near_the_end],
        fields=[Field("place", low=0, high=high)],
        task=Task(goal=is_home, states=["place"], horizon=50),
    )


@term
def rise(prev, curr):
    """Paid for every step up."""
    return 1.0 if curr.place > prev.place else 0.0


def pay_for_rising() -> Reward:
    fields = [Field("place", low=0, high=9)]
    return Reward("rising", version="1", terms=[rise], fields=fields, task=Task(max_change={"place": 1}))


def judge(reward: Reward, steps: SeenSteps, claims: Any, *rows: dict[str, Any], about: tuple[str, ...] = ()) -> str:
    witness = tuple(Step(row, about=about) for row in rows)
    given = Finding(
        code="jump", severity="warning", term="total", message="", advice="", witness=witness, claims=claims
    )
    [found] = judge_findings(steps, RewardModel(reward), [given])
    return "" if found.evidence is None else found.evidence.verdict


def test_a_stay_that_play_kept_is_seen() -> None:
    task = pay_for_staying().task.evolve(ends={"home": "good"}, fields=[Field("home", flag=True)])
    [found] = check(pay_for_staying().with_task(task), steps=play_steps(walk)).at_least("warning")
    assert (found.code, found.is_seen) == ("goal-not-best", True)
    assert found.evidence is not None
    assert found.evidence.says.startswith("Seen: the agent stayed in this state for 3 or more steps in ")


def test_a_stay_where_nothing_ever_stayed_is_contradicted() -> None:
    assert judge(pay_for_staying(), play_steps(ride), "stay", {"place": 8.0}) == "contradicted"


def test_a_stay_beyond_what_was_played_is_not_tried() -> None:
    assert judge(pay_for_staying(high=1000), play_steps(walk), "stay", {"place": 900.0}) == "not tried"


def test_without_steps_nothing_is_said() -> None:
    [found] = check(pay_for_staying()).by_code("goal-not-best")
    assert found.evidence is None
    assert "tried" not in str(check(pay_for_staying()))


def test_a_cycle_whose_every_step_was_made_is_seen() -> None:
    [seen, *_] = check(pay_for_rising(), steps=play_steps(walk)).by_code("loop-that-pays")
    assert seen.is_seen
    assert seen.evidence is not None
    assert "every step of the cycle occurred" in seen.evidence.says


def test_a_cycle_of_leaps_that_nothing_made_is_dropped_counted_and_listed_in_json() -> None:
    @term
    def leap(prev, curr):
        return 1.0 if curr.place > prev.place + 5 else 0.0

    reward = Reward("leaping", version="1", terms=[leap], fields=[Field("place", low=0, high=9)])
    assert check(reward).by_code("loop-that-pays")
    report = check(reward, steps=play_steps(walk))
    assert not report.by_code("loop-that-pays")
    assert {each.code for each in report.contradicted} == {"loop-that-pays"}
    [dropped, *_] = report.contradicted
    assert dropped.evidence is not None
    assert "place never moved by more than 1" in dropped.evidence.says
    count = f"{len(report.contradicted)} finding"
    assert f"dropped    {count}" in str(report)
    assert "contradicted by the observed steps (--json shows them)" in str(report)
    [listed, *_] = format_json([LocatedReport(report)])["rewards"][0]["contradicted"]
    assert listed["evidence"]["verdict"] == "contradicted"


def test_a_way_back_that_nothing_took_is_not_tried_for_it_may_take_skill() -> None:
    [found, *_] = check(pay_for_rising(), steps=play_steps(climb)).by_code("loop-that-pays")
    assert found.evidence is not None
    assert found.evidence.verdict == "not tried"


def test_findings_that_were_seen_come_first_among_those_as_grave() -> None:
    @term(kind="penalty")
    def heat_costs(heat):
        return heat - 500

    @term(kind="penalty")
    def place_costs(place):
        return place - 5

    fields = [Field("heat", low=0, high=1000), Field("place", low=0, high=9)]
    both = Reward("both", version="1", terms=[heat_costs, place_costs], fields=fields)
    played = play_steps(walk)
    cold = np.zeros(len(played))
    steps = SeenSteps(
        before={**played.before, "heat": cold},
        after={**played.after, "heat": cold},
        episode=played.episode,
        terminated=played.terminated,
        truncated=played.truncated,
    )
    assert [each.term for each in check(both, only="wrong-sign")] == ["heat_costs", "place_costs"]
    judged = check(both, only="wrong-sign", steps=steps)
    assert [(each.term, each.is_seen) for each in judged] == [("place_costs", True), ("heat_costs", False)]
    assert judged.findings[1].evidence == Evidence("not tried", "Not tried: none of 4,000 steps came near.")
    assert "Not tried: none of 4,000 steps came near." in str(judged)


@pytest.mark.parametrize(
    ("world", "row", "verdict"),
    [
        (fall, {"place": 9.0, "terminal": True}, "seen"),
        (fall, {"place": 3.0, "terminal": True}, "contradicted"),
        (fall, {"place": 30.0, "terminal": True}, "not tried"),
        (walk, {"place": 9.0, "terminal": True}, "contradicted"),
    ],
)
def test_an_end_is_seen_where_an_episode_ended_so(world: Any, row: dict[str, Any], verdict: str) -> None:
    reward = pay_for_staying(high=50)
    assert judge(reward, play_steps(world), "end", row, about=("place",)) == verdict


def test_an_end_that_does_not_say_where_is_never_contradicted() -> None:
    assert judge(pay_for_staying(), play_steps(walk), "end", {"place": 3.0, "terminal": True}) == "not tried"


def test_a_step_is_never_contradicted_but_for_going_where_none_went() -> None:
    steps = play_steps(walk)
    assert judge(pay_for_staying(), steps, "step", {"place": 3.0}) == "seen"
    assert judge(pay_for_staying(high=50), steps, "step", {"place": 40.0}) == "not tried"
    rising = pay_for_rising()
    assert judge(rising, steps, "step", {"prev.place": 3.0, "curr.place": 4.0}) == "seen"
    assert judge(rising, steps, "step", {"prev.place": 3.0, "curr.place": 8.0}) == "contradicted"


def test_a_small_step_is_not_contradicted_by_larger_ones() -> None:
    assert judge(pay_for_rising(), play_steps(walk), "step", {"prev.place": 3.0, "curr.place": 3.2}) != "contradicted"


def test_too_few_visits_contradict_nothing() -> None:
    belt = play(Simulator("world", begin, ride, actions=3, idle=1, limit=60), steps=40).to_seen_steps()
    assert judge(pay_for_staying(), belt, "stay", {"place": 8.0}) == "not tried"


def test_what_random_actions_bring_back_is_not_contradicted() -> None:
    def push(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
        """A cart that is always pushed one way or the other: no step leaves it where it is."""
        return {"place": min(max(row["place"] + (1 if action > 1 else -1), 0.0), 9.0)}, False

    assert judge(pay_for_staying(), play_steps(push), "stay", {"place": 4.0}) == "not tried"


def test_what_only_falls_need_not_be_kept() -> None:
    def drain(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
        made, _ = walk(row, action, rng)
        return {**made, "fuel": row["fuel"] - 2}, False

    @term
    def thrifty(fuel, place):
        return 0.01 * fuel + (place > 7)

    steps = play(
        Simulator("world", lambda rng: {**begin(rng), "fuel": 60.0}, drain, actions=3, idle=1, limit=30), steps=4000
    ).to_seen_steps()
    fields = [Field("fuel", low=0, high=60), Field("place", low=0, high=9)]
    row = {"fuel": 30.0, "place": 8.0}
    for monotone, verdict in (({"fuel": "down"}, "seen"), ({}, "contradicted")):
        task = Task(states=["place", "fuel"], monotone=monotone)
        reward = Reward("thrift", version="1", terms=[thrifty], fields=fields, task=task)
        assert judge(reward, steps, "stay", row) == verdict


def test_steps_that_lack_what_a_finding_is_about_say_nothing() -> None:
    steps = play_steps(walk)

    @term
    def bright(light):
        return 1.0 if light > 5 else 0.0

    reward = Reward("light", version="1", terms=[bright], fields=[Field("light", low=0, high=9)])
    assert judge(reward, steps, "step", {"light": 8.0}) == ""


def test_kept_rows_are_those_of_states_that_were_kept_each_told_once() -> None:
    model = RewardModel(pay_for_staying())
    kept = play_steps(walk).list_kept_rows(model)
    assert sorted(row["place"] for row in kept) == [float(place) for place in range(10)]
    assert play_steps(ride).list_kept_rows(model) == []


def test_rows_are_listed_and_scored_as_the_reward_reads_them() -> None:
    model = RewardModel(pay_for_rising())
    steps = play_steps(walk)
    rows = steps.list_rows(model)
    assert {tuple(row) for row in rows} == {("curr.place", "prev.place")}
    assert all(abs(row["curr.place"] - row["prev.place"]) <= 1 for row in rows)
    totals = steps.score_rows(model)
    assert totals is not None
    np.testing.assert_array_equal(totals, (steps.after["place"] > steps.before["place"]).astype(float))


def test_categories_flags_and_entries_of_vectors_are_found_by_the_names_of_inputs() -> None:
    count = 60
    steps = SeenSteps(
        before={},
        after={
            "phase": np.array(["plan", "code"] * 30),
            "ready": np.arange(count) % 3 == 0,
            "force": np.stack([np.zeros(count), np.arange(count, dtype=float)], 1),
        },
        episode=np.zeros(count, np.int64),
        terminated=np.zeros(count, bool),
        truncated=np.zeros(count, bool),
    )
    phase, force = Field("phase", values=("plan", "code")), Field("force", shape=(2,))
    codes = steps.find_column("phase", phase)
    assert codes is not None
    assert codes[0][:4].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert codes[1].all()
    entry = steps.find_column("force[1]", force)
    assert entry is not None
    assert entry[0][:3].tolist() == [0.0, 1.0, 2.0]
    assert steps.find_width("force[1]", force) == 59.0
    assert steps.find_column("prev.phase", phase) is None


def test_what_are_no_steps_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"steps= takes observed steps, not a list; .*observe"):
        check(pay_for_staying(), steps=[{"place": 1.0}])  # type: ignore[arg-type]


def test_no_steps_are_refused() -> None:
    nothing = np.zeros(0, bool)
    with pytest.raises(DefinitionError, match="there are no steps"):
        SeenSteps(before={}, after={}, episode=np.zeros(0, np.int64), terminated=nothing, truncated=nothing)


def test_where_a_cycle_goes_further_than_anything_did_a_shorter_one_is_looked_for() -> None:
    fields = [Field("place", low=0, high=9)]
    reward = Reward("rising", version="1", terms=[rise], fields=fields)

    def list_leaps(found: tuple[Finding, ...]) -> set[float]:
        return {abs(step.inputs["curr.place"] - step.inputs["prev.place"]) for each in found for step in each.witness}

    assert max(list_leaps(check(reward).by_code("loop-that-pays"))) > 1
    report = check(reward, steps=play_steps(walk))
    found = report.by_code("loop-that-pays")
    assert list_leaps(found) == {1}
    assert {(each.is_seen, each.basis) for each in found} == {(True, "seen")}
    assert report.contradicted == ()


def test_a_cycle_that_was_not_tried_gives_way_to_one_that_was_seen() -> None:
    reward = Reward("rising", version="1", terms=[rise], fields=[Field("place", low=0, high=1000)])
    report = check(reward, steps=play_steps(walk))
    assert {each.is_seen for each in report.by_code("loop-that-pays")} == {True}
    lap = next(each for each in report.incentives if each.kind == "lap")
    assert all(abs(step.inputs["curr.place"] - step.inputs["prev.place"]) <= 1 for step in lap.witness)


def test_a_flag_that_always_ends_the_episode_is_not_kept_whatever_else_is() -> None:
    def arrive(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
        made, _ = walk(row, action, rng)
        home = made["place"] == 0
        return {**made, "home": home}, home

    @term
    def at_home(home, place):
        return 5.0 * home + 0 * place

    fields = [Field("home", flag=True), Field("place", low=0, high=9)]
    reward = Reward("home", version="1", terms=[at_home], fields=fields, task=Task(states=["home", "place"]))
    world = Simulator("world", lambda rng: {**begin(rng), "home": False}, arrive, actions=3, idle=1, limit=60)
    steps = play(world, steps=4000).to_seen_steps()
    assert judge(reward, steps, "stay", {"home": True, "place": 9.0}) == "contradicted"
    assert judge(reward, steps, "stay", {"home": False, "place": 9.0}) == "seen"


def test_a_step_that_makes_progress_is_no_kept_state() -> None:
    def grow(row: Row, action: Any, rng: np.random.Generator) -> tuple[Row, bool]:
        made, _ = walk(row, action, rng)
        return {**made, "growth": min(row["growth"] + 0.1 * (action > 1), 9.0)}, False

    @term
    def progress(prev, curr):
        return curr.growth - prev.growth + 0 * curr.place * prev.place

    world = Simulator("world", lambda rng: {**begin(rng), "growth": 0.0}, grow, actions=3, idle=1, limit=60)
    steps = play(world, steps=4000).to_seen_steps()
    fields = [Field("growth", low=0, high=9), Field("place", low=0, high=9)]
    for monotone in ({}, {"growth": "up"}):
        reward = Reward("growing", version="1", terms=[progress], fields=fields, task=Task(monotone=monotone))
        rows = steps.list_kept_rows(RewardModel(reward))
        assert len(rows) > 10
        assert {row["curr.growth"] - row["prev.growth"] for row in rows} == {0.0}
