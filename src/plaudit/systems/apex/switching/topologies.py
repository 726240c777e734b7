"""Who may send to whom: the three topologies of the specification over any roles, and topologies of your own."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from plaudit.errors import DefinitionError, DuplicateName, UnknownCategory, WrongType, did_you_mean
from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.phases import SENDERS
from plaudit.systems.apex.switching.messages import BROADCAST, SYSTEM
from plaudit.systems.apex.values import find_repeated, parse_names

TOPOLOGIES = ("star", "chain", "flat")
"""The topologies that every router has."""

STAY = "stay"
"""The action that leaves the topology as it is; asking for the active topology by name is the same."""

ACTIONS = (STAY, *TOPOLOGIES)
"""What a decision may ask for: leave the topology as it is, or change it."""

HUB = "planner"
"""The role in the middle of the star, if there is one of that name; else the first."""

CHAIN = (*SENDERS, "summarizer")
"""The order of the chain for these roles; other roles follow one another as they were given."""

MAX_FAN_OUT = 2
"""How many roles a broadcast may reach in the flat topology."""

Topology = Callable[[str, str], bool]
"""A topology: a function that returns whether `sender` may send to `recipient`."""


class Topologies:
    """The rules of every topology over some roles, checked once and kept as a table.

    >>> topologies = Topologies(["researcher", "writer", "editor"])
    >>> topologies.find_recipients("star", "researcher", BROADCAST)
    ('writer', 'editor')
    >>> topologies.find_next_hop("chain", "editor", "writer")
    'researcher'
    """

    def __init__(
        self,
        roles: Iterable[str] = SENDERS,
        *,
        hub: str | None = None,
        chain: Sequence[str] | None = None,
        own: Mapping[str, Topology] | None = None,
    ) -> None:
        """Build the table; a DefinitionError says which role or topology is wrong."""
        self.roles = _validate_roles(roles)
        self.hub = _validate_hub(hub, self.roles)
        self.chain = _validate_chain(chain, self.roles)
        following = dict(zip(self.chain, (*self.chain[1:], self.chain[0]), strict=True))
        rules: dict[str, Topology] = {
            "star": lambda sender, recipient: self.hub in (sender, recipient),
            "chain": lambda sender, recipient: following[sender] == recipient,
            "flat": lambda sender, recipient: True,
        }
        tables = {name: _build_table(rule, self.roles) for name, rule in rules.items()}
        for name, function in ({} if own is None else _validate_names(own)).items():
            tables[name] = _validate_table(name, _build_own_table(name, function, self.roles))
        self._tables: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(tables)

    @property
    def names(self) -> tuple[str, ...]:
        """The topologies: star, chain, flat, then your own."""
        return tuple(self._tables)

    def validate(self, topology: str) -> str:
        """Return the name of a topology; UnknownCategory if there is none of that name."""
        if topology not in self.names:
            near = did_you_mean(str(topology), self.names)
            raise UnknownCategory(f"there is no topology {topology!r}; choose from {', '.join(self.names)}.{near}")
        return topology

    def find_recipients(self, topology: str, sender: str, recipient: str) -> tuple[str, ...]:
        """Return the roles that a message reaches, in the order of `roles`, or refuse it.

        The `reason` of the refusal is "unknown_topology", "unknown_sender", "unknown_recipient", "to_self",
        "not_through_hub", "not_next_hop", "not_allowed", "no_broadcast" or "fan_out". The system may always send.
        """
        if topology not in self.names:
            names = ", ".join(self.names)
            raise MessageRefused(f"there is no topology {topology!r}; choose from {names}.", reason="unknown_topology")
        if sender not in self.roles and sender != SYSTEM:
            raise self._refuse_stranger("unknown_sender", sender)
        if recipient == BROADCAST:
            return self._find_broadcast(topology, sender)
        if recipient not in self.roles:
            raise self._refuse_stranger("unknown_recipient", recipient)
        if recipient == sender:
            raise MessageRefused(f"{sender!r} cannot send to itself.", reason="to_self")
        if sender != SYSTEM and recipient not in self._tables[topology][sender]:
            allowed = ", ".join(map(repr, self._tables[topology][sender]))
            reason = {"star": "not_through_hub", "chain": "not_next_hop"}.get(topology, "not_allowed")
            told = f"in {topology!r}, {sender!r} sends only to {allowed}, not to {recipient!r}."
            raise MessageRefused(told, reason=reason)
        return (recipient,)

    def find_next_hop(self, topology: str, sender: str, recipient: str) -> str | None:
        """Return the role to send to so that a message comes to `recipient` by the fewest hops.

        It is `recipient` itself where `sender` may send to it, and None where no way leads there.
        """
        table = self._tables[self.validate(topology)]
        first: dict[str, str] = {each: each for each in table.get(sender, ())}
        waiting = deque(first)
        while waiting and recipient not in first:
            at = waiting.popleft()
            for each in table[at]:
                if each not in first and each != sender:
                    first[each] = first[at]
                    waiting.append(each)
        return first.get(recipient)

    def _find_broadcast(self, topology: str, sender: str) -> tuple[str, ...]:
        """Return every role but the sender, if it may send to each of them at once."""
        others = tuple(role for role in self.roles if role != sender)
        if sender == SYSTEM:
            return others
        if topology == "flat" and len(others) > MAX_FAN_OUT:
            raise MessageRefused(
                f"a broadcast of {sender!r} would reach {len(others)} roles, and a flat topology allows "
                f"{MAX_FAN_OUT}: send to each role instead.",
                reason="fan_out",
            )
        allowed = {"star": sender == self.hub, "chain": False}.get(topology, self._tables[topology][sender] == others)
        if not allowed:
            raise MessageRefused(
                f"in {topology!r}, {sender!r} cannot broadcast: send to {', '.join(self._tables[topology][sender])}.",
                reason="no_broadcast",
            )
        return others

    def _refuse_stranger(self, reason: str, name: str) -> MessageRefused:
        known = f"there is no role {name!r}; the roles are {', '.join(self.roles)}.{did_you_mean(name, self.roles)}"
        return MessageRefused(known, reason=reason)


def _build_table(rule: Topology, roles: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {sender: tuple(each for each in roles if each != sender and rule(sender, each)) for sender in roles}


def _build_own_table(name: str, function: Topology, roles: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Ask a function about every pair; whatever it raises is a DefinitionError."""

    def ask(sender: str, recipient: str) -> bool:
        try:
            answer = function(sender, recipient)
        except Exception as error:
            raise DefinitionError(
                f"topology {name!r} failed for sender {sender!r} and recipient {recipient!r}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(answer, bool | np.bool_):  # an adjacency matrix answers with NumPy's
            raise WrongType(
                f"topology {name!r} returned {answer!r:.60} for sender {sender!r} and recipient {recipient!r}; it must "
                "return True or False."
            )
        return bool(answer)

    return _build_table(ask, roles)


def _validate_table(name: str, table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Refuse a topology that cuts a role off: its messages, or those for it, could only be dropped."""
    reached = {recipient for recipients in table.values() for recipient in recipients}
    for role, recipients in table.items() if len(table) > 1 else ():
        if not recipients:
            raise DefinitionError(f"in topology {name!r}, {role!r} cannot send to any other role.")
        if role not in reached:
            raise DefinitionError(f"in topology {name!r}, no other role can send to {role!r}.")
    return table


def _validate_roles(names: Iterable[str]) -> tuple[str, ...]:
    roles = parse_names("roles", names)
    if not roles or {BROADCAST, SYSTEM, ""} & {*roles}:
        raise DefinitionError(f"a router needs roles, and none may be called {BROADCAST!r}, {SYSTEM!r} or '': {roles}.")
    if repeated := find_repeated(roles):
        raise DuplicateName(f"the role {repeated!r} is given twice: {', '.join(roles)}.")
    return roles


def _validate_hub(hub: str | None, roles: Sequence[str]) -> str:
    if hub is None:
        return HUB if HUB in roles else roles[0]
    if hub not in roles:
        raise UnknownCategory(f"hub={hub!r} is not one of the roles {', '.join(roles)}.{did_you_mean(str(hub), roles)}")
    return hub


def _validate_chain(chain: Sequence[str] | None, roles: Sequence[str]) -> tuple[str, ...]:
    if chain is None:
        return tuple(role for role in CHAIN if role in roles) if {*roles} <= {*CHAIN} else tuple(roles)
    chain = parse_names("chain", chain)
    if unknown := [role for role in chain if role not in roles]:
        near = did_you_mean(unknown[0], roles)
        raise UnknownCategory(f"chain: {unknown[0]!r} is not one of the roles {', '.join(roles)}.{near}")
    if repeated := find_repeated(chain):
        raise DuplicateName(f"chain: {repeated!r} is given twice; the chain closes on its own.")
    if missing := [role for role in roles if role not in chain]:
        raise DefinitionError(f"chain: {missing[0]!r} is missing; every role needs a place in it.")
    return chain


def _validate_names(own: Mapping[str, Topology]) -> Mapping[str, Topology]:
    if not isinstance(own, Mapping):
        raise WrongType(f"topologies={own!r:.80} must map names to functions.")
    for name, function in own.items():
        if name in ("", *ACTIONS) or not isinstance(name, str):
            raise DefinitionError(f"a custom topology cannot be called {name!r}; {', '.join(ACTIONS)} are reserved.")
        if not callable(function):
            raise WrongType(f"topology {name!r} is {function!r:.60}; it must be a function of sender and recipient.")
    return own
