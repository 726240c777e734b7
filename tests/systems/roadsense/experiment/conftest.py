"""The experiment, driven once on real SUMO for all that is said about it."""

import pytest

from plaudit import Ledger
from plaudit.systems.roadsense.experiment import run_experiment

TRAINING = ("discrete-training", "continuous-training")


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """The ledger with the drives."""
    return tmp_path_factory.mktemp("experiment") / "rewards.db"


@pytest.fixture(scope="session")
def found(place, lent_workers):
    """What was found: of the continuous study the five seeds it was published with, of the others fewer."""
    with Ledger(place) as ledger, lent_workers():
        discrete = run_experiment(ledger, studies=["discrete"], seeds=1, checks=False, workers=1)
        continuous = run_experiment(ledger, studies=["continuous"], seeds=5, checks=False, workers=1)
        training = run_experiment(ledger, studies=TRAINING, seeds=3, checks=False, workers=2)
    assert (discrete.simulated, continuous.simulated, training.simulated) == (2 * 8 * 1, 2 * 6 * 5, 2 * 15 * 3)
    return {**discrete.studies, **continuous.studies, **training.studies}
