"""Data sets larger than memory: Parquet, CSV and JSON Lines, scored with a reward as they stream by."""

from plaudit.ledger.dataset.files import FileRescoring
from plaudit.ledger.dataset.rescore import rescore_file

__all__ = ["FileRescoring", "rescore_file"]
