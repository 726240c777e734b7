"""A reward as text: Python that runs again to the same scores, and formulas that are whole."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, InputError
from plaudit.testing.rows import as_inputs
from support.examples import examples
from support.rendered import PAIRS, check_formula, compare, escaped, run_again
from support.samples import EPISODES, SAMPLES
from support.strategies import rows
from support.written import readable, reward_from


@pytest.mark.parametrize("name", SAMPLES)
def test_the_text_of_a_reward_scores_its_episode_again(name):
    for row in EPISODES[name]:
        compare(SAMPLES[name], row)


@examples(0.4)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_the_text_of_a_random_reward_scores_again(case, seed):
    text = case.reward.source()
    compile(text, "<rendered>", "exec")
    for row in rows(case, seed, 5, bad=0, small=True):
        try:
            signal = case.reward.score(**as_inputs(row))
            scores, _ = run_again(case.reward, as_inputs(row))
        except (InputError, ArithmeticError, ValueError, IndexError):
            continue  # a part that got a name is computed where the term would not reach it
        for term in case.reward._functions:
            assert scores[term.name] == pytest.approx(signal[term.name].score, rel=1e-9, abs=1e-9), text


@pytest.mark.parametrize(
    "text",
    [
        "x if x > 0 else -x if x < -1 else 0",
        "1 + (x if x > 0 else -x if x < -1 else 0)",
        "-(x ** 2)",
        "(-x) ** 2",
        "x - (1 - x)",
        "x / (2 / x)",
        "(x + 1) * 2",
        "x % 3 * 2 - -1.5",
        "not (x > 1 and x < 3 or x == 7)",
        "(x > 0 or x < -1) and x != 2",
        "x > 0 and (x < 2 or x > 3)",
        "(x > 0) + (x > 1) == 2",
        "abs(min(x, -x)) + max(x, 0)",
        "x < math.inf",
        "-1.5 * x + (-1) ** 2 * x",
        "x // 2 * 2",
        "(1.5,)[0] + (10, 20)[x > 0]",
        "not x",
        "-(x > 0)",
    ],
)
def test_parentheses_stand_where_the_operators_need_them(text):
    reward = reward_from(f"def f(x): return {text}")
    for x in (-2.0, 0.5, 1.0, 2.0, 7.0):
        compare(reward, {"x": x})


MOOD = Field("mood", values=("calm", "wi'ld", "rest"))


@pytest.mark.parametrize(
    "text",
    [
        '1 if mood == "wi\'ld" else x',
        "('rest', 'calm', \"wi'ld\").index(mood) * x",
        "x + (mood in ('calm', 'rest'))",
    ],
)
def test_categories_are_texts_in_the_text(text):
    reward = reward_from(f"def f(mood, x): return {text}", MOOD)
    for mood in MOOD.labels:
        for x in (-1.0, 2.0):
            compare(reward, {"mood": mood, "x": x})


def test_weights_clamps_and_the_total_s_clamps_are_in_the_text():
    reward = reward_from("def f(x, *, gain=3.0): return x * gain", weight=-0.5, low=-1, high=2)
    for x in (-5.0, 0.1, 5.0):
        compare(reward, {"x": x})
    assert "def f(x, *, gain=3.0):" in reward.source()
    for number in ("0.5", "-1.0", "2.0"):
        assert number in reward.source().rpartition("total = ")[2]


def test_a_transition_and_a_vector_are_in_the_text():
    text = "def f(prev, curr, v): return curr.a - prev.a + sum(x * x for x in v)"
    reward = reward_from(text, Field("a"), Field("v", length=3))
    compare(reward, {"prev": {"a": 1.0}, "curr": {"a": 3.0}, "v": (1.0, 2.0, 3.0)})


def test_a_deep_expression_gets_names_for_its_parts():
    body = "".join(f"    y = math.tanh(y) + {i} * x\n" for i in range(60))
    reward = reward_from(f"def f(x):\n    y = x\n{body}    return y\n")
    compare(reward, {"x": 0.5})
    assert max(map(len, reward.source().splitlines())) < 500


@pytest.mark.parametrize(
    "text", ["1 + ((x if x > 0 else 2) if x != 1 else 3)", "1 + (x if (x > 1 if x > 0 else x < -1) else 0)"]
)
def test_a_choice_inside_a_choice_stands_in_parentheses(text):
    reward = reward_from(f"def f(x): return {text}")
    for x in (-2.0, 0.5, 1.0, 2.0):
        compare(reward, {"x": x})


ORDER = "('rest', 'calm', \"wi'ld\")"


@pytest.mark.parametrize("text", [f"(3, 4, 5)[{ORDER}.index(mood)]", f"{ORDER}.index(mood if x > 0 else 'rest')"])
def test_a_table_is_indexed_by_whole_numbers_in_the_text(text):
    reward = reward_from(f"def f(mood, x): return x + {text}", MOOD)
    compare(reward, {"mood": "calm", "x": 1.0})


def test_a_part_s_name_is_no_field_s_name():
    text = "def f(part_1, x): return (part_1 * x) * (part_1 * x + 1) + part_1"
    compare(reward_from(text), {"part_1": 3.0, "x": 2.0})


LOCALS = """
def squeeze(y):
    inner = y * y + 1
    return inner * abs(inner)

