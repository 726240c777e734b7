"""The router: what it knows, what it advises, and that a fit from the ledger is what was learnt along the way."""

import json
import math
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Ledger, errors, learn
from plaudit.learn import Decision, Guess, Router, SharedLearner, fit, load, save
from plaudit.learn.saving import digest
from plaudit.ledger.record import Entry
from support.bandits import REWARD, same
from support.examples import examples

CANDIDATES = ("SMALL_1", "MEDIUM_2", "LARGE_3")
FEATURES = ("one", "difficulty", "pressure")
X = (1.0, 0.5, 0.25)


def rule(x):
    return Guess("LARGE_3" if x[1] > 0.4 else "SMALL_1", 0.7, "hard enough")


ROUTER = Router(learn.squarecb(CANDIDATES, FEATURES), rule, minimum=3)
BANDITS = {
    "squarecb": ROUTER.bandit,
    "linucb": learn.linucb(CANDIDATES, FEATURES),
    "epsilon_ridge": learn.epsilon_ridge(CANDIDATES, FEATURES),
    "linear_thompson": learn.linear_thompson(CANDIDATES, FEATURES),
}

vectors = st.tuples(*[st.floats(-3, 3) for _ in FEATURES])
rewards = st.floats(-1, 1)
rows = st.tuples(st.sampled_from(CANDIDATES), vectors, rewards)


def decided(candidate, x=X, **more):
    return Decision(candidate, None, None, x, 0, **more)


def learn_all(history, router=ROUTER):
    state = router.init()
    for candidate, x, reward in history:
        state = router.update(state, decided(candidate, x), reward)
    return state


def equal(one, other):
    return same(one.ridge, other.ridge) and one.squares == other.squares


def record_all(ledger, history, reward=REWARD, **more):
    """Record rows, each with what is to be said besides, in one transaction."""
    ledger.record_many(
        Entry(reward.score(delta=earned), decision_class="tier", context={"decision": decided(c, x).to_dict(), **more})
        for c, x, earned in history
    )


# -- what it knows ----------------------------------------------------------------------------------------------------


@given(st.lists(rows, min_size=1, max_size=30), vectors)
def test_what_is_expected_is_the_ridge_regression_of_each_candidate(history, x):
    state = learn_all(history)
    expected, _ = ROUTER.estimate(state, x)
    for at, candidate in enumerate(CANDIDATES):
        mine = [(features, reward) for name, features, reward in history if name == candidate]
        mine = [((*features, 1.0), reward) for features, reward in mine]
        a = np.eye(4) + sum((np.outer(f, f) for f, _ in mine), np.zeros((4, 4)))
        b = sum((r * np.array(f) for f, r in mine), np.zeros(4))
        assert expected[at] == pytest.approx(np.linalg.solve(a, b) @ (*x, 1.0), abs=1e-7)


def test_errors_say_how_far_off_the_estimates_are():
    rng = np.random.default_rng(5)
    inside = total = 0
    for _ in range(40):
        truth = rng.normal(size=3) * 0.3
        xs = np.column_stack([np.ones(60), rng.uniform(size=(60, 2))])
        state = learn_all([("SMALL_1", tuple(x), float(x @ truth + 0.2 * rng.normal())) for x in xs])
        assert 0.1 < ROUTER.deviation(state) < 0.3
        for x in xs[:10]:
            expected, spread = ROUTER.estimate(state, x)
            inside += abs(expected[0] - x @ truth) < 1.96 * spread[0]
            total += 1
    assert 0.88 < inside / total < 0.99


def test_before_any_reward_nothing_is_expected_and_the_errors_are_wide():
    expected, spread = ROUTER.estimate(ROUTER.init(), X)
    assert expected == (0.0, 0.0, 0.0)
    assert spread == pytest.approx([0.5 * math.sqrt(1 + 0.25 + 0.0625 + 1)] * 3)


