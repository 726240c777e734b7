"""The experiment on the versions of the convoy reward: fixed policies on SUMO, scored by all of them."""

from plaudit.systems.roadsense.experiment.results import StudyResult
from plaudit.systems.roadsense.experiment.run import Experiment, run_experiment
from plaudit.systems.roadsense.experiment.study import STUDIES, Study

__all__ = ["STUDIES", "Experiment", "Study", "StudyResult", "run_experiment"]
