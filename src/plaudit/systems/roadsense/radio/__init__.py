"""The radio between the cars: what is heard of whom, how late and how exactly."""

from typing import Any, Literal, get_args

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.systems.roadsense.radio.ideal import IdealRadio
from plaudit.systems.roadsense.radio.mesh import MeshRadio
from plaudit.systems.roadsense.radio.message import STALE, Radio, valid
from plaudit.systems.roadsense.radio.parameters import PARAMETERS, RadioParameters
from plaudit.systems.roadsense.radio.queue import QueueRadio

__all__ = [
    "IDEAL",
    "PARAMETERS",
    "STALE",
    "TRANSPORTS",
    "IdealRadio",
    "Radio",
    "RadioParameters",
    "Transport",
    "radio",
    "valid",
]

IDEAL = "ideal"
"""The name of the radio that loses, delays and blurs nothing."""
Transport = Literal["mesh", "queue"]
TRANSPORTS: tuple[str, ...] = get_args(Transport)


def radio(
    parameters: str | RadioParameters = IDEAL, *, transport: Transport = "mesh", randomised: bool = True
) -> Radio:
    """Return a radio: the ideal one, or one of a set of parameters, by name or your own.

    `randomised` draws latency, loss, jitter and noise of the position anew for each episode, from the set's ranges.

    >>> radio("feild")
    Traceback (most recent call last):
    ...
    plaudit.errors.DefinitionError: radio='feild': give RadioParameters, or one of ideal, default, bench, field.
        Did you mean 'field'?
    """
    if transport not in TRANSPORTS:
        near = did_you_mean(str(transport), TRANSPORTS)
        raise DefinitionError(f"transport={transport!r}: it is one of {', '.join(TRANSPORTS)}.{near}")
    if isinstance(parameters, str) and parameters == IDEAL:
        return IdealRadio()
    kind = MeshRadio if transport == "mesh" else QueueRadio
    return kind(_parameters(parameters), randomised=randomised)


def _parameters(given: Any) -> RadioParameters:
    if isinstance(given, RadioParameters):
        return given
    if isinstance(given, str) and given in PARAMETERS:
        return PARAMETERS[given]
    names = (IDEAL, *PARAMETERS)
    near = did_you_mean(str(given), names)
    raise DefinitionError(f"radio={given!r}: give RadioParameters, or one of {', '.join(names)}.{near}")
