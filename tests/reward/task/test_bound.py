"""A task meets a reward: it changes no formula, is kept by every copy, and is refused where the two contradict."""

import pytest

from plaudit import DefinitionError, Field, Reward, Seen, Task, bounds, check, fact, prefer, prove, term
from plaudit.errors import DuplicateName, OutOfRange, SpecError, UnknownField, UnusedField
from support.written import module


@term
def near(distance):
    return 1 - distance


@term
def closer(prev, curr):
    return prev.distance - curr.distance


@term(weight=-0.1)
def effort(torque):
    return torque


@term
def seen_well(lit, mood):
    return 1 if lit and mood == "calm" else 0


def arrived(distance, *, reach=0.05):
    """The hand is there."""
    return distance < reach


def thrifty(energy):
    return energy < 3


def lost(distance):
    return distance > 4


@fact
def weak(torque, energy):
    return torque <= energy


@fact
def strong(torque):
    return torque >= 0


DISTANCE = Field("distance", low=0, high=5)
TORQUE = Field("torque", low=0, high=2)
ENERGY = Field("energy", low=0, high=9)
LIT, MOOD = Field("lit", flag=True), Field("mood", values=("calm", "wild"))


def made(task=None, *fields, terms=(near, effort)):
    return Reward("reaching", version="1", terms=terms, fields=fields or (DISTANCE, TORQUE), task=task)


PLAIN = made()
WISHES = {
    "better": made(Task(better={"distance": "low"})),
    "aim": made(Task(aim={"distance": 0.3})),
    "rate": made(Task(rates={"distance": "torque"})),
    "unread": made(Task(better={"energy": "low"}), DISTANCE, TORQUE, ENERGY),
    "a field of the task": made(Task(better={"energy": "low"}, fields=[ENERGY])),
    "goal": made(Task(goal=arrived)),
    "goal that goes on": made(Task(goal=arrived, goal_ends=False)),
    "horizon": made(Task(horizon=200)),
    "idle": made(Task(idle={"distance": 3})),
    "end": made(Task(ends={"lost": ("bad", lost), "limit": "time"})),
    "preference": made(Task(prefer=[prefer({"energy": 1}, over={"energy": 2})]), DISTANCE, TORQUE, ENERGY),
    "fact": made(Task(facts=[weak]), DISTANCE, TORQUE, ENERGY),
}
WHOLE = made(
    Task(goal=arrived, rates={"distance": "torque"}, idle={"distance": 3}, horizon=9, better={"torque": "low"})
)


@pytest.mark.parametrize("wish", WISHES)
def test_what_is_wanted_is_domain(wish):
    reward = WISHES[wish]
    assert reward.fingerprint == PLAIN.fingerprint
    assert reward.domain_fingerprint != PLAIN.domain_fingerprint
    assert reward.inputs == PLAIN.inputs
    assert reward.score(distance=0.5, torque=1).total == PLAIN.score(distance=0.5, torque=1).total


@pytest.mark.parametrize("wish", WISHES)
def test_what_is_wanted_survives_a_specification_and_other_numbers(wish):
    reward = WISHES[wish]
    again = Reward.from_json(reward.to_json())
    assert again == reward
    assert again.to_json() == reward.to_json()
    copies = [
        again,
        reward.with_weights(near=2.0),
        reward.with_params({"effort.weight": -1.0}),
        reward.with_version("2"),
    ]
    for copy in (*copies, reward.evolve(version="2", low=-3.0), reward._with_clipped_inputs()):
        assert copy.task == reward.task
        assert copy._bound.idle == reward._bound.idle
        assert len(copy._bound.prefer) == len(reward._bound.prefer)
        assert {*copy._bound.fields} == {*reward._bound.fields}


def test_a_reward_without_a_task_is_written_without_one():
    assert "task" not in PLAIN.to_dict()
    assert made(Task("named", doc="Nothing.")).to_dict() == PLAIN.to_dict()


def test_one_task_serves_rewards_that_lack_some_of_its_fields():
    task = Task(
        better={"energy": "low", "torque": "low"},
        facts=[weak, strong],
        max_change={"energy": 1},
        idle={"energy": 2, "distance": 1},
        prefer=[prefer({"speed": 1}, over={"speed": 2})],
        fields=[ENERGY, TORQUE, Field("speed")],
    )
    alone = made(task, DISTANCE, terms=[near])
    assert alone._bound.idle == {"energy": 2.0, "distance": 1.0}  # energy is wished for
    assert {*alone._bound.fields} == {"distance", "energy", "torque", "speed"}
    assert {*made(task)._bound.fields} >= {"distance", "torque", "energy"}
    assert alone.task == made(task).task


