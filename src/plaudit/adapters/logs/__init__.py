"""Logs of other tools: rollouts of TRL, verifiers and Inspect, imported into a ledger to keep and to score again."""

from plaudit.adapters.logs.importing import ImportedLog, import_log
from plaudit.adapters.logs.inputs import logged_inputs

__all__ = ["ImportedLog", "import_log", "logged_inputs"]
