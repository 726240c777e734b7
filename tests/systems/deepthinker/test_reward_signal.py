"""The reward of a research agent's phase: its formula, its record, and what it refuses."""

import json
import math
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.systems import deepthinker
from plaudit.systems.deepthinker import RewardConfig, RewardSignal, RewardWeights

EXAMPLE = {
    "score_delta": 0.1,
    "consistency_delta": 0.05,
    "cost_tokens": 5000,
    "cost_latency_ms": 2000,
    "alignment_events": 1,
    "time_budget_used_pct": 0.4,
}
ARGUMENTS = (
    "score_delta",
    "consistency_delta",
    "grounding_delta",
    "cost_tokens",
    "cost_latency_ms",
    "alignment_events",
    "time_budget_used_pct",
)
DELTAS = ARGUMENTS[:3]
MEASURES = ARGUMENTS[3:]

outcome = RewardSignal.from_phase_outcome


# -- the formula ---------------------------------------------------------------------------------------------


def test_the_usage_example_runs_as_printed(capsys):
    # Compute reward from phase outcome
    signal = RewardSignal.from_phase_outcome(
        score_delta=0.1,           # Quality improved by 0.1
        consistency_delta=0.05,    # Consistency improved slightly
        cost_tokens=5000,          # Tokens used
        cost_latency_ms=2000,      # Time taken
        alignment_events=1,        # One alignment trigger
        time_budget_used_pct=0.4,  # Used 40% of time budget
    )  # fmt: skip

    # Get final reward
    reward = signal.compute_reward()
    print(f"Reward: {reward:.3f}")

    # Access components for debugging
    print(f"Score delta: {signal.score_delta:.3f}")
    print(f"Cost penalty: {signal.cost_penalty_clamped:.3f}")

    assert reward == pytest.approx(-0.030, abs=1e-12)
    assert capsys.readouterr().out == "Reward: -0.030\nScore delta: 0.100\nCost penalty: 0.300\n"


def by_hand(
    *,
    score_delta,
    consistency_delta,
    grounding_delta,
    cost_tokens,
    cost_latency_ms,
    alignment_events,
    time_budget_used_pct,
):
    """The formula as it is specified, with the default weights and settings."""

    def clamp(delta):
        return max(-1.0, min(1.0, delta))

    cost = min(1.0, math.log(1 + cost_tokens) / math.log(1 + 100_000))
    total = (
        0.3 * clamp(score_delta)
        + 0.2 * clamp(consistency_delta)
        + 0.2 * clamp(grounding_delta)
        - 0.1 * min(cost, 0.3)
        - 0.1 * min(0.1 * alignment_events, 0.4)
        - 0.1 * min(min(1.0, time_budget_used_pct), 0.3)
    )
    return max(-1.0, min(1.0, total))


OUTCOMES = st.fixed_dictionaries(
    {
        **dict.fromkeys(DELTAS, st.floats(-3, 3)),
        "cost_tokens": st.integers(0, 10_000_000),
        "cost_latency_ms": st.floats(0, 1e6),
        "alignment_events": st.integers(0, 50),
        "time_budget_used_pct": st.floats(0, 5),
    }
)


@given(measured=OUTCOMES)
def test_the_reward_is_the_formula_and_lies_in_its_range(measured):
    signal = outcome(**measured)
    assert signal.reward == pytest.approx(by_hand(**measured), abs=1e-12)
    assert -0.80 - 1e-12 <= signal.reward <= 0.70 + 1e-12


def test_the_range_is_reached_at_both_ends_and_the_last_clamp_never_binds():
    worst = dict.fromkeys(DELTAS, -1.0) | {"cost_tokens": 31, "alignment_events": 4, "time_budget_used_pct": 0.3}
    assert outcome(**worst).reward == pytest.approx(-0.80, abs=1e-12)
    assert outcome(**dict.fromkeys(DELTAS, 1.0)).reward == pytest.approx(0.70, abs=1e-12)


