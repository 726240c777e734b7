"""Statements: loops written out turn by turn, and `match`; both with Python's meaning."""

import itertools
import random

import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.language.reading.comprehensions import MOST_TURNS
from support.strategies import load
from support.written import agree, plain, reward_from

V = Field("v", length=4)
W = Field("w", length=4)
VALUES = (
    (1.0, 2.0, 4.0, -1.0),
    (-1.0, 0.5, -0.0, 3.0),
    (5.0, 5.0, 5.0, 5.0),
    (0.0, 0.0, 0.0, 0.0),
    (9.0, -9.0, 1.5, 2.5),
)
ROWS = [{"v": v, "w": w} for v in VALUES for w in VALUES[:3]]

LOOPS = {
    "a sum": "for x in v:\n    t += x * x",
    "pairs": "for x, y in zip(v, w):\n    t += x * y",
    "three at once": "for x, y, z in zip(v, w, (1, 2, 3, 4)):\n    t += x * y - z",
    "numbered": "for i, x in enumerate(v):\n    t += i * x",
    "numbered from one": "for i, x in enumerate(v, start=1):\n    t += i * x",
    "numbered pairs": "for i, (x, y) in enumerate(zip(v, w), 1):\n    t += i * x - y",
    "a range": "for i in range(4):\n    t += v[i] * w[3 - i]",
    "a range over a length": "for i in range(len(v)):\n    t += v[i] * (i + 1)",
    "a range from one": "for i in range(1, len(v)):\n    t += abs(v[i] - v[i - 1])",
    "a range downwards": "for i in range(3, 0, -1):\n    t = t / 2 + v[i]",
    "backwards": "for x in reversed(v):\n    t = t / 2 + x",
    "constants": "for weight, x in ((0.5, v[0]), (2, v[1])):\n    t += weight * x",
    "a tuple of data": "for x in (v[0], w[0]):\n    t += x",
    "never": "for i in range(0):\n    t += nowhere",
    "one in another": "for x in v:\n    for y in w:\n        t += x * y",
    "a branch": "for x in v:\n    if x > 1:\n        t += x\n    elif x < 0:\n        t -= 2 * x",
    "names that a branch makes": "last = -1.0\nfor x in v:\n    if x > 1:\n        last = x\nt = last",
    "the loop's names afterwards": "for i, x in enumerate(v):\n    pass\nt = x + i",
    "an early return": "for x in v:\n    if x > 4:\n        return x * 100\n    t += x",
    "an early return for some": "for x in v:\n    if x > 1:\n        if x > 4:\n            return t\n        t += x",
    "a return at once": "for x, y in zip(v, w):\n    return x - y",
    "continue": "for x in v:\n    if x < 0:\n        continue\n    t += x",
    "continue after a change": "for x in v:\n    t += 1\n    if x < 0:\n        t += 10\n        continue\n    t += x",
    "continue for some": "for x in v:\n    if x < 2:\n        if x < 0:\n            continue\n        t += 100\n    t += x",
    "two continues": "for x in v:\n    if x < 0:\n        continue\n    t += 1\n    if x > 4:\n        t += 7\n        continue\n    t += x",
    "a constant continue": "for i, x in enumerate(v):\n    if i == 1:\n        continue\n    t += x",
    "break": "for x in v:\n    if x < 0:\n        break\n    t += x",
    "break after a change": "for x in v:\n    t += 1\n    if x < 0:\n        t += 100\n        break\n    t += x",
    "break for some": "for x in v:\n    if x < 2:\n        t += 50\n        if x < 0:\n            break\n    t += x",
    "a constant break": "for i, x in enumerate(v):\n    if i == 2:\n        break\n    t += x",
    "break behind continue": "for x in v:\n    if x == 0:\n        continue\n    if x <= 0:\n        break\n    t += x",
    "continue behind break": "for x in v:\n    if x > 4:\n        break\n    if x < 0:\n        continue\n    t += x",
    "all three": (
        "for x in v:\n    if x < 0:\n        continue\n    if x > 8:\n        return 77\n    if x == 5:\n        break\n"
        "    t += x\nt *= 2"
    ),
    "return behind continue": "for x in v:\n    if x < 1:\n        continue\n    return x\nt = -5",
    "break or return": "for x in v:\n    if x < 1:\n        break\n    else:\n        return x\nt = -5",
    "break in a loop inside": "for x in v:\n    for y in w:\n        if y > x:\n            break\n        t += y\n    t += 100",
    "continue in a loop inside": "for x in v:\n    for y in w:\n        if y > x:\n            continue\n        t += y\n    if t > 50:\n        break",
    "the name at a break": "best = 0\nfor i, x in enumerate(v):\n    if x > 1:\n        best = i\n        break\nt = best",
    "else": "for x in v:\n    if x < 0:\n        t += 1000\n        break\n    t += x\nelse:\n    t -= 7",
    "else without break": "for x in v:\n    t += x\nelse:\n    t -= 7",
    "else that returns": "for x in v:\n    if x < 0:\n        break\nelse:\n    return 12",
    "else that continues": "for x in v:\n    for y in w:\n        if y > x:\n            break\n    else:\n        continue\n    t += x",
    "what a break guards": "for x in v:\n    if x == 0:\n        break\n    t += 1 / x",
    "what a continue guards": "for x in v:\n    if x == 0:\n        continue\n    t += 1 / x",
    "what a return guards": "for x in v:\n    if x == 0:\n        return -1\n    t += 1 / x",
    "a list that it writes": "l = [v[0], v[1], 1.0]\nfor i, x in enumerate(l):\n    l[i] = 2 * x\nt = sum(l)",
    "a dict that it writes": "d = {'a': v[0], 'b': w[1]}\nfor k, x in d.items():\n    d[k] = x * 2\nt = d['a'] - d['b']",
    "a copy of what it extends": "l = [v[0], w[0]]\nfor x in list(l):\n    l.append(2 * x)\nt = sum(l)",
    "a name that it gives anew": "l = [v[0], w[0]]\nfor x in l:\n    l = l + [x]\nt = sum(l)",
    "pairs that are taken once": "for k in (1, 2):\n    pairs = zip(v, w)\n    for x, y in pairs:\n        t += k * x * y",
    "names in constants": "for name, x in zip(('a', 'b', 'c', 'd'), v):\n    if x > 4:\n        break\n    t += x if name == 'b' else 1",
}  # fmt: skip


