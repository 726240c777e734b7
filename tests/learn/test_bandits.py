"""What every bandit keeps to, and what each is known for."""

import copy
import dataclasses
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import learn
from plaudit.errors import DefinitionError, InputError, NotFinite, OutOfRange, ShapeMismatch, UnknownCategory, WrongType
from plaudit.learn import Decision
from plaudit.learn.linear import load_machine_code
from support.bandits import (
    ACTIONS,
    ARMS,
    FEATURES,
    LEARNERS,
    LINEAR,
    context_of,
    contexts,
    plain,
    rewards,
    run_steps,
    same,
)
from support.examples import examples

steps = st.lists(st.tuples(contexts, rewards), max_size=20)
every = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@every
@examples(0.4)
@given(steps=steps, context=contexts, key=st.integers(0, 2**64))
def test_the_same_key_state_and_features_give_the_same_decision(learner, steps, context, key):
    state = run_steps(learner, steps)
    made = [learner.choose(state, key, context_of(learner, context)) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0].number == len(steps) == state.decisions


@every
@examples(0.4)
@given(steps=steps, context=contexts, key=st.integers(0, 1000))
def test_a_decision_says_the_probability_that_the_policy_has(learner, steps, context, key):
    state = run_steps(learner, steps)
    decision = learner.choose(state, key, context_of(learner, context))
    policy = learner.probabilities(state, np.array([context]))
    assert policy.shape == (1, 4)
    assert policy.sum() == pytest.approx(1)
    assert policy[0, ACTIONS.index(decision.action)] == pytest.approx(decision.probability, abs=1e-9)
    if decision.probabilities is not None:
        assert decision.probabilities == pytest.approx(policy[0], abs=1e-9)


@every
@examples(0.4)
@given(steps=steps, context=contexts)
def test_learning_returns_a_new_state_and_leaves_the_old_one(learner, steps, context):
    state = run_steps(learner, steps)
    copy = type(state)(*(part.copy() if hasattr(part, "copy") else part for part in state))
    decision = learner.choose(state, 1, context_of(learner, context))
    after = learner.update(state, decision, 0.5)
    assert same(state, copy)
    assert after.decisions == state.decisions + 1
    assert sum(after.pulls) == sum(state.pulls) + 1
    assert learner.update(after, decision, 1.0, again=True).decisions == after.decisions


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
@examples(0.4)
@given(steps=steps, context=contexts, key=st.integers(0, 2**70))
def test_machine_code_and_numpy_decide_and_learn_the_same(learner, steps, context, key):
    fast, slow = run_steps(learner, steps), run_steps(plain(learner), steps)
    np.testing.assert_allclose(fast.table, slow.table, rtol=1e-9, atol=1e-9)
    one, other = learner.choose(fast, key, context), plain(learner).choose(fast, key, context)
    assert one.probability == pytest.approx(other.probability, abs=1e-6) or one.action != other.action
    assert one.epsilon == other.epsilon
    if one.probabilities is not None and len({*np.round(one.probabilities, 6)}) > 1:
        assert one.action == other.action or min(one.probability, other.probability) < 0.5


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_actions_come_as_often_as_their_probability_says(share):
    bandit = learn.epsilon_ridge(ACTIONS, FEATURES, start=share, end=share)
    state = bandit.update(bandit.init(), Decision("chain", None, None, (1.0, 0.0, 0.0), 0), 1.0)
    made = [bandit.choose(state, key, (1.0, 0.0, 0.0)) for key in range(8_000)]
    for action in ACTIONS:
        expected = share / 4 + (1 - share) * (action == "chain")
        assert sum(each.action == action for each in made) / len(made) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("made", [plain, lambda learner: learner], ids=["numpy", "numba"])
