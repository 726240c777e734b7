"""The built-in systems by name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plaudit import DefinitionError, Reward
from plaudit.systems import BUILT_IN, __file__, load, system


def test_every_system_is_built_in():
    folders = {path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")}
    assert set(BUILT_IN) == folders - {"training"}  # which is what the runs of several systems share
    assert all(BUILT_IN.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_system_offers_its_versions_and_an_episode(name):
    found = system(name)
    assert load(name) == found.reward == found.version(found.VERSIONS[0])
    for label in found.VERSIONS:
        reward = load(name, label)
        assert isinstance(reward, Reward)
        assert (reward.name, reward.version) == (name, label)
    assert all(found.reward.score(**row) for row in found.episode())


def test_a_name_that_is_nearly_right_is_guessed():
    with pytest.raises(DefinitionError, match=r"there is no system 'rodsense'. Did you mean 'roadsense'\?"):
        load("rodsense")
    with pytest.raises(DefinitionError, match=r"Did you mean 'R8'\?"):
        load("roadsense", "R88")


def test_a_system_is_imported_when_it_is_asked_for():
    script = "import json, sys; import plaudit.systems; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    imported = {name for name in json.loads(done.stdout) if name.startswith("plaudit.systems.")}
    assert imported == set()