def test_a_goal_reads_what_terms_read_under_their_names():
    moving = made(Task(goal=arrived, idle={"distance": 2}), DISTANCE, terms=[closer])
    assert list(moving._bound.goal_program.inputs) == ["curr.distance"]
    assert moving._bound.idle == {"prev.distance": 2.0, "curr.distance": 2.0}
    assert Reward.from_json(moving.to_json()) == moving


def test_some_terms_alone_keep_the_task_and_the_fields_of_its_goal_and_rates():
    part = WHOLE.select_terms("effort")
    assert part.inputs == ("torque",)
    assert part.task == WHOLE.task
    assert set(part.fields) == {"distance", "torque"}
    assert part._bound.idle == {"distance": 3.0}
    assert Reward.from_json(part.to_json()) == part


def test_some_terms_alone_keep_what_they_read_of_an_idle_step():
    moving = made(Task(idle={"distance": 2, "torque": 1}), DISTANCE, TORQUE, terms=[closer, near, effort])
    part = moving.select_terms("near", "effort")
    assert part._bound.idle == {"curr.distance": 2.0, "torque": 1.0}
    assert Reward.from_json(part.to_json()) == part


def test_a_task_is_given_later_and_taken_away():
    loaded = Reward.from_json(WHOLE.to_json())
    for each in (PLAIN, loaded):
        other = each.with_task(each.task.evolve(facts=[strong], goal=lost))
        assert [known.name for known in other.task.facts] == ["strong"]
        assert other.task.goal.name == "lost"
        assert other.fingerprint == each.fingerprint
        assert each.task.facts == ()
    assert WHOLE.with_task(None) == PLAIN
    with pytest.raises(DefinitionError, match=r"task=3 is not a Task"):
        PLAIN.with_task(3)


def test_a_field_that_only_a_goal_spoke_of_goes_with_it():
    reward = made(Task(goal=thrifty, idle={"distance": 1, "energy": 5}), DISTANCE, TORQUE, ENERGY)
    without = reward.with_task(Task(idle={"distance": 1}))
    assert set(without.fields) == {"distance", "torque"}
    assert Reward.from_json(without.to_json()) == without


# -- what was only seen ----------------------------------------------------------------------------------------------

SEEN = Task(
    fields=[Field("distance", low=0, high=4), Field("torque", low=-1, high=1)],
    facts=[strong],
    seen={"fields.distance": Seen(9, 9), "fields.torque": Seen(9, 9), "facts.strong": Seen(9, 9)},
)
OPEN = made(SEEN, Field("distance", low=1), Field("torque"))


def test_a_seen_range_is_for_checks_where_the_reward_leaves_a_side_open():
    field = OPEN._bound.fields["distance"]
    assert (field.low, field.high, field.range_basis) == (1.0, 4.0, "seen")
    assert (OPEN.fields["distance"].low, OPEN.fields["distance"].high) == (1.0, None)
    assert made(SEEN)._bound.fields["distance"].range_basis == "declared"
    assert made(SEEN)._bound.fields["distance"].high == 5.0


def test_scoring_bounds_and_proofs_do_not_use_a_seen_range():
    assert OPEN.score(distance=99.0, torque=7.0).total == PLAIN.score(distance=5, torque=0).total - 94 - 0.7
    assert bounds(OPEN).total.low == -float("inf")

    @term(weight=-0.1)
    def held(torque):
        return torque if torque <= 1 else 2 * torque

    other = made(SEEN, Field("distance", low=1), Field("torque"), terms=[near, held]).with_version("2")
    assert not prove(OPEN, other).equal
    declared = SEEN.evolve(seen={})
    assert prove(OPEN.with_task(declared), other.with_task(declared)).equal


def test_a_range_that_a_person_declares_in_the_task_is_declared():
    task = Task(fields=[Field("distance", low=0, high=4), Field("torque", low=-1, high=1)])
    assert made(task, Field("distance"), Field("torque"))._bound.fields["distance"].range_basis == "declared"


def test_a_seen_fact_is_no_fact():
    assert OPEN._bound.facts == ()
    assert made(Task(facts=[strong]))._bound.facts == (strong,)


