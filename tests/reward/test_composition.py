"""Totals that are more than a sum: scale, gate, clamp, late terms and overrides, each a row that explains itself."""

import math
import pickle

import pytest

from plaudit import (
    DefinitionError,
    Field,
    ReadError,
    Reward,
    Signal,
    SpecError,
    Task,
    bounds,
    fact,
    prove,
    term,
)
from plaudit.errors import DuplicateName, OutsideDomain, UnknownParameter, UnusedField
from support.composed import (
    FIELDS,
    STEP,
    STEPS,
    by_hand,
    effort,
    fell,
    forward,
    ran,
    rows,
    termination,
    training,
    upright,
    walker,
    walking,
)

REWARD = walking()


@pytest.mark.parametrize("row", rows(), ids=range(7))
def test_the_parts_of_a_total_come_in_the_declared_order(row):
    assert REWARD.score(**row).total == pytest.approx(by_hand(row), abs=1e-12)


@pytest.mark.parametrize("row", rows(), ids=range(7))
def test_the_rows_of_an_explanation_add_up_to_the_total(row):
    signal = REWARD.score(**row)
    assert sum(signal.values.values()) == pytest.approx(signal.total, abs=1e-12)
    assert list(signal.values) == ["forward", "effort", "termination", "gate", "clamp", "fell", "ran"]
    for term_score in signal.terms:
        assert term_score.clamped * term_score.weight == pytest.approx(term_score.value, abs=1e-12)


def test_a_row_says_what_it_looked_at_and_what_it_gave_or_took():
    signal = REWARD.score(speed=1.0, torque=8.0, height=0.25, fallen=False)
    assert (signal["gate"].score, signal["gate"].value) == (0.5, -0.25)  # half of 1 * 2 * 0.25
    assert (signal["clamp"].score, signal["clamp"].value) == (-0.75, 0.75)
    assert signal.total == 0.0


def test_an_override_is_the_total_to_the_bit():
    assert REWARD.score(speed=0.1, torque=0.3, height=0.0, fallen=True).total == -1.0


def test_where_two_overrides_hold_the_first_one_counts_and_the_signal_says_so():
    signal = REWARD.score(speed=5.0, torque=0.0, height=0.0, fallen=False)
    assert signal.override == "fell"
    assert (signal["fell"].score, signal["ran"].score) == (1.0, 1.0)
    assert signal["ran"].value == 0.0
    assert "the total comes from the override fell; ran also held, with lower priority" in signal.explain()
    assert REWARD.score(**STEP).override is None
    assert "override" not in REWARD.score(**STEP).explain()


def test_a_signal_keeps_its_overrides_as_data():
    signal = REWARD.score(speed=5.0, torque=0.0, height=0.0, fallen=False)
    again = Signal.from_dict(signal.to_dict())
    assert again == signal
    assert again.override == "fell"
    assert again.explain() == signal.explain()
    with pytest.raises(SpecError, match="not one of the terms"):
        Signal.from_dict({**signal.to_dict(), "overrides": ["nobody"]})


def test_the_weight_of_a_term_has_the_scale_in_it():
    assert REWARD.score(**STEP)["forward"].weight == 0.5
    assert REWARD.with_params(dt=0.5).score(**STEP)["forward"].value == 1.0


def test_a_scale_of_its_own_is_a_parameter():
    reward = walking(shared={}, scale=0.25)
    assert reward.params["total.scale"] == 0.25
    assert reward.score(**STEP).total == REWARD.score(**STEP).total
    assert reward.with_params(total={"scale": 1.0}).score(**STEP)["forward"].value == 2.0


def test_every_number_above_the_terms_is_a_parameter(tmp_path):
    assert {"gate.reach": 0.5, "fell.floor": 0.125, "override.fell": -1.0, "override.ran": -2.0}.items() <= (
        REWARD.params.items()
    )
    changed = REWARD.with_params(gate={"reach": 2.0}, override={"fell": -7}, fell={"floor": 0.5})
    assert changed.score(speed=0, torque=0, height=0.25, fallen=False).total == -7.0
    assert changed.score(**STEP)["gate"].score == 0.5
    (tmp_path / "numbers.toml").write_text(
        "dt = 0.5\n[gate]\nreach = 2.0\n[override]\nfell = -7\n[fell]\nfloor = 0.5\n"
    )
    assert REWARD.with_file(tmp_path / "numbers.toml") == changed.with_params(dt=0.5)


def test_a_gate_may_be_a_bool_and_read_the_end():
    def going(terminal):
        return not terminal

    reward = Reward("r", version="1", terms=[forward], fields=FIELDS[:1], gate=going)
    assert reward.score(speed=2.0).total == 4.0
    assert reward.score(speed=2.0, terminal=True).total == 0.0


