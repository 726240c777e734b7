"""Logs of whole episodes: what a reward carries is computed from the first step of each, and every row is scored."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.errors import BrokenEpisode, DefinitionError, InputError, MissingField
from plaudit.language.program import Program
from plaudit.targets.compiled import Scores
from plaudit.targets.states import build_initial_state, join_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plaudit.targets.numpy import NumpyReward

    Array = NDArray[Any]


Encode = Callable[[Any], dict[str, Any]]


class EpisodeScores(NamedTuple):
    """What every row of a log is scored, and what the reward carried into it."""

    scores: Scores
    states: dict[str, Any]
    """Each state before the row, by its name: what `compiled(columns)` takes as `prev.<state>`."""


class EpisodeReplay:
    """Follows episodes from their first step on, over one batch of rows or several.

    Rows of one episode come in the order of their steps; episodes may be interleaved.
    """

    def __init__(self, program: Program, *, first: float | None = None, what: str = "row") -> None:
        """Begin before all episodes; their first step is `first`, or unless given 0 or 1, the same for all.

        `what` is what errors call a row.
        """
        from plaudit.targets.numpy import NumpyReward  # it needs NumPy, and `import plaudit` does not

        self._what = what
        self._program = program
        self._compiled = NumpyReward(program, on_bad="mask")
        self._first = first
        self._known: dict[Hashable, tuple[int, float]] = {}
        """Of each episode so far, where its states are kept and its last step."""
        self._states: dict[str, Array] = build_initial_state(self._program, 0)

    def run(
        self,
        columns: Mapping[str, Any],
        episodes: Sequence[Hashable],
        steps: Sequence[float],
        rows: Sequence[int],
        *,
        masked: "Array | None" = None,
    ) -> EpisodeScores:
        """Return what some rows are scored, masked where they cannot be; the state stays as it was there.

        Args:
            columns: The inputs by the names of columns or of entries, encoded, without states; arrays, or one value.
            episodes: The episode of each row.
            steps: The step of each row.
            rows: The number of each, for errors.
            masked: Rows that cannot be scored whatever the columns hold.

        Raises:
            BrokenEpisode: A step is missing, twice or out of order, or the first one is not there.
        """
        import numpy as np

        count = len(episodes)
        places, turns = self.check(episodes, steps, rows)
        fresh = build_initial_state(self._program, len(self._known) - len(next(iter(self._states.values()))))
        self._states = {name: np.concatenate([array, fresh[name]]) for name, array in self._states.items()}
        before = {name: np.empty((count, *array.shape[1:]), array.dtype) for name, array in self._states.items()}
        parts: list[tuple[Array, Scores]] = []
        order = np.argsort(turns, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(turns[order])) + 1) if count else ():
            state = {name: array[places[part]] for name, array in self._states.items()}
            taken = {name: value[part] if value.ndim else value for name, value in columns.items()}
            scores, after = self._compiled.step(taken, state)
            taking = part if masked is None else part[~masked[part]]
            for name in state:
                before[name][part] = state[name]
                self._states[name][places[taking]] = after[name] if masked is None else after[name][~masked[part]]
            parts.append((part, scores))
        return EpisodeScores(_join_scores(self._compiled, parts, count), before)

    def check(
        self, episodes: Sequence[Hashable], steps: Sequence[float], rows: Sequence[int]
    ) -> tuple["Array", "Array"]:
        """Follow the episodes by some rows; return where each keeps its states, and which row of it each one is.

        Raises:
            BrokenEpisode: As for `run`.
        """
        import numpy as np

        seen: dict[Hashable, int] = {}
        places, turns = np.empty(len(episodes), np.intp), np.empty(len(episodes), np.intp)
        for at, (episode, step) in enumerate(zip(episodes, steps, strict=True)):
            if episode not in self._known:
                self._check_first(rows[at], episode, step)
                self._known[episode] = len(self._known), step
            elif step != self._known[episode][1] + 1:
                raise self._explain_step(rows[at], episode, step, self._known[episode][1])
            place = self._known[episode][0]
            self._known[episode] = place, step
            places[at], turns[at] = place, seen.get(episode, 0)
            seen[episode] = int(turns[at]) + 1
        return places, turns

    def _check_first(self, row: int, episode: Hashable, step: float) -> None:
        if self._first is None and step in (0, 1):
            self._first = step
        if step != self._first:
            begins = "0 or 1" if self._first is None else f"{self._first:g}"
            advice = " Set first= if episodes begin at another step." if self._what == "row" else ""
            raise BrokenEpisode(
                f"{self._what} {row}: the first {self._what} of episode {_format_episode(episode)} is step {step:g}, "
                f"and episodes begin at step {begins}. The state of the reward is computed from the first step on, so "
                f"a log that is cut off or sampled cannot be scored.{advice}"
            )

    def _explain_step(self, row: int, episode: Hashable, step: float, last: float) -> BrokenEpisode:
        what = "appears twice" if step == last else "is out of order" if step < last else "does not follow"
        return BrokenEpisode(
            f"{self._what} {row}: step {step:g} of episode {_format_episode(episode)} {what}; the {self._what} before "
            f"it in its episode is step {last:g}. The state is computed step by step: put the steps of "
            "an episode in order, and leave none out."
        )


def _format_episode(episode: Hashable) -> str:
    """Return what an episode is called; where it is one of a run and more, its own name."""
    return f"{episode[-1] if isinstance(episode, tuple) else episode!r:.60}"


def _join_scores(compiled: "NumpyReward", parts: Sequence[tuple["Array", Scores]], count: int) -> Scores:
    """Return the scores of all rows, in their order, from those of some rows at a time."""
    import numpy as np

    terms = compiled.program.terms
    total, ok = np.empty(count), np.empty(count, np.bool_)
    values, scores = ({term: np.empty(count) for term in terms} for _ in range(2))
    for rows, part in parts:
        total[rows], ok[rows] = part.total, part.ok
        for term in terms:
            values[term][rows], scores[term][rows] = part.values[term], part.scores[term]
    return Scores(total, values, scores, ok)


def score_episodes(
    program: Program, encode: Encode, columns: Any, *, episode: Any, step: Any, first: float | None, on_bad: str
) -> EpisodeScores:
    """Return what the rows of a log are scored; `Reward.score_episodes` says how.

    `encode` replaces categories by their positions.
    """
    import numpy as np

    if on_bad not in ("raise", "mask"):
        raise DefinitionError(f"on_bad={on_bad!r} is not one of raise, mask.")
    if not program.states:
        raise DefinitionError(
            f"reward {program.name!r} carries no state, so its rows need no order: score them with compile('numpy')."
        )
    keys, steps = np.asarray(episode), np.asarray(step)
    if keys.ndim != 1 or steps.shape != keys.shape or steps.dtype.kind not in "iuf":
        raise MissingField(
            f"reward {program.name!r}: episode= and step= must be columns with one entry per row, and step= must "
            f"hold numbers. Their shapes are {keys.shape} and {steps.shape}."
        )
    given = _prepare_columns(program, encode, columns, len(keys))
    found = EpisodeReplay(program, first=first).run(given, keys.tolist(), steps.tolist(), range(len(keys)))
    if on_bad == "raise" and not found.scores.ok.all():
        bad = int(np.flatnonzero(~found.scores.ok)[0])
        error = _explain_row(program, given, found.states, bad)
        raise type(error)(f"row {bad}, episode {keys[bad].item()!r:.60}, step {steps[bad].item():g}: {error}")
    return found


def _prepare_columns(program: Program, encode: Encode, columns: Any, count: int) -> dict[str, Any]:
    """Return the columns as arrays, categories encoded, without the states; each has a row an entry, or one value."""
    import numpy as np

    whole = encode(join_state(program, columns, build_initial_state(program, ())))
    states = {f"prev.{name}" for name in program.states}
    given = {name: np.asarray(value) for name, value in whole.items() if name not in states}
    for name, array in given.items():
        if array.ndim and len(array) != count:
            raise MissingField(
                f"reward {program.name!r}, field {name!r}: the column has {len(array):,} rows, "
                f"and episode= has {count:,}."
            )
    return given


def _explain_row(program: Program, given: Mapping[str, Any], states: Mapping[str, Any], row: int) -> InputError:
    from plaudit.targets.numpy import NumpyReward

    values = {name: array[row] if array.ndim else array for name, array in given.items()}
    try:
        NumpyReward(program)({**values, **{f"prev.{name}": array[row] for name, array in states.items()}})
    except InputError as error:
        return error
    raise AssertionError("the row can be scored")
