"""Write the table of targets by asking each of them: `python scripts/targets.py`.

It replaces everything after the mark in docs/reference/targets.md; a test fails when that is out of date. What a target
can do is tried: a small reward is compiled for it and, where Python can run the result, run. Only where it runs,
and on what, is written down here.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars

from plaudit import Field, Reward, State, Task, fact, term
from plaudit.errors import InputError, TargetError
from plaudit.language import nodes as n
from plaudit.schedules import linear
from plaudit.targets import EXTRAS, Target, find_target
from plaudit.targets.registry import list_options
from plaudit.targets.sql.dialects import DIALECTS
from plaudit.testing import LAWS
from plaudit.testing.cases import load
from plaudit.testing.runners import OURS

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "targets.md"
MARK = "<!-- What follows is made by asking the targets: python scripts/targets.py -->"

PLACES = {
    "python": ("one row at a time, in Python", "one thread"),
    "numba": ("batches, compiled for the processor", "every core"),
    "numpy": ("batches", "one thread"),
    "jax": ("batches and single rows, inside `jit`, `vmap`, `scan`", "CPU, GPU, TPU"),
    "torch": ("batches and single rows, eager or inside `torch.compile`", "CPU, GPU"),
    "sql": ("DuckDB, SQLite, PostgreSQL, Spark", "as the database does"),
    "c": ("firmware and simulators: C99 and C++11", "one row a call, no heap"),
    "javascript": ("browsers and Node", "one thread"),
    "polars": ("Polars, eager, lazy and streaming", "every core"),
}
"""Where each target runs, and on what."""
BITS = {
    "always": "to the bit",
    "exact": "to the bit where exactly rounded",
    "never": "within rounding",
}
"""How equal to Python a target is held to be by `check_target`."""
TEXTS: dict[str, Callable[[Any], str]] = {
    "sql": lambda compiled: compiled.select("steps"),
    "c": lambda compiled: compiled.header,
    "javascript": lambda compiled: compiled.module,
}
"""The text of targets that are text."""


# -- what is asked -----------------------------------------------------------------------------------------------------


@term
def near(x, *, reach=2.0):
    """Be near."""
    return reach - x if x < reach else 0.0


@fact
def small(x):
    """It is small."""
    return x < 9


def count_up(prev, x):
    """Add up."""
    return min(prev.sum_so_far + x, 100.0)


@term
def carried(sum_so_far):
    """Read a state."""
    return sum_so_far


X = Field("x", low=0, high=10)
PLAIN = Reward("plain", version="1", terms=[near], fields=[X], task=Task(facts=[small]))


def build(text: str, *fields: Field, **parts: Any) -> Reward:
    """Return the reward of the function `f` of a text."""
    return Reward("asked", version="1", terms=[term(load(f"import math\n\n\n{text}")["f"])], fields=fields, **parts)


def opened(x):
    """Open."""
    return x < 5


REWARDS = {
    "numbers, flags, categories": build(
        "def f(x, lit, mood):\n    return x if lit and mood == 'calm' else 0.0",
        X,
        Field("lit", flag=True),
        Field("mood", values=("calm", "wild"), other="wild", missing="calm"),
    ),
    "steps: `prev` and `curr`": build("def f(prev, curr):\n    return curr.x - prev.x", X),
    "vectors": build("def f(v):\n    return sum(v) + max(v) - v[0]", Field("v", length=3)),
    "matrices": build("def f(m):\n    return m[0][1] + sum(m[1])", Field("m", shape=(2, 2))),
    "vectors of 1,100 entries": build("def f(v):\n    return sum(v)", Field("v", length=1100)),
    "states": Reward(
        "asked",
        version="1",
        terms=[carried],
        fields=[X, State("sum_so_far", reset=0.0, low=0, high=100, update=count_up)],
    ),
    "gates, overrides, clamps": Reward(
        "asked", version="1", terms=[near], fields=[X], gate=opened, override=[(opened, 1.0)], low=-1, scale=0.5
    ),
    "schedules": PLAIN.with_weights(near=linear(0, 1, over=100)),
}
OPTIONS = {
    "`guard=False`": {"guard": False},
    '`guard="facts"`': {"guard": "facts"},
    '`on_bad="clip"`': {"on_bad": "clip"},
}


def build_functions() -> Reward:
    """Return a reward that calls every function of the language, a term each."""
    texts = ["import math\n\nimport plaudit"]
    for at, kind in enumerate(n.FUNCTIONS):
        arguments = "x, y" if issubclass(kind, n.Binary) else "x"
        texts.append(f"def f{at}({arguments}):\n    return {kind.function}({arguments})")
    space = load("\n\n\n".join(texts))
    terms = [term(space[f"f{at}"]) for at in range(len(n.FUNCTIONS))]
    return Reward("functions", version="1", terms=terms, fields=[Field("x", low=0.5, high=1), Field("y", low=0.5)])


class Refusals:
    """The reasons that targets gave, each once, by the number that stands for it."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def ask(self, target: str, reward: Reward, **options: Any) -> str:
        """Return "yes" where a target compiles a reward, else the number of its reason."""
        try:
            compiled = reward.compile(target, **options)
            if target in TEXTS:
                TEXTS[target](compiled)
        except TargetError as error:
            reason = f"`{target}`: {error}"
            if reason not in self.reasons:
                self.reasons.append(reason)
            return f"no [{self.reasons.index(reason) + 1}]"
        return "yes"