def test_the_last_clamp_binds_with_larger_weights():
    heavy = RewardWeights(score_weight=5.0)
    assert outcome(score_delta=1.0, weights=heavy).reward == 1.0
    assert outcome(score_delta=-1.0, weights=heavy).reward == -1.0


def test_the_default_weights_add_up_to_1():
    assert sum(asdict(RewardWeights()).values()) == pytest.approx(1.0)
    assert asdict(RewardWeights()) == {
        "score_weight": 0.3,
        "consistency_weight": 0.2,
        "grounding_weight": 0.2,
        "cost_weight": 0.1,
        "alignment_weight": 0.1,
        "time_weight": 0.1,
    }


def test_all_penalties_together_take_a_tenth():
    signal = outcome(cost_tokens=10**9, cost_latency_ms=1e9, alignment_events=1000, time_budget_used_pct=50)
    assert signal.reward == pytest.approx(-0.10, abs=1e-12)


@pytest.mark.parametrize("name", DELTAS)
@pytest.mark.parametrize(("delta", "counts_as"), [(5.0, 1.0), (1.0, 1.0), (0.3, 0.3), (-1.0, -1.0), (-7.5, -1.0)])
def test_deltas_are_clamped_and_not_refused(name, delta, counts_as):
    signal = outcome(**{name: delta})
    assert getattr(signal, name) == counts_as
    assert signal.components_raw[name] == delta


@pytest.mark.parametrize(("max_tokens", "enough"), [(10_000, 15), (100_000, 31), (1_000_000, 63)])
def test_the_cost_reaches_its_cap_after_a_few_tokens(max_tokens, enough):
    config = RewardConfig(max_tokens=max_tokens)
    assert outcome(cost_tokens=enough, config=config).cost_penalty_clamped == 0.3
    assert outcome(cost_tokens=enough - 1, config=config).cost_penalty_clamped < 0.3


def test_the_cost_is_1_from_the_whole_budget_on():
    assert outcome(cost_tokens=0).cost_penalty == 0.0
    assert outcome(cost_tokens=100_000).cost_penalty == 1.0
    assert outcome(cost_tokens=100_001).cost_penalty == 1.0
    assert outcome(cost_tokens=2**53).cost_penalty == 1.0


def test_latency_is_recorded_and_counts_only_when_asked_for():
    assert outcome(cost_latency_ms=60_000).cost_penalty == 0.0
    assert outcome(cost_latency_ms=60_000).components_raw["cost_latency_ms"] == 60_000
    shared = RewardConfig(latency_share=0.25)
    assert outcome(cost_latency_ms=60_000, config=shared).cost_penalty == 0.25
    assert outcome(cost_latency_ms=120_000, config=shared).cost_penalty == 0.25
    assert outcome(cost_tokens=100_000, config=shared).cost_penalty == 0.75


@pytest.mark.parametrize(
    ("events", "penalty", "clamped"), [(0, 0, 0), (1, 0.1, 0.1), (4, 0.4, 0.4), (5, 0.5, 0.4), (99, 1, 0.4)]
)
def test_every_alignment_event_adds_a_tenth(events, penalty, clamped):
    signal = outcome(alignment_events=events)
    assert signal.alignment_penalty == pytest.approx(penalty)
    assert signal.alignment_penalty_clamped == pytest.approx(clamped)


@pytest.mark.parametrize(
    ("used", "usage", "overrun"), [(0, 0, 0), (0.2, 0.2, 0), (1, 1, 0), (1.25, 1, 0.25), (3, 1, 1)]
)
def test_time_is_what_was_used_or_only_what_went_beyond(used, usage, overrun):
    assert outcome(time_budget_used_pct=used).time_penalty == usage
    late = outcome(time_budget_used_pct=used, config=RewardConfig(time_mode="overrun"))
    assert late.time_penalty == overrun
    assert late.time_penalty_clamped == min(overrun, 0.3)


def test_a_time_that_looks_like_a_percentage_is_scored_and_remarked_upon():
    assert "time_hint" not in outcome(time_budget_used_pct=2).normalization_meta
    signal = outcome(time_budget_used_pct=40)
    assert signal.time_penalty == 1.0
    assert "40" in signal.normalization_meta["time_hint"]


