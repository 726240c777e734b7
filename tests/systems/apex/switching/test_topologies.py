"""Who may talk to whom: every rule of the three topologies, case by case."""

from itertools import pairwise

import numpy as np
import pytest

from plaudit.errors import DefinitionError, DuplicateName, UnknownCategory, WrongType
from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.switching import BROADCAST, TOPOLOGIES, Router, Topologies

FOUR = ("planner", "coder", "runner", "critic")
FIVE = (*FOUR, "summarizer")
THREE = ("planner", "coder", "critic")
PAIRS = [(sender, recipient) for sender in FIVE for recipient in FIVE if sender != recipient]

HOPS = {"planner": "coder", "coder": "runner", "runner": "critic", "critic": "summarizer", "summarizer": "planner"}
ALLOWED = {"star": {pair for pair in PAIRS if "planner" in pair}, "chain": {*HOPS.items()}, "flat": {*PAIRS}}
REFUSED = {"star": "not_through_hub", "chain": "not_next_hop"}


def reason_of(topology, sender, recipient, agents):
    with pytest.raises(MessageRefused) as caught:
        Topologies(agents).find_recipients(topology, sender, recipient)
    assert str(caught.value).endswith((".", "?"))
    return caught.value.reason


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(("sender", "recipient"), PAIRS)
def test_a_pair_talks_where_its_topology_lets_it(topology, sender, recipient):
    if (sender, recipient) in ALLOWED[topology]:
        assert Topologies(FIVE).find_recipients(topology, sender, recipient) == (recipient,)
    else:
        assert reason_of(topology, sender, recipient, FIVE) == REFUSED[topology]


@pytest.mark.parametrize(
    ("topology", "sender", "agents", "outcome"),
    [
        ("star", "planner", FIVE, ("coder", "runner", "critic", "summarizer")),
        ("star", "coder", FIVE, "no_broadcast"),
        ("star", "coder", ("planner", "coder"), "no_broadcast"),
        ("chain", "planner", FIVE, "no_broadcast"),
        ("chain", "coder", ("planner", "coder"), "no_broadcast"),
        ("flat", "planner", FIVE, "fan_out"),
        ("flat", "coder", FOUR, "fan_out"),
        ("flat", "coder", THREE, ("planner", "critic")),
        ("flat", "planner", ("planner", "coder"), ("coder",)),
        ("flat", "planner", ("planner",), ()),
        ("star", "system", FIVE, FIVE),
        ("chain", "system", FIVE, FIVE),
        ("flat", "system", FIVE, FIVE),
    ],
)
def test_a_broadcast_reaches_all_others_where_its_topology_lets_it(topology, sender, agents, outcome):
    if isinstance(outcome, str):
        assert reason_of(topology, sender, BROADCAST, agents) == outcome
    else:
        assert Topologies(agents).find_recipients(topology, sender, BROADCAST) == outcome


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("recipient", FOUR)
def test_the_system_may_always_send(topology, recipient):
    assert Topologies(FOUR).find_recipients(topology, "system", recipient) == (recipient,)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(
    ("sender", "recipient", "reason"),
    [
        ("planner", "planner", "to_self"),
        ("coder", "coder", "to_self"),
        ("planner", "nobody", "unknown_recipient"),
        ("planner", "summarizer", "unknown_recipient"),
        ("planner", "system", "unknown_recipient"),
        ("system", "nobody", "unknown_recipient"),
        ("nobody", "planner", "unknown_sender"),
        ("nobody", BROADCAST, "unknown_sender"),
        ("SYSTEM", "planner", "unknown_sender"),
    ],
)
def test_strangers_and_soliloquies_are_refused_everywhere(topology, sender, recipient, reason):
    assert reason_of(topology, sender, recipient, FOUR) == reason


@pytest.mark.parametrize("sender", ["planner", "system"])
@pytest.mark.parametrize("topology", ["ring", "", "STAR", None])
def test_an_unknown_topology_lets_nothing_through(topology, sender):
    assert reason_of(topology, sender, "coder", FOUR) == "unknown_topology"


@pytest.mark.parametrize(
    ("agents", "hops"),
    [
        (FIVE, "planner coder runner critic summarizer planner"),
        (FOUR, "planner coder runner critic planner"),
        (tuple(reversed(FOUR)), "planner coder runner critic planner"),
        (THREE, "planner coder critic planner"),
        (("coder", "planner"), "planner coder planner"),
    ],
)
def test_the_chain_closes_over_the_agents_that_are_there(agents, hops):
    names, topologies = hops.split(), Topologies(agents)
    assert topologies.chain == (*names[:-1],)
    assert all(topologies.find_recipients("chain", name, after) == (after,) for name, after in pairwise(names))


def test_a_refusal_names_the_agents_there_are_and_the_one_that_was_meant():
    with pytest.raises(MessageRefused, match="no role 'codr'; the roles are planner, coder.* Did you mean 'coder'?"):
        Topologies().find_recipients("flat", "planner", "codr")


# -- roles and topologies of your own --------------------------------------------------------------------------------

TEAM = ("researcher", "writer", "editor")


def test_without_roles_there_are_the_four_of_the_specification():
    assert (Router().roles, Router().hub, Router().chain) == (FOUR, "planner", FOUR)


