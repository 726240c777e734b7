"""Messages between agents, and the switch from one topology to another while they talk."""

from plaudit.systems.apex.switching.coordinator import Coordinator, Stats
from plaudit.systems.apex.switching.engine import Phase, SwitchEngine
from plaudit.systems.apex.switching.message import BROADCAST, LARGEST_PAYLOAD, SYSTEM, Message
from plaudit.systems.apex.switching.result import SwitchResult
from plaudit.systems.apex.switching.router import Router
from plaudit.systems.apex.switching.topologies import CHAIN, HUB, TOPOLOGIES, next_hop, recipients

__all__ = [
    "BROADCAST",
    "CHAIN",
    "HUB",
    "LARGEST_PAYLOAD",
    "SYSTEM",
    "TOPOLOGIES",
    "Coordinator",
    "Message",
    "Phase",
    "Router",
    "Stats",
    "SwitchEngine",
    "SwitchResult",
    "next_hop",
    "recipients",
]
