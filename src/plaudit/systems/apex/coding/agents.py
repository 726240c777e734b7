"""The scripted agents of the example: what each of them does, and how they reach each other in any topology."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from plaudit.systems.apex.budget import TokenBudget
from plaudit.systems.apex.coding.project import TASKS, Project
from plaudit.systems.apex.errors import MessageRefused
from plaudit.systems.apex.features import FeatureSource
from plaudit.systems.apex.pytest_results import PytestRun
from plaudit.systems.apex.switching import SYSTEM, Message, Router

AGENTS = ("planner", "coder", "runner", "critic")
"""The agents, in the order in which they act."""

_PROMPT = 60
"""Tokens of a prompt besides what it quotes."""

_MAX_ANSWER = 120
"""How many tokens an answer may have."""

_RELAYED = ("not_through_hub", "not_next_hop")
"""Refusals upon which another agent has to pass the message on."""

RunTests = Callable[[], Awaitable[PytestRun]]


class SentMessage(NamedTuple):
    """A message that was let through, as the example shows it."""

    step: int
    sender: str
    recipient: str
    """Who gets it."""
    meant_for: str
    """Who it is for; another agent passes it on."""
    text: str


class Conversation:
    """The conversation of an episode: what is sent goes through the router, what is received into an agent's inbox."""

    def __init__(self, router: Router, features: FeatureSource) -> None:
        """Begin in silence; `features` counts who speaks."""
        self.router = router
        self.features = features
        self.messages: list[SentMessage] = []
        self.refused = 0
        """How often the topology refused the direct way."""
        self.step = 0
        self._inboxes: dict[str, deque[Message]] = {agent: deque() for agent in router.roles}

    def send(self, sender: str, recipient: str, text: str, **content: Any) -> None:
        """Send a message to `recipient`; if the topology does not allow it, to a role that can pass it on."""
        payload = {"for": recipient, "text": text, **content}
        try:
            reached = self.router.send(sender=sender, recipient=recipient, payload=payload)
        except MessageRefused as refusal:
            if refusal.reason not in _RELAYED:
                raise
            self.refused += 1
            relay = self.router.find_next_hop(sender, recipient)
            assert relay is not None  # star and chain lead everywhere
            reached = self.router.send(sender=sender, recipient=relay, payload=payload)
        self.features.add_message(sender)
        self.messages += [SentMessage(self.step, sender, message.recipient, recipient, text) for message in reached]

    def start(self, text: str) -> None:
        """Give the planner its goal."""
        self.send(SYSTEM, self.router.hub, text, goal=True)

    def collect(self) -> None:
        """Let every agent take what waits for it: a switch can begin when nothing is on its way any more."""
        for agent, inbox in self._inboxes.items():
            while (message := self.router.receive(agent)) is not None:
                inbox.append(message)

    def peek(self, agent: str) -> Message | None:
        """Return the oldest message in an agent's inbox, which stays there until it is removed."""
        return self._inboxes[agent][0] if self._inboxes[agent] else None

    def remove(self, agent: str) -> None:
        """Remove the oldest message from an agent's inbox."""
        self._inboxes[agent].popleft()


class Agents:
    """Four agents with one task, who act on one message each a step.

    They are scripts: what they say is fixed, and what they do is real. The coder edits the project, the runner runs its
    tests, and messages go through the router. An answer is charged like one of a language model, by its length; an
    agent whose call is denied keeps the message for the next step.
    """

    def __init__(self, conversation: Conversation, project: Project, run_tests: RunTests, budget: TokenBudget) -> None:
        """Begin with nothing done; `run_tests` runs those of the project."""
        self.conversation = conversation
        self.project = project
        self.run_tests = run_tests
        self.budget = budget
        self.phase = "planning"
        self.last_run: PytestRun | None = None
        """The last run of the tests."""
        self._todo = list(TASKS)
        self._acts: Mapping[str, Callable[[dict[str, Any]], Awaitable[None]]] = {
            "planner": self._plan,
            "coder": self._code,
            "runner": self._run,
            "critic": self._review,
        }

    async def act(self) -> None:
        """Let each agent deal with the oldest message it had when the step began."""
        oldest = {agent: message for agent in AGENTS if (message := self.conversation.peek(agent)) is not None}
        for agent, message in oldest.items():
            prompt = _PROMPT + _count_tokens(message.payload["text"])
            if not self.budget.allow(prompt=prompt, max_completion=_MAX_ANSWER, caller=agent):
                continue
            self.conversation.remove(agent)
            sent = len(self.conversation.messages)
            if message.payload["for"] == agent:
                await self._acts[agent](message.payload)
            else:
                self.conversation.send(agent, message.payload["for"], **_drop_recipient(message.payload))
            spent = sum(_count_tokens(answer.text) for answer in self.conversation.messages[sent:])
            self.budget.meter.count({"prompt_tokens": prompt, "completion_tokens": min(spent, _MAX_ANSWER)})

    async def _plan(self, message: dict[str, Any]) -> None:
        if self._todo:
            name = self._todo.pop(0)
            self.conversation.send("planner", "coder", f"Write {name}, as its tests ask. Nothing else.", name=name)
        else:
            self.phase = "done"

    async def _code(self, message: dict[str, Any]) -> None:
        edited = self.project.write(message["name"])
        self.phase = "coding"
        self.conversation.send("coder", "runner", f"Edited {edited}. Please run the tests.", name=message["name"])

    async def _run(self, message: dict[str, Any]) -> None:
        self.last_run = run = await self.run_tests()
        self.phase = "testing"
        failing = [failure.test for failure in (*run.failures, *run.broken) if message["name"] in failure.test]
        text = f"{run.passed} of {run.total} tests pass." + (f" Failing: {', '.join(failing)}." if failing else "")
        self.conversation.send("runner", "critic", text, name=message["name"], failing=failing)

    async def _review(self, message: dict[str, Any]) -> None:
        self.phase = "critique"
        if message["failing"]:
            text = f"{message['name']} does not do yet what {message['failing'][0]} asks. Please repair it."
            self.conversation.send("critic", "coder", text, name=message["name"])
        else:
            self.conversation.send("critic", "planner", f"{message['name']} is fine.")


def _count_tokens(text: str) -> int:
    return -(-len(text) // 4)


def _drop_recipient(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `Conversation.send` takes besides the recipient."""
    return {name: value for name, value in payload.items() if name != "for"}
