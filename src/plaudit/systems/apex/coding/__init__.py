"""The example: four scripted agents write a small module, and a controller decides how they talk meanwhile."""

from plaudit.systems.apex.coding.agents import AGENTS, Agents, Conversation, SentMessage
from plaudit.systems.apex.coding.project import TASKS, TESTS, Project
from plaudit.systems.apex.coding.run import SEED, STEPS, CodingRun, Episode, Step, run_episode, run_episodes

__all__ = [
    "AGENTS",
    "SEED",
    "STEPS",
    "TASKS",
    "TESTS",
    "Agents",
    "CodingRun",
    "Conversation",
    "Episode",
    "Project",
    "SentMessage",
    "Step",
    "run_episode",
    "run_episodes",
]
