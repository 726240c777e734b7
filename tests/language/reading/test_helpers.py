"""Helpers are plain functions above the term; they are read in place."""

import pytest

from plaudit import Field, PlauditError, ReadError, Reward, term
from support.written import NUMBERS, agree, module, plain, reward_from, reward_of

ROWS = [{"x": x} for x in NUMBERS]


@pytest.mark.parametrize(
    "text",
    [
        "def g(a, b): return a - 2 * b\ndef f(x): return g(x, 3)",
        "def g(a, b): return a - 2 * b\ndef f(x): return g(b=x, a=3)",
        "def g(a, *, k=4): return a * k\ndef f(x): return g(x) + g(x, k=0.5)",
        "def g(a, *, k): return a * k\ndef f(x): return g(2, k=x)",
        "def g(a):\n    if a > 0:\n        return a\n    return -2 * a\ndef f(x): return g(x) - g(-x)",
        "def g(a):\n    a = a + 1\n    return a\ndef f(x): return g(x) * x",
        "def h(a): return a + 1\ndef g(a): return h(a) * 2\ndef f(x): return g(h(x))",
        "def g(a): return a > 1\ndef f(x): return 5 if g(x) else 6",
        "def g(a): return (a, 2 * a)\ndef f(x): return sum(g(x))",
        "def g(): return 3\ndef f(x): return x + g()",
        "def g(table, a): return table[0] * a\ndef f(x): return g((1, 2), x) + g((3,), x)",
        "def g(a, k): return 1 if k else a\ndef f(x): return g(x, True) + g(x, False)",
        "def g(a):\n    '''Doc.'''\n    return a\ndef f(x): return g(x)",
    ],
)
def test_a_helper_means_what_python_means(text):
    agree(text, rows=ROWS)


def test_a_term_is_a_helper_too():
    space = module(
        "from plaudit import term\n@term(weight=5.0)\ndef g(y, *, k=2.0): return y * k\ndef f(x): return g(x) + 1"
    )
    reward = reward_of(space["f"])
    assert reward.score(x=3.0).total == 7.0
    assert reward.score(x=3.0).total == space["f"](3.0)


def test_a_helper_s_knob_is_a_constant_and_no_parameter():
    reward = reward_from("def g(a, *, k=4): return a * k\ndef f(x, *, gain=2.0): return g(x, k=gain) + g(x)")
    assert dict(reward.params) == {"f.gain": 2.0, "f.weight": 1.0}
    assert reward.with_params(f={"gain": 10.0}).score(x=1.0).total == 14.0


def test_a_helper_reads_a_record_that_it_is_given():
    reward = reward_from(
        "def g(state): return state.level * 2\ndef f(prev, curr): return g(curr) - g(prev)", Field("level")
    )
    assert reward.inputs == ("curr.level", "prev.level")
    assert reward.score(prev={"level": 1}, curr={"level": 4}).total == 6.0


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("def f(x): return f(x - 1)", "f"),
        ("def g(a): return g(a - 1) if a > 0 else 0\ndef f(x): return g(x)", "g"),
        ("def g(a): return h(a)\ndef h(a): return g(a)\ndef f(x): return g(x)", "g"),
        ("def g(a): return f(a)\ndef f(x): return g(x)", "[fg]"),
    ],
    ids=["itself", "a helper itself", "two helpers each other", "a helper the term"],
)
def test_recursion_is_refused(text, who):
    with pytest.raises(ReadError, match=rf"(?s)'{who}' calls itself.*Recursion cannot be compiled"):
        term(plain(text))


def test_a_knob_without_a_default_must_be_passed_to_a_helper():
    with pytest.raises(ReadError, match="'g' is called without k"):
        term(plain("def g(a, *, k): return a * k\ndef f(x): return g(x)"))


@pytest.mark.parametrize("call", ["g(*(x, 1))", "g(**{'a': x, 'b': 1})", "g(x, **OTHERS)", "g(*[x], b=1)"])
def test_stars_in_a_call_stand_for_what_is_known(call):
    function = plain(f"OTHERS = {{'b': 1}}\ndef g(a, b): return 10 * a + b\ndef f(x): return {call}")
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("x")])
    assert reward.score(x=2.0).total == function(2.0) == 21.0