# -- what it advises --------------------------------------------------------------------------------------------------


def test_the_rule_is_followed_until_there_is_enough_to_learn_from():
    history = [("SMALL_1", X, 0.9), ("MEDIUM_2", X, 0.1), ("LARGE_3", X, -0.5)]
    few = ROUTER.advise(learn_all(history[:2]), X)
    assert (few.candidate, few.confidence, few.learnt, few.records) == ("LARGE_3", 0.7, False, 2)
    assert few.rationale == "hard enough (2 of 3 records to learn from so far)"
    assert few.expected[0] > few.expected[2]
    enough = ROUTER.advise(learn_all(history), X)
    assert (enough.candidate, enough.learnt, enough.records) == ("SMALL_1", True, 3)
    assert "SMALL_1 +0." in enough.rationale
    assert "in its favor: one" in enough.rationale


@given(st.lists(rows, min_size=3, max_size=30), vectors)
def test_advice_is_the_best_expectation_with_a_confidence_of_its_share_or_more(history, x):
    advice = ROUTER.advise(learn_all(history), x)
    assert advice.expected[CANDIDATES.index(advice.candidate)] == max(advice.expected)
    assert 0 < advice.confidence <= 1
    assert all(error >= 0 for error in advice.errors)


def test_confidence_is_the_chance_of_beating_the_strongest_rival():
    state = learn_all([("SMALL_1", X, 0.6)] * 40 + [("MEDIUM_2", X, 0.5)] * 2 + [("LARGE_3", X, -0.5)] * 40)
    advice = ROUTER.advise(state, X)
    chances = [
        0.5 * (1 + math.erf((advice.expected[0] - advice.expected[at]) / math.hypot(advice.errors[0], advice.errors[at]) / math.sqrt(2)))
        for at in (1, 2)
    ]  # fmt: skip
    assert advice.candidate == "SMALL_1"
    assert advice.confidence == pytest.approx(min(chances))
    more = ROUTER.advise(learn_all([("SMALL_1", X, 0.6)] * 200 + [("MEDIUM_2", X, 0.5)] * 200), X)
    assert more.confidence > advice.confidence


@pytest.mark.parametrize(
    ("answer", "error"),
    [(Guess("HUGE", 0.5, ""), errors.UnknownCategory), ("SMALL_1", errors.WrongType), (None, errors.WrongType)],
)
def test_a_rule_that_gives_no_candidate_is_an_error(answer, error):
    router = Router(ROUTER.bandit, lambda x: answer)
    with pytest.raises(error):
        router.advise(router.init(), X)
    with pytest.raises(error):
        router.choose(router.init(), 7, X)


# -- what it chooses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 2, 3, 40])
def test_every_choice_comes_with_its_exact_probability(count):
    state = learn_all([(CANDIDATES[n % 3], X, 0.1 * (n % 3)) for n in range(count)])
    drawn = [ROUTER.choose(state, key, X) for key in range(4000)]
    expected = ROUTER.probabilities(state, [X])[0]
    assert sum(expected) == pytest.approx(1)
    for at, candidate in enumerate(CANDIDATES):
        mine = [decision for decision in drawn if decision.action == candidate]
        assert len(mine) / len(drawn) == pytest.approx(expected[at], abs=0.03)
        assert all(
            decision.probability == decision.probabilities[at] == pytest.approx(expected[at]) for decision in mine
        )
    assert ROUTER.choose(state, 7, X) == ROUTER.choose(state, 7, X)


@pytest.mark.parametrize("bandit", BANDITS.values(), ids=BANDITS)
def test_once_it_knows_enough_it_chooses_as_its_bandit(bandit):
    router = Router(bandit, rule, minimum=3)
    state = learn_all([("SMALL_1", X, 0.4), ("MEDIUM_2", X, 0.1), ("LARGE_3", X, 0.0)], router)
    assert router.choose(state, 7, X) == bandit.choose(state.ridge, 7, X)
    assert (router.probabilities(state, [X]) == bandit.probabilities(state.ridge, [X])).all()


