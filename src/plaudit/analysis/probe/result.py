"""What `probe` returns: the outcome of each policy, the verdict and the findings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plaudit.analysis.compare.comparison import Estimate
from plaudit.analysis.compare.measures import CONFIDENCE
from plaudit.analysis.probe.measures import GOAL, NATIVE, Numbers, estimate_mean
from plaudit.checks.finding import Finding
from plaudit.checks.formats.json import format_json
from plaudit.checks.formats.text import join_pieces, wrap_paragraph
from plaudit.checks.report import WIDTH, LocatedReport, Report, format_reports
from plaudit.frames import Tabular
from plaudit.html import Markup, build_element, build_heading, build_note, build_table, join
from plaudit.reward.signal import Signal
from plaudit.terminal import escape_controls, format_count, format_table, format_value

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

Kind = Literal["idle", "constant", "random", "search", "reference"]
"""Sorts of policies; the first three look at nothing."""


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode of a probe."""

    policy: str
    seed: int | None
    """None of an episode that was recorded before."""
    earned: float
    """What the reward paid, discounted as it declares."""
    measures: Mapping[str, float]
    """What the environment paid, whether the goal was reached, whether it ended in a way that is good or bad, and each
    field that says what is better: how often a flag was set, the mean of a number or, where it has an aim, of how far
    it was from it."""
    terms: Mapping[str, float]
    """What each term paid in all."""
    length: int
    ended: str
    """"terminated" or "truncated"."""
    first: Signal = field(repr=False)
    last: Signal = field(repr=False)
    finals: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Each field that says what is better, as it was in the last step."""
    sign: Literal["good", "bad"] | None = None
    """Whether it ended as is wanted, or as is not; None where nothing says so."""
    records: tuple[int, int] | None = None
    """The first and the last record of an episode that was recorded before."""


@dataclass(frozen=True)
class PolicyOutcome:
    """How one policy fared, with one episode per seed; all played policies have the same seeds.

    Example:
        ```python
        outcome = probe("CartPole-v1", reward)["random"]
        outcome.earned.value, outcome.measures, outcome.length
        ```
    """

    name: str
    kind: Kind
    episodes: tuple[PlayedEpisode, ...]

    @property
    def is_baseline(self) -> bool:
        """Whether it ignores the observation."""
        return self.kind in ("idle", "constant", "random")

    @property
    def is_recorded(self) -> bool:
        """Whether its episodes were recorded before, so that they share no seeds with others."""
        return self.episodes[0].records is not None

    @cached_property
    def earned(self) -> Estimate:
        """The mean return per episode, with its interval."""
        return estimate_mean(self.column("earned"))

    @cached_property
    def measures(self) -> Mapping[str, Estimate]:
        """The mean of each measure per episode, with its interval."""
        return {name: estimate_mean(self.column(name)) for name in self.episodes[0].measures}

    @property
    def length(self) -> float:
        """Mean episode length in steps."""
        return float(np.mean([each.length for each in self.episodes]))

    @property
    def terminated(self) -> float:
        """The share of episodes that terminated rather than being truncated."""
        return float(np.mean([each.ended == "terminated" for each in self.episodes]))

    def column(self, measure: str) -> Numbers:
        """Return one measure of each episode, in the order of the seeds.

        Args:
            measure: "earned", or the name of a measure.

        Returns:
            One number per episode.
        """
        if measure == "earned":
            return np.array([each.earned for each in self.episodes])
        return np.array([each.measures[measure] for each in self.episodes])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        return {
            "policy": self.name,
            "kind": self.kind,
            "earned": _to_plain(self.earned),
            "measures": {name: _to_plain(each) for name, each in self.measures.items()},
            "length": self.length,
            "terminated": self.terminated,
            "episodes": [
                {
                    "seed": each.seed,
                    "earned": each.earned,
                    "measures": dict(each.measures),
                    "terms": dict(each.terms),
                    "length": each.length,
                    "ended": each.ended,
                }
                for each in self.episodes
            ],
        }


_UNKNOWN = Estimate(float("nan"), float("nan"), float("nan"))


def _to_plain(estimate: Estimate) -> dict[str, float | None]:
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: None if end != end else end for name, end in ends.items()}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the best-paid policy meets the objective."""

    answer: Literal["wanted", "unwanted", "undecided"]
    text: str
    """The answer in a sentence, or the reason why it is undecided."""


