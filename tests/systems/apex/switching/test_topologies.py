"""Who may talk to whom: every rule of the three topologies, case by case."""

import pytest

from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.switching import BROADCAST, TOPOLOGIES, find_next_hop, find_recipients

FOUR = ("planner", "coder", "runner", "critic")
FIVE = (*FOUR, "summarizer")
THREE = ("planner", "coder", "critic")
PAIRS = [(sender, recipient) for sender in FIVE for recipient in FIVE if sender != recipient]

HOPS = {"planner": "coder", "coder": "runner", "runner": "critic", "critic": "summarizer", "summarizer": "planner"}
ALLOWED = {
    "star": {pair for pair in PAIRS if "planner" in pair},
    "chain": {*HOPS.items()},
    "flat": {*PAIRS},
}
REFUSED = {"star": "not_through_hub", "chain": "not_next_hop"}


def reason_of(topology, sender, recipient, agents):
    with pytest.raises(MessageRefused) as caught:
        find_recipients(topology, sender, recipient, agents)
    assert str(caught.value).endswith((".", "?"))
    return caught.value.reason


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(("sender", "recipient"), PAIRS)
def test_a_pair_talks_where_its_topology_lets_it(topology, sender, recipient):
    if (sender, recipient) in ALLOWED[topology]:
        assert find_recipients(topology, sender, recipient, FIVE) == (recipient,)
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
        assert find_recipients(topology, sender, BROADCAST, agents) == outcome


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("recipient", FOUR)
def test_the_system_may_always_send(topology, recipient):
    assert find_recipients(topology, "system", recipient, FOUR) == (recipient,)


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
    names = hops.split()
    assert [find_next_hop(name, agents) for name in names[:-1]] == names[1:]


def test_an_agent_that_is_no_link_of_the_chain_neither_sends_nor_receives_in_it():
    agents = (*FOUR, "librarian")
    assert find_next_hop("librarian", agents) is None
    assert reason_of("chain", "librarian", "planner", agents) == "not_next_hop"
    assert reason_of("chain", "critic", "librarian", agents) == "not_next_hop"
    assert find_recipients("star", "librarian", "planner", agents) == ("planner",)


def test_a_refusal_names_the_agents_there_are_and_the_one_that_was_meant():
    with pytest.raises(MessageRefused, match="no agent 'codr', but planner, coder.* Did you mean 'coder'?"):
        find_recipients("flat", "planner", "codr", FOUR)
