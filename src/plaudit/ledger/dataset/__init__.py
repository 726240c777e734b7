"""Files of rows larger than memory: Parquet, CSV and JSON lines, scored with a reward as they stream by."""

from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.score import score_file

__all__ = ["FileScoring", "score_file"]
