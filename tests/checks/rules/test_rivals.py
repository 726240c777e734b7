"""What competes with the goal: speeds that are kept up, wishes of their own, and lives that were really led."""

import numpy as np
import pytest

from plaudit import Field, Reward, Task, check, term
from support.asking import really, told
from support.played import make_steps

CODE = "goal-not-best"
PLACE = Field("place", low=0, high=10, unit="m")


def home(place):
    return place < 0.5


def reward(*terms, fields=(PLACE,), **task):
    read = {name for each in terms for name in each.reads}
    states, others = [each.name for each in fields], [each for each in fields if each.name not in read]
    others += [Field("arrived", flag=True)]
    said = {"goal": home, "ends": {"arrived": "good"}, "states": states, "horizon": 50, "fields": others, **task}
    own = [each for each in fields if each.name in read]
    return Reward("r", version="1", terms=terms, fields=own, task=Task(**said))


# -- speeds -------------------------------------------------------------------------------------------------------------

VELOCITY = Field("velocity", low=-3, high=3, unit="m/s")


@term
def spinning(spin):
    return abs(spin)


@pytest.mark.parametrize(
    ("unit", "said", "severity", "words"),
    [
        ("rad/s", {}, "advice", "keeping spin at -3 rad/s pays 3 a step outside the goal"),
        ("", {"rates": {"angle": "spin"}}, "advice", "keeping spin at -3 pays 3 a step outside the goal"),
        ("rad/s", {"rates": {"place": "velocity"}}, "warning", "keeping spin at -3 rad/s pays 3 a step"),
        ("", {}, "warning", "staying outside the goal pays 3 a step"),
    ],
    ids=["by its unit", "by its rate", "another one leads to the goal", "no speed at all"],
)
def test_a_speed_is_kept_up_and_never_hovered_at(unit, said, severity, words):
    fields = [PLACE, VELOCITY, Field("spin", low=-3, high=3, unit=unit), Field("angle", low=0, high=1)]
    made = reward(spinning, fields=fields, **said)
    (finding,) = told(made, CODE)
    assert finding.severity == severity
    assert finding.message.startswith(f"{words}")
    assert finding.message.endswith(": 150 over 50 steps, more than the goal 'home', which is worth at most 3.")
    assert really(made, finding) == [3]


def test_a_speed_that_leads_to_the_goal_or_that_the_goal_reads_is_no_rival():
    @term
    def driving(velocity):
        return abs(velocity)

    @term
    def riding(velocity, place):
        return abs(velocity) + 0 * place

    def moving(velocity):
        return velocity > 2

    fields = [PLACE, VELOCITY]
    assert told(reward(driving, fields=fields, rates={"place": "velocity"}), CODE) == []
    assert told(reward(riding, fields=fields, goal=moving), CODE) == []
    assert [each.severity for each in told(reward(driving, fields=fields), CODE)] == ["advice"]


# -- whether it ends --


def test_where_nothing_bears_out_that_the_goal_ends_the_episode_a_stay_just_outside_it_is_advice():
    @term
    def near(place):
        return 1 / (1 + place)

    @term(weight=9.0)
    def bonus(place):
        return place < 0.5

    def judge_stay(*terms, **said):
        (finding,) = told(reward(*terms, **said), CODE)
        return finding.severity

    assert judge_stay(near, ends={}) == "advice"
    assert judge_stay(near) == "warning"
    assert judge_stay(near, bonus, ends={}) == "warning"
    for ended, severity in ((True, "warning"), (False, "advice")):
        steps = make_steps(*[{"place": [3.0, 2.0, 2.0, 2.0, 2.0, 0.2]} for _ in range(4)], ends=ended)
        (finding,) = check(reward(near, ends={}), only=[CODE], steps=steps).findings
        assert finding.severity == severity


# -- wishes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "severity"),
    [({}, "warning"), ({"better": {"taken": "high"}}, "advice"), ({"better": {"taken": "low"}}, "warning")],
    ids=["no wish", "as wished", "against a wish"],
)
def test_what_is_paid_for_an_action_that_is_wanted_just_so_is_advice(said, severity):
    @term
    def honey(taken):
        return taken

    made = reward(honey, fields=[PLACE, Field("taken", low=0, high=3)], states=["place"], actions=["taken"], **said)
    (finding,) = told(made, CODE)
    assert finding.severity == severity
    assert really(made, finding) == [3]


