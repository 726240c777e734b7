"""Every input that was given is kept, also those that only the end of an episode reads, however steps are recorded.

`speed` and `wear` are fed the same number. The recorded reward reads `wear` at the end alone; the next version reads it
in every step.
"""

import gymnasium
import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import diff
from plaudit.errors import BrokenEpisode, InputError
from plaudit.page.documents.episode import build_episode
from plaudit.page.sources import LedgerSource, RewardIds
from plaudit.reward.state import State
from support.ledgers import verified

SPEEDS = [0.112, 0.144, 0.183, 0.228]
FIELDS = [
    Field("speed", low=0, high=1),
    Field("wear", low=0, high=1),
    Field("landed", flag=True),
    Field("phase", values=("air", "ground")),
]


@term
def fast(speed):
    return speed


@term(terminal=True)
def worn(wear, landed, phase):
    return -wear if landed and phase == "ground" else -1.0


@term
def wears(speed, wear, landed, phase):
    return -wear + (10 if landed else 0) + (100 if phase == "ground" else 0) + 0 * speed


FIRST = Reward("gliding", version="1", terms=[fast, worn], fields=FIELDS)
NEXT = Reward("gliding", version="2", terms=[wears], fields=FIELDS)


def build_step(at):
    return {"speed": SPEEDS[at], "wear": SPEEDS[at], "landed": at % 2 == 0, "phase": ("air", "ground")[at % 2]}


PAID = [-SPEEDS[at] + (10 if at % 2 == 0 else 0) + (100 if at % 2 else 0) for at in range(4)]
"""What the next version pays for the steps."""


