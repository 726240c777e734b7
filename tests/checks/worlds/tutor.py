"""A tutor chooses exercises for a pupil, who learns most from what is slightly too hard."""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term


class Tutor(gymnasium.Env):
    """A lesson of 80 exercises. An action is the difficulty of the next one, in tenths."""

    action_space = spaces.Discrete(11)
    observation_space = spaces.Box(0, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.skill, self.mood, self.steps = self.np_random.uniform(0.15, 0.3), 0.7, 0
        return self._observe(), {}

    def step(self, action):
        gap = int(action) / 10 - self.skill
        correct = bool(self.np_random.random() < 1 / (1 + np.exp(8 * gap - 1.5)))
        self.skill = min(self.skill + 0.018 * np.exp(-(((gap - 0.1) / 0.12) ** 2)), 1.0)
        self.mood = min(max(self.mood + (0.05 if correct else -0.08), 0.0), 1.0)
        self.steps += 1
        gave_up = self.mood <= 0
        return self._observe(), 0.0, gave_up, self.steps == 80, {"correct": correct, "gave_up": bool(gave_up)}

    def _observe(self):
        return np.array([self.skill, self.mood], np.float32)


def features(obs, action, next_obs, info):
    prev, curr = ({"skill": float(seen[0])} for seen in (obs, next_obs))
    return {"prev": prev, "curr": curr, "mood": float(next_obs[1]), "difficulty": int(action) / 10, **info}


SKILL = Field("skill", low=0, high=1)
MOOD = Field("mood", low=0, high=1)
CORRECT = Field("correct", flag=True)
GAVE_UP = Field("gave_up", flag=True)


def mastered(skill):
    """The pupil has learnt the subject."""
    return skill >= 0.8


TASK = Task(
    "teach the subject",
    goal=mastered,
    goal_ends=False,
    better={"skill": "high"},
    ends={"gave_up": "bad"},
    fields=[SKILL, MOOD, CORRECT, GAVE_UP, Field("difficulty", low=0, high=1)],
    states=["mood"],
    actions=["difficulty"],
    events=["correct"],
    start={"skill": (0.15, 0.3), "mood": 0.7},
    max_change={"skill": 0.02, "mood": 0.08},
    monotone={"skill": "up"},
    horizon=80,
)


@term(weight=20.0)
def learn(prev, curr):
    """What the pupil learnt from the exercise."""
    return curr.skill - prev.skill


@term(weight=0.2)
def mastery(curr):
    """The subject is mastered."""
    return curr.skill >= 0.8


@term(weight=-0.1)
def frustration(mood):
    """The mood falls below a half."""
    return max(0.5 - mood, 0.0)


@term
def answers(correct):
    """Exercises that were solved correctly."""
    return correct


@term(weight=-10.0)
def quitting(gave_up):
    """The pupil gave up."""
    return gave_up


WORLD = World(
    name="tutor",
    story=(
        "Teach the pupil until the subject is mastered. "
        "Paid for correct answers, the tutor sets exercises that the pupil could solve before the lesson."
    ),
    make=Tutor,
    features=features,
    task=TASK,
    sound=Reward("tutor", version="1", terms=[learn, mastery, frustration, quitting], fields=[SKILL, MOOD, GAVE_UP]),
    flawed=Reward("tutor", version="2", terms=[answers, frustration, quitting], fields=[CORRECT, MOOD, GAVE_UP]),
    good=lambda obs: int(min(round(10 * obs[0] + (0.9 if obs[1] > 0.35 else -1)), 10)),
    hack=lambda obs: 0,
)
