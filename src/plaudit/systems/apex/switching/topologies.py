"""Who may talk to whom: the rules of the three topologies, as a table."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from plaudit.errors import did_you_mean
from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.switching.messages import BROADCAST, SYSTEM

TOPOLOGIES = ("star", "chain", "flat")
"""The topologies there are."""

STAY = "stay"
"""The action that leaves the topology as it is; asking for the active topology by name is the same."""

ACTIONS = (STAY, *TOPOLOGIES)
"""What a decision may ask for: leave the topology as it is, or change it."""

HUB = "planner"
"""The agent in the middle of the star."""

CHAIN = ("planner", "coder", "runner", "critic", "summarizer")
"""The order of the chain, which closes with the planner; an agent that is not there is skipped."""

MAX_FAN_OUT = 2
"""How many agents a broadcast may reach in the flat topology."""


def find_recipients(topology: str, sender: str, recipient: str, agents: Sequence[str]) -> tuple[str, ...]:
    """Return the agents that a message reaches, in the order of `agents`, or refuse it.

    The `reason` of the refusal is "unknown_topology", "unknown_sender", "unknown_recipient", "to_self",
    "not_through_hub", "not_next_hop", "no_broadcast" or "fan_out". The system may always send.

    >>> find_recipients("star", "planner", BROADCAST, ("planner", "coder", "critic"))
    ('coder', 'critic')
    """
    if topology not in TOPOLOGIES:
        raise _build_refusal("unknown_topology", f"there is no topology {topology!r}, but {', '.join(TOPOLOGIES)}.")
    if sender not in agents and sender != SYSTEM:
        raise _build_refusal("unknown_sender", _describe_unknown_agent(sender, agents))
    if recipient == BROADCAST:
        reached = tuple(agent for agent in agents if agent != sender)
    elif recipient not in agents:
        raise _build_refusal("unknown_recipient", _describe_unknown_agent(recipient, agents))
    elif recipient == sender:
        raise _build_refusal("to_self", f"{sender!r} cannot send to itself.")
    else:
        reached = (recipient,)
    if sender != SYSTEM:
        rules = _BROADCAST if recipient == BROADCAST else _UNICAST
        rules[topology](sender, reached, agents)
    return reached


def find_next_hop(sender: str, agents: Sequence[str]) -> str | None:
    """Return the agent that follows `sender` in the chain of those that are there; None where it has no place in it.

    >>> find_next_hop("critic", ("planner", "coder", "runner", "critic"))
    'planner'
    """
    chain = [agent for agent in CHAIN if agent in agents]
    return chain[(chain.index(sender) + 1) % len(chain)] if sender in chain else None


def _require_hub(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    if HUB not in (sender, *reached):
        raise _build_refusal("not_through_hub", f"in a star {sender!r} talks to {HUB!r} only, not to {reached[0]!r}.")


def _require_next(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    after = find_next_hop(sender, agents)
    if after != reached[0]:
        raise _build_refusal(
            "not_next_hop",
            f"in a chain {sender!r} talks to {after!r} only, not to {reached[0]!r}."
            if after
            else f"{sender!r} has no place in the chain {' → '.join(CHAIN)}.",
        )


def _allow_anyone(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    """Let every pair talk."""


def _require_hub_sender(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    if sender != HUB:
        raise _build_refusal("no_broadcast", f"in a star only {HUB!r} sends to everyone, not {sender!r}.")


def _refuse_broadcast(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    raise _build_refusal("no_broadcast", "in a chain nobody sends to everyone: send to the next agent.")


def _limit_fan_out(sender: str, reached: tuple[str, ...], agents: Sequence[str]) -> None:
    if len(reached) > MAX_FAN_OUT:
        raise _build_refusal(
            "fan_out",
            f"a broadcast of {sender!r} would reach {len(reached)} agents, and {MAX_FAN_OUT} is the most when "
            "all are equal: send to each of them.",
        )


_Rule = Callable[[str, tuple[str, ...], Sequence[str]], None]

_UNICAST: Mapping[str, _Rule] = MappingProxyType({"star": _require_hub, "chain": _require_next, "flat": _allow_anyone})

_BROADCAST: Mapping[str, _Rule] = MappingProxyType(
    {"star": _require_hub_sender, "chain": _refuse_broadcast, "flat": _limit_fan_out}
)


def _build_refusal(reason: str, message: str) -> MessageRefused:
    return MessageRefused(message, reason=reason)


def _describe_unknown_agent(name: str, agents: Sequence[str]) -> str:
    return f"there is no agent {name!r}, but {', '.join(agents)}.{did_you_mean(name, agents)}"
