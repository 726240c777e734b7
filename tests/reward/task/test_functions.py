"""Functions of a task as text: all that they use is written out, and reading text runs none of it."""

import math
from math import hypot as length

import numpy as np
import pytest

from plaudit import DefinitionError, Field, Reward, Task, fact, term
from plaudit.reward.task.functions import parse_function, strip_function, write_function
from plaudit.reward.task.text import write_python
from support.strategies import load
from support.written import module

LIMIT = 3.0
BRAKE = (0.0, 0.5, 2.0)
WORTH = {"calm": 1.0, "wild": math.inf}
GOAL = np.array([1.0, 2.0])
FIELDS = [
    Field("x", low=-9, high=9),
    Field("action", values=(0, 1, 2)),
    Field("mood", values=("calm", "wild")),
    Field("place", length=2, low=-9, high=9),
]


class Robot:
    reach = 4.0


def norm(x: float) -> float:
    """How large it is."""
    return abs(x) if x < 0 else min(x, LIMIT)


def far(a, b=0.0, *, times=LIMIT):
    return norm(a - b) * times


@fact
def near(x):
    return far(x) < 2


@term
def paid(prev, curr, x, action, mood):
    return x + action + sum(curr.place) - sum(prev.place) + (1 if mood == "calm" else 0)


def limited(x, *, most: float = LIMIT):
    """It is not large."""
    return x < most and LIMIT > 2


def tabled(action, x):
    return x == BRAKE[action]


def helped(x):
    return near(x) and far(x, times=2) < 5


def arrayed(curr):
    return (np.abs(curr.place - GOAL)).max() < Robot.reach and length(*curr.place) < math.pi


def moved(prev, curr):
    total: float = 0
    for was, now in zip(prev.place, curr.place, strict=True):
        total = total + abs(was - now)
    return total < LIMIT


def named(mood):
    return WORTH[mood] > 1 or mood in ("calm", "wild")


def nested(x):
    def twice(y: float, by=LIMIT) -> float:
        return y * by

    return twice(x) < 5 or any(k > x for k in BRAKE)


FUNCTIONS = [limited, tabled, helped, arrayed, moved, named, nested]


def made(function):
    return Reward("r", version="1", terms=[paid], fields=FIELDS, task=Task(facts=[fact(function)]))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_a_text_says_what_the_function_says(function):
    text = write_function(fact(function))
    again = parse_function(text, "fact")
    assert (again.name, again.doc) == (function.__name__, function.__doc__ or "")
    assert set(again.reads) == set(fact(function).reads)
    assert write_function(again) == text
    assert made(function).task == Task.from_json(Task(facts=[again]).to_json())
    loaded = Reward.from_json(made(function).to_json())
    assert loaded._bound.facts_program.nodes == made(function)._bound.facts_program.nodes
    for name in ("LIMIT", "BRAKE", "WORTH", "GOAL", "Robot"):
        assert name not in text


def test_values_are_those_that_the_function_had_when_it_was_read():
    space = module("LIMIT = 3.0\ndef f(x): return x < LIMIT")
    known = fact(space["f"])
    space["LIMIT"] = 99.0
    assert "3.0" in write_function(known)


def test_a_name_that_means_two_things_is_not_mixed_up():
    space = module("""
from math import dist
def gap(a): return dist((a,), (0,))
def f(x, dist): return gap(x) < dist
def k(x): return sum(y for y in (x, 1)) < y
y = 3.0
""")
    fields = [Field("x"), Field("dist", low=0)]
    reward = Reward("r", version="1", terms=[term(module("def t(x, dist): return x + dist")["t"])], fields=fields)
    task = Task(facts=[fact(space["f"]), fact(space["k"])])
    with pytest.raises(DefinitionError, match="cannot be written as text on its own"):
        task.to_json()
    judged = reward.with_task(task)
    again = Reward.from_json(judged.to_json())
    assert again == judged
    before, after = judged._bound.facts_program, again._bound.facts_program
    assert before.outputs == after.outputs
    last = max(before.outputs.values()) + 1  # guards stand after them
    assert before.nodes[:last] == after.nodes[:last]