def test_penalties_are_clamped_before_they_are_weighed():
    signal = outcome(cost_tokens=100_000, weights=RewardWeights(cost_weight=1.0))
    assert signal.reward == pytest.approx(-0.3)


# -- the record ----------------------------------------------------------------------------------------------


def test_a_signal_has_the_specified_fields_in_order_and_each_has_a_default():
    assert [field.name for field in fields(RewardSignal)] == [
        "reward_version",
        "components_raw",
        "normalization_meta",
        "score_delta",
        "consistency_delta",
        "grounding_delta",
        "cost_penalty",
        "alignment_penalty",
        "time_penalty",
        "cost_penalty_clamped",
        "alignment_penalty_clamped",
        "time_penalty_clamped",
        "reward",
    ]
    assert RewardSignal() == RewardSignal(reward_version="1.0.0")
    assert RewardSignal().compute_reward() == 0.0


def test_every_argument_is_optional_and_nothing_is_worth_nothing():
    signal = outcome()
    assert signal.reward == 0.0
    assert signal.components_raw == dict.fromkeys(ARGUMENTS, 0)
    assert signal.reward_version == "1.0.0"


def test_raw_components_are_keyed_by_the_arguments():
    assert outcome(**EXAMPLE).components_raw == {"grounding_delta": 0.0} | EXAMPLE


def test_the_meta_holds_every_parameter_used():
    weights, config = RewardWeights(score_weight=0.5), RewardConfig(max_tokens=50_000, time_mode="overrun")
    meta = outcome(**EXAMPLE, weights=weights, config=config).normalization_meta
    assert meta == {
        **asdict(weights),
        **asdict(config),
        "reward_low": -1.0,
        "reward_high": 1.0,
        "fingerprint": deepthinker.tune_reward(weights, config).fingerprint,
    }


def test_a_signal_cannot_be_changed():
    signal = outcome(**EXAMPLE)
    with pytest.raises(FrozenInstanceError):
        signal.reward = 1.0
    with pytest.raises(FrozenInstanceError):
        RewardWeights().score_weight = 1.0
    with pytest.raises(FrozenInstanceError):
        RewardConfig().max_tokens = 1


def test_the_same_outcome_gives_the_same_signal():
    assert outcome(**EXAMPLE) == outcome(**EXAMPLE)
    assert hash(outcome(**EXAMPLE)) == hash(outcome(**EXAMPLE))


def test_a_subclass_is_built_by_its_own_init():
    @dataclass(frozen=True)
    class Noted(RewardSignal):
        notes: list = field(default_factory=list)

    signal = Noted.from_phase_outcome(**EXAMPLE)
    assert (signal.reward, signal.notes) == (outcome(**EXAMPLE).reward, [])


def test_the_reward_is_complete_when_built_and_computed_anew_only_when_asked():
    signal = outcome(**EXAMPLE)
    before = asdict(signal)
    assert signal.compute_reward() == signal.reward
    assert signal.compute_reward(RewardWeights(), RewardConfig()) == signal.reward
    assert signal.compute_reward(weights=RewardWeights(score_weight=1.0)) == pytest.approx(0.04)
    assert signal.compute_reward(config=RewardConfig(per_event=0.0)) == pytest.approx(-0.02)
    assert asdict(signal) == before


def test_what_is_not_given_anew_stays_as_it_was_computed_with():
    generous = RewardConfig(MAX_COST_PENALTY=0.0, MAX_TIME_PENALTY=0.0)
    signal = outcome(**EXAMPLE, config=generous)
    heavier = RewardWeights(alignment_weight=1.0)
    assert signal.compute_reward(weights=heavier) == outcome(**EXAMPLE, weights=heavier, config=generous).reward
    signal = outcome(**EXAMPLE, weights=heavier)
    assert signal.compute_reward(config=generous) == outcome(**EXAMPLE, weights=heavier, config=generous).reward