NESTED = {
    "a function": "def g(a):\n    return a * 2\nreturn g(x) + g(1)",
    "what it sees around it": "k = 3\ndef g(a):\n    return a * k + x\nreturn g(x)",
    "what it sees when it is called": "k = 3\ndef g(a):\n    return a * k\nk = x\nreturn g(2)",
    "its own name": "k = 3\ndef g(a):\n    k = a + 1\n    return k\nreturn g(x) * k",
    "a parameter that hides another": "def g(x):\n    return x + 1\nreturn g(5) * x",
    "defaults": "def g(a, b=2, *, c=x):\n    return a * b - c\nreturn g(x) + g(x, 3) + g(x, b=1, c=7)",
    "defaults from when it was defined": "k = 1\ndef g(a, b=k):\n    return a * b\nk = 100\nreturn g(x)",
    "inside another": "def g(a):\n    def h(b):\n        return a * b\n    return h(x) + 1\nreturn g(3)",
    "one that calls another": "def g(a):\n    return a + 1\ndef h(a):\n    return g(a) * 2\nreturn h(g(x))",
    "early returns": "def g(a):\n    if a > 1:\n        return 7\n    return a\nreturn g(x) - g(2 * x)",
    "a tuple": "def g(a):\n    return a, a + 1\nlow, high = g(x)\nreturn low * high",
    "passed on": "def g(a):\n    return a + x\nreturn twice(g, 3)",
    "a lambda": "g = lambda a, b=2: a * b + x\nreturn g(x) + g(1, 3)",
    "a lambda called at once": "return (lambda a: a * a)(x + 1)",
    "a lambda passed on": "return twice(lambda a: a * x, 3)",
    "in a branch": "if x > 1:\n    def g(a):\n        return a + 1\n    return g(x)\nreturn 0",
    "a docstring": "def g(a: float) -> float:\n    '''Add one.'''\n    return a + 1\nreturn g(x)",
    "a call in a generator": "def g(a):\n    return a * x\nreturn sum(g(a) for a in (1, 2, 3))",
    "in a loop": "t = 0\nfor i in range(3):\n    def g(a):\n        return a * i\n    t += g(x)\nreturn t",
    "a loop inside": "def g(n):\n    t = 0\n    for i in range(n):\n        t += i * x\n    return t\nreturn g(3) + g(0)",
}


@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED)
def test_a_function_inside_means_what_python_means(body):
    lines = "\n    ".join(body.splitlines())
    agree(f"k = 1000\ndef twice(g, a):\n    return g(g(a))\ndef f(x):\n    {lines}", rows=ROWS)


DEFAULTS = [
    "def g(a, b=2): return a * b\ndef f(x): return g(x) + g(x, 3) + g(x, b=5)",
    "def g(a, b=2, *, c=3): return a * b - c\ndef f(x): return g(x) + g(a=x, c=1)",
    "def g(a, ends=(0.0, 1.0)): return min(max(a, ends[0]), ends[1])\ndef f(x): return g(x) + g(x, (1, 2))",
    "def g(a=1): return a\ndef f(x): return x + g()",
    "def g(a):\n    if a > 1:\n        return 1, a\n    return a, 2\ndef f(x):\n    b, c = g(x)\n    return b - 2 * c",
]


@pytest.mark.parametrize("text", DEFAULTS)
def test_a_helper_may_have_defaults_and_return_a_tuple(text):
    agree(text, rows=ROWS)


def test_a_helper_takes_and_returns_vectors():
    text = """
        def less(a, b):
            return a[0] - b[0], a[1] - b[1]
        def f(v, w):
            dx, dy = less(v, w)
            return dx * dx + dy
        """
    rows = [{"v": (1.0, 2.0), "w": (0.5, 7.0)}, {"v": (-1.0, 2.0), "w": (0.0, 0.0)}]
    agree(text, Field("v", length=2), Field("w", length=2), rows=rows)


def test_a_helper_may_take_more_arguments_than_it_uses():
    agree("def g(a, *rest, **more):\n    return 2 * a\ndef f(x):\n    return g(x, 1.0, 2.0, scale=x)\n")