def test_what_no_text_holds_is_told_and_written_by_a_reward_that_has_the_task():
    space = module(
        "import fractions\nHALF = fractions.Fraction(1, 2)\ndef f(x):\n    import math\n    return math.pi < x"
    )
    with pytest.raises(DefinitionError, match=r"'f' cannot be written as text on its own: it uses `import math`"):
        write_function(fact(space["f"]))
    reward = Reward("r", version="1", terms=[paid], fields=FIELDS, task=Task(goal=space["f"]))
    assert Reward.from_json(reward.to_json()).task.goal.text == "def f(x):\n    return 3.141592653589793 < x"


def test_comments_layout_and_sentences_make_no_other_function():
    text = 'def f(x, *, most=2):\n    """Said."""\n    return (x\n        < most)  # so\n'
    assert strip_function(text) == strip_function("def f(x, *, most=2): return x < most")
    assert strip_function(text) != strip_function("def f(x, *, most=2.0): return x < most")
    assert strip_function(text) != strip_function("def f(x, *, most=2): return x <= most")


HOSTILE = {
    "no text": None,
    "nothing": "",
    "no Python": "def f(x): return x <",
    "a null": "def f(x): return x < 1\0",
    "a statement": "print('run')",
    "two functions": "def f(x): return x < 1\ndef g(x): return x < 1",
    "an import before": "import os\ndef f(x): return x < 1",
    "an import inside": "def f(x):\n    import this\n    return x < 1",
    "an import of a name": "def f(x):\n    from this import d\n    return x < 1",
    "an import in a helper": "def f(x):\n    def g(y):\n        import this\n        return y\n    return g(x) < 1",
    "a decorator": "@print\ndef f(x): return x < 1",
    "a decorator inside": "def f(x):\n    @print\n    def g(y): return y\n    return g(x) < 1",
    "code in a default": "def f(x=print('run')): return x < 1",
    "code in a constant": "def f(x, *, k=print('run')): return x < k",
    "code in a default inside": "def f(x):\n    def g(y=print('run')): return y\n    return g(x) < 1",
    "a call": "def f(x): return print('run')",
    "eval": "def f(x): return eval('x < 1')",
    "an attribute of everything": "def f(x): return ().__class__.__base__.__subclasses__()[0]() == x",
    "a file of NumPy": "def f(x): return np.load('x').sum() < x",
    "a class": "class f: pass",
    "a lambda": "f = lambda x: x < 1",
    "a coroutine": "async def f(x): return x < 1",
    "a generator": "def f(x): yield x < 1",
    "bytes": "def f(x, *, k=b'a'): return x < k",
    "no constant": "def f(x, *, k): return x < k",
    "itself": "def f(x): return f(x)",
    "a global": "def f(x):\n    global y\n    y = x\n    return x < 1",
    "deep brackets": f"def f(x): return {'(' * 500}x{')' * 500} < 1",
    "deep minuses": f"def f(x): return {'-' * 20_000}x < 1",
    "a long sum": f"def f(x): return {'x + ' * 20_000}x < 1",
    "a huge number": f"def f(x): return x < {'9' * 50_000}",
    "a huge text": "def f(x): return x < 1" + " " * 100_000,
    "a huge power": "def f(x): return 10 ** 10 ** 10 < x",
    "a huge range": "def f(x): return sum(x for i in range(10 ** 9)) < 1",
    "a huge tuple": "def f(x): return sum((1,) * 10 ** 10) < x",
    "a tuple that doubles": "def f(x):\n    t = (1, 2)\n" + "    t = t + t\n" * 40 + "    return sum(t) < x",
    "stars that double": "def f(x):\n    t = (1, 2)\n" + "    t = [*t, *t]\n" * 40 + "    return sum(t) < x",
    "a parameter twice": "def f(x, x): return x < 1",
    "a parameter that Python keeps": "def f(__debug__): return __debug__",
    "an endless loop": "def f(x):\n    while True: pass",
    "a reserved name": "def total(x): return x < 1",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_and_nothing_of_it_is_run(text, capsys):
    with pytest.raises(DefinitionError) as caught:
        parse_function(text, "fact")
    assert capsys.readouterr().out == ""
    assert len(str(caught.value)) < 2000


def test_annotations_are_neither_run_nor_kept(capsys):
    read = parse_function("def f(x: print('run'), *, k: print('run') = 2) -> print('run'): return x < k", "fact")
    assert (read.reads, dict(read.constants)) == (("x",), {"k": 2})
    with pytest.raises(DefinitionError, match="read but not called"):
        read(1)
    load(write_python(Task(goal=read)))  # a module that people run
    assert strip_function(write_function(read)) == strip_function("def f(x, *, k=2): return x < k")
    assert capsys.readouterr().out == ""


def test_a_line_ends_where_it_does_for_python():
    with pytest.raises(DefinitionError, match=r"line 2\n    y = 1; return nobody < x\n {18}\^{6}\n"):
        parse_function("def f(x):  # \u2028\x0c\n    y = 1; return nobody < x", "fact")


def test_a_long_chain_of_cases_has_a_fingerprint():
    chain = "".join(f"    elif x > {i}: return x < {i}\n" for i in range(600))
    text = f"def f(x):\n    if x < 0: return x < 1\n{chain}    return x < 1"
    task = Task.from_dict({"task": 1, "goal": {"when": text}})
    assert Task.from_json(task.to_json()).fingerprint == task.fingerprint != Task().fingerprint


GUARDED = {
    "an assertion": "assert x > 0\n    return x < 5",
    "a quotient nobody reads": "y = 1 / x\n    return x < 5",
    "a quotient nobody reads, in a case": "y = 1 / x if action == 1 else 2\n    return x < 5",
    "a quotient in two cases": "if action == 1:\n        return 1 / x < 2 or 1 / x > 5\n    return x < 5",
    "a square that may be infinite": "return x * x < 5",
    "a power": "return (x - 1) ** 8 < 5",
    "a sign": "return plaudit.sign(x) < 1",
    "a logarithm twice": "return math.log(x) * math.log(x) < 1",
}


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED)
def test_what_a_reward_writes_for_a_function_refuses_the_same_rows(body):
    space = module(f"import plaudit\ndef f(x, action):\n    import math\n    {body}")
    fields = [Field("x"), Field("action", values=(0, 1, 2))]
    paid = term(module("def t(x, action): return action if x < 0 else 1")["t"])
    reward = Reward("r", version="1", terms=[paid], fields=fields, task=Task(facts=[fact(space["f"])]))
    before, after = (
        each.compile("python", guard="facts", on_bad="mask") for each in (reward, Reward.from_json(reward.to_json()))
    )
    for x in (-2.0, -0.0, 0.0, 1e-320, 0.15, 1.0, 3.0, 7.0, 1e300):
        for action in (0, 1, 2):
            row = {"x": x, "action": action}
            assert str(before(row).total) == str(after(row).total), (row, reward.task.facts[0].text)