def written(body):
    lines = "\n    ".join(body.splitlines())
    return f"def f(v, w):\n    t = 0.0\n    {lines}\n    return t + 0 * (v[0] + w[0])\n"


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_a_loop_means_what_python_means(body):
    agree(written(body), V, W, rows=ROWS)


CHANGED = {
    "a list that grows": "l = [v[0], w[0]]\nfor x in l:\n    t += x\n    if len(l) < 4:\n        l.append(1.0)",
    "a list that grows in the last turn": "l = [v[0], w[0]]\nfor i, x in enumerate(l):\n    t += x\n    if i == 1:\n        l.append(1.0)",
    "a later entry": "l = [v[0], w[0]]\nfor x in l:\n    t += x\n    l[1] = 5.0",
    "a later value": "d = {'a': v[0], 'b': w[0]}\nfor k, x in d.items():\n    t += x\n    d['b'] = 7.0",
}


@pytest.mark.parametrize("body", CHANGED.values(), ids=CHANGED)
def test_a_loop_does_not_change_what_it_still_runs_over(body):
    with pytest.raises(ReadError, match=r"the loop changes (.|\n)*Loop over a copy"):
        reward_from(written(body), V, W)


ONCE = {
    "twice": "z = zip(v, w)\nt = sum(x for x, y in z) + sum(y for x, y in z)",
    "in every turn": "z = reversed(v)\nfor k in range(2):\n    for x in z:\n        t += x",
    "on from a break": "z = enumerate(v)\nfor i, x in z:\n    break\nt = sum(x for i, x in z)",
}


@pytest.mark.parametrize("body", ONCE.values(), ids=ONCE)
def test_what_runs_once_is_not_read_again(body):
    with pytest.raises(ReadError, match=r"what runs only once, and is read again(.|\n)*z = list\("):
        reward_from(written(body), V, W)