@given(measured=OUTCOMES, weight=st.floats(0, 2), overrun=st.booleans())
def test_a_signal_can_be_computed_again_from_its_record_alone(measured, weight, overrun):
    config = RewardConfig(time_mode="overrun" if overrun else "usage", latency_share=0.5)
    signal = outcome(**measured, weights=RewardWeights(cost_weight=weight), config=config)
    meta = signal.normalization_meta
    again = outcome(
        **signal.components_raw,
        weights=RewardWeights(**{field.name: meta[field.name] for field in fields(RewardWeights)}),
        config=RewardConfig(**{field.name: meta[field.name] for field in fields(RewardConfig)}),
    )
    assert again == signal


NUMBERS = {"weights": RewardWeights(score_weight=0.5), "config": RewardConfig(max_tokens=50_000)}
MADE = [
    RewardSignal(),
    outcome(**EXAMPLE),
    outcome(score_delta=-0.1 - 0.2, time_budget_used_pct=40, **NUMBERS),
    *NUMBERS.values(),
    RewardWeights(score_weight=np.float32(0.3)),
]


@pytest.mark.parametrize("made", MADE)
def test_what_is_written_as_json_is_read_back_to_the_bit(made):
    again = type(made).from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert repr(again) == repr(made)
    assert [type(value) for value in again.to_dict().values()] == [type(value) for value in made.to_dict().values()]


@pytest.mark.parametrize("made", MADE[1:5:2])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda data: None, errors.WrongType, "must come from a mapping, not from None"),
        (lambda data: dict(list(data.items())[:-1]), errors.MissingField, "also needs '(reward|time_weight)'"),
        (lambda data: data | {list(data)[-1] + "s": 1}, errors.UnknownInput, "Did you mean '(reward|time_weight)'"),
        (lambda data: data | {list(data)[-1]: math.nan}, ValueError, "(reward|time_weight) ?= ?nan"),
        (lambda data: data | {list(data)[-1]: "1"}, ValueError, "(reward|time_weight) ?= ?'1'"),
        (lambda data: data | {list(data)[-1]: True}, ValueError, "(reward|time_weight) ?= ?True"),
        (lambda data: data | {list(data)[-1]: 10**400}, ValueError, "(reward|time_weight) ?= ?(inf|10{20})"),
    ],
)
def test_data_that_was_not_written_so_is_one_clear_error(made, change, error, message):
    with pytest.raises(error, match=message):
        type(made).from_dict(change(made.to_dict()))


@pytest.mark.parametrize(
    ("part", "value", "error", "message"),
    [
        ("reward_version", 1, errors.WrongType, "reward_version=1 is not a string"),
        ("components_raw", [], errors.WrongType, "components_raw .* not from \\[\\]"),
        ("components_raw", {"score_delta": 1.0}, errors.MissingField, "components_raw .* needs 'consistency_delta'"),
        ("normalization_meta", 3, errors.WrongType, "normalization_meta=3"),
        ("normalization_meta", {"per_event": math.inf}, errors.NotFinite, r"normalization_meta\['per_event'\]=inf"),
    ],
)
def test_a_part_of_a_signal_that_was_not_written_so_is_one_clear_error(part, value, error, message):
    with pytest.raises(error, match=message):
        RewardSignal.from_dict(outcome(**EXAMPLE).to_dict() | {part: value})


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_an_error(name, value):
    with pytest.raises(errors.NotFinite, match=name):
        outcome(**{name: value})


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("value", [-1, -0.5, -1e-9])
def test_what_cannot_be_negative_is_an_error(name, value):
    with pytest.raises(errors.OutOfRange, match=name):
        outcome(**{name: value})


@pytest.mark.parametrize("name", ["cost_tokens", "alignment_events"])
def test_counts_are_whole(name):
    outcome(**{name: 3.0})
    with pytest.raises(errors.OutOfRange, match=name):
        outcome(**{name: 2.5})


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("value", ["much", True, [1]])
def test_what_is_no_number_is_an_error(name, value):
    with pytest.raises(errors.WrongType, match=name):
        outcome(**{name: value})


