"""`prove`: are two rewards equal, over everything that their fields are declared to be?

z3 answers over the rationals, on the very Programs that run; the bound on rounding is stated beside its answer. What
it cannot decide is tested on rows aimed at the boundaries, and said to be undecided all the same.
"""

from collections.abc import Callable
from typing import Any

from plaudit.checks.model import refuse_contradiction
from plaudit.checks.prove.proof import Proof
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.solver import Solver
from plaudit.errors import DefinitionError
from plaudit.language.field import RESERVED, Field
from plaudit.reward.reward import Reward
from plaudit.reward.state import State
from plaudit.reward.term import Term, term


def prove(
    left: Reward,
    right: Reward | Callable[..., Any],
    *,
    facts: bool = False,
    timeout: float = 10.0,
    examples: int = 2000,
    enlarge: bool = False,
) -> Proof:
    """Prove that two rewards are equal, or find where they differ.

    Args:
        left: The first reward. Its declared ranges are used.
        right: The other reward, or a plain function in the language of terms.
        facts: Compare only steps that satisfy the facts of `left`.
        timeout: Time limit for the whole proof, in seconds. After it the result is "undecided".
        examples: Number of rows to compare if nothing can be proved.
        enlarge: Search for the row at which the totals differ most.

    Returns:
        The verdict with the differences, or with a bound on the rounding error.

    Raises:
        DefinitionError: The two do not read the same kinds of fields, or no step satisfies the facts.

    >>> from plaudit import Field
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> prove(reaching, reaching).verdict
    'equal'
    """
    from plaudit.checks.prove.comparison import Comparison, Pair  # they need NumPy, and `import plaudit` does not

    if not isinstance(left, Reward):
        raise DefinitionError(f"the first argument of prove must be a Reward, not a {type(left).__name__}")
    pair = Pair.of(left, _to_reward(left, right), facts=facts)
    solver = Solver(Deadline.after(timeout))
    if facts:
        refuse_contradiction(pair.sides[0], solver, "has no steps to compare")
    comparison = Comparison(pair, solver)
    proof = comparison.prove(examples)
    return comparison.enlarge_total(proof, examples) if enlarge else proof


def _to_reward(left: Reward, right: Reward | Callable[..., Any]) -> Reward:
    """Return `right` as a reward; a plain function becomes one of a single term."""
    if isinstance(right, Reward):
        return right
    if not callable(right):
        raise DefinitionError(f"prove compares a reward with a reward or a function, not with a {type(right).__name__}")
    only = right if isinstance(right, Term) else term(name=_name_function(left, right))(right)
    fields, states = _list_readable(left, only)
    wanted = {*only.shared, *(name for state in states for name in state.shared)}
    shared = {name: value for name, value in {**left.shared, **left.constants}.items() if name in wanted}
    return Reward(
        getattr(right, "__name__", only.name),
        version="function",
        terms=[only],
        fields=[*fields, *states],
        shared=shared,
    )


def _list_readable(left: Reward, only: Term) -> tuple[list[Field], list[State]]:
    """Return the fields and the states of `left` that a function reads, and what the updates of those read in turn."""
    read: set[str] = set()
    more = set(only.reads)
    while more:
        read |= {name.rpartition(".")[2] for name in more}
        updates = [state.reads for name, state in left.states.items() if name in read]
        more = {name for reads in updates for name in reads if name.rpartition(".")[2] not in read}
    fields = [field for name, field in left.fields.items() if name in read and name not in left.states]
    return fields, [state for name, state in left.states.items() if name in read]


def _name_function(left: Reward, function: Callable[..., Any]) -> str:
    """Return a name for the term that a plain function becomes.

    The function computes a total, so it must not be compared with a term of `left`. A name that a term of `left` has,
    or that a term cannot have, gets an underscore.
    """
    name = getattr(function, "__name__", "function")
    while name in RESERVED or name in (each.name for each in left.terms):
        name = f"{name}_"
    return name