def test_a_loop_is_the_same_nodes_as_the_sum_that_it_writes_out():
    loop = reward_from(
        "def f(v):\n    t = v[0]\n    for x in v[1], v[2]:\n        t += x\n    return t", Field("v", length=3)
    )
    assert loop.fingerprint == reward_from("def f(v):\n    return sum(v)", Field("v", length=3)).fingerprint


def test_a_loop_with_breaks_grows_with_its_turns_and_not_with_its_paths():
    text = "def f(x):\n    t = 0.0\n    for i in range({n}):\n        if x > i:\n            if t > 2 * i:\n                break\n            t += x\n        if x == i:\n            continue\n        t += i\n    return t"
    few, many = (len(reward_from(text.format(n=n)).program.nodes) for n in (20, 40))
    assert 1.8 < many / few < 2.2


def test_the_turns_of_all_loops_together_are_limited():
    with pytest.raises(ReadError, match=rf"(?s)more than {MOST_TURNS:,} iterations in all.*Compute part of it"):
        term(plain("def f(x):\n    for i in range(200):\n        for j in range(200):\n            pass\n    return x"))


def test_an_enormous_range_is_refused_at_once():
    with pytest.raises(ReadError, match=r"a range of more than 4,096"):
        term(plain("def f(x):\n    for i in range(10**30):\n        pass\n    return x"))


REFUSED_LOOPS = {
    "a range of data": ("for i in range(n):\n        n += i", "a constant integer is needed", "if i >= n: break"),
    "a range of floats": ("for i in range(1.5):\n        n += i", "a constant integer is needed", "if i >= n: break"),
    "a range that stands still": ("for i in range(1, 2, 0):\n        n += i", "a step other than 0", "range(first, n, step)"),
    "a number": ("for i in n:\n        n += i", "is not a vector", "Give the field a length"),
    "vectors of other lengths": ("for a, b in zip((1, 2), (1, 2, 3)):\n        n += a", "differ in length: 2 and 3", "same length"),
    "names that do not fit": ("for a, b in ((1, 2, 3),):\n        n += a", "the left side takes 2", "a name for each"),
    "an entry as the loop's name": ("for n[0] in (1, 2):\n        n += 1", "changed in place", "its own name"),
    "a name without a value": ("for i in range(0):\n        y = 1\n    n = y", "'y' is read before it is assigned", "above"),
    "a name that a break leaves out": ("for i in range(3):\n        if n > i:\n            break\n        y = 1\n    n = y", "'y' has no value on some paths", "before"),
    "while": ("while n > 1:\n        n -= 1", "no known number of iterations", "for i in range"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "what", "advice"), REFUSED_LOOPS.values(), ids=REFUSED_LOOPS)
def test_a_loop_that_cannot_be_read_says_why(body, what, advice):
    with pytest.raises(ReadError) as caught:
        reward_from(f"def f(n):\n    {body}\n    return n\n")
    message = str(caught.value).splitlines()
    assert what in message[0]
    assert advice in message[-1]


GAIT = Field("gait", values=("stand", "walk", "run"))
MATCHES = {
    "categories": "match gait:\n    case 'walk':\n        return x\n    case 'run':\n        return 2 * x\n    case _:\n        return 0",
    "several constants": "match gait:\n    case 'walk' | 'run':\n        return x\n    case 'stand':\n        return -1\nreturn 9",
    "guards": "match gait:\n    case 'walk' if x > 1:\n        return x\n    case 'walk' | 'run' if x > 0:\n        return 7\n    case _:\n        return 8",
    "without a fit": "y = 1\nmatch gait:\n    case 'walk':\n        y = x\nreturn y",
    "numbers": "match x:\n    case 0:\n        return 1\n    case 1 | 2.5:\n        return 2\n    case -1:\n        return 3\n    case _:\n        return x",
    "names": "match x:\n    case y if y > 1:\n        return y\n    case z:\n        return -z",
    "a constant": "match 3:\n    case 3:\n        return x\n    case _:\n        return nowhere",
    "truth": "match x > 1:\n    case True:\n        return 1\n    case _:\n        return x",
    "a guarded division": "match x:\n    case 0:\n        return 0\n    case _:\n        return 1 / x",
    "in a loop": "t = 0\nfor i in range(3):\n    match gait:\n        case 'walk' if x > i:\n            continue\n        case 'run':\n            break\n    t += x\nreturn t",
    "an attribute": "match gait:\n    case Gaits.WALK:\n        return x\n    case _:\n        return 0",
}  # fmt: skip


