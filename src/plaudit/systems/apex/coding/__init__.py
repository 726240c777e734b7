"""The example: four scripted agents write a small module, and a controller decides how they talk meanwhile."""

from plaudit.systems.apex.coding.agents import AGENTS, Agents
from plaudit.systems.apex.coding.episode import STEPS, Episode, Step, coding_episode
from plaudit.systems.apex.coding.project import TASKS, TESTS, Project
from plaudit.systems.apex.coding.run import SEED, CodingRun, coding_run
from plaudit.systems.apex.coding.talk import Said, Talk

__all__ = [
    "AGENTS",
    "SEED",
    "STEPS",
    "TASKS",
    "TESTS",
    "Agents",
    "CodingRun",
    "Episode",
    "Project",
    "Said",
    "Step",
    "Talk",
    "coding_episode",
    "coding_run",
]
