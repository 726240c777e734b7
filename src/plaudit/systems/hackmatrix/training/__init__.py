"""Training an agent on the game: PPO, its evaluation, checkpoints and reports."""

from plaudit.systems.hackmatrix.training.checkpoint import About, load, read_about, save
from plaudit.systems.hackmatrix.training.config import PRESETS, Config, preset, scaled
from plaudit.systems.hackmatrix.training.evaluation import NETWORK, Evaluation, evaluator
from plaudit.systems.hackmatrix.training.games import BASELINES, games
from plaudit.systems.hackmatrix.training.health import MEASURES, Verdict, verdicts
from plaudit.systems.hackmatrix.training.ppo import Environment, Outcome, Training, apply_network, begin, updating
from plaudit.systems.hackmatrix.training.recording import record_episodes
from plaudit.systems.hackmatrix.training.report import Evaluated, described, evaluated
from plaudit.systems.hackmatrix.training.run import Run, machine, train
from plaudit.systems.training.folder import write_report
from plaudit.systems.training.stopping import Stop, stoppable

__all__ = [
    "BASELINES",
    "MEASURES",
    "NETWORK",
    "PRESETS",
    "About",
    "Config",
    "Environment",
    "Evaluated",
    "Evaluation",
    "Outcome",
    "Run",
    "Stop",
    "Training",
    "Verdict",
    "apply_network",
    "begin",
    "described",
    "evaluated",
    "evaluator",
    "games",
    "load",
    "machine",
    "preset",
    "read_about",
    "record_episodes",
    "save",
    "scaled",
    "stoppable",
    "train",
    "updating",
    "verdicts",
    "write_report",
]
