"""`check_target`: check that a target gives the same results as Python, law by law."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plaudit.errors import InputError, TargetError, did_you_mean
from plaudit.targets import find_target
from plaudit.terminal import escape_controls
from plaudit.testing.batches import Batch, Difference, Tally
from plaudit.testing.cases import Dtype
from plaudit.testing.laws import LAWS, Size, Trial
from plaudit.testing.rows import Row
from plaudit.testing.runners import OURS, Bits, Run, Running, run_columns
from plaudit.testing.tolerance import ARITHMETIC, exactly_rounded

_DTYPES: dict[str, Dtype] = {"float64": np.float64, "float32": np.float32}


class ContractBroken(AssertionError):
    """A target breaks a law; the message names the law, the reward, the row, and the expected and actual result."""


@dataclass(frozen=True)
class LawResult:
    """The result of checking a target on one law.

    >>> result = check_target("numpy", laws=["comparisons"], rewards=1).laws[0]
    >>> result.law, result.outcome
    ('comparisons', 'kept')
    """

    law: str
    outcome: Literal["kept", "refused", "left out"]
    """Refused: the target cannot compile these rewards. Left out: `without` excludes this law."""
    reason: str
    """Why the law is refused or left out, or why some rewards are refused."""
    counts: Mapping[str, int]
    """Counts of `rewards`, `rows`, rows set `aside`, `good` and `bad` rows, and rewards `refused`."""


@dataclass(frozen=True)
class TargetReport:
    """The result of `check_target`: one `LawResult` per law, none of them broken.

    >>> report = check_target("numpy", laws=["comparisons", "boundaries"], rewards=1)
    >>> report.target, [each.outcome for each in report.laws]
    ('numpy', ['kept', 'kept'])
    """

    target: str
    laws: tuple[LawResult, ...]

    @property
    def counts(self) -> Counter[str]:
        """The counts of all laws, added up."""
        return sum((Counter(each.counts) for each in self.laws), Counter())

    def __str__(self) -> str:
        """Return a line for each law."""
        lines = (
            f"{each.law:20} {each.outcome:9} {each.counts['rewards']:5,} rewards {each.counts['rows']:8,} rows"
            + (f"  {each.reason}" if each.reason else "")
            for each in self.laws
        )
        return "\n".join(map(escape_controls, lines))


def check_target(
    target: str,
    *,
    run: Run | None = None,
    options: Mapping[str, Any] | None = None,
    laws: Iterable[str] | None = None,
    without: Mapping[str, str] | None = None,
    rewards: int = 20,
    rows: int = 64,
    seed: int = 0,
    dtype: Literal["float64", "float32"] = "float64",
    bits: Bits | None = None,
    stored: Callable[[Row], Row] | None = None,
) -> TargetReport:
    """Check that a target gives what plain Python functions give.

    The rewards are random ones and those of each law in `LAWS`.

    >>> report = check_target("numpy", rewards=2)
    >>> [each.law for each in report.laws if each.outcome != "kept"]
    []

    Args:
        target: The name of a target, as `reward.compile` takes it.
        run: Runs the compiled reward on a `Batch` and returns the `Scores` of its rows as arrays; it raises for bad
            rows unless they are masked. Targets that produce text need it. If omitted, the compiled reward is called
            with columns.
        options: Options of the target.
        laws: Names of the laws to check, from `LAWS`; all of them if omitted.
        without: Laws to leave out, each with the reason.
        rewards: Number of random rewards.
        rows: Number of rows for each.
        seed: Random seed.
        dtype: The dtype of the inputs and of the computation.
        bits: When numbers must equal Python's to the bit: `"exact"` (if every operation of the reward is exactly
            rounded), `"always"` or `"never"`. Otherwise they may differ by up to `4·n·eps·M`, where `n` is the longest
            chain of operations and `M` the largest number in it, and rows that rounding could move across a
            discontinuity are set aside. float32 never compares bits.
        stored: Converts a row to what the target can hold; SQLite, for example, stores NaN as NULL.

    Returns:
        A report. A law whose rewards the target refuses to compile (`TargetError`) is listed with the reason.

    Raises:
        ContractBroken: A law is broken, or every random reward is refused. It is an AssertionError.
        TargetError: The target or law is unknown.
    """
    find_target(target)
    usual = OURS.get(target, Running(run_columns))
    left_out = dict(without or {})
    for name in (*(laws or ()), *left_out):
        if name not in LAWS:
            raise TargetError(f"there is no law {name!r}.{did_you_mean(name, LAWS)} Laws: {', '.join(LAWS)}.")
    if dtype not in _DTYPES:
        raise TargetError(f"dtype={dtype!r} is not one of {', '.join(_DTYPES)}.")
    size = Size(rewards, rows, seed, _DTYPES[dtype])
    chosen: Bits = "never" if dtype == "float32" else bits or usual.bits
    checker = _Checker(target, run or usual.run, {**usual.options, **(options or {})}, size, chosen, stored or dict)
    wanted = list(LAWS if laws is None else laws)
    return TargetReport(
        target,
        tuple(
            LawResult(name, "left out", left_out[name], Counter()) if name in left_out else checker.check(name)
            for name in wanted
        ),
    )


@dataclass(frozen=True)
class _Checker:
    """One target with its options, checked law by law."""

    target: str
    run: Run
    options: Mapping[str, Any]
    size: Size
    bits: Bits
    stored: Callable[[Row], Row]

    def check(self, law: str) -> LawResult:
        """Return the result of one law."""
        tally, refusals = Tally(), Counter[str]()
        last: tuple[Any, Any] = (None, None)
        for trial in LAWS[law](self.size):
            key = trial.case, trial.options
            try:
                compiled = last[1] if last[0] == key else self._compile(trial)
                last = key, compiled
                self._try(law, trial, compiled, tally)
            except TargetError as error:
                refusals[str(error)] += 1
        reason = refusals.most_common(1)[0][0] if refusals else ""
        counts = Counter({**tally.count, "refused": refusals.total()})
        if not tally.count["rewards"] and law == "random_rewards":
            raise ContractBroken(f"the target {self.target!r} refuses every random reward: {reason}")
        return LawResult(law, "kept" if tally.count["rewards"] else "refused", reason, counts)

    def _compile(self, trial: Trial) -> Any:
        return trial.case.reward.compile(self.target, **{"on_bad": "mask", **self.options, **trial.options})

    def _try(self, law: str, trial: Trial, compiled: Any, tally: Tally) -> None:
        rows = list(map(self.stored, trial.rows))
        batch = Batch(trial.case, rows, dtype=self.size.dtype, params=trial.params, wanted=trial.wanted)
        try:
            scores = self.run(compiled, batch)
        except InputError as error:
            if trial.raises is None:
                raise self._explain(law, trial, f"It raised {type(error).__name__}: {error}") from error
            if not isinstance(error, trial.raises):
                said = f"It should raise {trial.raises.__name__}, but raised {type(error).__name__}: {error}"
                raise self._explain(law, trial, said, row=batch.rows[-1]) from error
            tally.count.update(rewards=1, rows=len(batch.rows), bad=1)
            return
        if trial.raises is not None:
            raise self._explain(
                law, trial, f"It should raise {trial.raises.__name__}, but raised nothing.", row=batch.rows[-1]
            )
        exact = {"always": not trial.case.powers, "exact": exactly_rounded(trial.case), "never": False}[self.bits]
        inexact = ARITHMETIC if self.bits == "never" else None
        found = tally.find_difference(batch, scores, inexact=inexact, bits=exact, strict=trial.strict)
        if found is not None:
            raise self._explain(law, trial, _describe(found, exact=exact), row=batch.rows[found.row])

    def _explain(self, law: str, trial: Trial, said: str, *, row: Any = None) -> ContractBroken:
        options = {"on_bad": "mask", **self.options, **trial.options}
        lines = [
            f"the target {self.target!r} breaks the law {law!r}: {LAWS[law].__doc__}",
            f"  {said}",
            *([] if row is None else [f"  Row: {row}"]),
            f"  Compiled with {', '.join(f'{name}={value!r}' for name, value in options.items())}"
            + (f", called with params={dict(trial.params)}" if trial.params else ""),
            *(f"  {line}" for line in repr(trial.case).splitlines()),
            f"  To reproduce: check_target({self.target!r}, laws=[{law!r}], seed={self.size.seed}, "
            f"rewards={self.size.rewards}, rows={self.size.rows})",
        ]
        return ContractBroken("\n".join(lines))


def _describe(found: Difference, *, exact: bool) -> str:
    counts = found.output != "ok" and found.expected == found.expected
    return f"{found.output}: expected {found.expected!r}{' to the bit' if exact and counts else ''}, got {found.got!r}"