# -- what it refuses --------------------------------------------------------------------------------------------------

REFUSED = [
    (decided("HUGE"), 0.1, errors.UnknownCategory),
    (decided("SMALL_1", (1.0, 0.5)), 0.1, errors.ShapeMismatch),
    (decided("SMALL_1", None), 0.1, errors.ShapeMismatch),
    (decided("SMALL_1", (1.0, math.nan, 0.0)), 0.1, errors.NotFinite),
    (decided("SMALL_1", (1.0, 1e9, 0.0)), 0.1, errors.OutOfRange),
    (decided("SMALL_1"), math.nan, errors.NotFinite),
    (decided("SMALL_1"), math.inf, errors.NotFinite),
    (decided("SMALL_1"), "0.1", errors.WrongType),
    (decided("SMALL_1"), 1e200, errors.OutOfRange),
]


@pytest.mark.parametrize(("decision", "reward", "error"), REFUSED)
@given(history=st.lists(rows, max_size=5))
@examples(0.1)
def test_what_is_refused_changes_nothing(decision, reward, error, history):
    state, twin = learn_all(history), learn_all(history)
    with pytest.raises(error):
        ROUTER.update(state, decision, reward)
    assert equal(state, twin)


@pytest.mark.parametrize("x", [(1.0, 0.5), (1.0, math.nan, 0.0), "abc", None])
def test_features_that_are_none_are_refused(x):
    for state in (ROUTER.init(), learn_all([("SMALL_1", X, 0.1)] * 3)):
        with pytest.raises(errors.InputError):
            ROUTER.advise(state, x)
        with pytest.raises(errors.InputError):
            ROUTER.choose(state, 7, x)


@pytest.mark.parametrize(
    "settings",
    [{"minimum": -1}, {"minimum": "3"}, {"trial": 1.5}, {"trial": -0.1}, {"noise": 0.0}, {"noise": math.nan}],
)
def test_settings_that_make_no_router_are_refused(settings):
    with pytest.raises(errors.DefinitionError, match=next(iter(settings))):
        Router(ROUTER.bandit, rule, **settings)


def test_a_router_is_made_of_a_linear_bandit_and_a_rule():
    with pytest.raises(errors.DefinitionError, match="linear bandit"):
        Router(learn.ucb1(CANDIDATES), rule)
    with pytest.raises(errors.DefinitionError, match="fallback"):
        Router(ROUTER.bandit, "LARGE_3")


# -- a fit from the ledger --------------------------------------------------------------------------------------------


@given(
    history=st.lists(rows, max_size=25),
    marks=st.lists(st.sampled_from([{}, {"again": True}, {"blocked": "a rule"}]), max_size=3),
)
@examples(0.12)
def test_a_fit_is_what_was_learnt_along_the_way_to_the_bit(history, marks):
    with TemporaryDirectory() as folder, Ledger(f"{folder}/rewards.db") as ledger:
        along = SharedLearner(ledger, ROUTER, decision_class="tier")
        state = ROUTER.init()
        for mark in [{}, *marks]:
            record_all(ledger, history, **mark)
            if "blocked" not in mark:
                for candidate, x, reward in history:
                    state = ROUTER.update(state, decided(candidate, x), reward, again="again" in mark)
            along.catch_up()
        ledger.record(REWARD.score(delta=0.5), decision_class="tier")  # no decision in it
        ledger.record(
            REWARD.score(delta=0.5), decision_class="other", context={"decision": decided("SMALL_1").to_dict()}
        )
        found = fit(ledger, ROUTER, decision_class="tier")
    assert equal(found, state)
    assert equal(found, along.state)
    assert (found.decisions, found.pulls) == (state.decisions, state.pulls)


