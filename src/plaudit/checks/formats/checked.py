"""A report with what a format needs to know of its reward."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from plaudit.checks.finding import Place, Report
from plaudit.checks.formats.values import Value
from plaudit.reward.reward import Reward


@dataclass(frozen=True, slots=True)
class Checked:
    """A reward that was checked."""

    report: Report
    rest: Mapping[str, Value] = field(default_factory=dict)
    """What each input is when nothing happens; in a witness that goes without saying."""
    home: Place | None = None
    """Where the reward is defined, for findings without a place of their own."""

    @classmethod
    def of(cls, report: Report, reward: Reward, *, file: str | None = None) -> Self:
        """Return a report with the rest values of its reward, at home where its first term is, or else in `file`."""
        rest = {name: field.at_rest for name, field in reward.program.inputs.items()}
        source = next((term.source for term in reward.terms if term.source is not None), None)
        if source is not None:
            return cls(report, rest, Place(source.file, source.first))
        return cls(report, rest, None if file is None else Place(file, 1))

    @property
    def name(self) -> str:
        """The reward's name and version."""
        return f"{self.report.reward}@{self.report.version}"
