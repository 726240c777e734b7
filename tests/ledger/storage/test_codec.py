"""Every reward there is: what is read back is what was recorded, and recomputing gives the same bits."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from plaudit import Entry, Field, Ledger, Reward, Signal, term
from plaudit.errors import InputError, NotInLedger, VersionConflict
from plaudit.testing.rows import as_columns
from support.examples import examples
from support.ledgers import end, verified
from support.postgres import server_in_soak
from support.samples import EPISODES, SAMPLES, following, handover
from support.strategies import cases, rows


def same(one, two):
    """Return whether two signals are the same in every bit that they show."""
    return json.dumps(one.to_dict()) == json.dumps(two.to_dict())


def test_every_sample_comes_back(where):
    wanted = {name: [reward.score(**row) for row in EPISODES[name]] for name, reward in SAMPLES.items()}
    with Ledger(where) as ledger:
        for name, signals in wanted.items():
            ledger.record_many(Entry(signal=each, run=name) for each in signals)
            ledger.record(signals[0], run=name)
    with Ledger(where, read_only=True) as ledger:
        for name, signals in wanted.items():
            found = [record.signal for record in ledger.history(run=name)]
            assert len(found) == len(signals) + 1
            assert all(map(same, found, [*signals, signals[0]])), name
            assert {each.fingerprint for each in found} == {SAMPLES[name].fingerprint}
        assert {(r.name, r.version) for r in ledger.rewards()} == {(name, "1") for name in SAMPLES}
        verified(ledger)


def test_the_end_of_an_episode_comes_back(where):
    steps = [handover.score(**row) for row in EPISODES["handover"][:3]]
    ends = [end(success) for success in (True, False)]
    with Ledger(where) as ledger:
        ledger.record_many([*steps, *ends])
        ledger.record(ends[0], key="end")
        assert ledger.record(ends[0], key="end") == ledger["end"].id
        found = [record.signal for record in ledger.history()]
        assert all(map(same, found, [*steps, *ends, ends[0]]))
        assert len(ledger.rewards()) == 1
        verified(ledger)


def test_signals_read_from_data_need_their_reward(where):
    signal = following.score(distance=float("inf"), deceleration=-0.0, action=2)
    last = end()
    plain = [Signal.from_dict(json.loads(json.dumps(each.to_dict()))) for each in (signal, last)]
    with Ledger(where) as ledger:
        for each in plain:
            with pytest.raises(NotInLedger, match="register"):
                ledger.record(each)
        ledger.register(following)
        ledger.register(handover)
        ledger.record_many(plain)
        assert all(map(same, [record.signal for record in ledger.history()], (signal, last)))
        verified(ledger)
    with Ledger(where) as ledger:  # what is registered is known for good
        ledger.record(plain[0])
        assert ledger.history().count() == 3


def test_a_label_stands_for_one_formula_for_good(where):
    changed = following.with_params(comfort={"harsh": 5.0})
    row = {"distance": 3.0, "deceleration": 1.0, "action": 0}
    with Ledger(where) as ledger:
        ledger.record(following.score(**row))
        for work in (
            lambda: ledger.record(changed.score(**row)),
            lambda: ledger.record_many([following.score(**row), changed.score(**row)]),
            lambda: ledger.record_batch(changed, {name: [value] for name, value in row.items()}),
            lambda: ledger.register(changed),
            lambda: ledger.rescore(changed),
        ):
            with pytest.raises(VersionConflict, match=r"4.5 → 5"):
                work()
        assert ledger.history().count() == 1
        ledger.record(changed.with_version("2").score(**row))
        verified(ledger)


@server_in_soak
@pytest.mark.parametrize("many", [4200, pytest.param(10_000, marks=pytest.mark.slow)])  # a block has up to 4096
def test_a_batch_is_what_its_rows_are(where, many):
    from support.ledgers import REWARD, columns, signal

    with Ledger(where) as ledger:
        numbers = ledger.record_batch(REWARD, columns(0, many), step=range(many), run="batch")
        assert numbers == sorted(set(numbers))
        assert len(numbers) == many
        for record in ledger.history():
            assert same(record.signal, signal(record.step))
        assert ledger.history(after=numbers[1999]).count() == many - 2000
        assert [ledger[number].step for number in numbers[4090:4100]] == list(range(4090, 4100))
        verified(ledger)


def test_a_batch_with_a_bad_row_records_nothing(where):
    from support.ledgers import REWARD, columns

    bad = columns(0, 100)
    bad["deceleration"][50] = float("nan")
    with Ledger(where) as ledger:
        with pytest.raises(InputError):
            ledger.record_batch(REWARD, bad)
        assert ledger.history().count() == 0
        assert ledger.record_batch(REWARD, {name: [] for name in bad}) == []
        ledger.record_batch(REWARD, columns(0, 3))
        verified(ledger)


@pytest.mark.parametrize("scale", [None, 0.5])
def test_values_that_are_added_after_the_clamp_add_up_though_nothing_is_clamped(where, scale):
    @term(after_clamp=True)
    def first(x):
        return x

    @term(after_clamp=True)
    def second(y):
        return y

    @term
    def third(z):
        return z

    fields = [Field("x"), Field("y"), Field("z")]
    reward = Reward("r", version="1", terms=[first, second, third], fields=fields, scale=scale)
    with Ledger(where) as ledger:
        ledger.record_batch(reward, {"x": np.arange(50) / 10, "y": np.arange(50) / -7, "z": np.arange(50) / 3})
        verified(ledger)


@examples(0.25, suppress_health_check=list(HealthCheck))
@given(case=cases(), seed=st.integers(0, 2**32))
def test_signals_of_any_reward_come_back(tmp_path_factory, case, seed):
    signals = []
    for row in rows(case, seed, 12):
        try:
            signals.append(case.reward.score(**row))
        except InputError:
            continue
    path = tmp_path_factory.mktemp("any") / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record_many(signals)
        good = [row for row in rows(case, seed, 12) if scorable(case, row)]
        if good:
            ledger.record_batch(case.reward, as_columns(case, good))
        found = [record.signal for record in ledger.history()]
        assert all(map(same, found, signals))
        for one, two in zip(found[len(signals) :], signals, strict=True):
            assert np.isclose(one.total, two.total, rtol=1e-12, atol=1e-12, equal_nan=True) or one.total == two.total
        verified(ledger)


def scorable(case, row):
    try:
        case.reward.score(**row)
    except InputError:
        return False
    return True