def test_tokens_beyond_what_a_float_counts_are_an_error():
    for tokens in (2**53 + 1, 10**400, -(10**5000)):
        with pytest.raises(errors.OutOfRange, match="cost_tokens"):
            outcome(cost_tokens=tokens)


@pytest.mark.parametrize("weight", [math.nan, math.inf, -0.1, "heavy", True, 10**400])
@pytest.mark.parametrize("name", [field.name for field in fields(RewardWeights)])
def test_a_weight_that_is_no_weight_is_an_error(name, weight):
    with pytest.raises(errors.DefinitionError, match=name):
        RewardWeights(**{name: weight})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", math.inf),
        ("per_event", -0.1),
        ("latency_share", 1.5),
        ("max_latency_ms", 0.5),
        ("time_mode", "late"),
        ("MAX_COST_PENALTY", -0.3),
        ("MAX_ALIGNMENT_PENALTY", math.nan),
        ("MAX_TIME_PENALTY", "0.3"),
    ],
)
def test_a_setting_that_makes_no_sense_is_an_error(name, value):
    with pytest.raises(errors.DefinitionError, match=name):
        RewardConfig(**{name: value})


# -- settings ------------------------------------------------------------------------------------------------


def test_the_caps_of_the_penalties_are_settings():
    uncapped = RewardConfig(MAX_COST_PENALTY=1.0, MAX_ALIGNMENT_PENALTY=1.0, MAX_TIME_PENALTY=1.0)
    signal = outcome(cost_tokens=100_000, alignment_events=10, time_budget_used_pct=1.0, config=uncapped)
    assert signal.reward == pytest.approx(-0.3)


def test_a_weight_of_0_leaves_a_component_out_and_keeps_it_on_record():
    signal = outcome(cost_tokens=5000, weights=RewardWeights(cost_weight=0.0))
    assert signal.reward == 0.0
    assert signal.cost_penalty_clamped == 0.3


def test_settings_come_from_a_toml_file(tmp_path):
    path = tmp_path / "reward.toml"
    path.write_text('max_tokens = 50_000\ntime_mode = "overrun"\nMAX_COST_PENALTY = 1\n')
    assert RewardConfig.from_toml(path) == RewardConfig(max_tokens=50_000, time_mode="overrun", MAX_COST_PENALTY=1.0)


def test_an_empty_file_leaves_the_defaults(tmp_path):
    path = tmp_path / "reward.toml"
    path.touch()
    assert RewardConfig.from_toml(str(path)) == RewardConfig()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (b"max_token = 1", errors.UnknownParameter, "Did you mean 'max_tokens'"),
        (b"[config]\nmax_tokens = 1", errors.UnknownParameter, "config"),
        (b"max_tokens = 0", errors.DefinitionError, "max_tokens = 0"),
        (b"max_tokens =", errors.DefinitionError, "not a TOML file"),
        (b"\xff\xfe", errors.DefinitionError, "not a TOML file"),
    ],
)
def test_a_file_with_a_mistake_is_one_clear_error(tmp_path, text, error, message):
    path = tmp_path / "reward.toml"
    path.write_bytes(text)
    with pytest.raises(error, match=message):
        RewardConfig.from_toml(path)


@pytest.mark.parametrize("place", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path, place):
    with pytest.raises(errors.FileError, match="cannot be read"):
        RewardConfig.from_toml(tmp_path / place)


def test_the_environment_changes_nothing(monkeypatch):
    for name in ("REWARD_COST_PENALTY_CLAMP", "MAX_COST_PENALTY", "REWARD_VERSION", "max_tokens"):
        monkeypatch.setenv(name, "7")
    assert RewardConfig() == RewardConfig(max_tokens=100_000, MAX_COST_PENALTY=0.3)
    assert outcome(**EXAMPLE).reward == pytest.approx(-0.030, abs=1e-12)


# -- the reward itself ---------------------------------------------------------------------------------------


