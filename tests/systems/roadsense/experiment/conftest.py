"""The experiment, driven once on real SUMO for all that is said about it."""

import pytest

from plaudit import Ledger
from plaudit.systems.roadsense.experiment import run_experiment


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """The ledger with the drives."""
    return tmp_path_factory.mktemp("experiment") / "rewards.db"


@pytest.fixture(scope="session")
def found(place, lent_workers):
    """What was found: the continuous study whole, of the discrete one a single seed."""
    with Ledger(place) as ledger, lent_workers():
        discrete = run_experiment(ledger, studies=["discrete"], seeds=1, checks=False, workers=1)
        continuous = run_experiment(ledger, studies=["continuous"], checks=False, workers=1)
    assert (discrete.simulated, continuous.simulated) == (2 * 8 * 1, 2 * 6 * 5)
    return {**discrete.studies, **continuous.studies}
