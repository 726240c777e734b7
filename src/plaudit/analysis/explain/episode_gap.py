"""`compare_episodes`: the terms and steps that make one episode earn more than another."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.analysis.explain.attribution import ROUNDING, name_rest
from plaudit.errors import InputError, NotInLedger
from plaudit.frames import Tabular
from plaudit.html import build_heading, build_table, join
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.query import Query
from plaudit.ledger.summary.episodes import Episode
from plaudit.ledger.summary.returns import name_episode
from plaudit.terminal import escape_controls, format_count, format_table, format_value

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

SHOWN = 10
"""Maximum number of steps to print."""


class TermGap(NamedTuple):
    """What one term paid in two episodes.

    >>> TermGap("speed", first=4.0, second=1.5).gap
    -2.5
    """

    term: str
    first: float
    second: float

    @property
    def gap(self) -> float:
        """How much more it paid in the second episode."""
        return self.second - self.first


class StepGap(NamedTuple):
    """What one step paid in two episodes.

    Example:
        ```python
        for step in compare_episodes(ledger, "12", "57", run="night-3").largest(3):
            print(step.step, step.gap, step.term)
        ```
    """

    step: int
    first: float | None
    """None where the episode has no such step."""
    second: float | None
    gap: float
    """How much more it paid in the second episode."""
    so_far: float
    """The sum of the gaps up to this step."""
    term: str
    """The term with the largest gap in this step."""
    term_gap: float
    first_record: int | None
    """The number of its record, for `ledger.why`."""
    second_record: int | None


@dataclass(frozen=True, slots=True)
class EpisodeGap(Tabular):
    """The difference between two episodes, by term and by step; `print` it.

    Example:
        ```python
        found = compare_episodes(ledger, "12", "57", run="night-3")
        found.gap, found.parts_at, found.terms[0].term
        ```
    """

    first: Episode
    second: Episode
    terms: tuple[TermGap, ...]
    """The terms, largest gap first."""
    steps: tuple[StepGap, ...]
    """Every step of either episode, in order."""
    remarks: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """How much more the second episode earned."""
        return self.second.total - self.first.total

    @property
    def parts_at(self) -> int | None:
        """The first step that paid differently; None if there is none."""
        return next((each.step for each in self.steps if each.gap), None)

    def largest(self, count: int = SHOWN) -> tuple[StepGap, ...]:
        """Return the steps with the largest gaps, largest first.

        Args:
            count: Maximum number of steps.

        Returns:
            Steps that paid differently.
        """
        return tuple(sorted((each for each in self.steps if each.gap), key=lambda each: -abs(each.gap))[:count])

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each step.

        Returns:
            The columns by name.
        """
        return {name: [getattr(each, name) for each in self.steps] for name in StepGap._fields}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        return {
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "gap": self.gap,
            "parts_at": self.parts_at,
            "terms": [{**each._asdict(), "gap": each.gap} for each in self.terms],
            "steps": [each._asdict() for each in self.steps],
            "remarks": list(self.remarks),
        }

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Plot what each term paid in the two episodes, side by side.

        Args:
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.versions import plot_sides

        return plot_sides(
            [*(each.term for each in self.terms), "total"],
            [*(each.first for each in self.terms), self.first.total],
            [*(each.second for each in self.terms), self.second.total],
            names=self._name_both(),
            measured="sum over the episode",
            title="Two episodes, by term",
            ax=ax,
        )

    def _repr_html_(self) -> str:
        tables = [build_table(rows[0], rows[1:], right=rows[0][1:5]) for rows in self._list_tables() if len(rows) > 1]
        return join(build_heading(self._title()), *tables)

    def _name_both(self) -> tuple[str, str]:
        first, second = (name_episode((each.run, each.actor, each.episode)) for each in (self.first, self.second))
        return first, second

    def _title(self) -> str:
        first, second = self._name_both()
        earned = f"{first} earned {format_value(self.first.total)}, {second} earned {format_value(self.second.total)}"
        return f"{earned}: gap {format_value(self.gap)}"

    def _list_tables(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Return the terms and the steps that separate them most as rows, the headers first."""
        names = self._name_both()
        terms = [(each.term, *map(format_value, (*each[1:], each.gap))) for each in self.terms]
        steps = [
            (str(each.step), *map(_format_paid, each[1:5]), f"{each.term} {each.term_gap:+z.6g}")
            for each in self.largest()
        ]
        return [("term", *names, "gap"), *terms], [("step", *names, "gap", "so far", "largest term"), *steps]

    def __str__(self) -> str:
        terms, steps = self._list_tables()
        lines = [self._title(), "", format_table(terms)]
        if len(steps) > 1:
            lines += ["", f"They diverge at step {self.parts_at}. The steps with the largest gaps:"]
            lines += ["", format_table(steps)]
        return escape_controls("\n".join([*lines, *(["", *self.remarks] if self.remarks else [])]))


def compare_episodes(ledger: Ledger, first: Episode | str, second: Episode | str, **query: Any) -> EpisodeGap:
    """Compare two episodes of a ledger: which terms and steps make one earn more than the other.

    Steps are matched by number, or by the order of recording if they have none. A step that only one episode has counts
    in full. The gaps of all terms add up to the gap of the returns, and so do those of all steps.

    Example:
        ```python
        with Ledger("rewards.db") as ledger:
            print(compare_episodes(ledger, "12", "57", run="night-3"))
        ```

    Args:
        ledger: The ledger.
        first: An episode, by name or as `Ledger.episodes` lists it.
        second: Another one.
        **query: Which run, actor and so on, as for `Ledger.episodes`.

    Returns:
        The gaps.

    Raises:
        NotInLedger: There is no such episode.
        InputError: A name matches several episodes, one has no score, or the two were scored by different rewards.
    """
    found = [_find_episode(ledger, name, query) for name in (first, second)]
    for each in found:
        if not each.is_scored:
            named = name_episode((each.run, each.actor, each.episode))
            raise InputError(f"{named} has no score to compare; ledger.why({each.first_record}) says why.")
    if len({(each.reward, each.version) for each in found}) > 1:
        named = " and ".join(f"{each.reward}@{each.version}" for each in found)
        raise InputError(f"the two episodes were scored by {named}; choose episodes of one reward: version=.")
    paid = [_read_steps(ledger, each, query) for each in found]
    names = dict.fromkeys(term for each in found for term in each.terms)
    terms = [TermGap(name, *(each.terms.get(name, 0.0) for each in found)) for name in names]
    rest = [each.total - math.fsum(each.terms.values()) for each in found]
    if max(map(abs, rest)) > ROUNDING * max(abs(number) for each in found for number in each.terms.values()):
        terms.append(TermGap(name_rest(names), *rest))
    steps, so_far = [], 0.0
    for number in sorted(paid[0].keys() | paid[1].keys()):
        steps.append(_build_step(number, paid[0].get(number), paid[1].get(number), so_far))
        so_far = steps[-1].so_far
    remarks = [
        f"{name_episode((each.run, each.actor, each.episode))}: some step numbers are missing."
        for each, listed in zip(found, paid, strict=True)
        if each.first_step is not None
        and each.last_step is not None
        and each.last_step - each.first_step >= len(listed)
    ]
    ordered = sorted(terms, key=lambda each: -abs(each.gap))
    return EpisodeGap(found[0], found[1], tuple(ordered), tuple(steps), tuple(remarks))


def _find_episode(ledger: Ledger, name: Episode | str, query: Mapping[str, Any]) -> Episode:
    if isinstance(name, Episode):
        return name
    found = ledger.episodes(**query, episode=name)
    if not found:
        ledger.history(**query, episode=name).first()  # where there is none, this says so
        raise NotInLedger(f"{ledger.name} has no episode {name!r}{Query.parse(query).describe()}.")
    if len(found) > 1:
        parts = ("run", "actor", "reward", "version")
        apart = [part for part in parts if len({getattr(each, part) for each in found}) > 1]
        raise InputError(
            f"{ledger.name} has {format_count(len(found), 'episode')} called {name!r}; choose one with "
            f"{', '.join(f'{part}=' for part in apart)}."
        )
    return found[0]


@dataclass(slots=True)
class _Paid:
    """What the records of one step paid."""

    record: int
    total: float
    terms: dict[str, float]


def _read_steps(ledger: Ledger, episode: Episode, query: Mapping[str, Any]) -> dict[int, _Paid]:
    """Return what each step of an episode paid, by its number; what was paid for the end belongs to the last one."""
    chosen = {name: value for name, value in query.items() if name not in ("since", "until")}
    chosen |= {"reward": episode.reward, "version": episode.version, "episode": episode.episode}
    found: dict[int, _Paid] = {}
    for record in ledger.history(**chosen):
        if (record.run, record.actor) != (episode.run, episode.actor):
            continue
        ended = record.signal.frame.part == "final" and bool(found)
        number = record.step if record.step is not None else max(found) if ended else len(found)
        values = record.signal.values
        if (paid := found.get(number)) is None:
            found[number] = _Paid(record.id, record.total, values)
        else:
            paid.total += record.total
            paid.terms |= {name: paid.terms.get(name, 0.0) + value for name, value in values.items()}
    return found


def _build_step(step: int, first: _Paid | None, second: _Paid | None, so_far: float) -> StepGap:
    totals = [None if each is None else each.total for each in (first, second)]
    gap = (totals[1] or 0.0) - (totals[0] or 0.0)
    before, after = ({} if each is None else each.terms for each in (first, second))
    gaps = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in {**before, **after}}
    term = max(gaps, key=lambda name: abs(gaps[name]))
    first_record, second_record = (None if each is None else each.record for each in (first, second))
    return StepGap(step, totals[0], totals[1], gap, so_far + gap, term, gaps[term], first_record, second_record)


def _format_paid(paid: float | None) -> str:
    return "-" if paid is None else format_value(paid)
