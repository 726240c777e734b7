"""The eight features: who speaks over a window of steps, how long ago the last switch was, what is left of the budget."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.systems import apex
from plaudit.systems.apex.features import WINDOW
from plaudit.systems.apex.phases import SENDER_ALIASES, SENDERS

NAMES = st.sampled_from(
    ["planner", "coder", "runner", "critic", "plan", "CODE", "Run", "critique", "review", "system", "", "summarizer"]
)


def vector(features, topology="star", since=2, dwell=2):
    return dict(zip(apex.FEATURES, features.encode(topology, steps_since_switch=since, dwell=dwell), strict=True))


def test_there_are_eight_in_this_order():
    assert apex.FEATURES == (
        "star", "chain", "flat", "steps_since_switch", "planner_share", "coder_runner_share", "critic_share", "token_headroom",
    )  # fmt: skip
    assert all(type(each) is float for each in apex.FeatureSource().encode("flat", steps_since_switch=0))


@pytest.mark.parametrize("topology", ["star", "chain", "flat"])
def test_the_active_topology_is_one_and_the_others_are_zero(topology):
    found = vector(apex.FeatureSource(), topology)
    assert [name for name in ("star", "chain", "flat") if found[name] == 1.0] == [topology]
    assert sum(found[name] for name in ("star", "chain", "flat")) == 1.0


@pytest.mark.parametrize(
    ("since", "dwell", "expected"),
    [(0, 2, 0.0), (1, 2, 0.5), (2, 2, 1.0), (99, 2, 1.0), (-9, 2, 0.0), (0, 0, 0.0), (1, 0, 1.0), (1, 4, 0.25)],
)
def test_steps_since_the_switch_stay_between_0_and_1(since, dwell, expected):
    assert vector(apex.FeatureSource(), since=since, dwell=dwell)["steps_since_switch"] == expected


def test_without_messages_every_share_is_0():
    assert set(apex.FeatureSource().role_shares.values()) == {0.0}


def test_what_is_left_of_the_budget_reaches_the_features():
    budget = apex.TokenBudget(200)
    features = apex.FeatureSource(budget=budget)
    assert vector(features)["token_headroom"] == 1.0
    budget.meter.count({"prompt_tokens": 40, "completion_tokens": 10})
    assert vector(features)["token_headroom"] == 0.75
    budget.meter.count({"prompt_tokens": 400, "completion_tokens": 0})
    assert vector(features)["token_headroom"] == 0.0


@pytest.mark.parametrize("limit", [0, -5])
def test_without_a_budget_there_is_no_headroom(limit):
    assert vector(apex.FeatureSource(budget=apex.TokenBudget(limit)))["token_headroom"] == 0.0


@pytest.mark.parametrize(("alias", "role"), SENDER_ALIASES.items())
def test_a_role_is_known_by_its_other_names_in_any_case(alias, role):
    features = apex.FeatureSource()
    for spelled in (alias, alias.upper(), f" {alias.title()} ", role, role.upper()):
        features.add_message(spelled)
    assert features.counts == {each: 5 * (each == role) for each in SENDERS}


def test_a_message_is_seen_before_its_step_ends():
    features = apex.FeatureSource()
    features.add_message("critic")
    assert features.role_shares["critic"] == 1.0


def test_the_window_is_32_steps_and_the_one_under_way():
    features = apex.FeatureSource()
    features.add_message("planner")
    features.end_step()
    for _ in range(WINDOW - 1):
        features.add_message("coder")
        features.end_step()
    features.add_message("critic")
    assert features.counts == {"planner": 1, "coder": 31, "runner": 0, "critic": 1}  # 33 steps are seen
    features.end_step()
    assert features.counts == {"planner": 0, "coder": 31, "runner": 0, "critic": 1}


@given(st.lists(st.lists(NAMES, max_size=4), max_size=50), st.integers(0, 40))
def test_shares_are_those_of_a_plain_count_over_the_window(steps, window):
    features = apex.FeatureSource(window=window)
    kept = deque(maxlen=window)
    for sent in steps:
        known = [SENDER_ALIASES.get(name.lower(), name.lower()) for name in sent]
        for name in sent:
            features.add_message(name)
        seen = [name for step in (*kept, known) for name in step if name in SENDERS]
        shares = features.role_shares
        for role, names in (("planner", ["planner"]), ("coder_runner", ["coder", "runner"]), ("critic", ["critic"])):
            assert shares[role] == (sum(name in names for name in seen) / len(seen) if seen else 0.0)
        assert sum(shares.values()) == pytest.approx(1.0 if seen else 0.0)
        features.end_step()
        kept.append(known)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: apex.FeatureSource(window=-1), errors.DefinitionError, "window=-1"),
        (
            lambda: apex.FeatureSource(aliases={"boss": "manager"}),
            errors.DefinitionError,
            "'manager' is not one of the roles",
        ),
        (lambda: apex.FeatureSource().add_message(3), errors.WrongType, "sender 3 is not a string"),
        (lambda: apex.FeatureSource(roles=["A", "a"]), errors.DuplicateName, "differ only in case"),
        (lambda: apex.FeatureSource(roles=["a", "a"]), errors.DuplicateName, "are the same"),
        (lambda: apex.FeatureSource(roles="ab"), errors.WrongType, "roles='ab' must be a list of strings"),
        (lambda: apex.FeatureSource(topologies="star"), errors.WrongType, "topologies='star' must be a list"),
        (lambda: apex.FeatureSource(topologies=["a", "a"]), errors.DuplicateName, "would be called 'a'"),
        (
            lambda: apex.FeatureSource().encode("sta", steps_since_switch=0),
            errors.UnknownCategory,
            "Did you mean 'star'?",
        ),
    ],
)
def test_what_is_no_feature_is_refused(wrong, error, message):
    with pytest.raises(error) as raised:
        wrong()
    assert message in str(raised.value)


def test_roles_and_topologies_of_your_own_have_features_of_their_own():
    features = apex.FeatureSource(roles=["writer", "editor"], topologies=["star", "pairs"], aliases={"ed": "editor"})
    assert features.names == ("star", "pairs", "steps_since_switch", "writer_share", "editor_share", "token_headroom")
    for sender in ("Writer", "ed", "editor", "EDITOR", "planner", "plan"):
        features.add_message(sender)
    assert features.role_shares == {"writer": 0.25, "editor": 0.75}
    assert features.encode("pairs", steps_since_switch=1) == (0.0, 1.0, 0.5, 0.25, 0.75, 1.0)
