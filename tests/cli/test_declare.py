"""`plaudit declare`: the text loads as printed and changes nothing, and asks what nobody has said."""

import json
import re

import pytest

from plaudit import End, Event, Field, Rate, Reward, Seen, Task, check, fact, prefer, term
from plaudit.checks.questions import list_open_questions
from plaudit.plugins.arguments import find_reward, find_task
from plaudit.reward.task.text import write_python
from plaudit.systems import BUILT_IN

SOURCE = """
from plaudit import Field, Reward, Task, term

@term
def back(distance, closing, side, crashed):
    return distance - closing + side - (1 if crashed else 0)

@term
def goes(prev, curr):
    return curr.energy - prev.energy

fields = [
    Field("distance", low=0, unit="m"),
    Field("closing", low=-9, high=9, unit="m/s"),
    Field("side", low=-9, high=9, unit="m/s"),
    Field("crashed", flag=True),
    Field("energy", low=0, high=1, unit="J"),
    Field("phase", values=("a", "b")),
]

@term
def begins(phase):
    return 1 if phase == "a" else 0

reward = Reward("following", version="1", terms=[back, goes, begins], fields=fields)
"""


@pytest.fixture
def own(tmp_path, plaudit):
    (tmp_path / "own.py").write_text(SOURCE, encoding="utf-8")
    return plaudit


@pytest.mark.parametrize("form", ["task.py", "task.json"])
@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(each, marks=pytest.mark.slow) if each == "roadsense" else each for each in BUILT_IN),
        "own.py:reward",
    ],
)
def test_what_is_printed_loads_and_changes_nothing(own, name, form):
    result = own("declare", name, "-o", form, *(["--json"] if form == "task.json" else []))
    assert result.exit_code == 0
    reward, task = find_reward(name), find_task(form)
    assert task.fingerprint == reward.task.fingerprint
    told = reward.with_task(task)
    assert told.task == reward.task or reward.task.is_empty
    if name in ("own.py:reward", "roadsense"):
        assert check(reward, task=task) == check(reward)


def test_what_nobody_said_is_asked_with_what_is_assumed(own):
    text = own("declare", "own.py:reward").stdout
    lines = [line.strip() for line in text.splitlines()]
    assert "# goal=...,  # a function of a step that is true when the task is done" in lines
    assert '# "distance": ...,  # ≥ 0 m' in lines
    assert '# "crashed": ...,  # a flag: "low" is false' in lines
    assert '# "energy",' in lines  # read before and after the step: it persists
    assert '# "distance": None, "closing": None, "side": None, "crashed": None, "phase": None,' in lines
    assert '# "distance": "closing",  # or "side", or not' in lines
    assert '# Field("distance", low=0.0, high=..., unit="m"),' in lines
    assert '# "crashed": ...,' in lines
    assert "# discount=...,  # the discount factor; checks assume 1" in lines
    assert len(lines) < 45


def test_answers_are_asked_for_no_more(own, tmp_path):
    (tmp_path / "said.py").write_text(
        """
from plaudit import Field, Task

def arrived(distance):
    return distance == 0

task = Task(
    goal=arrived, better={"distance": "low", "side": "low", "closing": "high", "energy": "high"},
    ends={"crashed": "bad"}, discount=0.9, horizon=100, states=["distance", "closing", "side", "energy"],
    events=["crashed", "phase"], idle={"distance": 1.0}, rates={"distance": "closing"},
    fields=[Field("distance", low=0, high=100, unit="m")],
)
""",
        encoding="utf-8",
    )
    result = own("declare", "own.py:reward", "--task", "said.py", "-o", "filled.py")
    assert result.stderr.startswith("filled.py: 0 questions left.")
    assert "#" not in (tmp_path / "filled.py").read_text("utf-8")
    assert find_task("filled.py") == find_task("said.py")


def test_an_end_without_a_sign_is_asked_for(own, tmp_path):
    Task(ends={"crashed": End(None)}).save("seen.json")
    text = own("declare", "own.py:reward", "--task", "seen.json").stdout
    assert '"crashed": End(None),  # "good", "bad" or "time"?' in text
    asked = json.loads(own("declare", "own.py:reward", "--task", "seen.json", "--json").stdout)["questions"]
    assert asked["ends"] == {"asks": "good, bad or time?", "answer": {"crashed": {"is": "..."}}}