@pytest.mark.parametrize(
    ("context", "error", "says"),
    [
        ((1.0, math.nan, 0.0), NotFinite, "'share'"),
        ((1.0, 0.0, math.inf), NotFinite, "'headroom'"),
        ((1.0, 0.0), ShapeMismatch, "3 features"),
        (None, (ShapeMismatch, WrongType), "features"),
        ("abc", WrongType, "not a list"),
        ([[1.0, 0.0, 0.0]], ShapeMismatch, "shape"),
    ],
)
def test_features_that_are_none_are_refused_at_choosing_and_at_learning(made, context, error, says):
    for learner in LINEAR.values():
        bandit = made(learner)
        state = run_steps(bandit, [((1.0, 0.5, 0.2), 0.3)] * 3)
        before = state.table.copy()
        with pytest.raises(error, match=says):
            bandit.choose(state, 0, context)
        with pytest.raises(error, match=says), np.errstate(all="ignore"):
            bandit.update(state, Decision("star", None, None, context, 0), 0.5)
        np.testing.assert_array_equal(state.table, before)


@every
@pytest.mark.parametrize(
    ("reward", "error"),
    [(math.nan, NotFinite), (math.inf, NotFinite), ("1", WrongType), (None, WrongType), (True, WrongType)],
)
def test_a_reward_that_is_no_number_is_refused(learner, reward, error):
    state = run_steps(learner, [((1.0, 0.5, 0.2), 0.3)])
    decision = learner.choose(state, 0, context_of(learner, (1.0, 0.0, 0.0)))
    with pytest.raises(error, match="reward"):
        learner.update(state, decision, reward)


@every
def test_an_unknown_action_is_refused_with_a_guess(learner):
    decision = learner.choose(learner.init(), 0, context_of(learner, (1.0, 0.0, 0.0)))
    with pytest.raises(UnknownCategory, match="Did you mean 'chain'"):
        learner.update(learner.init(), decision._replace(action="chian"), 0.5)


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_what_doubles_cannot_hold_is_refused(learner):
    state = learner.init()
    for made in (learner, plain(learner)):
        with pytest.raises(OutOfRange, match="Nothing was learned"), np.errstate(all="ignore"):
            made.update(state, Decision("star", None, None, (1e150, 1.0, 1.0), 0), 0.5)


@pytest.mark.parametrize("learner", ARMS.values(), ids=ARMS)
def test_a_bandit_without_features_takes_none(learner):
    with pytest.raises(ShapeMismatch, match="takes no features"):
        learner.choose(learner.init(), 0, (1.0,))
    with pytest.raises(OutOfRange, match="too large"):
        learner.update(learner.init(), Decision("star", None, None, None, 0), 1e200)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: learn.linucb(("a",), 2), "two or more"),
        (lambda: learn.linucb(("a", "a"), 2), "'a' twice"),
        (lambda: learn.linucb(("a", ""), 2), "tuple of names"),
        (lambda: learn.linucb(("a", "b"), 0), "needs features"),
        (lambda: learn.linucb(("a", "b"), ("x", "x")), "'x' twice"),
        (lambda: learn.linucb(("a", "b"), 2, floor=0.6), "floor=0.6"),
        (lambda: learn.squarecb(("a", "b", "c"), 2, floor=0.4), "1/3"),
        (lambda: learn.linucb(("a", "b"), 2, ridge=0.0), "ridge"),
        (lambda: learn.linucb(("a", "b"), 2, alpha=math.nan), "alpha"),
        (lambda: learn.ucb1(("a", "b"), width=-1.0), "width"),
    ],
)
def test_a_learner_that_cannot_be_is_refused_when_it_is_made(made, says):
    with pytest.raises(DefinitionError, match=says):
        made()


@given(context=contexts)
def test_before_it_learns_the_bandit_stays(context):
    bandit = learn.epsilon_ridge(ACTIONS, FEATURES, start=0.0, end=0.0)
    assert bandit.choose(bandit.init(), 3, context).action == "stay"


def test_ucb_tries_everything_once_and_then_the_promising():
    bandit = learn.ucb1(("a", "b", "c"), floor=0.0)
    state, chosen = bandit.init(), []
    for worth in (0.1, 0.9, 0.2, 0.9, 0.9):
        decision = bandit.choose(state, 0)
        chosen.append(decision.action)
        state = bandit.update(state, decision, worth)
    assert chosen[:4] == ["a", "b", "c", "b"]