def ask_on_bad(target: str, mode: str) -> str:
    """Return whether a target treats a bad row as asked for."""
    compiled = PLAIN.compile(target, on_bad=mode)
    if target in TEXTS:
        texts = {TEXTS[target](PLAIN.compile(target, on_bad=each)) for each in ("raise", "mask")}
        always = "a status" if target == "c" else "NULL"
        return "yes" if len(texts) > 1 else f"{always}, whatever is said"
    try:
        if target == "polars":
            ok = compiled.select(polars.DataFrame({"x": [-1.0]}))["ok"]
        else:
            ok = compiled({"x": -1.0} if target == "python" else {"x": np.array([-1.0])}).ok
    except (InputError, polars.exceptions.ComputeError):
        return "yes" if mode == "raise" else "no"
    return "yes" if mode == "mask" and not np.any(np.asarray(ok)) else "no"


def ask_knobs(target: str) -> str:
    """Return how other values of parameters are given while a program runs."""
    compiled = PLAIN.compile(target)
    if target not in TEXTS and callable(compiled):
        return "yes" if "params" in inspect.signature(compiled).parameters else "no"
    if "knobs" in list_options(find_target(target))[0]:
        return '`knobs="struct"`'
    return "yes" if target in TEXTS and "defaults" in TEXTS[target](compiled) else "no"


def ask_gradients(target: str) -> str:
    """Return whether a gradient comes out of a target."""
    if target == "jax":
        import jax

        slope = jax.grad(lambda x: PLAIN.compile(target)({"x": x}).total)(1.0)
        return "yes" if float(slope) == -1.0 else "no"
    if target == "torch":
        import torch

        x = torch.tensor(1.0, requires_grad=True)
        PLAIN.compile(target)({"x": x}).total.backward()
        return "yes" if float(x.grad) == -1.0 else "no"
    return "no"


def ask_dtypes(target: str) -> str:
    """Return what a target computes in."""
    if target == "torch":
        import torch

        columns: list[Any] = [torch.ones(1, dtype=getattr(torch, name)) for name in ("float64", "float32", "bfloat16")]
        found = [str(PLAIN.compile(target)({"x": column}).total.dtype).removeprefix("torch.") for column in columns]
    elif target == "jax":
        columns = [np.ones(1, name) for name in ("float32", "float16")]
        found = ["float64 with x64", *(PLAIN.compile(target)({"x": column}).total.dtype.name for column in columns)]
    elif "real" in list_options(find_target(target))[0]:
        found = ["double", "float"]
    elif "dtype" in list_options(find_target(target))[0]:
        found = ["float64", "float32", "float16"]
    else:
        found = ["float64"]
    return ", ".join(found)


