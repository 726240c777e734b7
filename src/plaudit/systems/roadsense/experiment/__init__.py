"""The experiment on the versions of the convoy reward: fixed policies on SUMO, scored by all of them.

A worker that drives needs `driving` alone: what scores and keeps the drives is imported when it is first asked for.
"""

import typing

from plaudit.systems.roadsense.experiment.study import STUDIES, Study

if typing.TYPE_CHECKING:
    from plaudit.systems.roadsense.experiment.results import StudyResult
    from plaudit.systems.roadsense.experiment.run import Experiment, run_experiment

__all__ = ["STUDIES", "Experiment", "Study", "StudyResult", "run_experiment"]

_LATER = {"Experiment": "run", "StudyResult": "results", "run_experiment": "run"}
"""What needs a ledger, and libraries that take longer to import than SUMO."""


def __getattr__(name: str) -> typing.Any:
    """Import what scores and keeps the drives when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
