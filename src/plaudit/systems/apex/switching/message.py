"""A message between two agents, and what JSON makes of its payload."""

import json
from dataclasses import dataclass
from typing import Any

from plaudit.errors import MessageRefused

BROADCAST = "BROADCAST"
"""The recipient that stands for every agent but the sender."""

SYSTEM = "system"
"""The sender that is no agent: it kicks an episode off, and no topology holds it back."""

LARGEST_PAYLOAD = 512 * 1024
"""How many bytes a payload may have as compact JSON."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Message:
    """What one agent says to another; times are readings of the router's clock.

    >>> Message(episode_id="e1", msg_id="m1", sender="planner", recipient="coder", payload={"do": "it"}).attempt
    0
    """

    episode_id: str
    msg_id: str
    sender: str
    recipient: str
    """An agent, or `BROADCAST`; in a copy that the router made, the agent it is for."""
    payload: Any
    """Whatever JSON can hold."""
    topo_epoch: int = 0
    """The epoch it is delivered in: the router's to say, whatever the sender wrote."""
    attempt: int = 0
    """How often it was put back after it had been received."""
    created_ts: float = 0.0
    """When it was made; 0 stands for the moment it is sent."""
    expires_ts: float = 0.0
    """From when on it is delivered no more; 0 stands for the router's own time to live."""
    redelivered: bool = False
    """Whether it was queued more than once: put back by its receiver, or moved by a switch that was called off."""
    drop_reason: str | None = None
    """Why it was given up, where it was."""


def carried(payload: Any) -> str:
    """Return `payload` as compact JSON, or refuse what is too large or no JSON.

    >>> carried({"pass": 3, "of": 4})
    '{"pass":3,"of":4}'
    """
    try:
        text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageRefused(
            f"the payload is no JSON: {error}. Send texts, finite numbers, flags, None, and lists and objects of them.",
            reason="payload_not_json",
        ) from None
    if size > LARGEST_PAYLOAD:
        raise MessageRefused(
            f"the payload has {size:,} bytes as compact JSON; a message carries up to {LARGEST_PAYLOAD:,}. "
            "Write what is larger to a file and send its name.",
            reason="payload_too_large",
        )
    return text
