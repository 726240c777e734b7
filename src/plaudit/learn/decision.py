"""One decision: the action, its probability and the features."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from plaudit.errors import MissingField, OutOfRange, WrongType
from plaudit.learn.validate import parse_number, parse_numbers


class Decision(NamedTuple):
    """A choice among actions, with all that is needed to learn from it later and to evaluate other policies on it.

    >>> Decision("star", 0.25, None, (0.5, 1.0), 7).to_dict()
    {'action': 'star', 'probability': 0.25, 'x': [0.5, 1.0], 'number': 7}
    """

    action: str
    probability: float | None
    """The exact probability of this action; None if unknown, and then no policy can be evaluated on it."""
    probabilities: tuple[float, ...] | None
    """The probability of each action, in the learner's order, if all of them are known."""
    context: tuple[float, ...] | None
    """The features; None for a learner without features."""
    number: int
    """How many decisions the learner had learned from before."""
    epsilon: float | None = None
    """The share of random decisions at that time, if the learner has one."""
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data for JSON.

        Returns:
            The known fields; the features are called `x`.
        """
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
        """Read the decision from a record; unknown keys are ignored.

        Args:
            data: What `to_dict` returned.
            where: How error messages call it.

        Returns:
            The decision.

        Raises:
            InputError: A field is missing or invalid.

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
            raise WrongType(f"{where}: number={number!r:.60} is not an integer of 0 or more.")
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
        """Return the decision as it was carried out, when another action ran than the chosen one.

        Args:
            action: The action that ran.
            probability: The probability of that outcome, if it is known.

        Returns:
            The decision for the action that ran.
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
