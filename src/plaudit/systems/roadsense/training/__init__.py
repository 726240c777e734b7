"""Training a policy on the convoy: PPO of Stable-Baselines3, its evaluation, checkpoints and reports."""

from plaudit.systems.roadsense.training.checkpoint import CheckpointInfo, load_policy, read_info
from plaudit.systems.roadsense.training.config import RADIOS, Config, build_config
from plaudit.systems.roadsense.training.drives import BUCKETS, Bucket, Drive, drive_buckets, record_drives
from plaudit.systems.roadsense.training.envs import build_env
from plaudit.systems.roadsense.training.evaluation import (
    TRAINED,
    Evaluation,
    PolicyEvaluations,
    build_report,
    build_trained_driver,
    evaluate_by_bucket,
    evaluate_drives,
    evaluate_run,
    load_driver,
    rescore_drives,
)
from plaudit.systems.roadsense.training.network import ConvoyFeatures, build_network
from plaudit.systems.roadsense.training.run import Run, train
from plaudit.systems.training.run import Stop, catch_signals, write_report

__all__ = [
    "BUCKETS",
    "RADIOS",
    "TRAINED",
    "Bucket",
    "CheckpointInfo",
    "Config",
    "ConvoyFeatures",
    "Drive",
    "Evaluation",
    "PolicyEvaluations",
    "Run",
    "Stop",
    "build_config",
    "build_env",
    "build_network",
    "build_report",
    "build_trained_driver",
    "catch_signals",
    "drive_buckets",
    "evaluate_by_bucket",
    "evaluate_drives",
    "evaluate_run",
    "load_driver",
    "load_policy",
    "read_info",
    "record_drives",
    "rescore_drives",
    "train",
    "write_report",
]
