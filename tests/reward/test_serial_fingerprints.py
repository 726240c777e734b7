"""Identity: what changes a fingerprint, what does not, and that it is the same everywhere."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

import plaudit
from plaudit import Field, Reward, Task, term
from support.examples import examples
from support.strategies import cases, load

BASE = "def near(x, lit, *, reach=2.0):\n    if x < reach:\n        return 1.0\n    return -0.5 * x if lit else 0\n"
FIELDS = (Field("x", low=0, high=10), Field("lit", flag=True))


def made(source=BASE, *, fields=FIELDS, weight=1.0, low=None, high=None, terminal=False, name=None, **options):
    space = load(source)
    function = next(value for key, value in space.items() if callable(value) and key == (name or "near"))
    one = term(weight=weight, low=low, high=high, terminal=terminal)(function)
    return Reward(
        options.pop("reward", "r"), version=options.pop("version", "1"), terms=[one], fields=fields, **options
    )


SAME = {
    "comments": "def near(x, lit, *, reach=2.0):\n    # how near\n    if x < reach:  # near\n        return 1.0\n    return -0.5 * x if lit else 0\n",
    "docstring": "def near(x, lit, *, reach=2.0):\n    '''Near.'''\n    if x < reach:\n        return 1.0\n    return -0.5 * x if lit else 0\n",
    "formatting": "def near( x,lit , * ,reach = 2. ):\n  if (x<reach) : return (1.00)\n  return (-.5)*x if lit else 0\n",
    "local names": "def near(x, lit, *, reach=2.0):\n    close = 1.0\n    other = -0.5 * x if lit else 0\n    return close if x < reach else other\n",
    "annotations": "def near(x: float, lit: bool, *, reach: float = 2.0) -> float:\n    if x < reach:\n        return 1.0\n    return -0.5 * x if lit else 0\n",
    "a constant by name": "ONE = 1.0\n\n\ndef near(x, lit, *, reach=2.0):\n    if x < reach:\n        return ONE\n    return -0.5 * x if lit else 0\n",
    "a helper": "def half(a):\n    return -0.5 * a\n\n\ndef near(x, lit, *, reach=2.0):\n    if x < reach:\n        return 1.0\n    return half(x) if lit else 0\n",
    "else": "def near(x, lit, *, reach=2.0):\n    if x < reach:\n        result = 1.0\n    else:\n        result = -0.5 * x if lit else 0\n    return result\n",
}  # fmt: skip
OTHER = {
    "a constant": BASE.replace("-0.5", "-0.25"),
    "the last bit of a constant": BASE.replace("-0.5", "-0.5000000000000001"),
    "a knob": BASE.replace("2.0", "2.5"),
    "a comparison": BASE.replace("x < reach", "x <= reach"),
    "the order of operands": BASE.replace("-0.5 * x", "x * -0.5"),
    "a whole number": BASE.replace("1.0", "1"),
    "a knob's name": BASE.replace("reach", "range_"),
    "a guard": BASE.replace("return 1.0", "return 1.0 / x * 0 + 1.0"),
}


@pytest.mark.parametrize("what", SAME)
def test_how_it_is_written_makes_no_difference(what):
    assert made(SAME[what]).fingerprint == made().fingerprint
    assert made(SAME[what]).domain_fingerprint == made().domain_fingerprint


@pytest.mark.parametrize("what", OTHER)
def test_any_number_or_operation_makes_a_difference(what):
    assert made(OTHER[what]).fingerprint != made().fingerprint


@pytest.mark.parametrize(
    "options", [{"weight": 2.0}, {"weight": 0.0}, {"low": -1.0}, {"high": 1.0}, {"terminal": True}], ids=str
)
def test_weight_clamps_and_terminal_make_a_difference(options):
    assert made(**options).fingerprint != made().fingerprint


def test_the_clamps_of_the_total_make_a_difference():
    rewards = [made(), made(low=None, high=None)]
    space = load(BASE)
    clamped = Reward("r", version="1", terms=[term(space["near"])], fields=FIELDS, low=-1.0)
    assert len({reward.fingerprint for reward in [*rewards, clamped]}) == 2


def test_overrides_make_a_difference_and_labels_do_not():
    assert made().with_params(near={"reach": 3.0}).fingerprint != made().fingerprint
    assert made(reward="other").fingerprint == made().fingerprint
    assert made(version="2").fingerprint == made().fingerprint
    assert made(doc="Said.").fingerprint == made().fingerprint


@pytest.mark.parametrize(
    "change",
    [{"low": 1}, {"high": 20}, {"unit": "m"}, {"outside": "allow"}, {"missing": 3}, {"infinite": True}],
    ids=str,
)
def test_ranges_units_and_stand_ins_change_the_domain_alone(change):
    other = made(fields=(Field("x", **{"low": 0, "high": 10, **change}), FIELDS[1]))
    assert other.fingerprint == made().fingerprint
    assert other.domain_fingerprint != made().domain_fingerprint
    assert other.task.fingerprint == made().task.fingerprint


@pytest.mark.parametrize("said", [{"states": ["x"]}, {"idle": {"x": 3}}, {"max_change": {"x": 1}}], ids=str)
def test_what_a_task_says_changes_the_domain_and_not_the_formula(said):
    other = made(task=Task(**said))
    assert other.fingerprint == made().fingerprint
    assert other.domain_fingerprint != made().domain_fingerprint
    assert other.task.fingerprint == Task("another name", **said).fingerprint != made().task.fingerprint
    assert other != made()


def test_the_action_belongs_to_the_domain():
    assert made(action="x").fingerprint == made().fingerprint
    assert made(action="x").domain_fingerprint != made().domain_fingerprint


def test_clipping_is_part_of_the_formula_for_it_changes_scores():
    clipped = made(fields=(Field("x", low=0, high=10, outside="clip"), FIELDS[1]))
    assert clipped.fingerprint != made().fingerprint


def test_what_a_field_is_and_its_categories_in_order_make_a_difference():
    source = "def near(mood):\n    return mood == 'calm'\n"
    rewards = [
        made(source, fields=[Field("mood", values=values)])
        for values in (("calm", "wild"), ("wild", "calm"), ("calm", "wild", "busy"))
    ]
    assert len({reward.fingerprint for reward in rewards}) == 3


def test_the_names_and_the_order_of_terms_make_a_difference():
    space = load("def a(x):\n    return x\n\n\ndef b(x):\n    return x * 2\n")
    a, b = term(space["a"]), term(space["b"])
    renamed = term(name="c")(space["b"])
    rewards = [
        Reward("r", version="1", terms=terms, fields=[Field("x")]) for terms in ([a, b], [b, a], [a, renamed], [a])
    ]
    assert len({reward.fingerprint for reward in rewards}) == 4


def test_the_name_of_an_input_makes_a_difference():
    fields = (Field("y", low=0, high=10), FIELDS[1])
    assert made(BASE.replace("x", "y"), fields=fields).fingerprint != made().fingerprint


def test_the_order_in_which_fields_are_declared_makes_none():
    other = made(fields=FIELDS[::-1])
    assert other.fingerprint == made().fingerprint
    assert other.domain_fingerprint == made().domain_fingerprint


GOLDEN = "648592be9943369b7ae0078b9519db391c460711b345cf49b5a7f53715905a09"
GOLDEN_DOMAIN = "b224ab2eb1b2fe5bbf3faf1b8844d2276532afc567e08df9a1e6ca4b94ea085b"
TINY = """\
import linecache, sys
source = "def tiny(x, *, gain=2.5):\\n    return gain * x if x > 0 else -0.5\\n"
linecache.cache["<tiny>"] = (len(source), None, source.splitlines(True), "<tiny>")
space = {"__name__": "tiny"}
exec(compile(source, "<tiny>", "exec"), space)
from plaudit import Field, Reward, term
reward = Reward("tiny", version="1", terms=[term(weight=-1.0, high=3.0)(space["tiny"])], fields=[Field("x", low=-1, high=1)])
print(reward.fingerprint, reward.domain_fingerprint)
"""


@pytest.mark.parametrize("seed", ["0", "12345"])
def test_a_fingerprint_is_the_same_on_every_run_and_every_machine(seed):
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(plaudit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", TINY], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [GOLDEN, GOLDEN_DOMAIN]


@examples(1 / 4)
@given(cases())
def test_reading_the_same_source_again_gives_the_same_fingerprint(case):
    again = replace(case)
    assert again.reward.fingerprint == case.reward.fingerprint
    assert again.reward == case.reward