def test_what_is_not_used_changes_nothing():
    plain = {"terms": [forward, termination], "fields": [FIELDS[0], FIELDS[3]]}
    reward = Reward("r", version="1", **plain)
    assert not reward._composed
    assert reward.program.adjustments == ()
    assert list(reward.score(speed=1.0, fallen=True).values) == ["forward", "termination"]
    assert {"scale", "gate", "override"}.isdisjoint(reward.to_dict())


def test_late_terms_alone_make_a_composition_only_where_there_is_a_clamp():
    reward = Reward("r", version="1", terms=[forward, termination], fields=[FIELDS[0], FIELDS[3]], low=0.0)
    assert list(reward.score(speed=-1.0, fallen=True).values) == ["forward", "termination", "clamp"]
    assert reward.score(speed=-1.0, fallen=True).total == -10.0


def test_a_product_of_tolerances_is_a_gate():
    assert walker.score(speed=2.0, height=1.5).total == 1.0
    assert walker.score(speed=0.0, height=1.5).total == pytest.approx(1 / 6)
    assert bounds(walker).total.high == pytest.approx(1.0)


@pytest.mark.parametrize("reward", [REWARD, training(), walker], ids=["composed", "scheduled", "walker"])
def test_a_specification_rebuilds_it_without_its_source(reward):
    loaded = Reward.from_json(reward.to_json())
    assert loaded == reward
    assert loaded.to_json() == reward.to_json()
    assert pickle.loads(pickle.dumps(reward)) == reward
    row = {name: column[1].item() for name, column in STEPS.items() if name in reward.inputs}
    row |= dict.fromkeys(reward.program.counters, 5)
    assert loaded.score(**row).to_dict() == reward.score(**row).to_dict()


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": 1.0, "shared": {}},
        {"gate": None},
        {"override": [(ran, -2.0), (fell, -1.0)]},
        {"override": [(fell, -1.0)]},
        {"low": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_every_part_is_in_the_fingerprint(changes):
    assert walking(**changes).fingerprint != REWARD.fingerprint


def test_whether_a_term_is_gated_or_late_is_in_the_fingerprint():
    seen = set()
    for gated, late in ((True, False), (False, False), (True, True)):
        made = term(name="effort", gated=gated, after_clamp=late)(effort.__wrapped__)
        seen.add(walking(terms=[forward, made, termination]).fingerprint)
    assert len(seen) == 3


def test_the_formula_is_written_out():
    last = REWARD.source().splitlines()[-1]
    assert last == (
        "total = -1.0 if fell else -2.0 if ran else max(forward * 2.0 * 0.25 * gate + effort * -0.5 * 0.25, 0.0) "
        "+ termination * -10.0 * 0.25"
    )
    assert "def gate(height, *, reach=0.5):" in REWARD.source()
    assert "def fell(height, *, floor=0.125):" in REWARD.source()
    assert "def clamp" not in REWARD.source()
    assert r"\text{gate} &=" in REWARD.formula()


def test_terms_alone_keep_what_stands_above_them():
    alone = REWARD.select_terms("effort")
    assert set(alone.inputs) == {"torque", "height", "speed"}
    assert alone.score(torque=2.0, height=0.0, speed=0.0).total == -1.0


def test_two_rewards_that_differ_above_the_terms_are_told_apart():
    assert prove(REWARD, REWARD.with_params(gate={"reach": 0.75})).verdict == "different"
    assert prove(REWARD, Reward.from_json(REWARD.to_json())).verdict == "equal"


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_a_gate_that_is_not_a_number_makes_the_row_bad_and_is_named():
    def wild(speed):
        return speed * 1e300 * 1e300

    reward = Reward("r", version="1", terms=[forward], fields=[Field("speed")], gate=wild)
    with pytest.raises(OutsideDomain, match="the gate of reward 'r' is not finite"):
        reward.score(speed=5.0)
    scores = reward.compile("numpy", on_bad="mask")({"speed": [0.0, 5.0]})
    assert scores.ok.tolist() == [True, False]
    assert math.isnan(scores.values["gate"][1])


def test_a_gate_that_divides_by_zero_is_named_with_its_line():
    def inverse(speed):
        return 1 / speed

    reward = Reward("r", version="1", terms=[forward], fields=[Field("speed")], gate=inverse)
    with pytest.raises(OutsideDomain, match=r"the gate of reward 'r' divides by zero[^$]*return 1 / speed"):
        reward.score(speed=0.0)


def vector(speed):
    return (speed, speed)


def text(speed):
    return "open"


def number(speed):
    return speed


def unknown(hight):
    return hight > 1


def gate(speed):
    return speed > 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"gate": vector}, ReadError, "a number is needed here, and this is a tuple of 2"),
        ({"gate": text}, ReadError, "a number is needed here, and this is the string 'open'"),
        ({"gate": 3}, DefinitionError, "gate must be a plain function, not 3"),
        ({"gate": effort}, DefinitionError, "drop the @term above it"),
        ({"gate": unknown}, DefinitionError, "reads 'hight', which the reward does not declare"),
        ({"override": [(number, -1)]}, ReadError, "a condition must return a bool, and this returns a number"),
        ({"override": [(fell, "low")]}, DefinitionError, "override.fell='low' must be a finite number"),
        ({"override": [(fell, math.nan)]}, DefinitionError, "override.fell=nan must be a finite number"),
        ({"override": [(fell, True)]}, DefinitionError, "override.fell=True must be a number"),
        ({"override": [fell]}, DefinitionError, "a list of pairs, each a condition and the total when it holds"),
        ({"override": {fell: 1}}, DefinitionError, "a list of pairs"),
        ({"override": [(fell, 1), (fell, 2)]}, DuplicateName, "two overrides whose condition is called 'fell'"),
        ({"override": [(gate, 1)]}, DefinitionError, "override 'gate': the name of the condition"),
        ({"scale": "dtt"}, UnknownParameter, "scale='dtt' is not a shared parameter. Did you mean 'dt'"),
        ({"scale": math.inf}, DefinitionError, "total.scale=inf must be a finite number"),
        ({"scale": True}, DefinitionError, "total.scale=True must be a number"),
        ({"scale": [1]}, DefinitionError, "total.scale"),
        ({"shared": {"dt": (1.0, 2.0)}}, DefinitionError, "scale='dt' must be a number"),
        ({"scale": 0.5}, UnknownParameter, "no term has a keyword-only parameter 'dt'"),
        ({"terms": [forward, effort]}, UnusedField, "fallen"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_written(changes, error, message):
    with pytest.raises(error) as caught:
        walking(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["gate", "clamp", "override"])
def test_the_rows_of_a_total_are_no_names_for_terms(name):
    named = term(name=name)(forward.__wrapped__)
    assert Reward("r", version="1", terms=[named], fields=FIELDS[:1]).score(speed=1.0).total == 1.0
    with pytest.raises(DuplicateName, match=f"a term is called '{name}'"):
        Reward("r", version="1", terms=[named], fields=FIELDS[:1], scale=2.0)


def test_a_condition_is_no_term_and_no_shared_parameter():
    named = term(name="fell")(effort.__wrapped__)
    with pytest.raises(DuplicateName, match="'fell' is both a term and the condition of an override"):
        walking(terms=[forward, named, termination])


def test_a_condition_is_no_fact():
    with pytest.raises(DuplicateName, match="'fell' is both"):
        walking(task=Task(facts=[fact(fell)]))


def test_the_end_alone_is_scored_under_the_same_composition():
    @term(terminal=True, weight=4.0)
    def arrival(speed):
        return 1.0 if speed < 1 else 0.0

    reward = Reward("r", version="1", terms=[forward, arrival], fields=[*FIELDS[:1], FIELDS[2]], gate=upright)
    signal = reward.score_terminal(speed=0.5, height=0.25)
    assert signal.values == {"arrival": 4.0, "gate": -2.0}
    assert signal.total == 2.0


@pytest.mark.parametrize("option", ["gated", "after_clamp"])
def test_the_options_of_a_term_are_bools(option):
    with pytest.raises(DefinitionError, match=f"{option}='no' must be True or False"):
        term(**{option: "no"})(forward.__wrapped__)


def hostile(change):
    data = REWARD.to_dict()
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(scale=None),
        lambda data: data.update(scale="nobody"),
        lambda data: data.update(gate=None),
        lambda data: data["gate"].update(name="other"),
        lambda data: data["gate"].update(result=10**6),
        lambda data: data["gate"].update(result=data["override"][0]["result"]),
        lambda data: data["gate"].pop("knobs"),
        lambda data: data["gate"].update(knobs={"re ach": 1.0}),
        lambda data: data["gate"].update(knobs={}),
        lambda data: data["gate"].update(shared="dt"),
        lambda data: data.update(override={}),
        lambda data: data["override"][0].update(value="much"),
        lambda data: data["override"][0].update(result=data["gate"]["result"]),
        lambda data: data["override"][0].update(name="forward"),
        lambda data: data["override"][0].update(name="ran"),
        lambda data: data["override"][0].update(name="total"),
        lambda data: data["override"][0].update(extra=1),
        lambda data: data["terms"][0].update(gated="yes"),
        lambda data: data.update(other=1),
        lambda data: data.pop("gate"),
    ],
)
def test_a_specification_that_was_tampered_with_is_refused(change):
    with pytest.raises(SpecError):
        Reward.from_dict(hostile(change))


def test_a_loaded_gate_has_no_function():
    loaded = Reward.from_json(REWARD.to_json())
    assert REWARD.gate(0.25) == 0.5
    with pytest.raises(DefinitionError, match="has no function"):
        loaded.gate(0.25)
    assert upright(0.25) == 0.5
