"""The eight numbers that a decision about the topology is made on."""

from collections import deque
from collections.abc import Mapping

from plaudit.errors import DefinitionError, UnknownCategory, WrongType, did_you_mean
from plaudit.systems.apex.budget import TokenBudget
from plaudit.systems.apex.phases import SENDER_ALIASES, SENDERS
from plaudit.systems.apex.switching.topologies import TOPOLOGIES

FEATURES = (
    *TOPOLOGIES,
    "steps_since_switch",
    "planner_share",
    "coder_runner_share",
    "critic_share",
    "token_headroom",
)
"""What the eight numbers are, in order; each of them is from 0 to 1."""

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
        budget: TokenBudget | None = None,
        window: int = WINDOW,
        aliases: Mapping[str, str] = SENDER_ALIASES,
    ) -> None:
        """Begin with no messages; without a `budget` there is one of 10,000 tokens."""
        if window < 0:
            raise DefinitionError(f"window={window!r} must be a number of steps from 0 up.")
        self.budget = TokenBudget() if budget is None else budget
        self._names = {name: name for name in SENDERS} | {other.lower(): name for other, name in aliases.items()}
        if unknown := set(self._names.values()) - set(SENDERS):
            raise DefinitionError(f"aliases: {min(unknown)!r} is none of the roles {', '.join(SENDERS)}.")
        self._past: deque[dict[str, int]] = deque(maxlen=window)
        self._now = dict.fromkeys(SENDERS, 0)
        self._sums = dict.fromkeys(SENDERS, 0)

    def add_message(self, sender: str) -> None:
        """Count a message of `sender`, in any case and by any of its names; one who has no role is left out."""
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
        self._now = dict.fromkeys(SENDERS, 0)

    @property
    def counts(self) -> dict[str, int]:
        """How many messages of the window each role sent."""
        return dict(self._sums)

    @property
    def role_shares(self) -> dict[str, float]:
        """The share of the messages of planner, coder with runner, and critic: what a state keeps as `role_shares`."""
        sums = self._sums
        parts = {
            "planner": sums["planner"],
            "coder_runner": sums["coder"] + sums["runner"],
            "critic": sums["critic"],
        }
        total = sum(parts.values())
        return {role: part / total if total else 0.0 for role, part in parts.items()}

    def encode(self, topology: str, *, steps_since_switch: int, dwell: int = 2) -> tuple[float, ...]:
        """Return the eight numbers, in the order of `FEATURES`.

        `steps_since_switch` counts as 1 from `dwell` on, the steps that a topology is kept at least.
        """
        if topology not in TOPOLOGIES:
            near = did_you_mean(topology, TOPOLOGIES)
            raise UnknownCategory(f"topology {topology!r:.60} is none of {', '.join(TOPOLOGIES)}.{near}")
        return (
            *(1.0 if topology == each else 0.0 for each in TOPOLOGIES),
            min(1.0, max(0.0, steps_since_switch / max(1, dwell))),
            *self.role_shares.values(),
            self.budget.headroom,
        )
