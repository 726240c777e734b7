"""The built-in rewards, in every version, are what an earlier plaudit wrote down of them."""

import json
import re
from pathlib import Path

import pytest

from golden.make import identity
from plaudit import Reward
from plaudit.systems import load

KEPT = json.loads((Path(__file__).parents[1] / "golden" / "systems.json").read_text(encoding="utf-8"))


INTENT = ("horizon",)
"""What a reward may say by now of what is wanted of it: it is for checks, and changes no score."""


def formula(kept):
    """Return what an identity says of scores: its guards keep their code, but not the file and the line."""
    spec = json.loads(re.sub(r'"\w+\.py, line \d+:  ', '"', kept["spec"]))
    return kept["fingerprint"], {part: value for part, value in spec.items() if part not in INTENT}


@pytest.mark.parametrize("name", KEPT)
def test_a_built_in_reward_has_the_fingerprint_and_the_formula_that_it_had(name):
    system, _, version = name.partition("@")
    assert formula(identity(load(system, version))) == formula(KEPT[name])
    assert identity(Reward.from_json(KEPT[name]["spec"])) == KEPT[name]
