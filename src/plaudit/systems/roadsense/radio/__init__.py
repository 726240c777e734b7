"""The radio between the cars: what is heard of whom, how late and how exactly."""

from collections.abc import Mapping
from typing import Literal, Protocol, get_args

import numpy as np

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.systems.roadsense.radio.mesh import MeshRadio
from plaudit.systems.roadsense.radio.parameters import PARAMETERS, RadioParameters
from plaudit.systems.roadsense.radio.queue import QueueRadio
from plaudit.systems.roadsense.validate import find_named
from plaudit.systems.roadsense.world import CarState

__all__ = ["IDEAL", "PARAMETERS", "TRANSPORTS", "IdealRadio", "Radio", "RadioParameters", "Transport", "build_radio"]

IDEAL = "ideal"
"""The name of the radio that loses, delays and blurs nothing."""
Transport = Literal["mesh", "queue"]
TRANSPORTS: tuple[str, ...] = get_args(Transport)


class Radio(Protocol):
    """How messages get from car to car."""

    def reset(self, rng: np.random.Generator) -> None:
        """Begin an episode: forget what was heard, and take all chance from `rng` from now on."""

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> Mapping[str, CarState]:
        """Let every car broadcast once, at `now` milliseconds; return the newest message of each source at `ego`."""


class IdealRadio:
    """Every car hears every other at once and exactly."""

    def reset(self, rng: np.random.Generator) -> None:
        """Do nothing: there is nothing to forget, and no chance."""

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> dict[str, CarState]:
        """Return what every car but `ego` is doing now."""
        heard = dict(cars)
        heard.pop(ego, None)
        return heard


def build_radio(
    parameters: str | RadioParameters = IDEAL, *, transport: Transport = "mesh", randomised: bool = True
) -> Radio:
    """Return a radio: the ideal one, or one of a set of parameters, by name or your own.

    `randomised` draws latency, loss, jitter and noise of the position anew for each episode, from the set's ranges.

    >>> build_radio("feild")
    Traceback (most recent call last):
    ...
    plaudit.errors.DefinitionError: radio='feild': give a RadioParameters, or one of ideal, default, bench, field.
        Did you mean 'field'?
    """
    if transport not in TRANSPORTS:
        near = did_you_mean(str(transport), TRANSPORTS)
        raise DefinitionError(f"transport={transport!r} must be one of {', '.join(TRANSPORTS)}.{near}")
    if isinstance(parameters, str) and parameters == IDEAL:
        return IdealRadio()
    chosen = find_named("radio", parameters, RadioParameters, PARAMETERS, others=[IDEAL])
    return (MeshRadio if transport == "mesh" else QueueRadio)(chosen, randomised=randomised)
