"""Training a policy on the convoy: PPO of Stable-Baselines3, its evaluation, checkpoints and reports."""

from plaudit.systems.roadsense.training.checkpoint import About, load_policy, read_about
from plaudit.systems.roadsense.training.config import RADIOS, Config, config_for
from plaudit.systems.roadsense.training.convoys import HAZARD, WORLD, convoy
from plaudit.systems.roadsense.training.drives import BUCKETS, Bucket, Drive, drives
from plaudit.systems.roadsense.training.evaluation import Evaluation, by_bucket, evaluation, rescored
from plaudit.systems.roadsense.training.network import ConvoyFeatures, network
from plaudit.systems.roadsense.training.recording import record_drives
from plaudit.systems.roadsense.training.report import TRAINED, Evaluated, described, evaluated, trained, untrained
from plaudit.systems.roadsense.training.run import Run, train
from plaudit.systems.training.folder import write_report
from plaudit.systems.training.stopping import Stop, stoppable

__all__ = [
    "BUCKETS",
    "HAZARD",
    "RADIOS",
    "TRAINED",
    "WORLD",
    "About",
    "Bucket",
    "Config",
    "ConvoyFeatures",
    "Drive",
    "Evaluated",
    "Evaluation",
    "Run",
    "Stop",
    "by_bucket",
    "config_for",
    "convoy",
    "described",
    "drives",
    "evaluated",
    "evaluation",
    "load_policy",
    "network",
    "read_about",
    "record_drives",
    "rescored",
    "stoppable",
    "train",
    "trained",
    "untrained",
    "write_report",
]
