"""A state is declared once and read as any field; its update is part of the formula, and what cannot work is refused."""

import copy
import json
import random

import numpy as np
import pytest

from plaudit import (
    DefinitionError,
    Field,
    OutOfRange,
    ReadError,
    Reward,
    Signal,
    SpecError,
    State,
    Task,
    fact,
    prefer,
    term,
)
from plaudit.errors import DuplicateName, OutsideDomain, UnknownField, UnknownParameter, UnusedField
from support import carrying


def grow(prev, speed):
    return prev.best + speed


def keep_best(prev, speed):
    return max(prev.best, speed)


@term
def record(best, prev):
    """What the best got better by."""
    return best - prev.best


SPEED = Field("speed", low=0, high=10)
BEST = State("best", reset=0.0, low=0, high=10, update=keep_best)


def racing(*fields, terms=(record,), **options):
    return Reward("racing", version="1", terms=terms, fields=fields or (SPEED, BEST), **options)


def test_before_the_step_is_an_input_and_after_it_is_computed():
    reward = racing()
    assert set(reward.inputs) == {"prev.best", "speed"}
    assert reward.score(speed=3.0, prev={"best": 2.0}).total == 1.0
    assert reward.score(speed=1.0, prev={"best": 2.0}).state == {"best": 2.0}
    assert reward._bound.fields["best"].role == "state"
    assert reward.states["best"](type("Before", (), {"best": 2.0}), 5.0) == 5.0


def test_an_episode_begins_with_the_reset():
    assert racing().initial_state() == {"best": 0.0}
    many = carrying.walking().initial_state(batch=3)
    assert many["air_time"].shape == (3, 4)
    shaped = State("best", shape=(2, 2), reset=np.array([[1, 2], [3, 4]]), update=carrying.push)
    assert shaped.reset == (1.0, 2.0, 3.0, 4.0)
    assert carrying.driving().initial_state(batch=(2, 3))["alarm"].dtype == bool
    assert carrying.touching().initial_state() == {"history": [[0.0, 0.0]] * 3}
    with pytest.raises(DefinitionError, match="number of episodes"):
        racing().initial_state(batch=-1)


def test_the_knobs_of_an_update_are_parameters_of_the_reward():
    reward = carrying.walking()
    assert reward.params["air_time.dt"] == 0.02
    slower = reward.with_params(air_time={"dt": 0.5})
    assert slower.score(contact=[False] * 4, prev=reward.initial_state()).state == {"air_time": [0.5] * 4}
    assert slower.fingerprint != reward.fingerprint
    with pytest.raises(UnknownParameter, match="did you mean|Did you mean"):
        reward.with_params(air_time={"dd": 0.5})


def test_updates_share_parameters_with_terms():
    def fade(prev, speed, *, keep):
        return keep * prev.best + (1 - keep) * speed

    @term
    def ahead(best, *, keep):
        return best * keep

    state = State("best", reset=0.0, low=0, high=10, update=fade)
    assert racing(SPEED, state, terms=[ahead], shared={"keep": 0.5}).score(speed=4.0, prev={"best": 0.0}).total == 1.0
    with pytest.raises(UnknownParameter, match="needs 'keep'"):
        racing(SPEED, state, terms=[record])


def test_what_a_reward_carries_is_part_of_its_fingerprint():
    prints = {
        racing().fingerprint,
        racing(SPEED, State("best", reset=1.0, low=0, high=10, update=keep_best)).fingerprint,
        racing(SPEED, State("best", reset=0.0, low=0, high=10, update=grow)).fingerprint,
    }
    assert len(prints) == 3
    wider = racing(SPEED, State("best", reset=0.0, low=0, high=20, update=keep_best))
    assert wider.fingerprint == racing().fingerprint
    assert wider.domain_fingerprint != racing().domain_fingerprint
    assert racing().with_weights(record=2.0)._states_fingerprint == racing()._states_fingerprint
    assert wider._states_fingerprint != racing()._states_fingerprint


PRINTS = {
    "walking": "5d097f875931fe529a2d5ca156667c225387eb683e4708f7355b4158d1b2e735",
    "touching": "5bc737baa8685b2fb7ffa93d2dfcc4350d7313a02410a58b0d2459eaeafe37a2",
    "driving": "d95ff207d85ab0cb1df4e4a78bb89b92fb4d0e2239421a2f073b9ee18dc28817",
}
"""Fingerprints that records hold: they stay what they are."""


@pytest.mark.parametrize("name", carrying.REWARDS)
def test_the_fingerprint_of_a_reward_that_carries_stays_what_it_is(name):
    assert carrying.REWARDS[name].fingerprint == PRINTS[name]


@pytest.mark.parametrize("name", carrying.REWARDS)
def test_a_reward_that_carries_comes_back_from_json_whole(name):
    reward = carrying.REWARDS[name]
    loaded = Reward.from_json(reward.to_json())
    assert loaded == reward
    assert loaded.to_json() == reward.to_json()
    assert loaded._states_fingerprint == reward._states_fingerprint
    assert loaded.source() == reward.source()
    assert loaded.initial_state() == reward.initial_state()
    assert loaded.with_params({}).states.keys() == reward.states.keys()


