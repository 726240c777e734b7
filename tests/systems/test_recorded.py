"""Every version of every built-in system in a ledger: what is read back is what was recorded, to the bit."""

import json

from plaudit import Entry, InputError, Ledger
from plaudit.systems import BUILT_IN, system
from support.ledgers import verified

VERSIONS = [(name, label) for name in BUILT_IN for label in system(name).VERSIONS]


def scored(name, label):
    """Return a version of a system with the signals of its episode, as far as that has what the version reads."""
    reward = system(name).version(label)
    signals = []
    for row in system(name).episode():
        try:
            signals.append(reward.score(**{key: row[key] for key in row if key in reward.columns}))
        except (InputError, AttributeError):
            try:
                signals.append(reward.score(**row))
            except InputError:
                signals.append(reward.score(**at_rest(reward)))
    return reward, signals


def at_rest(reward):
    """Return a row of which every input is at a value that its field allows."""
    row = {}
    for name, field in reward.program.inputs.items():
        column = name.partition("[")[0]
        row[column] = tuple([field.at_rest] * field.length) if field.length else field.at_rest
    return row


def same(one, two):
    """Return whether two signals are the same in every bit that they show."""
    return json.dumps(one.to_dict()) == json.dumps(two.to_dict())


def test_every_version_of_every_system_comes_back(tmp_path):
    where = tmp_path / "ledger.db"
    wanted = []
    with Ledger(where) as ledger:
        for name, label in VERSIONS:
            reward, signals = scored(name, label)
            assert signals
            ledger.record_many(Entry(signal=each, run=f"{name}/{label}") for each in signals)
            ledger.record(signals[0], run=f"{name}/{label}")
            wanted.append((f"{name}/{label}", reward, [*signals, signals[0]]))
    with Ledger(where, read_only=True) as ledger:
        for run, reward, signals in wanted:
            found = [record.signal for record in ledger.history(run=run)]
            assert len(found) == len(signals)
            assert all(map(same, found, signals)), run
            assert {each.fingerprint for each in found} == {reward.fingerprint}
        assert {(r.name, r.version) for r in ledger.rewards()} == {(r.name, r.version) for _, r, _ in wanted}
        verified(ledger)
