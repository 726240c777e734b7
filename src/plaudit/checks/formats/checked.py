"""A report with where its reward stands."""

from dataclasses import dataclass
from typing import Self

from plaudit.checks.finding import Place, Report
from plaudit.reward.reward import Reward


@dataclass(frozen=True, slots=True)
class Checked:
    """A reward that was checked."""

    report: Report
    home: Place | None = None
    """Where the reward is defined, for findings without a place of their own."""

    @classmethod
    def of(cls, report: Report, reward: Reward, *, file: str | None = None) -> Self:
        """Return a report that is at home where the first term of its reward is, or else in `file`."""
        source = next((term.source for term in reward.terms if term.source is not None), None)
        if source is not None:
            return cls(report, Place(source.file, source.first))
        return cls(report, None if file is None else Place(file, 1))

    @property
    def name(self) -> str:
        """The reward's name and version."""
        return f"{self.report.reward}@{self.report.version}"