def test_a_fit_under_another_reward_scores_the_inputs_anew(tmp_path):
    harder = REWARD.with_weights(gain=-2.0).with_version("2")
    history = [("SMALL_1", X, 0.5), ("LARGE_3", X, 0.25)]
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_all(ledger, history)
        found = fit(ledger, ROUTER, decision_class="tier", under=harder)
    assert equal(found, learn_all([("SMALL_1", X, -1.0), ("LARGE_3", X, -0.5)]))


def test_rewards_of_several_versions_are_not_mixed_unless_that_is_meant(tmp_path):
    other = REWARD.with_weights(gain=2.0).with_version("2")
    history = [("SMALL_1", X, 0.5), ("LARGE_3", X, 0.25)]
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_all(ledger, history)
        record_all(ledger, history, other)
        with pytest.raises(errors.InputError, match="gain@1 and gain@2, which are not comparable"):
            fit(ledger, ROUTER, decision_class="tier")
        assert equal(fit(ledger, ROUTER, decision_class="tier", version="1"), learn_all(history))
        assert fit(ledger, ROUTER, decision_class="tier", mixed=True).decisions == 4
        assert equal(fit(ledger, ROUTER, decision_class="tier", under=REWARD), learn_all(history * 2))


def test_a_record_that_cannot_be_learnt_from_is_named(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_all(ledger, [("SMALL_1", X, 0.5), ("HUGE", X, 0.5)])
        with pytest.raises(errors.UnknownCategory) as caught:
            fit(ledger, ROUTER, decision_class="tier")
    assert caught.value.__notes__[0].startswith(
        "in record 2 of the decision class 'tier'; pass skip={2} to leave it out"
    )


def test_any_learner_can_be_fitted(tmp_path):
    bandit = learn.ucb1(CANDIDATES)
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_all(ledger, [("SMALL_1", X, 0.5), ("LARGE_3", X, 0.25)])
        assert fit(ledger, bandit, decision_class="tier").means == (0.5, 0.0, 0.25)


# -- a file -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    save(tmp_path / "router.json", ROUTER, learn_all([("SMALL_1", X, 0.5), ("LARGE_3", X, 0.25)]), last=2)
    return tmp_path / "router.json"


@pytest.mark.parametrize("bandit", BANDITS.values(), ids=BANDITS)
def test_a_saved_router_goes_on_as_if_nothing_had_happened(bandit, tmp_path):
    router = Router(bandit, rule, minimum=4, trial=0.4, noise=0.3)
    state = learn_all([("SMALL_1", X, 1 / 3), ("LARGE_3", (0.1, 0.2, 0.3), 0.7)], router)
    save(tmp_path / "router.json", router, state, note="kept")
    again = load(tmp_path / "router.json", fallback=rule)
    assert again.learner == router
    assert again.more == {"note": "kept"}
    assert equal(again.state, state)
    assert again.learner.advise(again.state, X) == router.advise(state, X)


def test_a_file_has_a_version_the_names_of_the_features_and_a_hash(saved):
    data = json.loads(saved.read_text())
    assert data["version"] == 1
    assert data["learner"]["bandit"]["features"] == list(FEATURES)
    assert data["learner"]["bandit"]["actions"] == list(CANDIDATES)
    assert len(data["hash"]) == 16
    assert load(saved, expected=ROUTER).more == {"last": 2}


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        (learn.squarecb(CANDIDATES, 3), "features"),
        (learn.squarecb(CANDIDATES, 5), "features"),
        (learn.squarecb(CANDIDATES[:2], FEATURES), "actions"),
        (learn.linucb(CANDIDATES, FEATURES), "explore"),
    ],
)
def test_a_file_of_another_router_is_refused(saved, expected, says):
    with pytest.raises(errors.SpecError, match=f"saved with {says}"):
        load(saved, expected=Router(expected, rule))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.update(version=9), "version 9"),
        (lambda data: data["learner"]["bandit"].update(features=["a", "b", "c"]), "hash"),
        (lambda data: data["learner"].update(trial=0.7), "hash"),
        (lambda data: data["state"].pop("squares"), "squares"),
        (lambda data: data["state"].update(squares=[1.0]), "squares"),
        (lambda data: data["state"].update(squares=[1.0, -1.0, 0.0]), "squares"),
        (lambda data: data["state"].pop("ridge"), "ridge"),
        (lambda data: data["state"]["ridge"].update(moment=[[0.0]]), "moment"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(saved, change, says):
    data = json.loads(saved.read_text())
    change(data)
    if says != "hash":  # by somebody who knows how
        data["hash"] = digest({name: data[name] for name in ("learner", "state", "more")})
    saved.write_text(json.dumps(data))
    with pytest.raises(errors.SpecError, match=says):
        load(saved, fallback=rule)


def test_a_file_that_was_cut_short_is_refused_wherever_it_was_cut(saved):
    text = saved.read_text()
    for end in range(0, len(text) - 2, 61):
        saved.write_text(text[:end])
        with pytest.raises(errors.SpecError, match="router.json"):
            load(saved, fallback=rule)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(errors.FileError, match="cannot be read"):
        load(tmp_path / "router.json")


def test_a_router_that_was_loaded_without_its_rule_goes_by_what_it_learnt(tmp_path):
    rows = [("SMALL_1", X, 0.5), ("LARGE_3", X, 0.25)] * ROUTER.minimum
    save(tmp_path / "router.json", ROUTER, learn_all(rows))
    again = load(tmp_path / "router.json")
    assert again.learner.advise(again.state, X).candidate == "SMALL_1"
    save(tmp_path / "router.json", ROUTER, learn_all(rows[:1]))
    again = load(tmp_path / "router.json")
    with pytest.raises(errors.SpecError, match="fallback=rule"):
        again.learner.advise(again.state, X)


def test_a_router_is_shared_with_a_snapshot_like_any_learner(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_all(ledger, [("SMALL_1", X, 0.5), ("LARGE_3", X, 0.25)])
        one = learn.SharedLearner(ledger, ROUTER, decision_class="tier", snapshot=tmp_path / "tier.json")
        one.save()
        other = learn.SharedLearner(ledger, ROUTER, decision_class="tier", snapshot=tmp_path / "tier.json")
        assert equal(other.state, one.state)


def test_confidence_is_how_often_the_advice_is_right():
    rng = np.random.default_rng(3)
    actions = tuple(f"c{at}" for at in range(6))
    router = Router(learn.linucb(actions, ("one",), floor=0.0, intercept=False), rule, minimum=1, noise=1.0)
    said, right = [], []
    for _ in range(400):
        worth = rng.normal(size=6)  # as the ridge of 1 and the noise of 1 have it
        state = router.init()
        for _ in range(12):
            action = actions[rng.integers(6)]
            state = router.update(
                state, Decision(action, None, None, (1.0,), 0), worth[actions.index(action)] + rng.normal()
            )
        advice = router.advise(state, [1.0])
        said.append(advice.confidence)
        right.append(advice.candidate == actions[int(worth.argmax())])
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.08)


def test_rewards_far_from_zero_are_no_noise():
    router = Router(learn.linucb(("a", "b"), ("one",)), lambda x: Guess("a", 0.5, "rule"), minimum=1, noise=0.1)
    rows = [("a", (1.0,), 100.0 + (-1) ** at * 0.1) for at in range(200)]
    assert router.deviation(learn_all(rows, router)) < 0.6


def test_a_rule_that_is_sure_of_nothing_is_refused():
    router = Router(learn.linucb(("a", "b"), ("one",)), lambda x: Guess("a", math.nan, "rule"))
    with pytest.raises(errors.OutOfRange, match="confidence of nan"):
        router.advise(router.init(), [1.0])