def test_a_constant_reward_is_no_certainty_for_thompson():
    bandit = learn.thompson(("a", "b"))
    state = run_steps(bandit, [(None, 0.1)] * 40)
    assert 0 < bandit.choose(state, 1).probability <= 1


@every
def test_learners_find_the_better_action(learner):
    rng = np.random.default_rng(0)
    state, late = learner.init(), []
    for step in range(600):
        context = tuple(rng.uniform(0.5, 1, size=3))
        decision = learner.choose(state, 5, context_of(learner, context))
        late += [decision.action] if step >= 400 else []
        state = learner.update(state, decision, (0.8 if decision.action == "chain" else 0.2) + rng.normal() * 0.05)
    assert late.count("chain") > 120


def test_an_error_of_a_learner_is_an_input_error_that_callers_catch():
    bandit = LINEAR["linucb"]
    with pytest.raises(InputError):
        bandit.choose(bandit.init(), 0, (1.0, math.nan, 2.0))
    with pytest.raises(ShapeMismatch, match="a row"):
        bandit.probabilities(bandit.init(), np.zeros((3, 2)))
    with pytest.raises(NotFinite, match="row 1"):
        bandit.probabilities(bandit.init(), np.array([[0, 0, 0], [0, np.nan, 0]]))


@every
def test_a_state_of_another_learner_is_refused(learner):
    others = (learn.linucb(ACTIONS, 5), learn.linucb(("a", "b"), FEATURES), learn.ucb1(("a", "b")))
    decision = Decision("star", None, None, context_of(learner, (1.0, 0.0, 0.0)), 0)
    for other in others:
        with pytest.raises(ShapeMismatch, match="the state is not that of"):
            learner.choose(other.init(), 0, decision.context)
        with pytest.raises(ShapeMismatch, match="the state is not that of"):
            learner.update(other.init(), decision, 0.5)
        with pytest.raises(ShapeMismatch, match="the state is not that of"):
            learner.probabilities(other.init(), [(1.0, 0.0, 0.0)])


@every
def test_a_learner_that_was_used_travels_to_another_process(learner):
    state = run_steps(learner, [((1.0, 0.5, 0.2), 0.3)] * 3)
    for twin in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert twin == learner
        assert hash(twin) == hash(learner)
        context = context_of(learner, (1.0, 0.0, 0.0))
        assert twin.choose(state, 3, context) == learner.choose(state, 3, context)


@every
def test_a_key_is_any_whole_number_and_nothing_else(learner):
    state, context = learner.init(), context_of(learner, (1.0, 0.0, 0.0))
    for key in (np.int64(7), np.uint64(7), np.int8(7)):
        assert learner.choose(state, key, context) == learner.choose(state, 7, context)
    assert learner.choose(state, np.int64(-1), context) == learner.choose(state, -1, context)
    for key in (7.0, "7", None):
        with pytest.raises(WrongType, match="key="):
            learner.choose(state, key, context)


@pytest.mark.parametrize("made", [plain, lambda learner: learner], ids=["numpy", "numba"])
@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_what_can_be_chosen_on_can_be_learnt_from(made, learner):
    bandit = made(learner)
    longest = math.sqrt(1e10 * bandit.ridge)
    for length in (0.99 * longest, 1.01 * longest, 1e200):
        context = (length, 0.0, 0.0)
        try:
            decision = bandit.choose(bandit.init(), 0, context)
        except OutOfRange:
            assert length > longest
            with pytest.raises(OutOfRange, match="too large"):
                bandit.update(bandit.init(), Decision("star", None, None, context, 0), 0.5)
        else:
            assert length < longest
            bandit.update(bandit.init(), decision, 0.5)


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
@pytest.mark.parametrize(
    "context", [["0.5", "1", "2"], [True, False, True], np.array([1j, 0, 0]), [10**400, 1, 1], [[1], [1, 2]]]
)
def test_only_numbers_are_features(learner, context):
    with pytest.raises(WrongType, match="not a list of numbers"):
        learner.choose(learner.init(), 0, context)


