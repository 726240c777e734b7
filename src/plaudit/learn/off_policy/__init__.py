"""Off-policy evaluation: estimate what another policy would have earned on logged decisions."""

from plaudit.learn.off_policy.estimators import ESTIMATORS
from plaudit.learn.off_policy.evaluate import Evaluation, evaluate, evaluate_decisions
from plaudit.learn.off_policy.intervals import Interval, PolicyEstimate
from plaudit.learn.off_policy.log import LoggedDecisions
from plaudit.learn.off_policy.policies import (
    NamedPolicy,
    Policy,
    Uniform,
    always,
    from_file,
    from_function,
    from_learner,
    uniform,
)
from plaudit.learn.off_policy.reading import Reading, Source, read_decisions

__all__ = [
    "ESTIMATORS",
    "Evaluation",
    "Interval",
    "LoggedDecisions",
    "NamedPolicy",
    "Policy",
    "PolicyEstimate",
    "Reading",
    "Source",
    "Uniform",
    "always",
    "evaluate",
    "evaluate_decisions",
    "from_file",
    "from_function",
    "from_learner",
    "read_decisions",
    "uniform",
]
