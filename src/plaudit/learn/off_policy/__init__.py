"""Off-policy evaluation: what another policy would have earned on logged decisions, and how sure that is."""

from plaudit.learn.off_policy.estimators import ESTIMATORS
from plaudit.learn.off_policy.evaluate import evaluate, evaluate_decisions
from plaudit.learn.off_policy.evaluation import Evaluation, Source
from plaudit.learn.off_policy.intervals import Estimate, Interval
from plaudit.learn.off_policy.log import LoggedDecisions
from plaudit.learn.off_policy.policies import NamedPolicy, Policy, Uniform, always, learnt, named, saved, uniform
from plaudit.learn.off_policy.reading import Reading, read_decisions

__all__ = [
    "ESTIMATORS",
    "Estimate",
    "Evaluation",
    "Interval",
    "LoggedDecisions",
    "NamedPolicy",
    "Policy",
    "Reading",
    "Source",
    "Uniform",
    "always",
    "evaluate",
    "evaluate_decisions",
    "learnt",
    "named",
    "read_decisions",
    "saved",
    "uniform",
]
