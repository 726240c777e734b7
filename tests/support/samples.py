"""Small rewards of several kinds, for tests of the core, which knows no system: zones, a transition, costs, a walk."""

from math import log1p

from plaudit import Field, Reward, Task, fact, term

BRAKING = (0.0, 1.0, 3.0, 5.0)


@term
def gap(distance, *, near=5.0, far=40.0):
    """Keep 20 m and more behind the one ahead."""
    if distance < near:
        return -100
    if distance < 20:
        return -5
    return 1 if distance <= far else 0.5


@term(weight=2.0)
def comfort(deceleration, *, harsh=4.5):
    """Nobody likes hard braking."""
    return -10 if abs(deceleration) > harsh else 0


@fact
def brakes(action, deceleration):
    """The action decides how hard it brakes."""
    return deceleration == BRAKING[action]


@term
def needed(action, distance):
    """Brake when it is close, and only then."""
    if distance < 20:
        return 1 if action >= 2 else -3
    return -1 if action >= 2 else 0


following = Reward(
    "following",
    version="1",
    terms=[gap, comfort, needed],
    fields=[
        Field("distance", unit="m", low=0, infinite=True),
        Field("deceleration", unit="m/s^2", low=-10, high=10),
        Field("action", values=(0, 1, 2, 3)),
    ],
    action="action",
    task=Task(states=["distance"], facts=[brakes]),
)
"""Zones with jumps, an infinite field, an action, a fact, knobs; only exactly rounded operations."""


@term(weight=0.3)
def advance(prev, curr):
    """Come to the next phase."""
    if prev.phase == "plan":
        return 1 if curr.phase == "code" else 0
    return 1 if prev.phase == "code" and curr.phase == "test" else 0


@term(weight=-0.0001, kind="penalty")
def tokens(prev, curr):
    """Spend tokens."""
    return curr.tokens_used - prev.tokens_used


@term(terminal=True)
def finished(curr, success, *, bonus=1.0):
    """End well, the sooner the better."""
    return bonus * (1 - curr.tokens_used / 100_000) if success else 0


handover = Reward(
    "handover",
    version="1",
    terms=[advance, tokens, finished],
    fields=[
        Field("phase", values=("plan", "code", "test", "other"), other="other", missing="other"),
        Field("tokens_used", low=0, high=100_000),
        Field("success", flag=True, missing=False),
    ],
    task=Task(monotone={"tokens_used": "up"}),
)
"""A transition with a category, a field that only rises, a terminal term, stand-ins for what is missing."""


@term(weight=0.5, low=-1, high=1)
def quality(score_delta):
    """Gain quality."""
    return score_delta


@term(weight=-0.1, high=0.3, kind="penalty")
def cost(cost_tokens, *, max_tokens=100_000):
    """Spend tokens, on a log scale."""
    return min(1.0, log1p(cost_tokens) / log1p(max_tokens))


research = Reward(
    "research",
    version="1",
    terms=[quality, cost],
    fields=[Field("score_delta", low=-1, high=1, outside="clip"), Field("cost_tokens", low=0, high=100_000)],
    low=-1,
    high=1,
)
"""Clamps of every kind and a logarithm: equal on another platform only to a few units in the last place."""


@term(weight=0.05, kind="shaping")
def closer(prev, curr):
    """Come closer to the exit."""
    return max(0.0, prev.cells_left - curr.cells_left)


@term(weight=-0.01, kind="penalty")
def step():
    """Take a step."""
    return 1.0


maze = Reward(
    "maze",
    version="1",
    terms=[closer, step],
    fields=[Field("cells_left", low=0, high=35)],
    task=Task(max_change={"cells_left": 1}),
)
"""A loop that pays."""

SAMPLES = {each.name: each for each in (following, handover, research, maze)}

EPISODES = {
    "following": [
        {"distance": 30.0, "deceleration": 0.0, "action": 0},
        {"distance": 12.0, "deceleration": 5.0, "action": 3},
        {"distance": 18.5, "deceleration": 3.0, "action": 2},
        {"distance": float("inf"), "deceleration": 1.0, "action": 1},
        {"distance": 4.0, "deceleration": 0.0, "action": 0},
    ],
    "handover": [
        {"prev": {"phase": "plan", "tokens_used": 0}, "curr": {"phase": "code", "tokens_used": 900}},
        {"prev": {"phase": "code", "tokens_used": 900}, "curr": {"phase": "code", "tokens_used": 2500}},
        {"prev": {"phase": "code", "tokens_used": 2500}, "curr": {"phase": "test", "tokens_used": 2600}},
        {
            "prev": {"phase": "test", "tokens_used": 2600},
            "curr": {"phase": "done", "tokens_used": 4000},
            "success": True,
            "terminal": True,
        },
    ],
    "research": [
        {"score_delta": 0.4, "cost_tokens": 1200.0},
        {"score_delta": -0.1, "cost_tokens": 30.0},
        {"score_delta": 0.9, "cost_tokens": 99_000.0},
    ],
    "maze": [
        {"prev": {"cells_left": 12.0}, "curr": {"cells_left": 11.0}},
        {"prev": {"cells_left": 11.0}, "curr": {"cells_left": 12.0}},
        {"prev": {"cells_left": 1.0}, "curr": {"cells_left": 0.0}},
    ],
}
"""A small episode of each: rows that are keyword arguments of `score`."""
