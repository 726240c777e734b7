"""A reward checked in an environment: what was seen, what was played, and one report of it."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit import Field, Reward, Task, term
from plaudit.analysis import check_in_environment
from plaudit.errors import DefinitionError, EnvironmentFailed, InputError
from support.corridors import Corridor, arrival, calm, corridor_reward, effort, reaches_target, reader

HONEST = corridor_reward(arrival, effort, goal=reaches_target)
CALM = corridor_reward(arrival, calm)
BRIEF = {"steps": 8000, "observed_steps": 3000}


class Belt(gymnasium.Env):
    """A belt of 20 cells that moves by three in every step, and nobody can stop it; an action switches a lamp."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0, 20, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.at = float(self.np_random.integers(20)), 0
        return np.array([self.place]), {}

    def step(self, action):
        self.place, self.at = (self.place + 3) % 20, self.at + 1
        return np.array([self.place]), float(action), False, self.at == 30, {"place": self.place, "lamp": bool(action)}


@term
def far_end(place):
    """Be in the last cells."""
    return 1.0 if place > 15 else 0.0


def is_home(place):
    return place < 0.5


STAYING = Reward(
    "waiting",
    version="1",
    terms=[far_end],
    fields=[Field("place", low=0, high=20)],
    task=Task(goal=is_home, states=["place"], horizon=30),
)


def test_what_the_definition_says_and_play_shows_is_told_once_with_both_witnesses():
    checked = check_in_environment(CALM, Corridor, reader(CALM), **BRIEF)
    [found] = checked.report.at_least("advice")
    assert (found.code, found.severity, found.is_seen) == ("pays-for-staying", "warning", True)
    notes = [step.note for step in found.witness]
    assert any(note.startswith("always 1, seed") for note in notes)
    assert any("seed" not in note for note in notes)
    assert checked.report.summary.startswith("An agent will behave like 'always 1': it earns 20")
    assert checked.report.remarks[0] == f"Observed: {checked.observation.task.source}."


def test_what_only_play_shows_stands_among_the_findings():
    checked = check_in_environment(CALM, Corridor, reader(CALM), only=["outcome-order"], **BRIEF)
    [found] = checked.report.findings
    assert (found.code, found.term, found.severity) == ("outcome-order", "calm", "warning")
    assert found.is_seen
    assert "outcome-order" not in checked.report.skipped


def test_what_is_left_out_is_left_out_of_play_as_well():
    checked = check_in_environment(CALM, Corridor, reader(CALM), ignore=["outcome-order", "pays-for-staying"], **BRIEF)
    assert checked.report.at_least("advice") == ()


def test_a_sound_reward_says_that_what_earns_most_is_wanted():
    checked = check_in_environment(HONEST, Corridor, reader(HONEST), **BRIEF)
    assert checked.report.at_least("warning") == ()
    assert checked.report.summary.startswith("The best-paid policy also meets the objective")
    assert not checked.is_undecided


def test_a_stay_that_play_never_kept_is_dropped():
    checked = check_in_environment(STAYING, Belt, **{**BRIEF, "steps": 300}, seeds=2)
    assert [each.code for each in checked.report.contradicted] == ["goal-not-best"]
    assert checked.report.at_least("warning") == ()


def test_where_nothing_shows_what_is_wanted_it_is_undecided():
    wanted = corridor_reward(effort, goal=reaches_target, fields=[Field("arrived", flag=True)], goal_ends=False)

    def never(obs, action, next_obs, info):
        return {"arrived": False}

    checked = check_in_environment(
        wanted, Corridor, never, steps=300, seeds=2, observed_steps=500, ignore=["dead-term"]
    )
    assert checked.is_undecided
    assert checked.report.summary.startswith("Undecided: ")
    assert checked.report.undecided


def test_what_the_environment_itself_pays_has_the_range_that_was_seen():
    @term
    def paid(original_reward):
        return original_reward

    reward = Reward("own", version="1", terms=[paid, far_end], fields=[Field("original_reward"), Field("place")])
    checked = check_in_environment(reward, Belt, steps=300, seeds=2, observed_steps=500)
    assert not checked.report.by_code("unbounded")
    assert not checked.report.by_code("missing-range")


def test_without_features_inputs_are_found_by_name():
    checked = check_in_environment(STAYING, Belt, steps=300, seeds=2, observed_steps=500)
    assert set(checked.observation.steps.after) == {"place"}


