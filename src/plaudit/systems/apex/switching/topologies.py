"""Who may talk to whom: the rules of the three topologies, as a table."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from plaudit.errors import MessageRefused, did_you_mean
from plaudit.systems.apex.switching.message import BROADCAST, SYSTEM

TOPOLOGIES = ("star", "chain", "flat")
"""The topologies there are."""

HUB = "planner"
"""The agent in the middle of the star."""

CHAIN = ("planner", "coder", "runner", "critic", "summarizer")
"""The order of the chain, which closes with the planner; an agent that is not there is skipped."""

WIDEST_FAN_OUT = 2
"""How many agents a broadcast may reach in the flat topology."""


def recipients(topology: str, sender: str, recipient: str, agents: Sequence[str]) -> tuple[str, ...]:
    """Return the agents that a message reaches, in the order of `agents`, or refuse it.

    The `reason` of the refusal is "unknown_topology", "unknown_sender", "unknown_recipient", "to_self",
    "not_through_hub", "not_next_hop", "no_broadcast" or "fan_out". The system may always send.

    >>> recipients("star", "planner", BROADCAST, ("planner", "coder", "critic"))
    ('coder', 'critic')
    """
    if topology not in TOPOLOGIES:
        raise _refused("unknown_topology", f"there is no topology {topology!r}, but {', '.join(TOPOLOGIES)}.")
    if sender not in agents and sender != SYSTEM:
        raise _refused("unknown_sender", _no_agent(sender, agents))
    if recipient == BROADCAST:
        reached = tuple(agent for agent in agents if agent != sender)
    elif recipient not in agents:
        raise _refused("unknown_recipient", _no_agent(recipient, agents))
    elif recipient == sender:
        raise _refused("to_self", f"{sender!r} cannot send to itself.")
    else:
        reached = (recipient,)
    if sender != SYSTEM:
        rules = _BROADCAST if recipient == BROADCAST else _UNICAST
        rules[topology](sender, reached, agents)
    return reached


def next_hop(sender: str, agents: Sequence[str]) -> str | None:
    """Return the agent that follows `sender` in the chain of those that are there; None where it has no place in it.

    >>> next_hop("critic", ("planner", "coder", "runner", "critic"))
    'planner'
    """
    chain = [agent for agent in CHAIN if agent in agents]
    return chain[(chain.index(sender) + 1) % len(chain)] if sender in chain else None


def _through_hub(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    if HUB not in (sender, *reached):
        raise _refused("not_through_hub", f"in a star {sender!r} talks to {HUB!r} only, not to {reached[0]!r}.")


def _to_next(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    after = next_hop(sender, agents)
    if after != reached[0]:
        raise _refused(
            "not_next_hop",
            f"in a chain {sender!r} talks to {after!r} only, not to {reached[0]!r}."
            if after
            else f"{sender!r} has no place in the chain {' → '.join(CHAIN)}.",
        )


def _to_anyone(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    """Let every pair talk."""


def _from_hub(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    if sender != HUB:
        raise _refused("no_broadcast", f"in a star only {HUB!r} sends to everyone, not {sender!r}.")


def _never(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    raise _refused("no_broadcast", "in a chain nobody sends to everyone: send to the next agent.")


def _to_few(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    if len(reached) > WIDEST_FAN_OUT:
        raise _refused(
            "fan_out",
            f"a broadcast of {sender!r} would reach {len(reached)} agents, and {WIDEST_FAN_OUT} is the most when "
            "all are equal: send to each of them.",
        )


_Rule = Callable[[str, tuple[str, ...], Sequence[str]], None]
_UNICAST: Mapping[str, _Rule] = MappingProxyType({"star": _through_hub, "chain": _to_next, "flat": _to_anyone})
_BROADCAST: Mapping[str, _Rule] = MappingProxyType({"star": _from_hub, "chain": _never, "flat": _to_few})


def _refused(reason: str, message: str) -> MessageRefused:
    return MessageRefused(message, reason=reason)


def _no_agent(name: str, agents: Sequence[str]) -> str:
    return f"there is no agent {name!r}, but {', '.join(agents)}.{did_you_mean(name, agents)}"
