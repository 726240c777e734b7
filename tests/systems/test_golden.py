"""The built-in rewards, in every version, are what an earlier plaudit wrote down of them."""

import json
import re
from pathlib import Path

import pytest

from golden.make import identity
from plaudit import Reward
from plaudit.systems import BUILT_IN, load, system

KEPT = json.loads((Path(__file__).parents[1] / "golden" / "systems.json").read_text(encoding="utf-8"))


def without_task(kept):
    """Return an identity without what is wanted of the reward, and without the file and line that guards stand in."""
    spec = json.loads(re.sub(r'"\w+\.py, line \d+:  ', '"', kept["spec"]))
    return {"fingerprint": kept["fingerprint"], "spec": {**spec, "task": None}}


def test_every_version_of_a_built_in_reward_is_kept():
    missing = {f"{name}@{label}" for name in BUILT_IN for label in system(name).VERSIONS} - set(KEPT)
    assert not missing, f"not kept yet: {missing}. Add them: python tests/golden/make.py systems"


@pytest.mark.parametrize("name", KEPT)
def test_a_built_in_reward_has_the_fingerprint_and_the_specification_that_it_had(name):
    system, _, version = name.partition("@")
    assert without_task(identity(load(system, version))) == without_task(KEPT[name])


@pytest.mark.parametrize("name", KEPT)
def test_what_was_written_of_a_built_in_reward_loads_to_the_bit(name):
    assert identity(Reward.from_json(KEPT[name]["spec"])) == KEPT[name]
