"""`diff`: what is different between two versions of a reward, and what that does to recorded steps."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from plaudit.analysis.compare.coverage import keep_shared_terms
from plaudit.analysis.diff.definitions import DefinitionChanges, compare_definitions
from plaudit.analysis.diff.effect import Effect
from plaudit.analysis.diff.groups import find_groups
from plaudit.checks.prove import Difference, Proof, prove
from plaudit.errors import DefinitionError, MissingField, UnusableFile
from plaudit.html import Markup, build_heading, build_note, join
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.rescore.translation import NO_TERMINAL_TERM
from plaudit.ledger.summary.episodes import CHOSEN_BY, find_unfinished
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task
from plaudit.terminal import escape_controls, format_count

if TYPE_CHECKING:
    from plaudit.plots.axes import Axes

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The differences between two versions of a reward; `print` it.

    Example:
        ```python
        found = diff(before, after, ledger="rewards.db", run="night-3")
        found.verdict                    # "equal", "different" or "undecided"
        found.effect.changes             # what it does to recorded steps
        ```
    """

    before: str
    """The first reward: `following@1`."""
    after: str
    definition: DefinitionChanges
    proof: Proof | None
    """Whether they are provably equal, or where they differ; None if no proof is possible."""
    unproved: str = ""
    """Why no proof is possible."""
    left_out: tuple[str, ...] = ()
    """Terms that were not compared, because the other version does not read their inputs."""
    effect: Effect | None = None
    """The effect on recorded steps, if some were given."""

    @property
    def verdict(self) -> str:
        """Over all declared inputs: "equal", "different" or "undecided"."""
        return "undecided" if self.proof is None else self.proof.verdict

    @property
    def largest(self) -> Difference | None:
        """The row with the largest known difference of totals; both versions scored it."""
        return next(iter(self.proof.differences), None) if self.proof is not None else None

    def plot(self, *, terms: bool = False, ax: "Axes | None" = None) -> "Axes":
        """Plot one version against the other: on recorded steps if there are some, otherwise where they differ most.

        Args:
            terms: Plot what each term paid instead of returns or totals.
            ax: Axes to draw on. If omitted, a new figure.

        Returns:
            The axes.

        Raises:
            InputError: There is nothing to plot, because the versions are the same or no difference was found.
            MissingExtra: matplotlib is not installed.
        """
        names = (self.before, self.after)
        if self.effect is not None:
            return self.effect.plot(names=names, terms=terms, ax=ax)
        from plaudit.plots.versions import plot_sides

        found = () if self.proof is None else self.proof.differences
        return plot_sides(
            [each.term for each in found],
            [each.left for each in found],
            [each.right for each in found],
            names=names,
            measured="value in the row where each differs most",
            title="Where the versions differ",
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON.

        Returns:
            A dictionary of plain values.
        """
        return {
            "before": self.before,
            "after": self.after,
            "verdict": self.verdict,
            "definition": self.definition.to_dict(),
            "proof": None if self.proof is None else self.proof.to_dict(),
            "unproved": self.unproved,
            "left_out": list(self.left_out),
            "effect": None if self.effect is None else self.effect.to_dict(),
        }

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        said = f"Could not tell whether they are equal: {self.unproved}"
        left_out = f"Compared on shared inputs; terms left out: {', '.join(self.left_out)}."
        return join(
            build_heading(f"{self.before} → {self.after}"),
            build_note(left_out) if self.left_out else None,
            Markup(self.definition._repr_html_()) if self.definition else build_note("The definitions are the same."),
            build_note(said) if self.proof is None else Markup(self.proof._repr_html_()),
            None if self.effect is None else Markup(self.effect._repr_html_()),
        )

    def format(self, width: int = 120) -> str:
        """Format the differences as text, with formulas side by side.

        Args:
            width: Maximum line length.

        Returns:
            The text, in several lines.
        """
        return escape_controls("\n".join(self._list_lines(width)))

    def _list_lines(self, width: int) -> Iterator[str]:
        yield f"{self.before} → {self.after}"
        if self.left_out:
            yield f"Compared on shared inputs; terms left out: {', '.join(self.left_out)}."
        yield from self.definition.describe(width)
        if not self.definition:
            yield "\nThe definitions are the same."
        yield ""
        yield f"Could not tell whether they are equal: {self.unproved}" if self.proof is None else str(self.proof)
        if self.effect is not None:
            yield from self.effect.describe(width)


def diff(
    before: Reward,
    after: Reward,
    *,
    task: Task | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    shared: bool = False,
    timeout: float = 10.0,
    examples: int = 2000,
    progress: Progress | None = None,
    **query: Any,
) -> Diff:
    """Compare two versions of a reward: their definitions, where they differ, and the effect on recorded steps.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance, *, reach=2.0):
    ...     return 1 if distance < reach else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> found = diff(reaching, reaching.with_params(near={"reach": 3.0}).with_version("2"))
    >>> found.verdict, str(found.definition.numbers[0])
    ('different', 'near.reach: 2 → 3')

    Args:
        before: The old version.
        after: The new version.
        task: The task to add to those of both.
        ledger: A ledger, or its path or URL, whose records both score. Nothing is written.
        data: A Parquet, CSV or JSON Lines file, or a folder of Parquet parts, whose rows both score.
        shared: Leave out terms that read inputs that the other reward does not read.
        timeout: Time limit in seconds for proving the two equal or different, without recorded steps.
        examples: Number of rows to compare if nothing can be proved.
        progress: Called with how much of a data set is read, and its total.
        **query: Which records of the ledger to use, as for `Ledger.history`.

    Returns:
        The differences.

    Raises:
        DefinitionError: An argument is invalid, such as both a ledger and data.
        MissingField: The recorded steps lack an input of one reward; `shared=True` may help.
        NotInLedger: The ledger has no such records.
        BrokenEpisode: A reward carries state, and steps of an episode are missing.
    """
    if ledger is not None and data is not None:
        raise DefinitionError("give either a ledger or data, not both.")
    if query and ledger is None:
        raise DefinitionError(f"{', '.join(query)}= selects records of a ledger; give ledger= too.")
    before, after = before._join_task(task), after._join_task(task)
    left_out: tuple[str, ...] = ()
    if shared:
        (before, after), lost = keep_shared_terms((before, after), lambda reward: set(reward.inputs))
        left_out = tuple(dict.fromkeys(chain.from_iterable(lost)))
    definition = compare_definitions(before, after)
    proof, unproved = _prove(before, after, definition.renamed, timeout, examples)
    effect = None
    if ledger is not None:
        effect = _measure_ledger(before, after, definition, ledger, query)
    elif data is not None:
        effect = _measure_data(before, after, definition, os.fspath(data), progress)
    names = [f"{reward.name}@{reward.version}" for reward in (before, after)]
    return Diff(
        before=names[0],
        after=names[1],
        definition=definition,
        proof=proof,
        unproved=unproved,
        left_out=left_out,
        effect=effect,
    )


def _prove(
    before: Reward, after: Reward, renamed: Mapping[str, str], timeout: float, examples: int
) -> tuple[Proof | None, str]:
    try:
        proof = prove(before, after, timeout=timeout, examples=examples, enlarge=True)
    except DefinitionError as error:  # they read a field as different things, or carry different states
        return None, f"{str(error).rstrip('.')}."
    known = {*renamed, *renamed.values()}  # both have them, under two names
    return replace(proof, missing=tuple(name for name in proof.missing if name not in known)), ""


def _measure_ledger(
    before: Reward, after: Reward, definition: DefinitionChanges, where: Any, query: dict[str, Any]
) -> Effect:
    if not isinstance(where, Ledger):
        with Ledger(where, read_only=True) as opened:
            return _measure_ledger(before, after, definition, opened, query)
    groups = find_groups(where, query)
    plans = [where.plan_rescore(reward, **query) for reward in (before, after)]
    lacking = dict.fromkeys(
        str(each) for plan in plans for each in plan.lacking if each.needed != NO_TERMINAL_TERM or not plan.records
    )
    hint = " To leave out terms whose inputs only one version reads, use shared=True (--shared)."
    effect = Effect(definition.renamed, where.name, remarks=tuple(f"Left out: {each}." for each in lacking))
    whole = {name: value for name, value in query.items() if name in CHOSEN_BY}
    effect.changes.episodes.unfinished = find_unfinished(where.episodes(**whole))
    found = False
    if all(plan.records for plan in plans):
        for batch in where.score_history(before, after, **query):
            found = True
            effect.add(batch)
            if groups is not None:
                groups.add(batch)
    if groups is not None:
        effect.groups = groups.count()
    if not found:
        text = f"{where.name}: no record can be scored by both: {'; '.join(lacking)}."
        raise MissingField(text + (hint if definition.only_before or definition.only_after else ""))
    return effect


def _measure_data(
    before: Reward, after: Reward, definition: DefinitionChanges, source: str, progress: Progress | None
) -> Effect:
    from plaudit.ledger.dataset.scored import FileScorer

    try:
        scorer = FileScorer((before, after), source)
    except MissingField as error:
        if not (definition.only_before or definition.only_after):
            raise
        raise MissingField(
            f"{error}\nTo leave out terms whose inputs only one version reads, use shared=True (--shared)."
        ) from None
    effect = Effect(definition.renamed, source, "row")
    rows = 0
    for batch in scorer.score(progress):
        rows += len(batch.numbers)
        effect.add(batch)
    if not rows:
        raise UnusableFile(f"{source} has no rows to compare on.")
    remarks = [
        f"{reward.name}@{reward.version} cannot score {format_count(sum(reasons.values()), 'row')}: "
        + ", ".join(f"{count:,} × {reason}" for reason, count in sorted(reasons.items()))
        for reward, reasons in zip((before, after), scorer.reasons, strict=True)
        if reasons
    ]
    if scorer.unreadable:
        remarks.append(f"{format_count(scorer.unreadable, 'line')} skipped: not readable as rows.")
    if not len(effect.changes.episodes):
        remarks.append("No column 'episode', so episodes are not compared.")
    effect.remarks = tuple(remarks)
    return effect
