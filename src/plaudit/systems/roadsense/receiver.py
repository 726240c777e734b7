"""What the driven car hears of the others in every step, and what it remembers of their warnings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plaudit.systems.roadsense.convoy import Convoy
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.observation_builder import BRAKES, NOBODY, Sighting, build_sighting
from plaudit.systems.roadsense.radio import IdealRadio, Radio
from plaudit.systems.roadsense.world import COLLISION, EGO, CarState, is_fresh

FADES = 0.95
"""What is left of the fading signal after a step: half of it after 1.35 s."""
_new = tuple.__new__  # Measurement(…) in a third of the time


class Receiver:
    """Listens over a radio, step by step, and says what the reward can read."""

    def __init__(self, convoy: Convoy, radio: Radio | None = None) -> None:
        """Listen to a convoy; over a radio that loses nothing if no other is given."""
        self._convoy, self._radio = convoy, radio or IdealRadio()
        self._exact = isinstance(self._radio, IdealRadio)
        self.warnings = WarningMemory()
        self.heard: Mapping[str, CarState] = {}
        """What is known of every car that was heard."""
        self.sighting = NOBODY
        """What that comes to."""
        self.true_distance = NOBODY.distance
        """Metres to the nearest car ahead, whatever was heard."""

    def reset(self, rng: np.random.Generator) -> None:
        """Forget everything: a convoy is about to set out."""
        self._radio.reset(rng)
        self.warnings.reset()

    def listen(self) -> None:
        """Take in what arrives in this step."""
        self.heard = self._radio.exchange(self._convoy.time, self._convoy.cars, EGO)

    def measure(self, action: int, deceleration: float) -> Measurement:
        """Return the step that was just made, in which the driven car braked so by this action."""
        ego, warnings = self._convoy.ego, self.warnings
        assert ego is not None  # an episode ends without it
        self.sighting = sighting = build_sighting(ego, self.heard)
        warnings.update(sighting, self.heard, self._convoy.hazard.source)
        self.true_distance = sighting.distance if self._exact else self._convoy.measure_distance()
        distance, closing_rate, _, peer_braking, _, fresh_braking, _ = sighting
        signals = (float(warnings.now), float(warnings.ever), float(warnings.peer_ever), warnings.fading)
        step = (distance, deceleration, action, closing_rate, ego.speed, peer_braking, fresh_braking, *signals)
        return _new(Measurement, (*step, self.true_distance < COLLISION))

    def describe(self) -> dict[str, Any]:
        """Return what was heard and what is remembered, under the names that `info` has for it."""
        sighting, warnings = self.sighting, self.warnings
        return {
            "distance": sighting.distance,
            "true_distance": self.true_distance,
            "closing_rate": sighting.closing_rate,
            "mesh_received_source_ids": tuple(self.heard),
            "mesh_any_braking_peer_received": sighting.braking_peer,
            "any_braking_peer": sighting.peer_braking,
            "braking_received": warnings.fading > 0.0,
            "braking_received_decay": warnings.fading,
            "hazard_source_braking_latched": warnings.ever,
        }


class WarningMemory:
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

    def update(self, sighting: Sighting, messages: Mapping[str, CarState], source: str | None) -> None:
        """Take in what was heard in a step; `source` is the car that the hazard befell, once it has.

        >>> from plaudit.systems.roadsense.observation_builder import build_sighting
        >>> ego, memory = CarState(0.0, 0.0, 15.0, 0.0, 0.0), WarningMemory()
        >>> for acceleration in (-3.0, 0.0, 0.0):
        ...     heard = {"V002": CarState(0.0, 30.0, 15.0, acceleration, 0.0, age=4.0)}
        ...     memory.update(build_sighting(ego, heard), heard, "V002")
        ...     print(memory.now, memory.ever, memory.peer_ever, memory.fading)
        True True True 1.0
        False True True 0.95
        False True True 0.9025
        """
        message = messages.get(source) if source is not None else None
        self.now = message is not None and message.acceleration <= BRAKES and is_fresh(message)
        self.ever = self.ever or self.now
        self.peer_ever = self.peer_ever or sighting.braking_peer
        self.fading = 1.0 if sighting.fresh_braking else FADES * self.fading