def test_a_reward_without_state_is_written_as_it_was():
    @term
    def fast(speed):
        return speed

    assert "states" not in racing(SPEED, terms=[fast]).to_dict()


BROKEN = [
    lambda s: s["states"].append(s["states"][0]),
    lambda s: s["states"][0]["entries"].pop(),
    lambda s: s["states"][0]["entries"].__setitem__(0, 10**6),
    lambda s: s["states"][0]["entries"].__setitem__(0, True),
    lambda s: s["states"][0]["reset"].pop(),
    lambda s: s["states"][0]["reset"].__setitem__(0, 11.0),
    lambda s: s["states"][0]["reset"].__setitem__(0, "0"),
    lambda s: s["states"][0].pop("knobs"),
    lambda s: s["states"][0].update(more=1),
    lambda s: s["states"][0].update(knobs={"weight!": 1.0}),
    lambda s: s["states"][0]["field"].update(name="contact"),
    lambda s: s["states"][0]["field"].update(values=["a", "b"]),
    lambda s: s["states"][0]["field"].update(role="state"),
    lambda s: s["states"][0]["field"].update(missing=0.0),
    lambda s: s["states"][0]["field"].update(outside="clip"),
    lambda s: s["states"].clear(),
    lambda s: s.update(states={}),
    lambda s: s.update(states=None),
    lambda s: s["nodes"].__setitem__(0, ["Input", "curr.air_time[0]"]),
]


@pytest.mark.parametrize("break_it", BROKEN)
def test_a_specification_whose_states_cannot_be_is_refused(break_it):
    spec = carrying.walking().to_dict()
    assert Reward.from_dict(copy.deepcopy(spec)) == carrying.walking()
    break_it(spec)
    with pytest.raises(SpecError):
        Reward.from_dict(spec)


def test_a_damaged_specification_is_a_reward_or_a_spec_error():
    text, rng = carrying.driving().to_json(), random.Random(0)
    for _ in range(300):
        at = rng.randrange(len(text))
        broken = text[:at] + rng.choice('0123456789",[]{}x-') + text[at + rng.randrange(3) :]
        try:
            Reward.from_json(broken)
        except SpecError:
            continue
        assert json.loads(broken)


def test_a_part_of_a_reward_keeps_the_states_that_it_needs():
    reward = carrying.driving()
    assert reward.select_terms("heed").states.keys() == {"alarm"}
    assert set(reward.select_terms("jerk").inputs) == {"curr.action", "prev.action", "prev.before_last"}
    assert reward.select_terms("heed", "uneven").initial_state() == {"alarm": False, "average": 0.0}
    assert reward.select_terms("uneven").params.keys() == {"uneven.weight", "average.keep"}


def test_a_state_may_be_read_by_another_alone():
    def count(prev, warned):
        return prev.count + 1 if warned else 0

    def longest(prev):
        return max(prev.longest, prev.count)

    @term
    def run(prev):
        return prev.longest

    count_, longest_ = (State(f.__name__, reset=0, low=0, high=100, update=f) for f in (count, longest))
    reward = racing(Field("warned", flag=True), count_, longest_, terms=[run])
    state = reward.initial_state()
    for warned in (True, True, False, False):
        signal = reward.score(warned=warned, prev=state)
        state = signal.state
    assert state == {"count": 0.0, "longest": 2.0}


def test_the_text_of_a_reward_shows_its_updates():
    text = racing().source()
    assert "def best(prev, speed):  # a state: before the first step 0.0\n    return max(prev.best, speed)" in text
    assert "return curr.best - prev.best" in text
    assert "\\text{best}_\\text{curr} &= \\max" in racing().formula()


def test_the_text_of_an_update_does_not_grow_with_its_paths():
    def double(prev, speed):
        x = min(prev.best + speed, 1.0)
        for _ in range(40):
            x = min(x + x, 1.0)
        return x

    reward = racing(SPEED, State("best", reset=0.0, low=-100, high=1, update=double))
    assert len(reward.source()) < 5_000
    assert len(reward.formula()) < 10_000


def test_a_signal_that_was_read_from_data_does_not_know_what_comes_next():
    signal = racing().score(speed=3.0, prev={"best": 2.0})
    with pytest.raises(DefinitionError, match="carries no formula"):
        Signal.from_dict(signal.to_dict()).state  # noqa: B018 - it raises
    assert Signal.from_dict(signal.to_dict()) == signal
    assert "prev.best=2" in signal.explain()


def test_a_partial_operation_in_an_update_is_guarded_under_the_name_of_the_state():
    def share(prev, speed):
        return prev.best + 1 / speed

    reward = racing(SPEED, State("best", reset=0.0, low=0, high=10, update=share))
    with pytest.raises(OutsideDomain, match=r"the update of state 'best' of reward 'racing' divides by zero"):
        reward.score(speed=0.0, prev={"best": 0.0})
    assert Reward.from_json(reward.to_json()) == reward


