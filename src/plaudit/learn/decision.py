"""One decision: what was chosen, how likely that was, and on what. It is what a log must hold to be learnt from."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from plaudit.errors import MissingField, OutOfRange, WrongType
from plaudit.learn.validate import parse_number, parse_numbers


class Decision(NamedTuple):
    """A choice among actions, complete enough to learn from later and to judge other policies by.

    >>> Decision("star", 0.25, None, (0.5, 1.0), 7).to_dict()
    {'action': 'star', 'probability': 0.25, 'x': [0.5, 1.0], 'number': 7}
    """

    action: str
    probability: float | None
    """How likely this action was, exactly; None if not known: no policy can be judged by it."""
    probabilities: tuple[float, ...] | None
    """How likely each action was, in the learner's order, where all of them are known."""
    context: tuple[float, ...] | None
    """The features it was made on; None for a learner without any."""
    number: int
    """How many decisions the learner had been credited with."""
    epsilon: float | None = None
    """The share of decisions that were made at random at that time, where there is such a share."""
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data for JSON, without what is not known."""
        plain = {
            "id": self.id,
            "action": self.action,
            "probability": self.probability,
            "probabilities": None if self.probabilities is None else list(self.probabilities),
            "x": None if self.context is None else list(self.context),
            "number": self.number,
            "epsilon": self.epsilon,
        }
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "a decision") -> Self:
        """Return the decision that a record holds; what it says beyond that is left alone.

        >>> Decision.from_dict({"action": "flat", "probability": 0.05}).context is None
        True
        """
        if not isinstance(data, Mapping):
            raise WrongType(f"{where}: {data!r:.60} is not a mapping.")
        if "action" not in data:
            raise MissingField(f"{where}: it has no 'action'.")
        if not isinstance(data["action"], str):
            raise WrongType(f"{where}: action={data['action']!r:.60} is not a string.")
        x, all_of_them = data.get("x"), data.get("probabilities")
        number = data.get("number", 0)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise WrongType(f"{where}: number={number!r:.60} is not an integer from 0 up.")
        return cls(
            data["action"],
            _parse_share(data.get("probability"), f"{where}: probability"),
            None if all_of_them is None else _parse_shares(all_of_them, f"{where}: probabilities"),
            None if x is None else parse_numbers(x, f"{where}: x"),
            number,
            _parse_share(data.get("epsilon"), f"{where}: epsilon"),
            None if data.get("id") is None else str(data["id"]),
        )

    def credit_to(self, action: str, probability: float | None = None) -> Self:
        """Return the decision as it was carried out: another action ran than the one that was chosen.

        `probability` is how likely that outcome was, where it is known.
        """
        return self._replace(action=action, probability=probability, probabilities=None)


def _parse_shares(values: Any, name: str) -> tuple[float, ...]:
    shares = parse_numbers(values, name)
    if not all(0 <= share <= 1 for share in shares):
        raise OutOfRange(f"{name}={list(shares)!r:.80} are not all from 0 to 1.")
    return shares


def _parse_share(value: Any, name: str) -> float | None:
    if value is None:
        return None
    share = parse_number(value, name)
    if not 0 <= share <= 1:
        raise OutOfRange(f"{name}={share!r} is not from 0 to 1.")
    return share
