"""Which steps and episodes an audit counts: not those that could not be scored, nor what was not given."""

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, Task, fact, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import audit
from support import walks


@term
def fast(speed):
    return speed


@term(terminal=True)
def landed_well(height, landed):
    return 1.0 if landed else -height


@fact
def landed_is_low(landed, height):
    return height < 0.5 if landed else height >= 0.5


LANDING = Reward(
    "landing",
    version="1",
    terms=[fast, landed_well],
    fields=[Field("speed", low=0, high=1), Field("height", low=0, high=1), Field("landed", flag=True)],
    task=Task(facts=[landed_is_low]),
)


def test_what_was_not_given_breaks_no_fact_and_leaves_no_range(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in range(30):
            for step in range(10):
                end = {"height": 0.0, "landed": True, "terminal": True} if step == 9 else {}
                signal = LANDING.score(speed=0.1 * step, **end)
                ledger.record(signal, run="night", episode=episode, step=step, context={"terminated": step == 9})
        assert not {each.code for each in audit(ledger).findings} & {"fact-broken", "outside-range"}
        for step in range(10):
            signal = LANDING.score(speed=0.1, height=0.9, landed=True)
            ledger.record(signal, run="night", episode=99, step=step)
        [broken] = [each for each in audit(ledger).findings if each.code == "fact-broken"]
        assert "10 of 310 steps" in broken.message


def test_steps_that_could_not_be_scored_are_left_out(tmp_path):
    def shaky(obs, action, next_obs, info):
        return walks.features(obs, action, next_obs, info) | ({"moved": np.nan} if next_obs[1] == 3 else {})

    found = []
    for features in (walks.features, shaky):
        with Ledger(tmp_path / f"{features.__name__}.db") as ledger:
            env = RewardWrapper(walks.Walk(), walks.reward(), features, ledger=ledger, run="night", max_masked=1.0)
            if features is shaky:
                with pytest.warns(UserWarning, match="moved"):
                    walks.walk(env, 120)
            else:
                walks.walk(env, 120)
            env.close()
            found.append(audit(ledger))
    assert not any("nan" in str(each).lower() for each in found[1].findings)
    assert {each.code for each in found[1].findings} <= {each.code for each in found[0].findings}