def f(x, part_1, *, scale=2.0):
    x = x + 1
    gap = abs(x - part_1)
    far = gap > scale
    gap = gap * 3
    if far:
        late = gap * 2
        return late + max(late, gap)
    bonus = 1.0
    if x > 3:
        bonus = x * scale
    return squeeze(gap) + squeeze(x) + bonus * bonus
"""


def test_locals_keep_the_names_that_their_author_gave_them():
    reward = reward_from(LOCALS)
    lines = reward.source().splitlines()
    assert [line.split()[0] for line in lines if " = " in line and line.startswith(" ")] == [
        "x_2", "gap", "far", "gap_2", "late", "inner", "inner_2", "bonus", "bonus_2",
    ]  # fmt: skip
    for x, part_1 in ((0.0, 1.0), (9.0, 1.0), (9.0, 9.5)):
        compare(reward, {"x": x, "part_1": part_1})


def test_a_local_that_is_called_like_a_function_gets_another_name():
    reward = reward_from("def f(x, y):\n    max = x * y\n    return min(max * max, -max) + max")
    assert "max_2 = x * y" in reward.source()
    assert "min(max_2 ** 2, -max_2)" in reward.source()
    compare(reward, {"x": 2.0, "y": 3.0})


def test_a_local_that_not_every_row_may_compute_stays_where_it_is_reached():
    reward = reward_from("def f(x):\n    if x == 0:\n        return 0.0\n    share = 1 / x\n    return share")
    compare(reward, {"x": 0.0})
    compare(reward, {"x": 4.0})


def test_names_of_locals_change_nothing_else():
    texts = ["def f(x):\n    near = abs(x)\n    return near * near", "def f(x): return abs(x) * abs(x)"]
    named, plain = map(reward_from, texts)
    assert named.fingerprint == plain.fingerprint
    assert named.to_json() == plain.to_json()
    assert "near = abs(x)" in named.source()
    assert "part_1 = abs(x)" in type(named).from_json(named.to_json()).source()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_formula_of_a_reward_is_whole(name):
    check_formula(SAMPLES[name])


@examples(0.15)
@given(case=readable())
def test_the_formula_of_a_random_reward_is_whole(case):
    text = case.reward.formula()
    for opening, closing in PAIRS:
        assert text.count(opening) == text.count(closing)
    for term in case.reward.terms:
        assert rf"\text{{{escaped(term.name)}}} &=" in text


def test_a_formula_reads_as_one_would_write_it():
    reward = reward_from("def f(x, *, reach=2.0): return math.sqrt(x) / reach if x > 0 else 0", weight=-0.5)
    assert r"\frac{\sqrt{\text{x}}}{\text{reach}}" in reward.formula()
    assert r"\begin{cases}" in reward.formula()
    assert re.search(r"\\text\{total\} &= .*0\.5", reward.formula())


def test_texts_of_a_category_cannot_break_out_of_a_formula():
    mood = Field("mood", values=("a}b", r"\input{x}", "$$", "c"))
    reward = reward_from("def f(mood): return 1 if mood == 'a}b' else 2 if mood == '$$' else 3", mood)
    check_formula(reward)
    assert r"\input" not in reward.formula()
