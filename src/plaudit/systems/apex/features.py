"""The numbers that a decision about the topology is made on: eight for the roles of the specification."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from plaudit.errors import DefinitionError, DuplicateName, UnknownCategory, WrongType, did_you_mean
from plaudit.systems.apex.budget import TokenBudget
from plaudit.systems.apex.phases import SENDER_ALIASES, SENDERS
from plaudit.systems.apex.switching.topologies import TOPOLOGIES
from plaudit.systems.apex.values import find_repeated, parse_names

_SHARES: Mapping[str, tuple[str, ...]] = {
    "planner": ("planner",),
    "coder_runner": ("coder", "runner"),
    "critic": ("critic",),
}
"""Whose messages are counted together, among the roles of the specification."""


def list_features(topologies: Iterable[str], shares: Iterable[str]) -> tuple[str, ...]:
    """Return what the numbers of a decision are, in order; each of them is from 0 to 1."""
    return (*topologies, "steps_since_switch", *(f"{role}_share" for role in shares), "token_headroom")


FEATURES = list_features(TOPOLOGIES, _SHARES)
"""The eight numbers of the specification, in order."""

WINDOW = 32
"""How many steps back messages are counted, besides the step that is under way."""


class FeatureSource:
    """Counts who speaks, step by step, and encodes what a decision is made on.

    Messages are counted over the last `window` steps and the one that is under way. The budget is the one that calls
    are charged to, so what a decision sees of it is what is left of it.

    >>> features = FeatureSource(budget=TokenBudget(1000))
    >>> for sender in ("planner", "Plan", "coder", "system"):
    ...     features.add_message(sender)
    >>> [round(share, 2) for share in features.encode("chain", steps_since_switch=1, dwell=2)]
    [0.0, 1.0, 0.0, 0.5, 0.67, 0.33, 0.0, 1.0]
    """

    def __init__(
        self,
        *,
        roles: Sequence[str] = SENDERS,
        topologies: Sequence[str] = TOPOLOGIES,
        budget: TokenBudget | None = None,
        window: int = WINDOW,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """Begin with no messages.

        Args:
            roles: Whose messages are counted: `router.roles`. Each has a share of its own; of the specification's four,
                coder and runner have one together.
            topologies: Those that can be active: `router.topologies`.
            budget: What calls are charged to; 10,000 tokens unless given.
            window: How many steps back messages are counted.
            aliases: Other names of the roles.
        """
        if window < 0:
            raise DefinitionError(f"window={window!r} must be 0 or more.")
        roles, self.topologies = parse_names("roles", roles), parse_names("topologies", topologies)
        known = {*roles} == {*SENDERS}
        if aliases is None:
            aliases = SENDER_ALIASES if known else {}
        self.budget = TokenBudget() if budget is None else budget
        self._shares = _SHARES if known else {role: (role,) for role in roles}
        self.names = list_features(self.topologies, self._shares)
        """What the numbers are, in order."""
        self._names = {role.lower(): role for role in roles} | {other.lower(): name for other, name in aliases.items()}
        if len({role.lower() for role in roles}) < len(roles):
            raise DuplicateName(f"two of the roles {', '.join(roles)} are the same, or differ only in case.")
        if repeated := find_repeated(self.names):
            raise DuplicateName(f"two features would be called {repeated!r}: {', '.join(self.names)}.")
        if unknown := set(self._names.values()) - set(roles):
            raise DefinitionError(f"aliases: {min(unknown)!r} is not one of the roles {', '.join(roles)}.")
        self._past: deque[dict[str, int]] = deque(maxlen=window)
        self._now = dict.fromkeys(roles, 0)
        self._sums = dict.fromkeys(roles, 0)

    def add_message(self, sender: str) -> None:
        """Count a message.

        Args:
            sender: The sender's role or alias, in any case. A sender without a role is not counted.

        Raises:
            WrongType: The sender is not a string.
        """
        if not isinstance(sender, str):
            raise WrongType(f"sender {sender!r:.60} is not a string.")
        role = self._names.get(sender.strip().lower())
        if role is not None:
            self._now[role] += 1
            self._sums[role] += 1

    def end_step(self) -> None:
        """End the step: its messages join the window, and those of the oldest step leave it."""
        if self._past.maxlen == len(self._past):
            for role, number in (self._past[0] if self._past else self._now).items():
                self._sums[role] -= number
        self._past.append(self._now)
        self._now = dict.fromkeys(self._sums, 0)

    @property
    def counts(self) -> dict[str, int]:
        """How many messages of the window each role sent."""
        return dict(self._sums)

    @property
    def role_shares(self) -> dict[str, float]:
        """The share of the messages that each role sent, coder and runner together: a state's `role_shares`."""
        parts = {share: sum(self._sums[role] for role in together) for share, together in self._shares.items()}
        total = sum(parts.values())
        return {role: part / total if total else 0.0 for role, part in parts.items()}

    def encode(self, topology: str, *, steps_since_switch: int, dwell: int = 2) -> tuple[float, ...]:
        """Return the feature vector, in the order of `names`.

        Args:
            topology: The active topology.
            steps_since_switch: Steps since the last switch; the feature is 1 from `dwell` on.
            dwell: The minimum number of steps between two switches.

        Returns:
            The features.

        Raises:
            UnknownCategory: The topology is not one of `topologies`.
        """
        if topology not in self.topologies:
            near = did_you_mean(str(topology), self.topologies)
            raise UnknownCategory(f"topology {topology!r:.60} is not one of {', '.join(self.topologies)}.{near}")
        return (
            *(1.0 if topology == each else 0.0 for each in self.topologies),
            min(1.0, max(0.0, steps_since_switch / max(1, dwell))),
            *self.role_shares.values(),
            self.budget.headroom,
        )