def test_arrays_and_sets_may_be_constants_and_never_change():
    space = module("""
import numpy as np
def f(x, *, k=np.array([1.0, 2.0]), s={"b", "a"}, t=[1.0]):
    return (x * k).sum() < 5 and x < t[0]
""")
    known, given = fact(space["f"]), space["f"].__kwdefaults__
    given["k"][0], given["t"][0] = 99.0, 99.0
    text = write_function(known)
    assert "k=np.array((1.0, 2.0)), s=('a', 'b'), t=(1.0,)" in text
    again = parse_function(text, "fact")
    fields = [Field("x")]
    paid = term(module("def t(x): return x")["t"])
    one, other = (Reward("r", version="1", terms=[paid], fields=fields, task=Task(facts=[f])) for f in (known, again))
    assert one._bound.facts_program.nodes == other._bound.facts_program.nodes


def test_a_field_that_hides_a_function_that_the_text_needs_is_told():
    space = module("def clip(a): return max(a, 0)\ndef f(max): return clip(max) < 2")
    paid = term(module("def t(max): return max")["t"])
    with pytest.raises(DefinitionError, match="'f' cannot be written as text: a field that it reads has the name of"):
        Reward("r", version="1", terms=[paid], fields=[Field("max")], task=Task(goal=space["f"]))


def test_a_set_of_names_is_read_in_the_same_order_by_every_process():
    space = module("KNOWN = {'e', 'b', 'a', 'd', 'c', 'f', 'h', 'g'}\ndef f(mood): return mood in KNOWN")
    assert "('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')" in write_function(fact(space["f"]))


def test_a_task_is_written_once_however_many_rewards_have_it(monkeypatch):
    task = Task(goal=limited)
    made = [Reward("r", version="1", terms=[paid], fields=FIELDS, task=task)]
    monkeypatch.setattr("plaudit.reward.task.functions._unparse", None)
    made += [Reward("r", version=version, terms=[paid], fields=FIELDS, task=task) for version in "23"]
    assert all(each.task is task for each in made)
