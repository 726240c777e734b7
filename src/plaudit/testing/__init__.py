"""The contract of targets: `check_target` checks that a target gives the same results as Python."""

from plaudit.testing.batches import Batch
from plaudit.testing.contract import ContractBroken, LawResult, TargetReport, check_target
from plaudit.testing.laws import LAWS
from plaudit.testing.runners import join_rows, run_columns, run_rows

__all__ = [
    "LAWS",
    "Batch",
    "ContractBroken",
    "LawResult",
    "TargetReport",
    "check_target",
    "join_rows",
    "run_columns",
    "run_rows",
]
