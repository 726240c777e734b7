"""What a decorator leaves alone is read without it; one that changes the value is read itself, or refused."""

import warnings
from textwrap import dedent

import pytest

from plaudit import Field, ReadError, Reward, term
from support.written import NUMBERS, agree, module, plain, reward_of

ROWS = [{"x": x} for x in NUMBERS]

PASSING_ON = """
    import functools, logging, time
    log = logging.getLogger("tests")
    def timed(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            '''Doc.'''
            began = time.perf_counter()
            log.debug("calling %s", function.__name__)
            result = function(*args, **kwargs)
            log.debug(f"{result} after {time.perf_counter() - began}")
            return result
        return wrapper
    """
CHANGING = {
    "it doubles": "return 2 * function(*args, **kwargs)",
    "it doubles what it kept": "result = function(*args, **kwargs)\n            return 2 * result",
    "it returns something else": "function(*args, **kwargs)\n            return 3.0",
    "it passes on something else": "args = (2 * args[0],)\n            return function(*args, **kwargs)",
    "it calls twice": "return function(function(*args, **kwargs))",
    "it changes the result": "result = function(*args, **kwargs)\n            result += 1\n            return result",
    "it assigns inside what it prints": "print(args := (2 * args[0],))\n            return function(*args, **kwargs)",
    "it calls what may change the arguments": "log.debug(spoil(args))\n            return function(*args, **kwargs)",
    "it hides the function": "function = abs\n            return function(*args, **kwargs)",
    "it catches": "try:\n                return function(*args, **kwargs)\n            except ValueError:\n                return 0",
}


@pytest.mark.parametrize(
    "decorated",
    [
        "@functools.cache\ndef f(x): return 2 * x",
        "@functools.lru_cache(maxsize=None)\ndef g(a): return 2 * a\ndef f(x): return g(x) + 1",
        "@timed\ndef f(x): return x + 1",
        "@timed\n@timed\ndef g(a): return a + 1\ndef f(x): return g(x) * g(1)",
        "@timed\ndef g(a, *, k=2): return a + k\ndef f(x): return g(x, k=3)",
    ],
)
def test_a_decorator_that_leaves_the_value_alone_makes_no_difference(decorated):
    agree(dedent(PASSING_ON) + decorated, rows=ROWS)


@pytest.mark.parametrize("body", CHANGING.values(), ids=CHANGING)
def test_a_decorator_that_may_change_the_value_is_refused(body):
    text = f"""
    import functools, logging
    log = logging.getLogger("tests")
    def spoil(values): values[0][0] = 1
    def changing(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            {body}
        return wrapper
    @changing
    def g(a): return a
    def f(x): return g(x)
    """
    function = plain(text)
    for read in (function.__globals__["g"], function):
        with pytest.raises(
            ReadError, match=r"(?s)'g' cannot be read: the decorator `changing` may change.*term\(g\.__"
        ):
            term(read)


def test_a_wrapper_with_parameters_of_its_own_is_what_is_read():
    text = """
    import functools
    def doubled(function):
        @functools.wraps(function)
        def wrapper(x):
            return 2 * function(x)
        return wrapper
    @doubled
    def g(x): return x + 1
    def f(x): return g(x)
    """
    agree(text, rows=ROWS)
    assert reward_of(module(text)["g"]).score(x=3.0).total == 8.0


def test_scripted_and_compiled_functions_of_torch_are_read():
    torch = pytest.importorskip("torch")
    text = """
    import torch
    @torch.jit.script
    def g(a, k: float = 3.0): return a * k
    @torch.no_grad()
    def h(a): return g(a) + 1
    @torch.inference_mode()
    @torch.jit.script
    def f(x): return g(x)
    """
    space = module(text)
    row = torch.tensor(2.0)
    for name in ("h", "f"):
        read = reward_of_one_field(space[name])
        assert read.score(**{read.inputs[0]: 2.0}).total == float(space[name](row))


def test_what_torch_traced_or_casts_is_refused():
    torch = pytest.importorskip("torch")

    def positive(x):
        return x if x > 0 else -2 * x

    with warnings.catch_warnings(action="ignore"):
        traced = torch.jit.trace(positive, torch.tensor(1.0), check_trace=False)
    for refused in (traced, torch.autocast("cpu")(positive)):
        with pytest.raises(ReadError, match="plain Python function|the decorator `autocast"):
            term(refused)


def test_compiled_functions_of_jax_are_read_and_mapped_ones_refused():
    jax = pytest.importorskip("jax")
    text = """
    import functools, jax
    @functools.partial(jax.jit, static_argnames="k")
    def g(a, k=3): return a * k
    @jax.jit
    def f(x): return g(x, k=2)
    """
    function = plain(text)
    assert reward_of_one_field(function).score(x=2.5).total == float(function(2.5))
    with pytest.raises(ReadError, match="may change what it returns"):
        term(jax.vmap(function))


def reward_of_one_field(function):
    made = term(function)
    return Reward("tried", version="1", terms=[made], fields=[Field(name) for name in made.reads])
