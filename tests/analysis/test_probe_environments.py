"""Probes of real environments: no alarm on native rewards, and the hack that the page shows."""

import importlib.util
from pathlib import Path

import pytest

from plaudit.analysis import probe

PAGES = Path(__file__).parents[2] / "examples" / "probes"


def load(name):
    spec = importlib.util.spec_from_file_location(f"probes_{name}", PAGES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STANDARD = load("standard").STANDARD


def test_the_native_reward_of_cart_pole_is_no_finding_and_the_search_balances_the_pole():
    reward, features = STANDARD["CartPole-v1"]
    found = probe("CartPole-v1", reward, features, steps=5_000, seeds=5)
    assert found.findings == ()
    assert found.policies[0].earned.value > 3 * found["random"].earned.value


@pytest.mark.slow
@pytest.mark.parametrize("env", STANDARD)
def test_the_native_rewards_of_standard_environments_are_no_finding(env):
    reward, features = STANDARD[env]
    for seed in (0, 1000, 2000):
        assert probe(env, reward, features, steps=60_000, seed=seed).findings == ()


@pytest.mark.slow
def test_parking_is_paid_more_than_stopping_behind_the_car_ahead():
    pytest.importorskip("libsumo", reason="the convoy needs SUMO: pip install 'plaudit[sumo]'")
    convoy = load("convoy")
    found = probe(convoy.drive, convoy.convoy, convoy.features, steps=30_000, seeds=5)
    (finding,) = found.findings
    assert finding.code == "goal-not-best"
    assert "behave like 'always 1': it earns" in finding.message
