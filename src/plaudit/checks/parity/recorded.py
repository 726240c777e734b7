"""Recorded pairs: a file of rows with the answers of another implementation."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from plaudit.checks.parity.answers import Answer, Mismatch, NoAnswer, Progress, parse_answer
from plaudit.checks.parity.coverage import Coverage
from plaudit.checks.parity.judge import Judge, find_differing_terms
from plaudit.errors import InputError, MissingField, ShapeMismatch, UnknownInput, UnusableFile, WrongType
from plaudit.rows.chunks import explain_length
from plaudit.rows.lines import LONGEST_LINE, read_lines
from plaudit.rows.row import flatten_row
from plaudit.rows.streams import Source

EXAMPLE = '{"inputs": {…}, "total": 1.0, "values": {…}}'


class RecordedPair(NamedTuple):
    """One line of the file."""

    line: int
    inputs: dict[str, Any]
    answer: Answer


@dataclass(frozen=True, slots=True)
class Recorded:
    """A JSON Lines file of recorded answers: `inputs`, `total` and optionally `values` on each line.

    >>> Recorded("drive.jsonl").name
    'drive.jsonl'
    """

    path: str | Path

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def pairs(self, terms: Sequence[str]) -> Iterator[RecordedPair]:
        """Read the pairs.

        Args:
            terms: Names of the terms whose values a line may hold.

        Yields:
            Each line's number, inputs and answer.

        Raises:
            UnusableFile: A line is not a pair.
        """
        with Source(self.name) as source:
            for number, raw in read_lines(source.file, self.name, LONGEST_LINE):
                if raw is None:
                    raise UnusableFile(f"{self.path}, line {number}: {explain_length()}")
                if raw.strip():
                    yield self._parse_pair(number, raw, terms)

    def _parse_pair(self, number: int, raw: bytes, terms: Sequence[str]) -> RecordedPair:
        where = f"{self.path}, line {number}"
        try:
            found = json.loads(raw.decode())
        except (ValueError, RecursionError):
            raise UnusableFile(f"{where} is not JSON. A line looks like this: {EXAMPLE}") from None
        inputs = found.pop("inputs", None) if isinstance(found, dict) else None
        if not isinstance(inputs, dict):
            raise UnusableFile(f"{where} has no object 'inputs'. A line looks like this: {EXAMPLE}")
        try:
            return RecordedPair(number, inputs, parse_answer(found, terms))
        except NoAnswer as failed:
            text = str(failed).replace("answered without", "is without").replace("answered with", "holds")
            raise UnusableFile(f"{where} {text}") from None


def compare_pairs(judge: Judge, recorded: Recorded, coverage: Coverage, progress: Progress) -> dict[str, Any]:
    """Return the parts of a report: counts, and the first pair that differs."""
    counts = Counter[str]()
    mismatch: Mismatch | None = None
    program = judge.program
    first_refusal = ""
    for pair in recorded.pairs(program.terms):
        where = f"{recorded.path}, line {pair.line}"
        try:
            row = judge.validate_row(flatten_row(program, pair.inputs))
            expected = judge.score(row)
        except (MissingField, UnknownInput, WrongType, ShapeMismatch) as error:
            raise UnusableFile(f"{where}: {error}") from None
        except InputError as error:
            counts["refused"] += 1
            first_refusal = first_refusal or f" The first, {where}: {error}"
            continue
        counts["tested"] += 1
        progress(counts["tested"])
        allowed = judge.tolerance_of(row, expected)
        terms = find_differing_terms(expected, pair.answer, allowed)
        if not terms:
            coverage.add(row)
            continue
        if judge.is_decided_by_rounding(row, pair.answer):
            counts["aside"] += 1
            continue
        counts["differing"] += 1
        mismatch = mismatch or judge.describe(
            row, expected, got=pair.answer, terms=terms, tolerance=allowed, simplest=False, line=pair.line
        )
    if not counts["tested"]:
        raise UnusableFile(f"{recorded.path} has no row that the reward can score.{first_refusal}")
    return {**{name: counts[name] for name in ("tested", "refused", "aside", "differing")}, "mismatch": mismatch}