def test_other_ends_than_a_time_limit_are_asked_for(own):
    Task(ends={"timeout": "time"}).save("seen.json")
    text = own("declare", "own.py:reward", "--task", "seen.json").stdout
    assert '"timeout": "time",\n        # "crashed": ...,\n' in text
    asked = json.loads(own("declare", "own.py:reward", "--task", "seen.json", "--json").stdout)["questions"]
    assert asked["ends"]["answer"] == {"crashed": {"is": "..."}}


def test_an_answer_in_json_is_filled_in_where_it_belongs(own):
    data = json.loads(own("declare", "own.py:reward", "--json").stdout)
    asked = data.pop("questions")
    data["better"] = {"distance": {"is": "low"}}
    data["states"] = asked["states"]["answer"]
    data["idle"] = asked["idle"]["answer"]
    data["rates"] = asked["rates"]["answer"]
    task = Task.from_dict(data)
    assert task.states == ("energy",)
    assert task.rates == {"distance": Rate("closing")}
    assert find_reward("own.py:reward").with_task(task).task.better == {"distance": "low"}


def test_a_placeholder_that_is_left_in_is_refused(own, tmp_path):
    text = own("declare", "own.py:reward").stdout
    (tmp_path / "task.py").write_text(re.sub(r"# (horizon=\.\.\.,)", r"\1", text), encoding="utf-8")
    result = own("check", "own.py:reward", "--task", "task.py")
    assert result.exit_code == 2
    assert "horizon=Ellipsis" in result.stderr


def test_only_units_make_a_rate_a_question():
    @term
    def moves(x, vx, y):
        return x + vx + y

    def asked(*units):
        fields = [Field(name, low=0, high=1, unit=unit) for name, unit in zip(("x", "vx", "y"), units, strict=True)]
        reward = Reward("moving", version="1", terms=[moves], fields=fields)
        return [list(each.entries) for each in list_open_questions(reward) if each.part == "rates"]

    assert asked("m", "m/s", "") == [['"x": "vx"']]
    assert asked("", "", "") == []
    assert asked("m", "m", "s") == []
    assert asked("rad", "rad/step", "m") == [['"x": "vx"']]


# -- what can be written -----------------------------------------------------------------------------------------------

LOW = 0.5


def landed(height):
    return height <= LOW


def make_other():
    def landed(speed):
        """Slow enough."""
        return abs(speed) < 1

    return landed


@fact
def slow_is_low(height, speed, *, most=3.0):
    return speed <= most if height < 1 else True


WHOLE = Task(
    'a "name" \\',
    version="2",
    doc="It's 3 o'clock.",
    source="Lander-v1",
    goal=landed,
    goal_ends=False,
    better={"fuel": "high"},
    aim={"speed": -1.5},
    prefer=[
        prefer([{"height": 1.0}, {"height": 2.0, "fuel": True}], over={"height": float("inf")}, because="  # 1 'x'"),
    ],
    ends={"down": ("good", make_other()), "lost": End(None, landed), "fuel": "bad", "late": "time"},
    discount=0.75,
    fields=[
        Field("height", low=0, infinite=True),
        Field("fuel", flag=True),
        Field("legs", length=3),
        Field("grid", shape=(2, 2)),
        Field("phase", values=("a", "it's"), missing="a"),
    ],
    states=["height"],
    actions=["phase"],
    events={"fuel": Event(rate=0.5, at_most=3), "hit": 2, "miss": None},
    idle={"height": 1, "phase": "a", "legs": [0.0, 1.0, 2.0]},
    start={"height": (0.5, 2.0), "phase": "a"},
    rates={"height": "speed", "speed": ("pull", 0.02)},
    max_change={"height": 2},
    monotone={"height": "up"},
    still=["legs"],
    facts=[slow_is_low],
    seen={"monotone.height": Seen(99, 99), "ends.down": Seen(3, 4, "episodes"), "facts.slow_is_low": Seen(5, 5)},
)


def test_everything_that_a_task_can_say_is_written_as_python(tmp_path):
    path = tmp_path / "whole.py"
    path.write_text(write_python(WHOLE, doc='A "whole" task \\'), encoding="utf-8")
    assert find_task(str(path)).to_json() == WHOLE.to_json()
