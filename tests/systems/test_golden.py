"""The built-in rewards, in every version, are what an earlier plaudit wrote down of them."""

import json
import re
from pathlib import Path

import pytest

from golden.make import identity
from plaudit import Reward
from plaudit.systems import load

KEPT = json.loads((Path(__file__).parents[1] / "golden" / "systems.json").read_text(encoding="utf-8"))


def without_places(kept):
    """Return an identity whose guards keep their code, but not the file and the line it stands in."""
    return kept | {"spec": re.sub(r'"\w+\.py, line \d+:  ', '"', kept["spec"])}


@pytest.mark.parametrize("name", KEPT)
def test_a_built_in_reward_has_the_fingerprints_and_the_specification_that_it_had(name):
    system, _, version = name.partition("@")
    assert without_places(identity(load(system, version))) == without_places(KEPT[name])
    assert identity(Reward.from_json(KEPT[name]["spec"])) == KEPT[name]