# -- lives that were led --------------------------------------------------------------------------------------------------


@term
def lit(place):
    return 1.0 if place > 7 else 0.2


PASSING = [0.0, 3.0, 6.0, 8.0, 6.0, 3.0, 0.0, 3.0, 6.0, 9.5, 6.0, 3.0] * 2


def judge(made, *episodes, **options):
    return check(made, only=[CODE], steps=make_steps(*episodes, **options))


def test_the_best_place_that_was_seen_kept_is_told_and_not_one_that_nobody_could_keep():
    made = reward(lit)
    (finding,) = told(made, CODE)
    assert finding.witness[0].inputs["place"] > 7
    report = judge(made, *[{"place": [*PASSING, *[2.0] * 6]} for _ in range(6)])
    (finding,) = report.findings
    assert finding.is_seen
    assert finding.witness[0].inputs == {"place": 2.0}
    assert "staying outside the goal pays 0.2 a step: 10 over 50 steps" in finding.message
    (finding,) = judge(made, *[{"place": [8.0] * 6} for _ in range(3)]).findings
    assert finding.witness[0].inputs == {"place": 8.0}
    assert finding.message.startswith("staying outside the goal pays 1 a step")


def test_what_was_only_kept_inside_the_goal_is_no_rival():
    @term
    def homely(place):
        return 1.0 if place < 0.5 else 0.01

    assert judge(reward(homely), *[{"place": [0.2] * 6} for _ in range(3)]).findings == ()


@term
def noise(sound):
    return sound


DRAWN = np.random.default_rng(1)


def wander(episodes, last=()):
    """Return episodes of 20 steps away from home; `last` is where they end up."""
    return [
        {"place": [*DRAWN.uniform(1, 9, 21 - len(last)), *last], "sound": DRAWN.uniform(0, 1, 21)}
        for _ in range(episodes)
    ]


def noisy(**task):
    return reward(noise, fields=[PLACE, Field("sound", low=0, high=1)], **{"states": ["place"], **task})


def test_what_episodes_earned_that_never_reached_the_goal_competes_with_it():
    episodes, made = wander(4), noisy()
    (finding,) = judge(made, *episodes).findings
    mean = np.mean([sum(each["sound"][1:]) for each in episodes])
    assert finding.severity == "warning"
    assert finding.message == (
        f"4 observed episodes that ran to the time limit without reaching the goal earned {mean:.6g} on average, more "
        "than the goal 'home', which is worth at most 1."
    )
    assert really(made, finding) == [max(max(each["sound"][1:]) for each in episodes)]
    assert told(made, CODE) == []


@pytest.mark.parametrize(
    ("episodes", "options", "said"),
    [
        (wander(2), {}, {}),
        (wander(4), {"ends": True}, {}),
        (wander(4, last=[0.1]), {}, {}),
        (wander(4), {}, {"goal_ends": False}),
    ],
    ids=["too few", "ended otherwise", "reached it", "the goal goes on"],
)
def test_other_episodes_say_nothing_of_what_play_earns(episodes, options, said):
    assert judge(noisy(**said), *episodes, **options).findings == ()


def test_half_the_goal_that_pays_more_than_all_of_it_is_not_told_as_a_tie():
    @term(weight=10)
    def landing(landed):
        return landed

    @term
    def fast(landed, speed):
        return speed if landed else 0.0

    def soft(landed, speed):
        return landed and speed < 2

    fields = [Field("landed", flag=True), Field("speed", low=0, high=50)]
    for terms, pay, how, worth in (
        ([landing, fast], 60, "more than", 12),
        ([landing], 10, "as much as", 10),
    ):
        made = reward(*terms, fields=fields, goal=soft, states=[])
        (finding,) = check(made, only=CODE).findings
        assert finding.message == (
            f"landed outside the goal pays {pay}, {how} the goal 'soft', which is worth at most {worth}."
        )
        assert really(made, finding) == [pay]
