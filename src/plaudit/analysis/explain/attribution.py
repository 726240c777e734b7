"""`attribute`: the share of each term in the return of episodes and in its variance."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import DefinitionError, InputError
from plaudit.frames import Tabular
from plaudit.html import build_heading, build_note, build_table, join
from plaudit.ledger.summary.episodes import Episode
from plaudit.ledger.summary.returns import name_episode
from plaudit.terminal import escape_controls, format_count, format_table, format_value

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

Numbers = NDArray[np.float64]

ROUNDING = 1e-9
"""A rest that is smaller than this share of what the terms paid is rounding."""
TINY = 1e-12
"""What is smaller than this, next to what it is a difference of, is 0."""


class TermShare(NamedTuple):
    """What one term contributes to some episodes.

    Example:
        ```python
        share = attribute(ledger.episodes(run="night-3"))["gain"]
        share.share, share.variance_share
        ```
    """

    term: str
    mean: float
    """Its mean pay per episode."""
    share: float
    """The same as a share of the mean return; NaN if that is 0."""
    variance_share: float
    """Its covariance with the return, as a share of the variance of returns between episodes: `own` and `shared`.

    This is its Shapley value for the variance of the sum. It is negative if the term evens out others, NaN if returns
    do not vary.
    """
    own: float
    """The variance of what it paid, as a share of the variance of returns."""
    shared: float
    """Half of its covariances with the other terms, as the same kind of share; the other half is theirs."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values, with None instead of NaN.
        """
        return {name: None if value != value else value for name, value in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class EpisodeBin:
    """Consecutive episodes, and what each term contributes to them.

    Example:
        ```python
        for each in attribute(ledger.episodes(run="night-3"), bins=5).bins:
            print(each.first, each.last, each["gain"].mean)
        ```
    """

    first: str
    """The name of the first episode, with its actor if there are several."""
    last: str
    began: datetime
    episodes: int
    mean: float
    """Their mean return."""
    variance: float
    """The variance of their returns; NaN for a single episode."""
    terms: tuple[TermShare, ...]

    def __getitem__(self, term: str) -> TermShare:
        """Return the shares of one term; raise KeyError if there is no such term."""
        return {each.term: each for each in self.terms}[term]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values, with None instead of NaN.
        """
        return {
            "first": self.first,
            "last": self.last,
            "began": self.began.isoformat().replace("+00:00", "Z"),
            "episodes": self.episodes,
            "mean": self.mean,
            "variance": None if math.isnan(self.variance) else self.variance,
            "terms": [each.to_dict() for each in self.terms],
        }