def test_whole_numbers_and_single_precision_are_numbers():
    bandit = LINEAR["linucb"]
    expected = bandit.choose(bandit.init(), 0, (1.0, 0.0, 2.0))
    for context in ([1, 0, 2], np.array([1, 0, 2], np.float32), np.array([1, 9, 0, 9, 2.0])[::2]):
        assert bandit.choose(bandit.init(), 0, context) == expected


def test_with_many_actions_a_fifth_of_the_choices_is_random_at_most():
    for made in (learn.linucb, learn.squarecb):
        bandit = made([f"a{at}" for at in range(100)], 2)
        state = bandit.update(bandit.init(), Decision("a7", None, None, (1.0, 0.0), 0), 1.0)
        assert bandit.probabilities(state._replace(decisions=10**9), [(1.0, 0.0)])[0, 7] == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: learn.linucb("ab", 2), "must be names"),
        (lambda: learn.linucb(("a", "b"), "xy"), "must be names"),
        (lambda: learn.linucb(("a", "b"), 2, mix="epsilonn"), "mix='epsilonn'"),
        (lambda: learn.epsilon_greedy(("a", "b"), over=math.nan), "over=nan"),
        (lambda: learn.epsilon_greedy(("a", "b"), start="much"), "start='much'"),
    ],
)
def test_a_definition_that_is_not_meant_is_refused(made, says):
    with pytest.raises(DefinitionError, match=says):
        made()


def test_settings_of_numpy_are_settings():
    assert learn.epsilon_greedy(("a", "b"), start=np.float32(0.25)) == learn.epsilon_greedy(("a", "b"), start=0.25)
    assert learn.linucb(("a", "b"), np.int64(2)) == learn.linucb(("a", "b"), 2)


def test_without_numba_that_works_it_is_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "plaudit.learn.numba", None)
    monkeypatch.delattr(learn, "numba", raising=False)
    load_machine_code.cache_clear()
    bandit = learn.linucb(ACTIONS, FEATURES)
    assert bandit._compiled is None
    assert bandit.choose(bandit.init(), 3, (1.0, 0.0, 0.0)) == LINEAR["linucb"].choose(
        bandit.init(), 3, (1.0, 0.0, 0.0)
    )
    load_machine_code.cache_clear()


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_actions_that_differ_where_all_features_are_centred_are_told_apart(learner):
    """Arms earn .2, .5, .8 and .35 whatever the features are: a regression through the origin learns nothing of that."""
    means = {"stay": 0.2, "star": 0.5, "chain": 0.8, "flat": 0.35}

    def earn(bandit):
        rng = np.random.default_rng(5)
        state, earned = bandit.init(), []
        for step in range(600):
            decision = bandit.choose(state, step, rng.normal(size=3))
            earned.append(float(rng.random() < means[decision.action]))
            state = bandit.update(state, decision, earned[-1])
        return np.mean(earned[200:])

    without = dataclasses.replace(learner, intercept=False)
    assert earn(learner) > 0.68
    assert earn(learner) > earn(without) + 0.1


def test_a_learner_that_was_pickled_before_there_were_intercepts_has_none():
    bandit = LINEAR["linucb"]
    state = bandit.__getstate__()
    del state["intercept"]
    again = bandit.__class__.__new__(bandit.__class__)
    again.__setstate__(state)
    assert again == dataclasses.replace(bandit, intercept=False)
    with pytest.raises(ShapeMismatch, match="3 features and no intercept"):
        again.choose(bandit.init(), 1, [0.0, 0.0, 0.0])


def test_a_decision_keeps_the_features_that_were_given():
    decision = LINEAR["linucb"].choose(LINEAR["linucb"].init(), 1, [0.1, 0.2, 0.3])
    assert decision.context == (0.1, 0.2, 0.3)


def test_an_intercept_needs_a_ridge_that_it_does_not_outweigh():
    with pytest.raises(DefinitionError, match="too small for an intercept"):
        learn.linucb(("a", "b"), 2, ridge=1e-11)
    assert learn.linucb(("a", "b"), 2, ridge=1e-11, intercept=False).init().decisions == 0