@dataclass(frozen=True, kw_only=True)
class Probe(Tabular):
    """What policies earn from a reward in an environment, highest first, and what they achieve; `print` it.

    Example:
        ```python
        found = probe("CartPole-v1", reward, seconds=30)
        print(found.verdict.answer)      # "wanted", "unwanted" or "undecided"
        print(found["random"].earned)
        ```
    """

    env: str
    reward: str
    """`landing@1`."""
    discount: float
    measures: tuple[str, ...]
    """The measures besides the earned return: "native", "goal", ends, and `better=` or `aim=` fields."""
    compared: tuple[str, ...]
    """The measures that decide the verdict."""
    policies: tuple[PolicyOutcome, ...]
    report: Report
    """The findings: `outcome-order` and `goal-not-best`, with episodes that were played."""
    verdict: Verdict = Verdict("undecided", "")
    """Whether the best-paid policy meets the objective."""
    steps: int
    """Total number of steps, including those of the search."""
    seconds: float = field(compare=False)
    ledger: str | None = None
    run: str | None = None
    interrupted: bool = False
    remarks: tuple[str, ...] = ()
    located: LocatedReport | None = field(default=None, repr=False, compare=False)
    """The report, and where its reward stands in the source."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, most severe first."""
        return self.report.findings

    @property
    def ok(self) -> bool:
        """Whether there is no warning."""
        return self.report.ok

    def __getitem__(self, policy: str) -> PolicyOutcome:
        """Return the outcome of a policy by name; raise KeyError if there is none."""
        return {each.name: each for each in self.policies}[policy]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each policy: what it earned and each measure, with intervals.

        Returns:
            The columns by name.
        """
        columns: dict[str, list[Any]] = {
            "policy": [each.name for each in self.policies],
            "kind": [each.kind for each in self.policies],
        }
        for name in ("earned", *self.measures):
            found = [each.earned if name == "earned" else each.measures.get(name, _UNKNOWN) for each in self.policies]
            columns |= {name: [each.value for each in found]}
            columns |= {f"{name}.low": [each.low for each in found], f"{name}.high": [each.high for each in found]}
        columns["length"] = [each.length for each in self.policies]
        columns["terminated"] = [each.terminated for each in self.policies]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        located = self.located or LocatedReport(self.report)
        return {
            "env": self.env,
            "reward": self.reward,
            "discount": self.discount,
            "confidence": CONFIDENCE,
            "measures": list(self.measures),
            "compared": list(self.compared),
            "verdict": {"answer": self.verdict.answer, "text": self.verdict.text},
            "policies": [each.to_dict() for each in self.policies],
            "report": format_json([located])["rewards"][0],
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "ledger": self.ledger,
            "run": self.run,
            "interrupted": self.interrupted,
            "remarks": list(self.remarks),
        }

    def __repr__(self) -> str:
        return f"Probe({self.env!r}, {self.reward!r}, {len(self.policies)} policies, {len(self.findings)} findings)"

    def __str__(self) -> str:
        return escape_controls("\n".join(self._list_lines()))

    def _list_lines(self) -> Iterator[str]:
        yield f"{self.reward} in {self.env}"
        yield ""
        if self.verdict.text:
            yield from (join_pieces(line) for line in wrap_paragraph(self.verdict.text, width=WIDTH))
            yield ""
        yield format_table(self._list_rows())
        yield ""
        yield from self._list_notes()
        yield ""
        yield format_reports([self.located or LocatedReport(self.report)]).rstrip("\n")

    def _repr_html_(self) -> str:
        headers, *rows = self._list_rows()
        table = build_table(headers, rows, right=headers[1:])
        notes = map(build_note, self._list_notes())
        verdict = build_element("div", self.verdict.text)
        return join(
            build_heading(f"{self.reward} in {self.env}"), verdict, table, *notes, Markup(self.report._repr_html_())
        )

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Plot what each policy earns, highest first, with its interval over seeds.

        Args:
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            InputError: No policy was played.
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.distances import plot_intervals

        groups = self._group_policies()
        return plot_intervals(
            [_name_group(each) for each in groups],
            [each[0].earned.value for each in groups],
            [each[0].earned.low for each in groups],
            [each[0].earned.high for each in groups],
            title=f"{self.reward} in {self.env}",
            measured="earned per episode",
            note=next(self._list_notes()),
            ax=ax,
        )

    def _list_notes(self) -> Iterator[str]:
        episodes = next((len(each.episodes) for each in self.policies if not each.is_recorded), 0)
        paid = "" if self.discount == 1.0 else f" Earnings are discounted by {self.discount:g} per step."
        yield (
            f"Means over {format_count(episodes, 'seed')} ± {CONFIDENCE:.0%} intervals; "
            f"{format_count(self.steps, 'step')} in all.{paid}"
        )
        yield from self.remarks
        if self.ledger is not None:
            yield f"The episodes are recorded in {self.ledger}, run {self.run!r}, with the policy as actor."

    def _group_policies(self) -> list[list[PolicyOutcome]]:
        """Return the policies, best paid first, with constant actions that had identical episodes in one group.

        Where a mask forbids most actions, most constant policies are the same one.
        """
        groups: dict[Any, list[PolicyOutcome]] = {}
        for each in self.policies:
            played = tuple((one.earned, one.length, *one.measures.values()) for one in each.episodes)
            groups.setdefault(played if each.kind == "constant" else each.name, []).append(each)
        return list(groups.values())

    def _list_rows(self) -> list[tuple[str, ...]]:
        headers = ("policy", "earned", *map(_name_measure, self.measures), "length", "terminated")
        return [headers, *(self._format_row(each) for each in self._group_policies())]

    def _format_row(self, group: Sequence[PolicyOutcome]) -> tuple[str, ...]:
        each = group[0]
        cells = (_format_measure(name, each.measures.get(name)) for name in self.measures)
        fared = (format_estimate(each.earned), *cells, f"{each.length:,.0f}", f"{each.terminated:.0%}")
        return _name_group(group), *fared


def _name_group(group: Sequence[PolicyOutcome]) -> str:
    return group[0].name if len(group) == 1 else f"{group[0].name} (+{len(group) - 1:,} identical)"


def _name_measure(name: str) -> str:
    return {NATIVE: "native reward", GOAL: "goal reached"}.get(name, name)


def _format_measure(name: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:.0%}" if name == GOAL else format_estimate(estimate)


def format_estimate(estimate: Estimate) -> str:
    """Format a mean with half the width of its interval.

    >>> format_estimate(Estimate(12.3456, 11.3, 13.4)), format_estimate(Estimate(1.0, float("nan"), float("nan")))
    ('12.3 ± 1.0', '1')
    """
    reach = (estimate.high - estimate.low) / 2
    if reach != reach or reach <= 1e-9 * abs(estimate.value):
        return format_value(round(estimate.value, 6))
    digits = max(0, 1 - int(np.floor(np.log10(reach)))) if reach < 10 else 0
    digits = min(digits, 6)
    return f"{estimate.value:,.{digits}f} ± {reach:,.{digits}f}"