@dataclass(frozen=True, slots=True)
class Attribution(Tabular):
    """What each term contributes to a run, in total and over time; `print` it.

    Example:
        ```python
        found = attribute(ledger.episodes(run="night-3"))
        found["gain"].share              # of the mean return
        found.bins[-1]["gain"].mean      # in the last episodes
        ```
    """

    reward: str
    """`following@1`."""
    whole: EpisodeBin
    """All episodes."""
    bins: tuple[EpisodeBin, ...]
    """Consecutive stretches of episodes, in the order in which they began."""
    actors: int = 1
    """Number of actors."""

    def __getitem__(self, term: str) -> TermShare:
        """Return the shares of one term in all episodes; raise KeyError if there is no such term."""
        return self.whole[term]

    @property
    def terms(self) -> tuple[TermShare, ...]:
        """The shares of each term in all episodes; the difference between their sum and the total comes last."""
        return self.whole.terms

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each bin and term.

        Returns:
            The columns by name.
        """
        rows = [(at, each, term) for at, each in enumerate(self.bins) for term in each.terms]
        about = ("first", "last", "began", "episodes")
        columns: dict[str, list[Any]] = {"bin": [at for at, _, _ in rows]}
        columns |= {name: [getattr(each, name) for _, each, _ in rows] for name in about}
        columns |= {name: [getattr(term, name) for _, _, term in rows] for name in TermShare._fields}
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values, with None instead of NaN.
        """
        bins = [each.to_dict() for each in self.bins]
        return {"reward": self.reward, **self.whole.to_dict(), "bins": bins}

    def plot(self, *, variance: bool = False, ax: "Axes | None" = None) -> "Axes":
        """Plot over time what each term paid per episode, or its share of the variance between episodes.

        Args:
            variance: Plot shares of the variance.
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.stacked import plot_shares, plot_stacked

        names = [each.term for each in self.terms]
        ends = np.cumsum([0, *(each.episodes for each in self.bins)])
        if variance:
            shares = {name: [each[name].variance_share for each in self.bins] for name in names}
            title = "Share of the variance between episodes"
            return plot_shares(ends.tolist(), shares, along="episode", title=title, counts=self.whole.episodes, ax=ax)
        return plot_stacked(
            {name: [each[name].mean for each in self.bins] for name in names},
            [each.mean for each in self.bins],
            along="bin",
            measured="mean per episode",
            title=f"Return by term, {format_count(self.whole.episodes, 'episode')}",
            ax=ax,
        )

    def _repr_html_(self) -> str:
        headers, *rows = self._list_rows()
        table = build_table(headers, rows, right=headers[1:])
        note = build_note(
            "The variance is that of returns between episodes; each covariance is split equally between its two terms."
        )
        return join(build_heading(self._title()), table, note)

    def _title(self) -> str:
        whole = self.whole
        spread = "" if math.isnan(whole.variance) else f", standard deviation {format_value(math.sqrt(whole.variance))}"
        about = f"{self.reward}, {format_count(whole.episodes, 'episode')}"
        return f"{about}: mean return {format_value(whole.mean)}{spread}"

    def _list_rows(self) -> list[tuple[str, ...]]:
        heads = ("term", "mean", "share of return", "share of variance", "own", "half of covariances")
        return [heads, *((each.term, format_value(each.mean), *map(_format_share, each[2:])) for each in self.terms)]

    def _name_stretches(self) -> list[str]:
        """Return what each bin is called: by names of episodes or, of several actors, by their places in the run."""
        if self.actors == 1:
            return [f"{each.first} to {each.last}" for each in self.bins]
        ends = np.cumsum([0, *(each.episodes for each in self.bins)]).tolist()
        return [f"{start + 1} to {end}" for start, end in pairwise(ends)]

    def __str__(self) -> str:
        whole = self.whole
        lines = [self._title(), "", format_table(self._list_rows())]
        if len(self.bins) > 1:
            names = ("episodes", *(each.term for each in whole.terms))
            means = [
                (*map(format_value, (each.mean for each in one.terms)), format_value(one.mean)) for one in self.bins
            ]
            stretches = self._name_stretches()
            shares = [tuple(_format_share(each.variance_share) for each in one.terms) for one in self.bins]
            for title, head, cells in (
                ("Mean over time:", (*names, "return"), means),
                ("Share of the variance over time:", names, shares),
            ):
                body = [(stretch, *row) for stretch, row in zip(stretches, cells, strict=True)]
                lines += ["", title, "", format_table([head, *body])]
        return escape_controls("\n".join(lines))


def attribute(episodes: Sequence[Episode], *, bins: int = 10) -> Attribution:
    """Attribute the return of episodes, and its variance, to the terms of a reward.

    Shares of the return add up to 1, and so do shares of its variance: each covariance of two terms is split equally
    between them. The difference between the sum of the terms and the total (a gate, overrides, the clamp) has its own
    row.

    >>> import tempfile
    >>> from plaudit import Field, Ledger, Reward, term
    >>> @term
    ... def gain(speed):
    ...     return speed
    >>> @term(weight=-1)
    ... def cost(speed):
    ...     return 2
    >>> moving = Reward("moving", version="1", terms=[gain, cost], fields=[Field("speed")])
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/rewards.db") as ledger:
    ...     for episode, speed in enumerate((3.0, 5.0)):
    ...         _ = ledger.record(moving.score(speed=speed), run="night", episode=str(episode))
    ...     found = attribute(ledger.episodes(run="night"))
    >>> found["gain"].share, found["cost"].share, found["gain"].variance_share
    (2.0, -1.0, 1.0)

    Args:
        episodes: Episodes of one reward, as `Ledger.episodes` lists them. Unfinished ones are ignored.
        bins: Number of stretches of equal length to divide them into; each has at least two episodes.

    Returns:
        The shares of each term.

    Raises:
        InputError: There are no finished episodes, or they belong to several rewards.
        DefinitionError: `bins` is less than 1.
    """
    if bins < 1:
        raise DefinitionError(f"bins={bins!r} must be an integer of at least 1.")
    episodes = [each for each in episodes if each.finished]
    rewards = dict.fromkeys(f"{each.reward}@{each.version}" for each in episodes)
    if len(rewards) != 1:
        named = ", ".join(rewards)
        raise InputError(
            f"these episodes belong to several rewards ({named}); select one with reward= and version=."
            if rewards
            else "there are no finished episodes."
        )
    terms = tuple(dict.fromkeys(term for each in episodes for term in each.terms))
    paid = np.array([[each.terms.get(term, 0.0) for term in terms] for each in episodes]).reshape(len(episodes), -1)
    rest = np.array([each.total for each in episodes]) - paid.sum(axis=1)
    if np.abs(rest).sum() > ROUNDING * np.abs(paid).sum():
        terms = (*terms, name_rest(terms))
        paid = np.column_stack([paid, rest])
    cut = np.array_split(np.arange(len(episodes)), max(1, min(bins, len(episodes) // 2)))
    actors = len({each.actor for each in episodes})

    def name(each: Episode) -> str:
        return each.episode if actors == 1 else name_episode((None, each.actor, each.episode))

    every = [
        _build_bin([episodes[at] for at in rows], terms, paid[rows], name) for rows in (np.arange(len(episodes)), *cut)
    ]
    return Attribution(next(iter(rewards)), every[0], tuple(every[1:]), actors)


def name_rest(terms: Collection[str]) -> str:
    """Return what to call what separates the sum of the terms from the total, where no term is it: only a clamp does.

    >>> name_rest(["speed"]), name_rest(["clamp"])
    ('clamp', 'clamp of the total')
    """
    return "clamp" if "clamp" not in terms else "clamp of the total"


def _build_bin(
    episodes: Sequence[Episode], terms: Iterable[str], paid: Numbers, name: Callable[[Episode], str]
) -> EpisodeBin:
    """Return how much each term carries of some episodes, in which it `paid` this."""
    means = paid.mean(axis=0)
    mean = float(means.sum())
    shares = means / mean if abs(mean) > TINY * np.abs(means).sum() else np.full_like(means, np.nan)
    variance, own, whole = math.nan, np.full_like(means, np.nan), np.full_like(means, np.nan)
    if len(paid) > 1:
        apart = paid - means
        together = apart.sum(axis=1)
        variance = float(together @ together) / (len(paid) - 1)
        if variance > TINY**2 * float(np.square(paid).sum()):
            own, whole = (
                np.square(apart).sum(axis=0) / (together @ together),
                apart.T @ together / (together @ together),
            )
        else:
            variance = 0.0
    rows = np.transpose((means, shares, whole, own, whole - own))
    listed = tuple(TermShare(term, *map(float, row)) for term, row in zip(terms, rows, strict=True))
    first, last = (name(each) for each in (episodes[0], episodes[-1]))
    return EpisodeBin(first, last, episodes[0].began, len(episodes), mean, variance, listed)


def _format_share(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:z.1%}"
