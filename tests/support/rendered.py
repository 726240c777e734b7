"""What a reward's text computes, and whether its formula is whole."""

import math
from types import SimpleNamespace

import pytest

import plaudit

PAIRS = (("{", "}"), (r"\left", r"\right"), (r"\begin{", r"\end{"))


class Rendered:
    """The text of a reward, run, and the reward itself, compiled."""

    def __init__(self, reward):
        functions, _, total = reward.source().rpartition("total = ")
        self.reward, self.compiled = reward, reward.compile("python")
        self.space, self.total = {"math": math, "plaudit": plaudit}, compile(total, "<rendered>", "eval")
        exec(compile(functions, "<rendered>", "exec"), self.space)


LAST = []
"""What was rendered last: the next row is mostly one of the very same reward."""


def render(reward):
    """Return a reward, rendered; equal rewards may have other texts."""
    if not LAST or LAST[0].reward is not reward:
        LAST[:] = [Rendered(reward)]
    return LAST[0]


def names_in(reward, inputs):
    """Return what the names in the text stand for in one row: records with attributes, vectors by entry."""
    names = {"prev": SimpleNamespace(), "curr": SimpleNamespace()}
    row = render(reward).compiled.convert_row(inputs)
    for (name, field), value in zip(reward.program.inputs.items(), row, strict=True):
        record, _, key = name.rpartition(".")
        key, bracket, entry = key.partition("[")
        space = vars(names[record]) if record else names
        value = field.labels[int(value)] if field.labels else value
        if bracket:
            space.setdefault(key, {})[int(entry[:-1])] = value
        else:
            space[key] = value
    return names


def run_again(reward, inputs):
    """Return each term's score and the total, as the text of the reward computes them."""
    space, names = render(reward).space, names_in(reward, inputs)
    scores = {}
    for term in reward._functions:
        code = space[term.name].__code__
        # what only the end of an episode reads is not in the signal of a step before it, and not looked at
        arguments = [names.get(name) for name in code.co_varnames[: code.co_argcount]]
        scores[term.name] = float(space[term.name](*arguments))
    return scores, float(eval(render(reward).total, {"math": math, **names, **scores}))


def compare(reward, inputs):
    """Assert that the text scores one row as the reward does."""
    signal = reward.score(**inputs)
    scores, total = run_again(reward, inputs)
    for term in reward._functions:
        score = signal[term.name].score
        assert scores[term.name] == pytest.approx(score, rel=1e-12, abs=1e-300), term.name
    assert total == pytest.approx(signal.total, rel=1e-12, abs=1e-12)


def check_formula(reward):
    """Assert that a formula is whole and mentions every term, input and knob."""
    text = reward.formula()
    for opening, closing in PAIRS:
        assert text.count(opening) == text.count(closing), (opening, text)
    depth = 0
    for letter in text:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert text.count("$$") == 2 * (len(reward.terms) + 1)
    for term in reward.terms:
        assert rf"\text{{{escaped(term.name)}}} &=" in text
    names = {name.rpartition(".")[2].partition("[")[0] for name in reward.inputs}
    for name in names:
        assert escaped(name) in text, name


def escaped(name):
    return name.replace("_", r"\_")
