"""The experiment on the versions of the convoy reward: fixed policies on SUMO, scored by all of them."""

from plaudit.systems.roadsense.experiment.experiment import Experiment, experiment
from plaudit.systems.roadsense.experiment.finding import Finding
from plaudit.systems.roadsense.experiment.study import STUDIES, Study

__all__ = ["STUDIES", "Experiment", "Finding", "Study", "experiment"]