REFUSED = {
    "itself": ("def g(a):\n    return g(a)\nreturn g(x)", "'g' calls itself", "Recursion"),
    "each other": ("def g(a):\n    return h(a)\ndef h(a):\n    return g(a)\nreturn g(x)", "calls itself", "Recursion"),
    "a decorator": ("@math.floor\ndef g(a):\n    return a\nreturn g(x)", "the decorator `@math.floor`", "Drop"),
    "a generator": ("def g(a):\n    yield a\nreturn g(x)", "returns once", "Return"),
    "a coroutine": ("async def g(a):\n    return a\nreturn x", "async", "Drop"),
    "any number of arguments": ("def g(*a):\n    return a[0]\nreturn g(x)", "`*args`", "Name each"),
    "a name that comes later": (
        "def g(a):\n    return a + k\ny = g(x)\nk = 1\nreturn y",
        "'k' is read before",
        "above",
    ),
    "names of others": ("def g(a):\n    nonlocal x\n    x = a\n    return a\nreturn g(x)", "side effects", "Return"),
    "the function itself": ("def g(a):\n    return a\nreturn g + x", "the function 'g'", "Call it: `g(...)`"),
    "too many arguments": ("def g(a):\n    return a\nreturn g(x, 1)", "'g' takes 1 positional", "Its parameters: a"),
}


@pytest.mark.parametrize(("body", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_a_function_inside_that_cannot_be_read_says_why(body, what, advice):
    lines = "\n    ".join(body.splitlines())
    with pytest.raises(ReadError) as caught:
        reward_from(f"k = 1000\ndef f(x):\n    {lines}\n")
    message = str(caught.value).splitlines()
    assert what in message[0]
    assert advice in message[-1]


def test_an_installed_function_outside_the_language_is_an_error_at_the_call(tmp_path, monkeypatch):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "gainlib.py").write_text("def gain(x):\n    while x > 1:\n        x -= 1\n    return x\n")
    monkeypatch.syspath_prepend(str(package))
    text = "from gainlib import gain\ndef f(x):\n    return 2 * gain(x)"
    with pytest.raises(ReadError) as caught:
        term(plain(text))
    assert "`gain` cannot be read with these arguments: a loop is unrolled" in str(caught.value)
    assert "    return 2 * gain(x)\n" in str(caught.value)
    assert "gainlib.py" not in str(caught.value)


QUEUE = """
def decorate(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1
    return wrapper

@decorate
def count_cars(lane):
    return 1

def count(lane):
    return count_cars(lane)
"""


def test_an_installed_function_that_takes_anything_is_refused_with_the_field_to_declare(tmp_path, monkeypatch):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "queuelib.py").write_text(QUEUE)
    monkeypatch.syspath_prepend(str(package))
    direct = refusal_of("import queuelib\ndef f(x):\n    return x + queuelib.count_cars('n')")
    assert "`queuelib.count_cars` is declared with `*args`, as by a decorator" in direct
    inside = refusal_of("import queuelib\ndef f(x):\n    return x + queuelib.count('n')")
    assert "`queuelib.count` cannot be read: in it, `count_cars` is declared with `*args`" in inside
    assert inside.splitlines()[-1].startswith("Compute it before scoring: declare Field('count')")
    text = "import queuelib\nclass Env:\n    def cars(self): return queuelib.count('n')\n    def f(self): return self.cars()"
    with pytest.raises(PlauditError) as caught:
        Reward("r", version="1", terms=[term(module(text)["Env"].f)], fields=[])
    assert "declare Field('cars'), and `cars` then need not be read" in str(caught.value)


def refusal_of(text):
    """Return the message that reading a function ends in."""
    with pytest.raises(ReadError) as caught:
        term(plain(text))
    return str(caught.value)


def test_an_installed_function_in_the_language_is_read(tmp_path, monkeypatch):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "halflib.py").write_text("def half(x):\n    return 1 / x if x > 2 else 2 / x\n")
    monkeypatch.syspath_prepend(str(package))
    reward = reward_from("from halflib import half\ndef f(x):\n    return 3 * half(x)")
    assert reward.score(x=4.0).total == 0.75
    with pytest.raises(ArithmeticError, match=r"return 3 \* half\(x\)"):
        reward.score(x=0.0)