@pytest.mark.parametrize(
    ("roles", "options", "hub", "chain"),
    [
        (TEAM, {}, "researcher", TEAM),
        (TEAM, {"hub": "editor"}, "editor", TEAM),
        (TEAM, {"chain": ["editor", "writer", "researcher"]}, "researcher", ("editor", "writer", "researcher")),
        (("critic", "planner", "writer"), {}, "planner", ("critic", "planner", "writer")),
    ],
)
def test_roles_of_your_own_have_a_hub_and_a_chain(roles, options, hub, chain):
    router = Router(roles, **options)
    assert (router.hub, router.chain, router.topologies) == (hub, chain, TOPOLOGIES)


def test_a_topology_of_your_own_may_be_a_matrix():
    allowed = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool)
    router = Router(TEAM, topologies={"ring": lambda one, other: allowed[TEAM.index(one), TEAM.index(other)]})
    assert router.topologies[-1] == "ring"


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_role_of_your_own_reaches_every_other_in_every_topology(topology):
    router = Router(TEAM, topology=topology)
    for sender in TEAM:
        for recipient in TEAM:
            at = sender
            while at != recipient:  # as agents pass a message on
                at, before = router.find_next_hop(at, recipient), at
                router.send(sender=before, recipient=at, payload=None)


def take_turns(sender, recipient):
    """Let neighbours in the alphabet talk."""
    return abs(ord(sender) - ord(recipient)) == 1


def test_a_topology_of_your_own_is_a_function_of_sender_and_recipient():
    router = Router([*"abcd"], topologies={"line": take_turns}, topology="line")
    assert router.topologies == (*TOPOLOGIES, "line")
    router.send(sender="b", recipient="c", payload=1)
    with pytest.raises(MessageRefused, match="in 'line', 'a' sends only to 'b', not to 'd'") as refused:
        router.send(sender="a", recipient="d", payload=1)
    assert refused.value.reason == "not_allowed"
    assert [router.find_next_hop("a", each) for each in "bcd"] == ["b", "b", "b"]
    with pytest.raises(MessageRefused) as refused:
        router.send(sender="b", recipient=BROADCAST, payload=1)
    assert refused.value.reason == "no_broadcast"
    everyone = Router(TEAM, topologies={"all": lambda sender, recipient: True}, topology="all")
    assert len(everyone.send(sender="writer", recipient=BROADCAST, payload=1)) == 2
    pairs = Router(
        [*"abcd"], topologies={"pairs": lambda one, other: {one, other} in ({*"ab"}, {*"cd"})}, topology="pairs"
    )
    assert pairs.find_next_hop("a", "c") is None


def broken(sender, recipient):
    raise LookupError("no such pair")


@pytest.mark.parametrize(
    ("roles", "options", "error", "message"),
    [
        ([], {}, DefinitionError, "a router needs roles"),
        ("planner", {}, WrongType, "roles='planner' must be a list of strings"),
        (3, {}, WrongType, "roles=3 must be a list of strings"),
        (TEAM, {"chain": 3}, WrongType, "chain=3 must be a list of strings"),
        (["a", 3], {}, WrongType, "must be a list of strings"),
        (["a", "b", "a"], {}, DuplicateName, "the role 'a' is given twice"),
        (TEAM, {"hub": "writr"}, UnknownCategory, "hub='writr' is not one of the roles .* Did you mean 'writer'?"),
        (TEAM, {"chain": [*TEAM, "boss"]}, UnknownCategory, "chain: 'boss' is not one of the roles"),
        (TEAM, {"chain": TEAM[:2]}, DefinitionError, "chain: 'editor' is missing"),
        (TEAM, {"chain": [*TEAM, "writer"]}, DuplicateName, "chain: 'writer' is given twice"),
        (TEAM, {"chain": "writer"}, WrongType, "chain='writer' must be a list of strings"),
        (TEAM, {"topology": "pears"}, UnknownCategory, "no topology 'pears'; choose from star, chain, flat"),
        (TEAM, {"topologies": [take_turns]}, WrongType, "must map names to functions"),
        (TEAM, {"topologies": {"star": take_turns}}, DefinitionError, "cannot be called 'star'"),
        (TEAM, {"topologies": {"stay": take_turns}}, DefinitionError, "cannot be called 'stay'"),
        (TEAM, {"topologies": {"x": "ab"}}, WrongType, "topology 'x' is 'ab'; it must be a function"),
        (
            TEAM,
            {"topologies": {"x": broken}},
            DefinitionError,
            "topology 'x' failed for sender 'researcher' and .*Lookup",
        ),
        (TEAM, {"topologies": {"x": lambda one: True}}, DefinitionError, "topology 'x' failed .*TypeError"),
        (TEAM, {"topologies": {"x": lambda a, b: None}}, WrongType, "topology 'x' returned None .* True or False"),
        (
            TEAM,
            {"topologies": {"x": lambda a, b: a != "editor"}},
            DefinitionError,
            "'editor' cannot send to any other role",
        ),
        (
            TEAM,
            {"topologies": {"x": lambda a, b: b != "editor"}},
            DefinitionError,
            "no other role can send to 'editor'",
        ),
    ],
)
def test_roles_and_topologies_that_cannot_work_are_one_clear_error(roles, options, error, message):
    with pytest.raises(error, match=message):
        Router(roles, **options)