class Gliding(gymnasium.Env):
    """An environment whose observation is which step it is."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self._at = 0
        return 0, {}

    def step(self, action):
        self._at += 1
        return self._at, 0.5, self._at == len(SPEEDS), False, {}


def read_features(obs, action, next_obs, info):
    return build_step(obs)


def read_vector_features(obs, action, next_obs, info):
    steps = [build_step(min(int(at), 3)) for at in obs]
    return {name: np.array([step[name] for step in steps]) for name in steps[0]}


def play(env):
    env.reset()
    for _ in SPEEDS:
        env.step(env.action_space.sample())
    env.close()


def record_signals(ledger):
    for at in range(4):
        signal = FIRST.score(**build_step(at), terminal=at == 3)
        ledger.record(signal, run="night", episode=1, step=at, context={"terminated": at == 3})


def record_buffered(ledger):
    with ledger.writer() as writer:
        for at in range(4):
            writer.record(FIRST.score(**build_step(at), terminal=at == 3), run="night", episode=1, step=at)


def record_batch(ledger):
    steps = [build_step(at) for at in range(4)]
    columns = {name: [step[name] for step in steps] for name in steps[0]}
    ledger.record_batch(FIRST, columns | {"terminal": [at == 3 for at in range(4)]}, run="night", episode=1)


def record_wrapped(ledger):
    play(RewardWrapper(Gliding(), FIRST, read_features, ledger=ledger, run="night"))


def record_vector(ledger):
    env = gymnasium.vector.SyncVectorEnv([Gliding])
    play(RewardWrapper(env, FIRST, read_vector_features, ledger=ledger, run="night"))


WAYS = [record_signals, record_buffered, record_batch, record_wrapped, record_vector]


@pytest.mark.parametrize("record", WAYS)
def test_two_fields_that_are_fed_the_same_number_stay_equal(record, tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        record(ledger)
        for given in (each.signal.inputs for each in ledger.history()):
            assert given["speed"] == given["wear"]
        check_inputs([each.signal.inputs for each in ledger.history()])

        table = ledger.history().to_arrow()
        assert table["wear"].to_pylist() == table["speed"].to_pylist() == SPEEDS
        assert table["landed"].to_pylist() == [True, False, True, False]

        effect = diff(FIRST, NEXT, ledger=ledger).effect
        assert effect.changes.records == 4
        assert effect.changes.new.mean == pytest.approx(np.mean(PAID))

        source = LedgerSource(1, str(tmp_path / "ledger.db"), RewardIds(), None, live=False)
        inputs = build_episode(source, "night", source.find_run("night")[1].ids[0])["inputs"]
        assert inputs["wear"] == inputs["speed"] == SPEEDS
        source.ledger.close()

        done = ledger.rescore(NEXT)
        assert (done.records, done.lacking) == (4, ())
        assert [each.total for each in ledger.history(job=done.job)] == pytest.approx(PAID)
        verified(ledger)
        ledger.export(tmp_path / "ledger.jsonl")
        ledger.export(tmp_path / "ledger.parquet")
    with Ledger(tmp_path / "copy.db") as copy:
        copy.import_file(tmp_path / "ledger.jsonl")
        check_inputs([each.signal.inputs for each in copy.history()])
        verified(copy)


def check_inputs(given):
    wanted = [build_step(at) for at in range(4)]
    assert [{name: each[name] for name in wanted[0]} for each in given] == wanted


def test_what_was_not_given_is_lacking_by_name_and_never_zero(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record(FIRST.score(speed=0.5), run="night", episode=1, step=0)
        ledger.record(FIRST.score(speed=0.5, wear=0.5, landed=True), run="night", episode=1, step=1)
        ledger.record(FIRST.score(**build_step(3), terminal=True), run="night", episode=1, step=2)
        assert [sorted(each.signal.inputs) for each in ledger.history()] == [
            ["speed", "terminal"],
            ["landed", "speed", "terminal", "wear"],
            ["landed", "phase", "speed", "terminal", "wear"],
        ]
        planned = ledger.plan_rescore(NEXT)
        assert planned.records == 1
        assert {each.needed: each.records for each in planned.lacking} == {
            ("wear", "landed", "phase"): 1,
            ("phase",): 1,
        }
        effect = diff(FIRST, NEXT, ledger=ledger).effect
        assert effect.changes.records == 1
        assert any("lacks phase" in each for each in effect.remarks)

        done = ledger.rescore(NEXT)
        assert (done.records, done.refused, done.lacking) == (1, 0, planned.lacking)
        assert [each.origin for each in ledger.history(job=done.job)] == [3]
        assert ledger.rescore(NEXT).scored == 0
        verified(ledger)
        assert ledger.history(reward="gliding", version="1").to_arrow()["wear"].to_pylist() == [None, 0.5, SPEEDS[3]]


def test_an_episode_with_steps_that_lack_an_input_has_no_new_return(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in (1, 2):
            for at in range(3):
                given = build_step(at) if at == 2 or episode == 2 else {"speed": SPEEDS[at]}
                signal = FIRST.score(**given, terminal=at == 2)
                ledger.record(
                    signal, run="r", episode=episode, step=at, context={"terminated": True} if at == 2 else None
                )
        done = ledger.rescore(NEXT)
        assert [(each.records, each.needed) for each in done.lacking] == [(2, ("wear", "landed", "phase"))]
        assert (done.records, done.refused) == (4, 0)
        assert done.changes.episodes.broken == [("r", None, "1")]
        assert done.changes.episodes.new.tolist() == pytest.approx([sum(PAID[:3])])
        listed = [(each.episode, each.finished) for each in ledger.episodes(job=done.job)]
        assert listed == [("1", False), ("2", True)]
        assert ledger.rescore(NEXT).scored == 0
        verified(ledger)


def test_before_the_end_what_cannot_be_read_is_kept_as_missing_and_what_is_out_of_range_as_it_is():
    signal = FIRST.score(speed=0.5, wear=7.0, landed="maybe", phase="under water")
    assert signal.total == 0.5
    assert signal.inputs == {"speed": 0.5, "terminal": False, "wear": 7.0}
    with pytest.raises(InputError, match="wear"):
        FIRST.score(speed=0.5, wear=7.0, landed=True, phase="air", terminal=True)


def test_a_reward_that_asks_for_the_end_learns_it_from_what_the_wrapper_recorded(tmp_path):
    plain = Reward("gliding", version="1", terms=[fast], fields=FIELDS[:1])

    @term(terminal=True)
    def arrived():
        return 5.0

    with_end = Reward("gliding", version="2", terms=[fast, arrived], fields=FIELDS[:1])
    with Ledger(tmp_path / "ledger.db") as ledger:
        play(RewardWrapper(Gliding(), plain, lambda obs, *_: {"speed": SPEEDS[obs]}, ledger=ledger, run="night"))
        done = ledger.rescore(with_end)
        assert [each.total for each in ledger.history(job=done.job)] == [*SPEEDS[:3], SPEEDS[3] + 5.0]
        verified(ledger)


def test_a_reward_whose_end_reads_more_than_was_recorded_lacks_it_at_the_end_alone(tmp_path):
    @term(terminal=True)
    def broke():
        return 1.0

    first = Reward("gliding", version="0", terms=[fast, broke], fields=FIELDS[:1])
    with Ledger(tmp_path / "ledger.db") as ledger:
        for at in range(4):
            ledger.record(first.score(speed=SPEEDS[at], terminal=at == 3), run="night", episode=1, step=at)
        done = ledger.rescore(FIRST)
        assert done.records == 3
        assert [(each.records, each.needed) for each in done.lacking] == [(1, ("landed", "phase", "wear"))]
        verified(ledger)


def test_states_are_not_computed_over_steps_that_lack_what_they_are_computed_from(tmp_path):
    def add_wear(prev, wear):
        return prev.worn_out + wear

    @term
    def tired(curr):
        return -curr.worn_out

    carrying = Reward(
        "gliding", version="3", terms=[tired], fields=[FIELDS[1], State("worn_out", reset=0.0, low=0, update=add_wear)]
    )
    with Ledger(tmp_path / "ledger.db") as ledger:
        for at, given in enumerate((build_step(0), {"speed": 0.5}, build_step(2))):
            ledger.record(FIRST.score(**given), run="night", episode=1, step=at)
        with pytest.raises(BrokenEpisode, match="1 record of gliding@1 lacks wear"):
            ledger.rescore(carrying)
        assert not ledger.jobs()