def test_the_defaults_of_weights_and_settings_are_those_of_the_reward():
    assert deepthinker.tune_reward(RewardWeights(), RewardConfig()).fingerprint == deepthinker.reward.fingerprint
    assert deepthinker.tune_reward(RewardWeights(), RewardConfig()) is deepthinker.tune_reward(
        RewardWeights(), RewardConfig()
    )


def test_other_weights_are_another_fingerprint():
    other = deepthinker.tune_reward(RewardWeights(score_weight=0.4), RewardConfig())
    assert other.fingerprint != deepthinker.reward.fingerprint


def test_the_versions_are_labels_of_rewards():
    assert deepthinker.VERSIONS == ("1.0.0", "rescaled")
    assert deepthinker.version("1.0.0") is deepthinker.reward
    with pytest.raises(errors.DefinitionError, match=r"Did you mean '1\.0\.0'"):
        deepthinker.version("1.0")


def test_the_terms_are_the_components():
    names = [term.name for term in deepthinker.reward.terms]
    assert names == ["score", "consistency", "grounding", "cost", "alignment", "time"]
    assert tuple(deepthinker.reward.fields) == ARGUMENTS


def test_the_bundled_episode_is_scored_like_any_phase():
    rows = deepthinker.episode()
    assert [deepthinker.reward.score(**row).total for row in rows] == [outcome(**row).reward for row in rows]
    assert max(row["cost_tokens"] for row in rows) > 100_000


# -- repaired ------------------------------------------------------------------------------------------------

RESCALED = deepthinker.version("rescaled")
IDLE = dict.fromkeys(ARGUMENTS, 0.0)


def rescaled(**measured):
    return RESCALED.score(**IDLE | measured)


@given(measured=OUTCOMES)
def test_repaired_the_reward_is_the_formula_and_lies_in_its_range(measured):
    def clamp(value, low, high):
        return max(low, min(high, value))

    cost = 0.8 * clamp(measured["cost_tokens"] / 100_000, 0, 1.5) + 0.2 * clamp(
        measured["cost_latency_ms"] / 60_000, 0, 1.5
    )
    expected = (
        0.3 * clamp(measured["score_delta"], -1, 1)
        + 0.2 * clamp(measured["consistency_delta"], -1, 1)
        + 0.2 * clamp(measured["grounding_delta"], -1, 1)
        - 0.1 * min(1.0, cost)
        - 0.1 * min(1.0, 0.1 * measured["alignment_events"])
        - 0.1 * min(1.0, measured["time_budget_used_pct"])
    )
    total = rescaled(**measured).total
    assert total == pytest.approx(expected, abs=1e-12)
    assert -1.0 - 1e-12 <= total <= 0.7 + 1e-12


def test_repaired_every_token_counts_up_to_the_budget():
    totals = [rescaled(cost_tokens=tokens).total for tokens in (0, 31, 32, 1_000, 50_000, 99_999, 100_000)]
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) == len(totals)
    assert rescaled(cost_tokens=200_000).total == rescaled(cost_tokens=10_000_000).total == -0.1


@pytest.mark.parametrize(
    ("name", "enough"), [("alignment_events", 10), ("time_budget_used_pct", 1.0)], ids=["alignment", "time"]
)
def test_repaired_a_penalty_stops_where_its_budget_is_spent(name, enough):
    assert rescaled(**{name: enough * 0.9}).total == pytest.approx(-0.09)
    assert rescaled(**{name: enough}).total == pytest.approx(-0.1)
    assert rescaled(**{name: enough * 9}).total == pytest.approx(-0.1)


def test_repaired_the_sum_needs_no_clamp():
    assert (RESCALED.low, RESCALED.high) == (None, None)


def test_repaired_nothing_pays_below_zero():
    assert rescaled(**dict.fromkeys(MEASURES, -5)).total == 0.0


def test_repaired_the_bundled_mission_is_scored():
    totals = [RESCALED.score(**row).total for row in deepthinker.episode()]
    assert totals == pytest.approx([0.167227, 0.1054, -0.0492, 0.0798, -0.265], abs=1e-6)
