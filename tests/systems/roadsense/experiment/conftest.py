"""The experiment, driven once on real SUMO for all that is said about it."""

import pytest

from plaudit import Ledger
from plaudit.systems.roadsense.experiment import run_experiment


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """The ledger with the drives."""
    return tmp_path_factory.mktemp("experiment") / "rewards.db"


@pytest.fixture(scope="session")
def found(place):
    """What was found: the continuous study whole, of the discrete one two seeds."""
    with Ledger(place) as ledger:
        discrete = run_experiment(ledger, studies=["discrete"], seeds=2, checks=False, workers=2)
        continuous = run_experiment(ledger, studies=["continuous"], checks=False, workers=2)
    assert (discrete.simulated, continuous.simulated) == (2 * 8 * 2, 2 * 6 * 5)
    return {**discrete.studies, **continuous.studies}
