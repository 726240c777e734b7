"""Messages between agents, and the switch from one topology to another while they talk."""

from plaudit.systems.apex.switching.coordinator import Coordinator, CoordinatorStats
from plaudit.systems.apex.switching.engine import SwitchEngine, SwitchPhase, SwitchResult
from plaudit.systems.apex.switching.messages import BROADCAST, LARGEST_PAYLOAD, SYSTEM, Message
from plaudit.systems.apex.switching.router import Router
from plaudit.systems.apex.switching.topologies import ACTIONS, CHAIN, HUB, STAY, TOPOLOGIES, Topologies, Topology

__all__ = [
    "ACTIONS",
    "BROADCAST",
    "CHAIN",
    "HUB",
    "LARGEST_PAYLOAD",
    "STAY",
    "SYSTEM",
    "TOPOLOGIES",
    "Coordinator",
    "CoordinatorStats",
    "Message",
    "Router",
    "SwitchEngine",
    "SwitchPhase",
    "SwitchResult",
    "Topologies",
    "Topology",
]
