"""Score Parquet, CSV and JSON Lines files that can be larger than memory."""

from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.score import score_file

__all__ = ["FileScoring", "score_file"]