# -- the page ----------------------------------------------------------------------------------------------------------


def write_table(page: str) -> str:
    """Return a page with the tables as the targets answer now."""
    before, mark, _ = page.partition(MARK)
    assert mark, f"the page has no line {MARK}"
    targets, refusals = get_args(Target), Refusals()
    assert set(PLACES) == set(targets), f"say in PLACES where these run: {set(targets) - set(PLACES)}"
    rows: dict[str, list[str]] = {
        "runs in": [PLACES[target][0] for target in targets],
        "on": [PLACES[target][1] for target in targets],
        "is": [
            "text" if target in TEXTS else "a function" if callable(PLAIN.compile(target)) else "expressions"
            for target in targets
        ],
        "needs": [f"`plaudit[{EXTRAS[target]}]`" if target in EXTRAS else "" for target in targets],
        "computes in": list(map(ask_dtypes, targets)),
        "equal to Python": [BITS[OURS[target].bits if target in OURS else "exact"] for target in targets],
        "gradients": list(map(ask_gradients, targets)),
        "knobs at run time": list(map(ask_knobs, targets)),
    }
    for what, reward in REWARDS.items():
        rows[what] = [refusals.ask(target, reward) for target in targets]
    rows[f"all {len(n.FUNCTIONS)} functions"] = [_ask_functions(refusals, target) for target in targets]
    for what, options in OPTIONS.items():
        rows[what] = [refusals.ask(target, PLAIN, **options) for target in targets]
    for mode in ("raise", "mask"):
        rows[f'`on_bad="{mode}"`'] = [ask_on_bad(target, mode) for target in targets]
    rows["`struct=True`"] = [_ask_structs(refusals, target) for target in targets]
    rows["options of its own"] = [_list_own_options(target) for target in targets]
    lines = [format_header(), f"|---|{'---|' * len(targets)}"]
    lines += [f"| {what} | {' | '.join(answers)} |" for what, answers in rows.items()]
    refused = [f"{at}. {reason}" for at, reason in enumerate(refusals.reasons, 1)]
    parts = [
        "\n".join([MARK, "", "## Every target", "", *lines]),
        "\n".join(["Refused, with the reason that is the error:", "", *refused]) if refused else "Nothing is refused.",
        format_laws(),
    ]
    return before + "\n\n".join(parts)


def format_header() -> str:
    """Return the first line of the table."""
    return f"| | {' | '.join(f'`{target}`' for target in get_args(Target))} |"


def format_laws() -> str:
    """Return the section that states every law."""
    laws = [f"| `{name}` | {law.__doc__} |" for name, law in LAWS.items()]
    return "\n".join(["## Every law", "", "| law | states |", "|---|---|", *laws]) + "\n"


def _ask_functions(refusals: Refusals, target: str) -> str:
    reward = build_functions()
    if refusals.ask(target, reward) == "yes":
        return "yes"
    answers = [refusals.ask(target, reward.select_terms(each.name)) for each in reward.terms]
    return f"{answers.count('yes')}, {', '.join(sorted({*answers} - {'yes'}))}"


def _ask_structs(refusals: Refusals, target: str) -> str:
    """Return in which dialects `prev` and `curr` may be columns with parts."""
    if target != "sql":
        return ""
    steps = REWARDS["steps: `prev` and `curr`"]
    answers = {each: refusals.ask(target, steps, dialect=each, struct=True) for each in DIALECTS}
    return ", ".join(f"{each}: {answer}" for each, answer in answers.items())


def _list_own_options(target: str) -> str:
    named, _ = list_options(find_target(target))
    return ", ".join(f"`{name}`" for name in named if name not in ("guard", "on_bad", "about"))


if __name__ == "__main__":
    PAGE.write_text(write_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
