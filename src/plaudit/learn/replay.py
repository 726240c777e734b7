"""What a learner would know had it seen a ledger from its beginning, and what one record teaches."""

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
    """Return the state of a learner after every decision of a class that the ledger holds; `query` may narrow it.

    It is the state of one that learnt as the records came, to the bit.

    Args:
        ledger: Where the decisions are recorded.
        learner: What learns; it is not changed.
        decision_class: Which decisions to learn from.
        under: Another reward, which scores the recorded inputs anew: what would have been learnt with it.
        mixed: Whether rewards of several versions, which are not comparable, may be learnt from together.
        skip: Numbers of records to leave out.
        **query: Further choices of records, as for `Ledger.history`; `version=…` chooses one version.

    Raises:
        InputError: Rewards are not comparable, or a record cannot be learnt from; it is named.
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
            f"record {record.id} was decided on the features {', '.join(map(str, names))}, and the learner of "
            f"{record.decision_class!r} reads {', '.join(learner.features) or 'none'}. Learn on the same features, or "
            "in a ledger or decision class of its own."
        )
    try:
        return learner.update(state, lesson.decision, lesson.reward, again=lesson.again)
    except InputError as error:
        error.add_note(
            f"in record {record.id} of the decision class {record.decision_class!r}; "
            f"skip={{{record.id}}} leaves it out, here and wherever else these records are learnt from"
        )
        raise


def not_comparable(decision_class: str, one: str, other: str) -> InputError:
    """Return the error for rewards of two formulas in one decision class."""
    return InputError(
        f"the rewards of {decision_class!r} are of {one} and {other}, which are not comparable. Learn under one of "
        "them, fit(…, under=reward), choose one, fit(…, version=…), or say mixed=True."
    )
