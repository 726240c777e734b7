"""How the agents of the example reach each other, whatever the topology: directly, or with others passing it on."""

from collections import deque
from typing import Any, NamedTuple

from plaudit.errors import MessageRefused
from plaudit.systems.apex.features import FeatureSource
from plaudit.systems.apex.switching import HUB, SYSTEM, Message, Router, next_hop

_WAYS_ROUND = ("not_through_hub", "not_next_hop")
"""Refusals that mean: somebody else has to pass it on."""


class Said(NamedTuple):
    """A message that was let through, as the example shows it."""

    step: int
    sender: str
    recipient: str
    """Who gets it."""
    meant_for: str
    """Who it is for; another agent passes it on."""
    text: str


class Talk:
    """The conversation of an episode: what is sent goes through the router, what is received is in an agent's hand."""

    def __init__(self, router: Router, features: FeatureSource) -> None:
        """Begin in silence; `features` is told who speaks."""
        self.router = router
        self.features = features
        self.said: list[Said] = []
        self.refused = 0
        """How often the topology refused the direct way."""
        self.step = 0
        self._hands: dict[str, deque[Message]] = {agent: deque() for agent in router.agents}

    def send(self, sender: str, recipient: str, text: str, **content: Any) -> None:
        """Send a message to `recipient`; where the topology does not allow it, to whoever can pass it on."""
        payload = {"for": recipient, "text": text, **content}
        try:
            reached = self.router.send(sender=sender, recipient=recipient, payload=payload)
        except MessageRefused as refusal:
            if refusal.reason not in _WAYS_ROUND:
                raise
            self.refused += 1
            way = HUB if refusal.reason == "not_through_hub" else next_hop(sender, self.router.agents)
            reached = self.router.send(sender=sender, recipient=way or HUB, payload=payload)
        self.features.message(sender)
        self.said += [Said(self.step, sender, message.recipient, recipient, text) for message in reached]

    def start(self, text: str) -> None:
        """Give the planner its goal."""
        self.send(SYSTEM, HUB, text, goal=True)

    def collect(self) -> None:
        """Let every agent take what waits for it: a switch can begin when nothing is on its way any more."""
        for agent, hand in self._hands.items():
            while (message := self.router.receive(agent)) is not None:
                hand.append(message)

    def next(self, agent: str) -> Message | None:
        """Return the oldest message in an agent's hand, which stays there until it is `done`."""
        return self._hands[agent][0] if self._hands[agent] else None

    def done(self, agent: str) -> None:
        """Lay the oldest message down."""
        self._hands[agent].popleft()