def test_rows_are_guarded_by_declared_facts_alone():
    @fact
    def small(torque):
        return torque < 1

    row = {"distance": 1.0, "torque": 1.5}
    declared = made(Task(facts=[small]))
    assert declared.score(**row).total == PLAIN.score(**row).total
    with pytest.raises(OutOfRange, match="breaks the fact 'small'"):
        declared.compile("python", guard="facts")(row)
    only_seen = made(Task(facts=[small], seen={"facts.small": Seen(9, 9)}))
    only_seen.compile("python", guard="facts")(row)
    with pytest.raises(OutOfRange):
        declared.score(distance=9.0, torque=1.0)


def test_a_check_says_what_its_task_is():
    assert check(WHOLE, only=["jump"]).task.fingerprint == WHOLE.task.fingerprint
    assert check(PLAIN, only=["jump"]).task is None


# -- what is refused -------------------------------------------------------------------------------------------------


def never(distance):
    return distance > 7


def number(distance):
    return distance + 1


def elsewhere(speed):
    return speed > 1


def lit_up(lit, distance):
    return lit and distance < 1


ALL = (DISTANCE, TORQUE, LIT, MOOD)


def said(*fields, **parts):
    return lambda: made(Task(**parts), *(fields or ALL), terms=(near, effort, seen_well))


