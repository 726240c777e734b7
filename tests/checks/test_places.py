"""The places of a term that only some rows reach, read again from its source."""

from plaudit import Field, Reward, term
from plaudit.checks.ask import value_of
from plaudit.checks.places import marked
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from written import reward_from

BANDS = """
    def f(x, *, strict=True, edge=3.0):
        if x < edge:
            return 1
        if strict and x > 7:
            return 2
        return 3
"""
WIDE = Field("x", low=0, high=10)


def reached(read, at, row):
    """Return whether a row gets to a place."""
    question = Question()
    flag = question.copy(read.program)[f"reached {at}"]
    program = question.program(question.builder.add(n.Number(flag)))
    return value_of(program, {name: row[name] for name in program.inputs}) == 1


def test_every_return_and_every_test_is_a_place():
    reward = reward_from(BANDS, WIDE)
    read = marked(reward, reward.terms[0])
    texts = {read.place(at).text: at for at, mark in enumerate(read.marks) if mark.test is None}
    assert {"return 1", "return 2", "return 3"} <= set(texts)
    row = {"x": 8.0, "f.strict": 1.0}
    assert not reached(read, texts["return 1"], row)
    assert reached(read, texts["return 2"], row)
    assert reached(read, texts["return 3"], row | {"x": 5.0})
    tests = [read.place(at).text for at, mark in enumerate(read.marks) if mark.test is not None]
    assert tests[0].startswith("if x < edge")


def test_a_flag_that_is_a_knob_is_left_open():
    reward = reward_from(BANDS, WIDE)
    read = marked(reward, reward.terms[0])
    assert read.program.inputs["f.strict"].kind == "flag"
    assert "f.edge" not in read.program.inputs


def test_knobs_have_the_values_of_the_reward():
    reward = reward_from(BANDS, WIDE)
    other = reward.with_params(f={"edge": 5.0})
    at = {}
    for each in (reward, other):
        read = marked(each, each.terms[0])
        first = next(at for at, mark in enumerate(read.marks) if read.place(at).text == "return 1")
        at[each.params["f.edge"]] = reached(read, first, {"x": 4.0, "f.strict": 1.0})
    assert at == {3.0: False, 5.0: True}


def test_a_term_that_was_loaded_has_no_places():
    loaded = Reward.from_dict(reward_from(BANDS, WIDE).to_dict())
    assert marked(loaded, loaded.terms[0]) is None


def test_shared_parameters_and_terminal_terms_are_read_too():
    @term(terminal=True)
    def end(x, *, far):
        if x > far:
            return 1
        return 0

    reward = Reward("r", version="1", terms=[end], fields=[WIDE], params={"far": 4.0})
    read = marked(reward, reward.terms[0])
    texts = {read.place(at).text: at for at in range(len(read.marks))}
    assert reached(read, texts["return 1"], {"x": 5.0, "terminal": 1.0})
    assert not reached(read, texts["return 1"], {"x": 3.0, "terminal": 1.0})
