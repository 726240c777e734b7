"""The built-in rewards, in every version, are what an earlier plaudit wrote down of them."""

import json
from pathlib import Path

import pytest

from golden.make import identity
from plaudit import Reward
from plaudit.systems import load

KEPT = json.loads((Path(__file__).parents[1] / "golden" / "systems.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", KEPT)
def test_a_built_in_reward_has_the_fingerprints_and_the_specification_that_it_had(name):
    system, _, version = name.partition("@")
    assert identity(load(system, version)) == KEPT[name]
    assert identity(Reward.from_json(KEPT[name]["spec"])) == KEPT[name]