@pytest.mark.parametrize("body", MATCHES.values(), ids=MATCHES)
def test_match_means_what_python_means(body):
    lines = "\n    ".join(body.splitlines())
    text = f"class Gaits:\n    WALK = 'walk'\ndef f(gait, x):\n    {lines}"
    rows = [{"gait": gait, "x": x} for gait in GAIT.values for x in (-1.0, 0.0, 0.5, 1.0, 2.5)]
    if "gait" not in body:
        text, rows = text.replace("f(gait, x)", "f(x)"), [{"x": row["x"]} for row in rows[:5]]
        agree(text, rows=rows)
    else:
        agree(text, GAIT, rows=rows)


def test_match_gives_the_same_nodes_as_if():
    match = "def f(gait, x):\n    match gait:\n        case 'walk':\n            return x\n        case 'run':\n            return 2 * x\n    return 0"
    branches = "def f(gait, x):\n    if gait == 'walk':\n        return x\n    elif gait == 'run':\n        return 2 * x\n    return 0"
    assert reward_from(match, GAIT).fingerprint == reward_from(branches, GAIT).fingerprint


REFUSED_CASES = {
    "a misspelt category": ("'wlak'", "'wlak' is not a value of field 'gait'. Did you mean 'walk'?", "Its values"),
    "a sequence": ("(a, b)", "a `case` is a constant", "case _ if"),
    "a mapping": ("{'a': 1}", "a `case` is a constant", "case _ if"),
    "a class": ("str()", "a `case` is a constant", "case _ if"),
    "None": ("None", "never None", "missing="),
    "truth of a category": ("True", "`True` matches a bool", "match x > 1"),
    "a pattern with a name": ("'walk' as g", "a `case` is a constant", "case _ if"),
}


@pytest.mark.parametrize(("pattern", "what", "advice"), REFUSED_CASES.values(), ids=REFUSED_CASES)
def test_a_pattern_that_cannot_be_read_says_why(pattern, what, advice):
    with pytest.raises(ReadError) as caught:
        reward_from(f"def f(gait):\n    match gait:\n        case {pattern}:\n            return 1\n    return 0", GAIT)
    message = str(caught.value).splitlines()
    assert what in message[0]
    assert advice in message[-1]


def written_at_random(rng):
    """Return a function of nested loops and branches that break, continue and return wherever it happens."""

    def block(depth, loops):
        lines = [line for _ in range(rng.randint(1, 3)) for line in statement(depth, loops)]
        return lines or ["pass"]

    def statement(depth, loops):
        name = rng.choice("tu")
        kinds = ["assign"] * 3 + ["if"] * 3 * (depth > 0) + ["for"] * 2 * (depth > 0) + ["leave"] * 2 * bool(loops)
        match rng.choice([*kinds, "return"]):
            case "assign":
                return [
                    f"{name} = {rng.choice('tuxy')} {rng.choice(('* 0.5', '* -1', '/ x', '/ (t - 2)'))} + {rng.choice('xytu')}"
                ]
            case "if":
                test = f"if {rng.choice('tuxy')} {rng.choice('<>')} {rng.choice(('0', '1', 't', 'x + 1'))}:"
                other = ["else:", *indent(block(depth - 1, loops))] if rng.random() < 0.4 else []
                return [test, *indent(block(depth - 1, loops)), *other]
            case "for":
                other = ["else:", *indent(block(depth - 1, loops))] if rng.random() < 0.3 else []
                return [f"for {name} in (x, 2 * y, y - 1):", *indent(block(depth - 1, loops + 1)), *other]
            case "leave":
                return [rng.choice(("break", "continue"))]
        return [f"if t > {rng.choice((1, 3))}:", f"    return {name} - y"]

    def indent(lines):
        return [f"    {line}" for line in lines]

    body = [line for _ in range(3) for line in statement(3, 0)]
    return "\n".join(["def f(x, y):", *indent(["t = x - y", "u = x + y", *body, "return t - u + 0.125 * x - y"])])


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(15, 60))])
def test_loops_written_at_random_mean_what_python_means(seed):
    text = written_at_random(random.Random(seed))
    numbers = (-2.5, -0.5, 0.0, 0.75, 2.0, 3.5)
    agree(text, rows=[{"x": x, "y": y} for x in numbers for y in numbers])


