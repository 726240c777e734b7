"""The scripted agents of the example: a planner, a coder, a runner and a critic who write a small module together."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from plaudit.systems.apex.coding.project import TASKS, Project
from plaudit.systems.apex.coding.talk import Talk
from plaudit.systems.apex.probing.budget import TokenBudget
from plaudit.systems.apex.probing.junit import PytestRun

AGENTS = ("planner", "coder", "runner", "critic")
"""The agents, in the order in which they act."""

_PROMPT = 60
"""Tokens of a prompt besides what it quotes."""
_MOST = 120
"""How many tokens an answer may have."""

Tests = Callable[[], Awaitable[PytestRun]]


class Agents:
    """Four agents with one task, who act on one message each a step.

    They are scripts: what they say is fixed, and what they do is real. The coder edits the project, the runner runs its
    tests, and messages go through the router. An answer is charged like one of a language model, by its length; an
    agent whose call is denied keeps the message for the next step.
    """

    def __init__(self, talk: Talk, project: Project, tests: Tests, budget: TokenBudget) -> None:
        """Begin with nothing done; `tests` runs the project's tests."""
        self.talk = talk
        self.project = project
        self.tests = tests
        self.budget = budget
        self.phase = "planning"
        self.last: PytestRun | None = None
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
        hands = {agent: message for agent in AGENTS if (message := self.talk.next(agent)) is not None}
        for agent, message in hands.items():
            prompt = _PROMPT + _tokens(message.payload["text"])
            if not self.budget.allow(prompt=prompt, most=_MOST, caller=agent):
                continue
            self.talk.done(agent)
            spoken = len(self.talk.said)
            if message.payload["for"] == agent:
                await self._acts[agent](message.payload)
            else:
                self.talk.send(agent, message.payload["for"], **_content(message.payload))
            answer = sum(_tokens(said.text) for said in self.talk.said[spoken:])
            self.budget.meter.count({"prompt_tokens": prompt, "completion_tokens": min(answer, _MOST)})

    async def _plan(self, message: dict[str, Any]) -> None:
        if self._todo:
            name = self._todo.pop(0)
            self.talk.send("planner", "coder", f"Write {name}, as its tests ask. Nothing else.", name=name)
        else:
            self.phase = "done"

    async def _code(self, message: dict[str, Any]) -> None:
        edited = self.project.write(message["name"])
        self.phase = "coding"
        self.talk.send("coder", "runner", f"Edited {edited}. Please run the tests.", name=message["name"])

    async def _run(self, message: dict[str, Any]) -> None:
        self.last = run = await self.tests()
        self.phase = "testing"
        failing = [failure.test for failure in (*run.failures, *run.broken) if message["name"] in failure.test]
        text = f"{run.passed} of {run.total} tests pass." + (f" Failing: {', '.join(failing)}." if failing else "")
        self.talk.send("runner", "critic", text, name=message["name"], failing=failing)

    async def _review(self, message: dict[str, Any]) -> None:
        self.phase = "critique"
        if message["failing"]:
            text = f"{message['name']} does not do yet what {message['failing'][0]} asks. Please repair it."
            self.talk.send("critic", "coder", text, name=message["name"])
        else:
            self.talk.send("critic", "planner", f"{message['name']} is fine.")


def _tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-len(text) // 4)


def _content(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != "for"}