def test_an_instance_and_options_are_taken_as_by_the_probe():
    made = check_in_environment(
        HONEST, Corridor, reader(HONEST), make={"limit": 7}, steps=300, seeds=2, observed_steps=300
    )
    assert made.observation.task.horizon == 7
    instance = Corridor(limit=7)
    again = check_in_environment(HONEST, instance, reader(HONEST), steps=300, seeds=2, observed_steps=300)
    assert again.report.findings == made.report.findings
    assert not instance.closed


def test_the_same_seed_gives_the_same_report():
    one, same = (check_in_environment(CALM, Corridor, reader(CALM), seed=3, **BRIEF).report for _ in range(2))
    assert one == same


def test_progress_is_told_stage_by_stage():
    told = []
    check_in_environment(
        HONEST,
        Corridor,
        reader(HONEST),
        steps=300,
        seeds=2,
        observed_steps=300,
        progress=lambda stage, done, total: told.append((stage, done <= total)),
    )
    assert list(dict.fromkeys(stage for stage, _ in told)) == ["observing", "checking", "probing"]
    assert all(fits for _, fits in told)


@pytest.mark.usefixtures("heed_ctrl_c")
def test_ctrl_c_in_the_probe_tells_what_is_known():
    checked = check_in_environment(
        CALM, Corridor(interrupt_at=3000 + 4000), reader(CALM), steps=20_000, observed_steps=3000
    )
    assert checked.interrupted
    assert any(each.startswith("Interrupted: these results are partial") for each in checked.report.remarks)
    assert checked.report.by_code("pays-for-staying")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"fields": [Field("place", low=0, high=10)]},
            r"place is at least 0 and at most 10 \(declared\).* it is sometimes 19",
        ),
        ({"fields": [Field("place", high=3)]}, r"place is at most 3 \(declared\).* it is sometimes 19"),
        ({"max_change": {"place": 1}}, r"place changes by at most 1 \(declared\).* it changes by 17"),
        ({"monotone": {"place": "up"}}, r"place only goes up \(declared\).* it goes down as well"),
        ({"horizon": 5}, r"an episode has at most 5 steps \(declared\).* one has 30"),
        ({"fields": [Field("lamp", values=("on", "off"))]}, r"lamp is a category \(declared\).* it is a flag"),
    ],
)
def test_a_task_of_another_environment_is_refused_with_the_statement(said, words):
    def features(obs, action, next_obs, info):
        return {"prev": {"place": obs[0]}, "curr": {"place": next_obs[0]}, "lamp": bool(action)}

    @term
    def lit(place):
        return 1.0 if place > 3 else 0.0

    reward = Reward("lamp", version="1", terms=[lit], fields=[Field("place")])
    with pytest.raises(DefinitionError, match=f"task 'belt' says that {words}"):
        check_in_environment(reward, Belt, features, task=Task("belt", **said), steps=100, observed_steps=500)


def test_ranges_that_other_play_saw_may_differ_a_little():
    one = check_in_environment(HONEST, Corridor, reader(HONEST), steps=300, seeds=2, observed_steps=500)
    other = {"task": one.observation.task, "seed": 9, "steps": 300, "seeds": 2, "observed_steps": 500}
    again = check_in_environment(HONEST, Corridor, reader(HONEST), **other)
    assert again.report.task.name == one.observation.task.name


def test_features_that_lack_an_input_are_refused_before_anything_is_checked():
    with pytest.raises(
        InputError, match=r"reads 'place', which not every step of Belt provides: the features return x"
    ):
        check_in_environment(STAYING, Belt, lambda *step: {"x": 1.0}, steps=100, observed_steps=100)


def test_an_environment_that_fails_is_one_clear_message():
    with pytest.raises(EnvironmentFailed, match="the simulator is gone"):
        check_in_environment(HONEST, Corridor(fail_at=50), reader(HONEST), steps=100, observed_steps=100)
    with pytest.raises(DefinitionError, match="check_in_environment takes a Reward"):
        check_in_environment("walking", Corridor)


def test_an_environment_that_fails_in_its_reset_says_so():
    class Unready(Corridor):
        def reset(self, **options):
            raise RuntimeError("the simulator is not up")

    with pytest.raises(EnvironmentFailed, match=r"failed in the reset of 'always 0' with seed 0: .*not up"):
        check_in_environment(HONEST, Unready, reader(HONEST), steps=100, observed_steps=100)
