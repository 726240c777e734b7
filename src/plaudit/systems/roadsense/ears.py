"""What the driven car hears of the others in every step, and what it remembers of their warnings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plaudit.systems.roadsense.convoy import Convoy
from plaudit.systems.roadsense.measured import Measured
from plaudit.systems.roadsense.observation_builder import NOBODY, sighted
from plaudit.systems.roadsense.radio import IdealRadio, Radio
from plaudit.systems.roadsense.warned import Warned
from plaudit.systems.roadsense.world import EGO, CarState

_tuple = tuple.__new__  # Measured(…) in a third of the time


class Ears:
    """Listens over a radio, step by step, and says what the reward can read."""

    def __init__(self, convoy: Convoy, radio: Radio | None = None) -> None:
        """Listen to a convoy; over a radio that loses nothing if no other is given."""
        self._convoy, self._radio = convoy, radio or IdealRadio()
        self._exact = isinstance(self._radio, IdealRadio)
        self.warned = Warned()
        self.heard: Mapping[str, CarState] = {}
        """What is known of every car that was heard."""
        self.sighting = NOBODY
        """What that comes to."""
        self.true_distance = NOBODY.distance
        """Metres to the nearest car ahead, whatever was heard."""

    def reset(self, rng: np.random.Generator) -> None:
        """Forget everything: a convoy is about to set out."""
        self._radio.reset(rng)
        self.warned.reset()

    def listen(self) -> None:
        """Take in what arrives in this step."""
        self.heard = self._radio.exchange(self._convoy.time, self._convoy.cars, EGO)

    def measured(self, action: int, deceleration: float) -> Measured:
        """Return the step that was just made, in which the driven car braked so by this action."""
        ego, warned = self._convoy.ego, self.warned
        assert ego is not None  # an episode ends without it
        self.sighting = sighting = sighted(ego, self.heard)
        warned.hear(sighting, self.heard, self._convoy.hazard.source)
        self.true_distance = sighting.distance if self._exact else self._convoy.distance()
        distance, closing_rate, _, peer_braking, _, fresh_braking, _ = sighting
        signals = (float(warned.now), float(warned.ever), float(warned.peer_ever), warned.fading)
        step = (distance, deceleration, action, closing_rate, ego.speed, peer_braking, fresh_braking, *signals)
        return _tuple(Measured, step)

    def told(self) -> dict[str, Any]:
        """Return what was heard and what is remembered, under the names that `info` has for it."""
        sighting, warned = self.sighting, self.warned
        return {
            "distance": sighting.distance,
            "true_distance": self.true_distance,
            "closing_rate": sighting.closing_rate,
            "mesh_received_source_ids": tuple(self.heard),
            "mesh_any_braking_peer_received": sighting.braking_peer,
            "any_braking_peer": sighting.peer_braking,
            "braking_received": warned.fading > 0.0,
            "braking_received_decay": warned.fading,
            "hazard_source_braking_latched": warned.ever,
        }