def test_long_chains_of_elifs_and_cases_are_no_deeper():
    branches = "".join(f"    elif x < {i}:\n        return {i}\n" for i in range(1, 520))
    cases = "".join(f"        case {i}:\n            return {i}\n" for i in range(1, 520))
    text = f"def f(x):\n    if x < 0:\n        return 0\n{branches}    match x:\n{cases}    return -1"
    reward = reward_from(text)
    assert [reward.score(x=x).total for x in (-1.0, 0.5, 518.5, 519.0, 520.0)] == [0.0, 1.0, 519.0, 519.0, -1.0]


@pytest.mark.parametrize(
    "body",
    [
        "match mood:\n    case 'calm':\n        return 1.0\n    case 'wild':\n        return 2.0\n    case 'other':\n        return 3.0",
        "if mood == 'calm':\n    return 1.0\nelif mood in ('wild', 'other'):\n    return 2.0",
        "if mood == 'calm' and lit:\n    return 1.0\nif not lit:\n    return 3.0\nif mood != 'calm':\n    return 2.0",
        "if level == 0:\n    return 1.0\nelif level == 1:\n    return 2.0\nelif level == 2:\n    return 3.0",
    ],
)  # fmt: skip
def test_what_names_every_value_of_a_field_needs_no_default(body):
    fields = {
        "mood": Field("mood", values=("calm", "wild", "other")),
        "lit": Field("lit", flag=True),
        "level": Field("level", values=(0, 1, 2)),
    }
    names = [name for name in fields if name in body]
    function = load(f"def f({', '.join(names)}):\n" + "\n".join(f"    {line}" for line in body.split("\n")))["f"]
    reward = Reward("r", version="1", terms=[term(function)], fields=[fields[name] for name in names])
    values = {"mood": ("calm", "wild", "other"), "lit": (True, False), "level": (0, 1, 2)}
    for row in itertools.product(*(values[name] for name in names)):
        given = dict(zip(names, row, strict=True))
        assert reward.score(**given).total == function(**given)


def test_a_value_that_nobody_names_is_a_path_without_return():
    made = term(
        load("def f(level):\n    if level == 0:\n        return 1\n    elif level == 1:\n        return 2\n")["f"]
    )
    with pytest.raises(ReadError, match="a path ends without `return`"):
        Reward("r", version="1", terms=[made], fields=[Field("level", values=(0, 1, 2))])
    with pytest.raises(ReadError, match="a path ends without `return`"):
        Reward("r", version="1", terms=[made], fields=[Field("level")])


READ_TRIES = {
    "a conversion": "try:\n    y = float(x)\nexcept (TypeError, ValueError):\n    y = 0.0\nreturn y + int(level)",
    "an entry": "try:\n    return TABLE[KEY] * x\nexcept KeyError:\n    return -1.0",
    "a default": "try:\n    y = TABLE.get('b', 2.0)\nexcept Exception as error:\n    y = 5.0\nelse:\n    y += x\nreturn y",
    "a branch": "try:\n    if x > 1:\n        y = 2.0 * x\n    else:\n        return x\nexcept ValueError:\n    return 7.0\nreturn y",
    "a loop": "total = 0.0\nfor at in range(3):\n    try:\n        if at > level:\n            break\n    except IndexError:\n        continue\n    total += x\nreturn total",
    "a helper": "try:\n    return double(x)\nexcept ValueError:\n    return 0.0",
    "an import": "try:\n    import math\nexcept ImportError:\n    math = None\nreturn math.tanh(x)",
}
TRY_HEADER = "KEY, TABLE = 'a', {'a': 3.0}\ndef double(y): return 2 * y\ndef halve(y): return y / (y - 1)\n"


def load_try(body, signature="x, level"):
    return load(TRY_HEADER + f"def f({signature}):\n" + "".join(f"    {line}\n" for line in body.splitlines()))["f"]