WRONG = {
    "better of a category": (said(better={"mood": "high"}), "for categories use prefer"),
    "an aim outside": (said(aim={"distance": 7}), "aim=7.0 is not a finite number that the field allows"),
    "an aim of a flag": (said(aim={"lit": 1}), "aim=1.0 is not a finite number that the field allows"),
    "a step of a flag": (said(max_change={"lit": 1}), "max_change= is for numbers, and 'lit' is a flag"),
    "a monotone category": (said(monotone={"mood": "up"}), "monotone= is for numbers, and 'mood' is a category"),
    "an unknown rate": (
        said(rates={"distance": "torqe"}),
        "rates= names 'torqe', which neither the reward nor the task",
    ),
    "a rate of another kind": (said(rates={"distance": "mood"}), "which is not a number of the same shape"),
    "an unknown state": (said(states=["distnce"]), "states= names 'distnce'"),
    "a goal that cannot be": (said(goal=never), "the goal 'never' can never be true"),
    "a goal that is a number": (said(goal=number), "a goal must return a bool"),
    "a goal of other fields": (said(goal=elsewhere), "goal 'elsewhere' reads 'speed', which neither the reward nor"),
    "idle outside": (said(idle={"distance": -3}), "the idle row's distance=-3 is not a value"),
    "idle unknown": (said(idle={"distanc": 3}), "idle= names 'distanc'"),
    "a start outside": (said(start={"distance": (1, 9)}), "start= has distance=(1, 9), which the field does not allow"),
    "an end that is no flag": (said(ends={"distance": "bad"}), "ends= names 'distance', which is not a flag"),
    "an unknown end": (said(ends={"crashed": "bad"}), "or give its condition: {'crashed': ('bad', function)}."),
    "an end that is a number": (said(ends={"far": ("bad", number)}), "must return a bool"),
    "a bad end that the goal needs": (said(goal=lit_up, ends={"lit": "bad"}), "the goal is never reached without it"),
    "a bad end that is the goal": (
        said(goal=lost, ends={"lost": ("bad", lost)}),
        "the goal is never reached without it",
    ),
    "another kind": (said(fields=[Field("distance", flag=True)]), None),
    "a category": (said(fields=[Field("distance", values=("a", "b"))]), "a number in the reward and a category in the"),
    "another shape": (
        said(fields=[Field("distance", length=2)]),
        "features that return what the reward gets, or rename",
    ),
    "other fields": (said(fields=[Field("speed")], source="env"), "they have no field in common"),
    "a fact by the name of a term": (said(facts=[fact(near.__wrapped__)]), "'near' is both a term and a fact"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_task_that_does_not_fit_is_refused_in_one_message(name):
    build, message = WRONG[name]
    if message is None:  # 0 and 1 may stand for a flag
        assert build()
        return
    with pytest.raises(DefinitionError) as caught:
        build()
    assert message in str(caught.value)


def test_a_bad_end_beside_the_goal_is_no_contradiction():
    assert said(goal=arrived, ends={"lost": ("bad", lost), "lit": "bad"})().task.ends["lost"].sign == "bad"
    assert said(goal=lit_up, ends={"lit": "good"})()


def test_what_fitted_and_fits_no_longer_is_refused_by_the_next_version():
    with pytest.raises(DefinitionError, match="the goal 'lost' can never be true"):
        made(Task(goal=lost)).evolve(version="2", fields={"distance": Field("distance", low=0, high=3)})
    with pytest.raises(DefinitionError, match="aim=2.0 is not a finite number that the field allows"):
        made(Task(aim={"torque": 2})).evolve(version="2", fields={"torque": Field("torque", low=0, high=1)})


def test_a_field_that_nobody_speaks_of_is_still_refused():
    with pytest.raises(UnusedField, match="better="):
        made(None, DISTANCE, TORQUE, ENERGY)
    data = made(Task(better={"energy": "low"}), DISTANCE, TORQUE, ENERGY).to_dict()
    del data["task"]
    with pytest.raises(SpecError, match="no term reads the field 'energy'"):
        Reward.from_dict(data)


def test_a_name_is_looked_for_among_the_fields():
    with pytest.raises(UnknownField, match="Did you mean 'torque'"):
        made(Task(rates={"distance": "torqe"}))
    with pytest.raises(DuplicateName):
        PLAIN.with_task(Task(facts=[fact(near.__wrapped__)]))


@pytest.mark.parametrize(
    "part",
    [
        {"goal": {"when": "def f(distance): return distance > 7"}},
        {"goal": {"when": "def f(distance): return distance"}},
        {"idle": {"distance": {"is": -1}}},
        {"aim": {"distance": {"is": 7}}},
        {"ends": {"distance": {"is": "bad"}}},
        {"max_change": {"distance": {"is": 0}}},
        {"facts": {"near": {"when": "def near(distance): return distance < 7"}}},
    ],
    ids=str,
)
def test_a_specification_whose_task_does_not_fit_is_refused(part):
    data = PLAIN.to_dict()
    with pytest.raises(SpecError):
        Reward.from_dict({**data, "task": {"task": 1, "name": "t", **part}})


def test_a_version_without_a_field_of_its_task_can_be_given_more():
    space = module("def near(x): return -x\ndef slow(v): return -v")
    terms, fields = [term(space["near"]), term(space["slow"])], [Field("x", low=0), Field("v", low=0)]
    task = Task(max_change={"v": 1.0}, start={"v": 1}, idle={"v": 0.0})
    first = Reward("r", version="1", terms=terms, fields=fields, task=task)
    for without in (first.evolve(version="2", terms=terms[:1]), first.select_terms("near")):
        assert "v" not in without.fields
        assert without._join_task(Task(horizon=5)).task.horizon == 5
        assert without._join_task(Task.from_json(task.to_json())) is without
        with pytest.raises(UnknownField, match="better= names 'v'"):
            without._join_task(Task(better={"v": "low"}))


START = [Field("x", low=-9, high=9), Field("place", length=3, low=-9, high=9), Field("lit", flag=True)]


def start_with(**start):
    paid = term(module("def t(x, place, lit): return x + sum(place) if lit else 0")["t"])
    return Reward("r", version="1", terms=[paid], fields=START, task=Task(start=start))


@pytest.mark.parametrize(
    "start",
    [{"x": (1, 2, 3)}, {"x": ()}, {"x": [1]}, {"place": (1, 2, 3, 4)}, {"place": (1, 2, 99)}, {"place": (5, 99)}],
)
def test_an_episode_begins_with_what_fields_can_be(start):
    with pytest.raises(DefinitionError, match="start= has .*, which the field does not allow"):
        start_with(**start)


def test_an_entry_to_begin_with_must_be_there():
    with pytest.raises(DefinitionError, match=r"start= has place\[3\]=1, which the field does not allow"):
        start_with(**{"place[3]": 1})
    known = {"place[2]": (1, 2), "x": 4, "lit": True}
    assert dict(start_with(**known).task.start) == known
    assert start_with(place=(0, 1)).task.start["place"] == (0, 1)  # each entry between the two
    assert start_with(place=(0, 1, 2)).task.start["place"] == (0, 1, 2)


def test_a_task_of_many_fields_is_not_gone_through_for_each(monkeypatch):
    asked, listed = [], Task.list_statements
    monkeypatch.setattr(Task, "list_statements", lambda task: asked.append(task) or listed(task))
    names = [f"x{at}" for at in range(40)]
    fields = [Field(name) for name in names]
    paid = term(module(f"def t({', '.join(names)}): return {' + '.join(names)}")["t"])
    task = Task(fields=[Field(name, low=0, high=1) for name in names], better=dict.fromkeys(names, "low"))
    Reward("r", version="1", terms=[paid], fields=fields, task=task)
    assert len(asked) < len(names)
