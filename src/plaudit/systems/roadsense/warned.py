"""What an environment remembers of warnings: the four ways in which versions of the reward are told of one."""

from collections.abc import Mapping

from plaudit.systems.roadsense.observation_builder import BRAKES, Sighting
from plaudit.systems.roadsense.radio.message import STALE
from plaudit.systems.roadsense.world import CarState

FADES = 0.95
"""What is left of the fading signal after a step: half of it after 1.35 s."""


class Warned:
    """What is known in this step of warnings in it and before it. A warning is a peer at −2.5 m/s² or below."""

    __slots__ = ("ever", "fading", "now", "peer_ever")

    now: bool
    """The hazard's own warning is heard in this step: R9."""
    ever: bool
    """It was heard in this step or before: R9L."""
    peer_ever: bool
    """The warning of some peer, wherever it was, was heard in this step or before: R10."""
    fading: float
    """1 while a peer in front warns, × 0.95 in every step after that: from R11 on."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin an episode: nothing was heard."""
        self.now = self.ever = self.peer_ever = False
        self.fading = 0.0

    def hear(self, sighting: Sighting, messages: Mapping[str, CarState], source: str | None) -> None:
        """Take in what was heard in a step; `source` is the car that the hazard befell, once it has.

        >>> from plaudit.systems.roadsense.observation_builder import sighted
        >>> ego, warned = CarState(0.0, 0.0, 15.0, 0.0, 0.0), Warned()
        >>> for acceleration in (-3.0, 0.0, 0.0):
        ...     heard = {"V002": CarState(0.0, 30.0, 15.0, acceleration, 0.0, age=4.0)}
        ...     warned.hear(sighted(ego, heard), heard, "V002")
        ...     print(warned.now, warned.ever, warned.peer_ever, warned.fading)
        True True True 1.0
        False True True 0.95
        False True True 0.9025
        """
        message = messages.get(source) if source is not None else None
        self.now = message is not None and message.acceleration <= BRAKES and message.age < STALE
        self.ever = self.ever or self.now
        self.peer_ever = self.peer_ever or sighting.braking_peer
        self.fading = 1.0 if sighting.fresh_braking else FADES * self.fading