@pytest.mark.parametrize("body", READ_TRIES.values(), ids=READ_TRIES)
def test_a_try_whose_block_cannot_fail_is_its_block(body):
    function = load_try(body)
    fields = [field for field in (Field("x"), Field("level", values=(0, 1, 2))) if field.name in body]
    names = [field.name for field in fields]
    reward = Reward("r", version="1", terms=[term(load_try(body, ", ".join(names)))], fields=fields)
    for x, level in itertools.product((-2.5, 0.0, 1.0, 3.0), (0, 1, 2)):
        given = {"x": x, "level": level}
        assert reward.score(**{name: given[name] for name in names}).total == function(x, level)


REFUSED_TRIES = {
    "a division": ("try:\n    y = 1 / x\nexcept ZeroDivisionError:\n    y = 0.0\nreturn y", "divides by zero in .*line 6:  y = 1 / x", "b != 0"),
    "a division in a helper": ("try:\n    y = halve(x)\nexcept ZeroDivisionError:\n    y = 0.0\nreturn y", "divides by zero in .*return y / ", "b != 0"),
    "a logarithm": ("import math\ntry:\n    return math.log(x)\nexcept ValueError:\n    return 0.0", "logarithm outside its domain", "b != 0"),
    "a raise": ("try:\n    if x > 1:\n        raise ValueError\n    return x\nexcept ValueError:\n    return 0.0", "raises ValueError in", "b != 0"),
    "an assertion": ("try:\n    assert x > 1\nexcept AssertionError:\n    return 0.0\nreturn x", "fails an assertion", "b != 0"),
    "an index": ("try:\n    return (1.0, 2.0)[level] + x\nexcept IndexError:\n    return 0.0", "indexes a table of 2 outside it", "b != 0"),
    "a dropped line": ("try:\n    print(x)\nexcept OSError:\n    return 0.0\nreturn x", "makes no difference", "out of the `try`"),
    "an unreadable value": ("import statistics\ntry:\n    y = statistics.median([x, 1.0])\nexcept ValueError:\n    return 0.0\nreturn x", "makes no difference", "out of the `try`"),
    "an end": ("try:\n    y = x\nexcept ValueError:\n    y = 0.0\nfinally:\n    y = 2.0\nreturn y", "`finally`", "behind it"),
    "a missing entry": ("try:\n    return TABLE['c'] + x\nexcept KeyError:\n    return 0.0", "'c' is not a key", "Its keys"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "what", "advice"), REFUSED_TRIES.values(), ids=REFUSED_TRIES)
def test_a_try_whose_block_may_fail_is_refused(body, what, advice):
    names = ["x", "level"] if "level" in body else ["x"]
    with pytest.raises(ReadError, match=what) as caught:
        Reward(
            "r",
            version="1",
            terms=[term(load_try(body, ", ".join(names)))],
            fields=[Field("x"), Field("level", values=(0, 1, 2, 3))][: len(names)],
        )
    assert advice in str(caught.value)


def test_a_try_around_what_a_row_may_lack_is_refused():
    function = load("def f(info):\n    try:\n        return info['x']\n    except KeyError:\n        return 0.0\n")["f"]
    with pytest.raises(ReadError, match="a row may lack 'x', which has missing=1.0"):
        Reward("r", version="1", terms=[term(function)], fields=[Field("x", missing=1.0)])
    assert Reward("r", version="1", terms=[term(function)], fields=[Field("x")]).score(x=2.0).total == 2.0


def test_a_try_around_what_is_returned_beside_the_score_is_refused():
    function = load(
        "def f(x):\n    try:\n        return x, {'a': 1 / x}\n    except ValueError:\n        return 0.0, {}\n"
    )["f"]
    with pytest.raises(ReadError, match="makes no difference to the score"):
        Reward("r", version="1", terms=[term(part=0)(function)], fields=[Field("x")])


def test_a_key_that_some_paths_add_is_named():
    text = "def f(x):\n    parts = {'a': x}\n    if x > 1:\n        parts['b'] = 2.0\n    return {}\n"
    for returned in ("sum(parts.values())", "parts['b'] + 1"):
        with pytest.raises(ReadError, match="the key 'b' is in the dict on some paths only"):
            Reward("r", version="1", terms=[term(load(text.replace("{}", returned))["f"])], fields=[Field("x")])
