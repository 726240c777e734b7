"""Every node of a Program, computed by the very spellings that run."""

import pytest

from plaudit.language.program import Program
from plaudit.targets.emit import SCALAR, SCALAR_NAMES, build_function, emit
from support.node import node

__all__ = ["node"]

collect_ignore = ["pasted"]  # no examples are in there, and what it imports is large


def _evaluate(nodes, inputs, row=()):
    """Return the value of each node of `nodes` for a row, the values of `inputs` in order."""
    return _evaluator(nodes, inputs)(*row)


def _evaluator(nodes, inputs, params=None):
    """Return the function from a row to the value of each node."""
    program = Program("nodes", (), tuple(nodes), inputs, params or {}, {}, frozenset(), (), ())
    everything = range(len(nodes))
    code = emit(program, everything, SCALAR)
    arguments = [f"x{i}" for i in range(len(inputs))] + [f"p{i}" for i in range(len(program.params))]
    result = "".join(f"{code.texts[at]}, " for at in everything)
    return build_function("values", arguments, [*code.lines, f"return ({result})"], {**SCALAR_NAMES, **code.tables})


@pytest.fixture(scope="session")
def evaluate():
    return _evaluate


@pytest.fixture(scope="session")
def evaluator():
    return _evaluator
