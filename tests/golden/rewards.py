"""Rewards that use every part of a definition, and rows for them; their operations are all exactly rounded."""

from plaudit import Field, Reward, Task, fact, prefer, term

GAINS = (0.0, 0.25, 1.0)
TORQUE = Field("torque", length=4, low=-2, high=2)


@term(weight=0.05, low=0, kind="shaping")
def closer(prev, curr):
    """Come closer to the exit."""
    return prev.cells_left - curr.cells_left


@term(weight=-0.01, kind="penalty")
def step():
    """Take a step."""
    return 1.0


@term(terminal=True, high=10)
def solved(curr, *, bonus=5.0):
    """Stand at the exit at the end."""
    return bonus if curr.cells_left == 0 else -bonus


@term(weight=2.0)
def by_phase(phase, going, *, scale):
    """Earn by the phase."""
    if phase in ("plan", "other"):
        return GAINS[0] if going else -scale
    share = GAINS.index(1.0) / 4
    return GAINS[2] * share if phase == "code" else GAINS[1] // 0.1


@term(weight=-0.5)
def effort(torque, level, *, most=1.5):
    """Spend little."""
    spent = sum(t * t for t in torque)
    worst = max(abs(t) for t in torque)
    return min(spent, most) + (level % 3) / 4 if worst > 0.5 else spent**2


@fact
def still_at_rest(going, level):
    """Nothing rises while nobody goes."""
    return going or level < 8


maze = Reward(
    "maze",
    version="2.1",
    terms=[closer, step, solved],
    fields=[Field("cells_left", low=0, high=35, unit="cells")],
    low=-4,
    high=12,
    task=Task("maze", discount=0.99, max_change={"cells_left": 1}),
    doc="Find the exit.",
)
errand = Reward(
    "errand",
    version="7",
    terms=[by_phase, effort],
    fields=[
        Field("phase", values=("plan", "code", "test", "other"), other="other", missing="plan"),
        Field("going", flag=True, missing=False),
        TORQUE,
        Field("level", low=0, high=9, doc="How far it came."),
    ],
    shared={"scale": 0.75},
    action="torque",
    task=Task(
        "errand",
        facts=[still_at_rest],
        prefer=[prefer({"phase": "code", "going": True}, over={"phase": "plan", "going": True}, because="it is work")],
        states=["level"],
        monotone={"level": "up"},
    ),
    allow={"dead-term": "kept for the test"},
)
REWARDS = {each.name: each for each in (maze, errand)}

ROWS = {
    "maze": [
        {"prev": {"cells_left": 12.0}, "curr": {"cells_left": 11.0}},
        {"prev": {"cells_left": 11.0}, "curr": {"cells_left": 12.0}},
        {"prev": {"cells_left": 1.0}, "curr": {"cells_left": 0.0}, "terminal": True},
    ],
    "errand": [
        {"phase": "plan", "going": True, "torque": [0.1, -0.2, 0.3, 0.4], "level": 3.0},
        {"phase": "code", "going": False, "torque": [1.5, -0.2, 0.3, 0.4], "level": 7.0},
        {"phase": "unheard of", "going": False, "torque": [0.0, 0.0, 0.0, 0.0], "level": 0.1},
        {"phase": "test", "going": True, "torque": [0.5, 0.25, -2.0, 0.4], "level": 8.5},
    ],
}
