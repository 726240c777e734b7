"""Training an agent on the game: PPO, its evaluation, checkpoints and reports."""

from plaudit.systems.hackmatrix.training.checkpoint import CheckpointInfo, load, read_info, save
from plaudit.systems.hackmatrix.training.config import PRESETS, Config, get_preset, scale_batch
from plaudit.systems.hackmatrix.training.evaluation import NETWORK, Evaluation, build_evaluator
from plaudit.systems.hackmatrix.training.games import BASELINES, build_games
from plaudit.systems.hackmatrix.training.health import MEASURES, Verdict, judge_health
from plaudit.systems.hackmatrix.training.ppo import Environment, Outcome, Training, apply_network, begin, compile_update
from plaudit.systems.hackmatrix.training.report import RunEvaluation, build_report, evaluate_run, record_episodes
from plaudit.systems.hackmatrix.training.run import Run, detect_preset, train
from plaudit.systems.training.run import Stop, catch_signals, write_report

__all__ = [
    "BASELINES",
    "MEASURES",
    "NETWORK",
    "PRESETS",
    "CheckpointInfo",
    "Config",
    "Environment",
    "Evaluation",
    "Outcome",
    "Run",
    "RunEvaluation",
    "Stop",
    "Training",
    "Verdict",
    "apply_network",
    "begin",
    "build_evaluator",
    "build_games",
    "build_report",
    "catch_signals",
    "compile_update",
    "detect_preset",
    "evaluate_run",
    "get_preset",
    "judge_health",
    "load",
    "read_info",
    "record_episodes",
    "save",
    "scale_batch",
    "train",
    "write_report",
]