def test_a_terminal_term_reads_a_state_that_is_carried_at_every_step():
    @term(terminal=True)
    def trophy(best):
        return best

    reward = racing(terms=[trophy])
    on = reward.score(speed=3.0, prev={"best": 1.0})
    assert (on.total, on.state) == (0.0, {"best": 3.0})
    assert reward.score(speed=3.0, prev={"best": 5.0}, terminal=True).total == 5.0


def test_facts_and_preferences_speak_of_states_before_the_step():
    @fact
    def slower(prev, speed):
        return speed <= prev.best + 1

    @fact
    def rises(prev, curr):
        return curr.best >= prev.best

    preference = prefer({"prev.best": 0.0, "speed": 5.0}, over={"prev.best": 5.0, "speed": 5.0})
    reward = racing(task=Task(facts=[slower], prefer=[preference]))
    assert Reward.from_json(reward.to_json()) == reward
    with pytest.raises(ReadError, match="a fact cannot read a state after the step"):
        racing(task=Task(facts=[rises]))


def test_clipped_inputs_leave_what_is_carried_alone():
    clipped = racing(SPEED, State("best", reset=0.0, low=0, high=10, update=grow)).compile("numpy", on_bad="clip")
    assert clipped.step({"speed": 99.0}, {"best": 0.0})[1] == {"best": 10.0}
    with pytest.raises(OutOfRange, match="state 'best'"):
        clipped.step({"speed": 99.0}, {"best": 5.0})


def reads_itself(best, prev):
    return best


def reads_another(prev, curr):
    return curr.other


def returns_vector(prev):
    return [prev.best, 0.0]


def returns_text(prev):
    return "best"


def returns_flag_or_number(prev, speed):
    return speed + prev.best


def reads_nobody(prev, spd):
    return prev.best + spd


def sums_up(prev, speed):
    return sum(prev.best) + speed


def forgets(prev, speed):  # noqa: RET503 - it is what is refused
    if speed > prev.best:
        return speed


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: State("best", reset=0.0, update=reads_itself), ReadError, "cannot read a state after"),
        (lambda: State("best", reset=0.0, update=reads_another), ReadError, "cannot read a state after"),
        (lambda: State("best", reset=0.0, update=returns_vector), ReadError, "single value, and this returns a list"),
        (lambda: State("best", shape=(3,), reset=0.0, update=returns_vector), ReadError, r"the shape \(3,\)"),
        (
            lambda: State("best", shape=2, reset=0.0, update=sums_up),
            ReadError,
            r"the shape \(2,\), and this returns a number",
        ),
        (lambda: State("best", flag=True, reset=False, update=returns_flag_or_number), ReadError, "flag=True"),
        (lambda: State("best", reset=0.0, update=returns_text), ReadError, "a number is needed"),
        (lambda: State("best", reset=0.0, update=forgets), ReadError, "without `return`"),
        (lambda: State("best", reset=0.0, update=reads_nobody), UnknownField, "state 'best' reads 'spd'"),
        (lambda: State("best", reset=0.0, update=7), ReadError, "plain Python function"),
        (lambda: State("best", reset=11.0, high=10, update=keep_best), DefinitionError, "reset=11.0 is not allowed"),
        (lambda: State("best", reset=[0, 1], update=keep_best), DefinitionError, "reset="),
        (lambda: State("best", reset=True, update=keep_best), DefinitionError, "reset=True"),
        (lambda: State("best", reset=float("nan"), update=keep_best), DefinitionError, "reset=nan"),
        (lambda: State("best", shape=(2,), reset=[0, 1, 2], update=keep_best), DefinitionError, "2 values"),
        (lambda: State("best", reset=0, low=2, high=1, update=keep_best), DefinitionError, "state 'best': low=2"),
        (lambda: State("prev", reset=0, update=keep_best), DefinitionError, "state 'prev': the name is reserved"),
        (lambda: Field("best"), DuplicateName, "twice"),
        (lambda: BEST, DuplicateName, "twice: a state is a field too"),
    ],
)
def test_a_state_that_cannot_be_is_refused(make, error, words):
    twice = [BEST] if error is DuplicateName else []
    other = [State("other", reset=0.0, low=0, high=10, update=lasts)] if words.startswith("cannot read") else []

    @term
    def both(prev):
        return prev.best + prev.other

    with pytest.raises(error, match=words):
        racing(SPEED, make(), *twice, *other, terms=[both] if other else [record])


def lasts(prev, speed):
    return max(prev.other, speed)


def test_a_state_that_nothing_scored_reads_before_the_step_is_refused():
    def plain(speed):
        return speed * 2

    @term
    def fast(best):
        return best

    with pytest.raises(UnusedField, match=r"reads 'prev.best', so the state 'best' has no effect"):
        racing(SPEED, State("best", reset=0.0, update=plain), terms=[fast])
    with pytest.raises(UnusedField, match="has no effect"):
        racing(SPEED, BEST, terms=[term(name="fast")(plain)])


def test_a_state_and_a_term_cannot_share_a_name():
    @term
    def best(prev, speed):
        return prev.best - speed

    with pytest.raises(DuplicateName, match="both a term and a state"):
        racing(terms=[best])
