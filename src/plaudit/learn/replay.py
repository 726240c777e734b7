"""Learning from the records of a ledger."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.errors import InputError, WrongType
from plaudit.learn.bandits import Learner
from plaudit.learn.decision import Decision
from plaudit.reward.reward import Reward

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger
    from plaudit.ledger.record import Record


def fit(
    ledger: "Ledger",
    learner: Learner,
    *,
    decision_class: str,
    under: Reward | None = None,
    mixed: bool = False,
    skip: Collection[int] = (),
    **query: Any,
) -> Any:
    """Replay the decisions of a class and return the learner's state.

    It is bit-identical to the state of a learner that learned as the records came in.

    Args:
        ledger: The ledger with the decisions.
        learner: The learner; it is not changed.
        decision_class: Which decisions to learn from.
        under: Another reward, to score the recorded inputs again: what would have been learned with it.
        mixed: Allow rewards of several versions, which are not comparable.
        skip: Numbers of records to leave out.
        **query: Further selection, as for `Ledger.history`; `version=…` selects one version.

    Returns:
        The state.

    Raises:
        InputError: Rewards are not comparable, or a record cannot be learned from; the message names it.

    Example:
        ```python
        from plaudit.learn import fit, linucb

        bandit = linucb(("small", "large"), ("difficulty",))
        state = fit(ledger, bandit, decision_class="model_tier")
        print(bandit.choose(state, key=7, context=[0.9]).action)
        ```
    """
    state, formula = learner.init(), None
    for record in ledger.history(decision_class=decision_class, **query):
        lesson = None if record.id in skip else read_lesson(record, under=under)
        if lesson is None:
            continue
        if formula not in (None, lesson.formula) and not mixed:
            raise not_comparable(decision_class, str(formula), lesson.formula)
        state, formula = teach(learner, state, record, lesson), lesson.formula
    return state


class Lesson(NamedTuple):
    """What one record teaches: a decision, as it was carried out, and what it earned."""

    decision: Decision
    reward: float
    again: bool
    """Whether the decision had a reward before."""
    formula: str
    """Which reward that was, with its version: numbers of different ones are not comparable."""


def read_lesson(record: "Record", *, under: Reward | None = None) -> Lesson | None:
    """Return what a record teaches; None where it holds no decision, or where nothing may be learnt from it.

    Where the choice was refused and something else ran, the record says so (`executed`), and that is what is credited,
    unless it says what else is (`credited`).
    `under` scores the recorded inputs by another reward.
    """
    context = record.context
    if not isinstance(context, Mapping) or "decision" not in context or context.get("blocked") is not None:
        return None
    decision = Decision.from_dict(context["decision"], f"record {record.id}")
    ran = context["decision"].get("credited", context["decision"].get("executed"))
    if ran is not None:
        if not isinstance(ran, str):
            raise WrongType(f"record {record.id}: what ran is {ran!r:.60}, which is not a string.")
        decision = decision.credit_to(ran)
    formula, total = record.signal, record.total
    if under is not None:
        formula = under.score(**record.signal.inputs)
        total = formula.total
    return Lesson(decision, total, context.get("again") is True, f"{formula.reward}@{formula.version}")


def teach(learner: Learner, state: Any, record: "Record", lesson: Lesson) -> Any:
    """Return the state of a learner after a record; an error says which record it was.

    Where the record names the features that its decision was made on, they must be the learner's.
    """
    names = record.context["decision"].get("features") if record.context else None
    if isinstance(names, list) and tuple(names) != learner.features:
        raise InputError(
            f"record {record.id} was decided on the features {', '.join(map(str, names))}, but the learner of "
            f"{record.decision_class!r} reads {', '.join(learner.features) or 'none'}. Use the same features, or "
            "a separate ledger or decision class."
        )
    try:
        return learner.update(state, lesson.decision, lesson.reward, again=lesson.again)
    except InputError as error:
        error.add_note(
            f"in record {record.id} of the decision class {record.decision_class!r}; "
            f"pass skip={{{record.id}}} to leave it out, here and wherever else you learn from these records"
        )
        raise


def not_comparable(decision_class: str, one: str, other: str) -> InputError:
    """Return the error for rewards of two formulas in one decision class."""
    return InputError(
        f"the rewards of {decision_class!r} come from {one} and {other}, which are not comparable. Learn under one of "
        "them, fit(…, under=reward), select one, fit(…, version=…), or pass mixed=True."
    )
