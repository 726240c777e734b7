"""Formulas as MathML: well formed, the same as the text, and safe whatever things are called."""

import json
import pickle
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given

from plaudit import Field
from plaudit.language import nodes as n
from plaudit.language.writing.mathml import MATHML, render_mathml, render_mathml_expression
from plaudit.language.writing.styles import LATEX
from support.examples import examples
from support.samples import SAMPLES
from support.written import readable, reward_from

ARITY = {"mfrac": 2, "msup": 2, "msub": 2, "msqrt": 1, "math": 1, "mtr": 2}
TOKENS = {"mi", "mn", "mo", "mtext"}
GROUPS = {"mrow", "mtable", "mtd", *ARITY}
HOSTILE = "</math><script>alert('1')</script>&amp;\"\u202e\x1b[31m"


def parse(text):
    """Return the tree of a formula, if it is one: nothing but MathML, every element with as many parts as it takes."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert element.tag in TOKENS | GROUPS, element.tag
        assert set(element.attrib) <= {"style", "form", "stretchy", "displaystyle"}
        assert len(element) == ARITY.get(element.tag, len(element)), ElementTree.tostring(element)
        assert not (element.tail or "").strip()
        assert bool(element.text) == (element.tag in TOKENS)
    return root


def list_words(root):
    """Return the names, numbers and functions of a formula in the order in which they are read."""
    cells = [cell for row in root[0] if len(row[0]) for cell in row]  # without the units
    texts = [element.text for cell in cells for element in cell.iter() if element.tag in ("mi", "mn", "mtext")]
    return re.findall(r"\w+", " ".join(text for text in texts if text.strip() != "if"))


def list_words_of_text(formula):
    """Return the same of one displayed formula of the Markdown."""
    known = re.sub(r"\\(exp|ln|sin|cos|tanh|min|max|infty)\b", r" \1 ", formula.replace("}_", "} "))
    plain = re.sub(r"\\(begin|end)\{\w+\}|\\[a-zA-Z]+", " ", known.replace(r"\_", "_").replace(r"\bmod", " "))
    return re.findall(r"\w+", plain.replace("infty", "∞"))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_mathml_of_a_reward_says_what_its_text_says(name):
    formula = SAMPLES[name].formula()
    texts = formula.split("$$")[1::2]
    assert len(texts) == len(formula.mathml)
    for text, markup in zip(texts, formula.mathml.values(), strict=True):
        assert list_words(parse(markup)) == list_words_of_text(text)


@examples(0.15)
@given(case=readable())
def test_the_mathml_of_a_random_reward_is_well_formed(case):
    formula = case.reward.formula()
    assert [*formula.mathml] == [*case.reward.states, *(each.name for each in case.reward._functions), "total"]
    for markup in formula.mathml.values():
        parse(markup)


def test_a_fraction_a_root_a_power_and_cases_are_drawn_as_such():
    reward = reward_from("def f(x, *, reach=2.0): return math.sqrt(x) / reach if x > 0 else abs(x) ** 1.5")
    markup = reward.formula().mathml["f"]
    assert "<mfrac><msqrt><mi>x</mi></msqrt><mi>reach</mi></mfrac>" in markup
    assert '<msup><mrow><mo form="prefix">|</mo><mi>x</mi><mo form="postfix">|</mo></mrow><mn>1.5</mn></msup>' in markup
    assert len(parse(markup).findall(".//mtable//mtable/mtr")) == 2


def test_every_operation_has_a_notation():
    assert MATHML.operations.keys() == LATEX.operations.keys()


def test_no_name_label_or_unit_becomes_markup():
    mood = Field("mood", values=(HOSTILE, "calm", "wild"))
    body = "def f(mood, x): return x * (1, 2, 3)[('wild', 'calm', {0!r}).index(mood)] if mood == {0!r} else x"
    reward = reward_from(body.format(HOSTILE), mood, Field("x", low=0, high=1, unit=HOSTILE.split("\u202e")[0]))
    formula = reward.formula()
    words = "".join(parse(formula.mathml["f"]).itertext())
    assert words.count("<script>alert('1')</script>") >= 2
    assert r"\u202e\x1b[31m" in words
    assert "<script" not in formula._repr_html_()
    ElementTree.fromstring(f"<body>{formula._repr_html_()}</body>")


def test_the_units_of_what_a_term_reads_stand_below_it():
    reward = reward_from("def f(x, y): return x * y", Field("x", low=0, high=1, unit="m/s"), Field("y"))
    assert "<mtext>x in m/s</mtext>" in reward.formula().mathml["f"]
    assert "m/s" not in reward.formula().mathml["total"]


def test_a_formula_is_still_a_string():
    formula = next(iter(SAMPLES.values())).formula()
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula == str(formula)
    assert again.mathml == formula.mathml
    assert json.loads(json.dumps({"formula": formula}))["formula"] == formula


def test_one_condition_is_mathml_in_a_line_and_what_is_too_long_is_left_out():
    reward = reward_from("def f(x, y): return 1 if x - y < 2 else 0")
    at = next(at for at, node in enumerate(reward.program.nodes) if isinstance(node, n.Lt))
    words = list(parse(render_mathml_expression(reward.program, at)).itertext())
    assert words == ["x", "−", "y", "<", "2"]
    long = reward_from(f"def f(x): return {' + '.join(f'x * {i}.125' for i in range(99))}")
    assert "…" in render_mathml_expression(long.program, long.program.outputs["f.score"])


def test_a_program_without_names_of_its_author_has_formulas_too():
    program = next(iter(SAMPLES.values())).program
    assert {*render_mathml(program, {})} >= {*program.terms, "total"}
