"""Learners that consume rewards: bandits, routers, preferences, off-policy evaluation."""

from plaudit.learn.arms import ArmBandit, ArmState
from plaudit.learn.bandits import (
    Learner,
    epsilon_greedy,
    epsilon_ridge,
    linear_thompson,
    linucb,
    squarecb,
    thompson,
    ucb1,
)
from plaudit.learn.decision import Decision
from plaudit.learn.explore import EpsilonMix, Sampling, SquareCB
from plaudit.learn.linear import LinearBandit
from plaudit.learn.preferences import Fitted, FittedParameter, Steps, fit_preferences
from plaudit.learn.replay import fit
from plaudit.learn.ridge import RidgeState
from plaudit.learn.router import Advice, Guess, Router, RouterState
from plaudit.learn.saving import LearnerState, Saved, load, save
from plaudit.learn.shared import SharedLearner

__all__ = [
    "Advice",
    "ArmBandit",
    "ArmState",
    "Decision",
    "EpsilonMix",
    "Fitted",
    "FittedParameter",
    "Guess",
    "Learner",
    "LearnerState",
    "LinearBandit",
    "RidgeState",
    "Router",
    "RouterState",
    "Sampling",
    "Saved",
    "SharedLearner",
    "SquareCB",
    "Steps",
    "epsilon_greedy",
    "epsilon_ridge",
    "fit",
    "fit_preferences",
    "linear_thompson",
    "linucb",
    "load",
    "save",
    "squarecb",
    "thompson",
    "ucb1",
]
