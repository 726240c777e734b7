"""Compare a reward with another implementation of it, and find the simplest row on which they differ."""

import math
from collections.abc import Callable
from typing import Any

from plaudit.checks.parity.aimed import Steps, pools
from plaudit.checks.parity.function import Function
from plaudit.checks.parity.hunt import Hunt, Progress
from plaudit.checks.parity.inside import Inside
from plaudit.checks.parity.judge import Judge
from plaudit.checks.parity.recorded import Recorded, compared
from plaudit.checks.parity.report import ParityReport
from plaudit.checks.parity.respondent import Adapter
from plaudit.errors import DefinitionError, MissingExtra
from plaudit.reward.reward import Reward


def parity(
    reward: Reward,
    against: Adapter | Recorded | Callable[..., Any],
    *,
    examples: int = 1000,
    timeout: float = 5.0,
    tolerance: float | None = None,
    seed: int = 0,
    float32: bool = False,
    progress: Progress = lambda tested: None,
) -> ParityReport:
    """Return how `reward` and another implementation of it compare.

    `against` is `Command("./program")`, asked as a child process with `timeout` seconds for each answer; a Python
    function; or `Recorded("pairs.jsonl")`. Rows are aimed at the boundaries of the expression and within the declared
    ranges; a row on which the two differ is made as simple as it can be. With `float32`, only numbers that a 32-bit
    float can hold are sent, and the reward's own constants are rounded likewise.

    >>> from plaudit import Field, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> report = parity(reaching, lambda distance: 1 if distance <= 2 else 0)
    >>> report.ok, dict(report.mismatch.inputs), report.mismatch.terms
    (False, {'distance': 2.0}, ('near',))
    """
    _check(examples, timeout, tolerance)
    judge = Judge(reward.program, tolerance, single=float32)
    if isinstance(against, Recorded):
        found = compared(judge, against, progress)
        return _report(reward, against.name, tolerance, **found)
    adapter: Adapter = against if isinstance(against, Adapter) else Function(against)
    try:
        from plaudit.checks.parity import draws
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise MissingExtra("parity draws its rows with hypothesis. Install it: pip install 'plaudit[prove]'") from None
    steps, aimed = Steps(reward), pools(reward, single=float32)
    steps.probe(aimed, seed)
    rows = draws.drawn(aimed, Inside(judge.program.bound()), steps.mended, single=float32)
    with adapter.start(judge.program.terms, timeout) as asked:
        hunt = Hunt(judge, steps, asked, progress)
        row = draws.simplest(rows, hunt.tells_apart, examples=examples, seed=seed)
        mismatch = hunt.mismatch(row, aimed)
    if not hunt.tested:
        raise DefinitionError(f"reward {reward.name!r} refuses every row that was tried: nothing can be compared.")
    return _report(
        reward,
        adapter.name,
        tolerance,
        tested=hunt.tested,
        refused=hunt.refused,
        aside=hunt.aside,
        differing=int(mismatch is not None),
        mismatch=mismatch,
    )


def _report(reward: Reward, against: str, tolerance: float | None, **found: Any) -> ParityReport:
    return ParityReport(
        reward=reward.name,
        version=reward.version,
        fingerprint=reward.fingerprint,
        against=against,
        tolerance=tolerance,
        **found,
    )


def _check(examples: int, timeout: float, tolerance: float | None) -> None:
    if not isinstance(examples, int) or examples < 1:  # type: ignore[redundant-expr]
        raise DefinitionError(f"examples={examples!r} must be a whole number of at least 1")
    if not timeout > 0 or math.isinf(timeout):
        raise DefinitionError(f"timeout={timeout!r} must be a number of seconds above 0")
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise DefinitionError(f"tolerance={tolerance!r} must be a number of at least 0")
