"""Facts: read as terms are, true or false, part of the task and not of the formula."""

import pickle
from dataclasses import replace

import pytest

from plaudit import DefinitionError, Fact, Field, ReadError, Reward, Task, fact, prefer, term
from plaudit.errors import DuplicateName, UnknownField
from plaudit.language import nodes as n
from support.written import module

BRAKE = (0.0, 0.5, 2.0, 4.5)
FIELDS = (
    Field("distance", low=0, infinite=True),
    Field("deceleration", low=-15, high=15),
    Field("action", values=(0, 1, 2, 3)),
    Field("level", low=0),
    Field("mood", values=("calm", "wild")),
)


@term
def gap(distance):
    return 1 if distance > 5 else -1


@term
def braking(deceleration, action):
    return -abs(deceleration) if action else 0


@term
def risen(prev, curr, mood):
    return curr.level - prev.level if mood == "calm" else 0


@fact
def brakes(action, deceleration):
    """Each action brakes at its own rate."""
    return deceleration == BRAKE[action]


@fact
def creeps(prev, curr, *, most=3.0):
    return abs(curr.distance - prev.distance) <= most


@fact
def rises(prev, level, mood):
    return level >= prev.level if mood == "calm" else True


def made(*facts, terms=(gap, braking, risen), allow=None, low=None, high=None, **said):
    task = Task(facts=facts, **said)
    return Reward("r", version="1", terms=terms, fields=FIELDS, task=task, allow=allow, low=low, high=high)


REWARD = made(brakes, creeps, rises)


def test_a_fact_is_still_the_plain_function():
    assert brakes(2, 2.0) is True
    assert brakes(2, 0.5) is False
    assert brakes.__wrapped__(2, 2.0) is True
    assert brakes.__name__ == brakes.name == "brakes"
    assert creeps.constants == {"most": 3.0}
    assert repr(brakes) == (
        "Fact(name='brakes', doc='Each action brakes at its own rate.', reads=('action', 'deceleration'))"
    )


def test_a_fact_may_be_a_helper_of_a_term_or_of_another_fact():
    @fact
    def stands(action, deceleration):
        return brakes(action, deceleration) and action == 0

    @term
    def calm(action, deceleration):
        return 1 if brakes(action, deceleration) else 0

    reward = Reward("r", version="1", terms=[calm], fields=FIELDS[1:3], task=Task(facts=[stands]))
    assert reward.score(action=1, deceleration=0.5).total == 1.0
    assert list(reward._bound.facts_program.outputs) == ["stands"]


def test_the_facts_are_one_program_without_parameters():
    program = REWARD._bound.facts_program
    assert (program.name, program.terms, dict(program.params), program.ranges) == ("r", (), {}, ())
    assert list(program.outputs) == ["brakes", "creeps", "rises"]
    assert [guard.where for guard in program.value_guards] == ["brakes"]
    assert n.Const(3.0) in program.nodes
    assert not any(isinstance(node, n.Param) for node in program.nodes)
    assert {field.name for field in program.inputs.values()} == {"action", "deceleration", "distance", "level", "mood"}


def test_inputs_go_by_the_names_that_terms_give_them():
    names = set(REWARD._bound.facts_program.inputs)
    assert {"distance", "prev.distance"} <= names  # terms read it plainly
    assert {"curr.level", "prev.level"} <= names  # terms read both ends
    assert not {"curr.distance", "level"} & names


def test_a_vector_is_written_out():
    @term
    def effort(torque):
        return -sum(abs(t) for t in torque)

    @fact
    def smooth(prev, curr):
        return all(abs(a - b) <= 1 for a, b in zip(prev.torque, curr.torque, strict=True))

    task = Task(facts=[smooth])
    reward = Reward("r", version="1", terms=[effort], fields=[Field("torque", length=2)], task=task)
    assert sorted(reward._bound.facts_program.inputs) == ["prev.torque[0]", "prev.torque[1]", "torque[0]", "torque[1]"]


def test_facts_change_no_score_and_no_formula():
    plain = made()
    row = {"distance": 9.0, "deceleration": 3.0, "action": 1, "mood": "calm"}
    ends = {"prev": {"level": 2.0}, "curr": {"level": 1.0}}  # breaks two facts
    assert REWARD.score(**row, **ends).total == plain.score(**row, **ends).total
    assert REWARD.fingerprint == plain.fingerprint
    assert REWARD.program == plain.program
    assert REWARD.domain_fingerprint != plain.domain_fingerprint
    assert plain != REWARD


def test_a_domain_without_them_keeps_the_fingerprint_that_it_had():
    reward = Reward("r", version="1", terms=[gap], fields=FIELDS[:1], action="distance")
    assert reward.domain_fingerprint == "bbc1920558b056676831d6ffef86aac39f67212576a16fc644582c9211f8c4d3"


def test_the_domain_fingerprint_covers_facts_discount_and_preferences():
    @fact
    def halts(action, deceleration):
        return deceleration == BRAKE[action]

    better = prefer({"distance": 9.0}, over={"distance": 1.0})
    worse = prefer({"distance": 1.0}, over={"distance": 9.0})
    rewards = [
        made(),
        made(brakes),
        made(creeps),
        made(brakes, creeps),
        made(halts),
        made(discount=0.9),
        made(discount=1),
        made(prefer=[better]),
        made(prefer=[worse]),
    ]
    assert len({reward.domain_fingerprint for reward in rewards}) == len(rewards)
    assert len({reward.fingerprint for reward in rewards}) == 1


def test_what_is_allowed_is_in_no_fingerprint():
    assert made(allow={"jump": "meant"}) == made()
    assert made(terms=[term(allow={"jump": "meant"})(gap.__wrapped__), braking, risen]) == made()


WRONG = {
    "a constant number": ("def f(x): return 1", "this returns 1"),
    "a text": ("def f(x): return 'yes'", "this returns the string 'yes'"),
    "nothing": ("def f(x): pass", "ends without `return`"),
    "a constant without a value": ("def f(x, *, most): return x < most", "'most' has no value"),
    "a constant that is None": ("def f(x, *, most=None): return x < most", "this is None"),
    "a loop": ("def f(x):\n    while x: x = 0\n    return True", "a loop"),
    "a reserved name": ("def total(x): return x < 1", "plain identifier"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_what_is_no_fact_is_refused(text, words):
    space = module(text)
    with pytest.raises(DefinitionError, match=words):
        fact(space.get("f") or space["total"])


@pytest.mark.parametrize("text", ["x + 1", "x > 1 if x else 0"])
def test_a_fact_that_is_a_number_is_refused_where_its_fields_are_declared(text):
    space = module(f"def f(x): return {text}\ndef g(x): return x")
    with pytest.raises(DefinitionError, match="must return a bool, and this returns a number"):
        Reward("r", version="1", terms=[term(space["g"])], fields=[Field("x")], task=Task(facts=[fact(space["f"])]))


def test_whether_a_field_is_a_flag_is_seen_in_the_reward():
    space = module("def f(x): return x\ndef g(x): return x != 0\ndef t(x): return x")
    terms, true, nonzero = [term(space["t"])], Task(facts=[fact(space["f"])]), Task(facts=[fact(space["g"])])
    Reward("r", version="1", terms=terms, fields=[Field("x", flag=True)], task=true)
    Reward("r", version="1", terms=terms, fields=[Field("x")], task=nonzero)
    with pytest.raises(ReadError, match="this returns a number"):
        Reward("r", version="1", terms=terms, fields=[Field("x")], task=true)


def test_a_field_that_is_not_declared_is_named():
    @fact
    def slow(speeed):
        return speeed < 1

    @term
    def pace(speed):
        return speed

    with pytest.raises(UnknownField, match=r"fact 'slow' reads 'speeed', .*declares. Did you mean 'speed'"):
        Reward("r", version="1", terms=[pace], fields=[Field("speed")], task=Task(facts=[slow]))


def test_a_name_belongs_to_one_fact_and_to_no_term():
    with pytest.raises(DuplicateName, match="two facts called 'brakes'"):
        made(brakes, brakes)
    with pytest.raises(DuplicateName, match="both a term and a fact"):
        made(Fact("gap"))
    with pytest.raises(DefinitionError, match="is not a fact"):
        made(brakes.__wrapped__)


def test_a_fact_may_read_the_end_of_an_episode():
    @fact
    def ends_low(level, terminal):
        return level == 0 if terminal else True

    assert "terminal" in made(ends_low)._bound.facts_program.inputs
    assert made(ends_low).inputs == made().inputs


def without_lines(program):
    """Return a program without the lines of code that its guards name: those of a loaded fact are of its text."""
    return replace(program, value_guards=tuple(replace(guard, line="") for guard in program.value_guards))


def test_other_rewards_keep_the_task():
    whole = made(
        brakes, creeps, rises, discount=0.9, prefer=[prefer({"action": 0}, over={"action": 3})], allow={"jump": "meant"}
    )
    for other in (whole.with_weights(gap=2.0), whole.with_version("2"), pickle.loads(pickle.dumps(whole))):
        assert [each.name for each in other.task.facts] == ["brakes", "creeps", "rises"]
        assert without_lines(other._bound.facts_program) == without_lines(whole._bound.facts_program)
        assert (other.task.discount, other._bound.prefer) == (0.9, whole._bound.prefer)
        assert other.allow == {"jump": "meant"}
    assert whole.with_version("1") == whole == pickle.loads(pickle.dumps(whole))


def test_some_of_the_terms_keep_what_is_about_them():
    preferences = [prefer({"action": 0}, over={"action": 3}), prefer({"distance": 9.0}, over={"action": 3})]
    whole = made(brakes, creeps, rises, prefer=preferences, discount=0.9)
    alone = whole.select_terms("braking")
    assert alone.task == whole.task
    assert alone._bound.facts == (brakes,)
    assert alone._bound.facts_program == made(brakes)._bound.facts_program
    assert alone._bound.prefer == whole._bound.prefer[:1]
    assert alone.task.discount == 0.9
    assert whole.select_terms("risen")._bound.facts == (rises,)
    assert whole.select_terms("gap")._bound.facts == (creeps,)
    assert whole.select_terms("gap")._bound.prefer == ()
    again = Reward.from_json(alone.to_json())
    assert without_lines(again._bound.facts_program) == without_lines(alone._bound.facts_program)
    assert whole.select_terms("gap", "braking", "risen") == whole


@pytest.mark.parametrize("discount", [0, -0.5, 1.01, True, "0.9", float("nan"), float("inf")])
def test_a_discount_lies_above_0_and_not_above_1(discount):
    with pytest.raises(DefinitionError, match="discount"):
        Task(discount=discount)
    assert Task(discount=1).discount == 1.0
    assert Task().discount is None


@pytest.mark.parametrize(
    "allow", [{"Jump": "x"}, {"jump ": "x"}, {"": "x"}, {5: "x"}, {"jump": ""}, {"jump": 5}, ["jump"]]
)
def test_what_is_allowed_is_a_code_and_a_reason(allow):
    with pytest.raises(DefinitionError, match="allow="):
        made(allow=allow)
    with pytest.raises(DefinitionError, match="allow="):
        term(allow=allow)(gap.__wrapped__)


def test_what_is_allowed_does_not_change():
    given = {"jump": "meant"}
    reward = made(allow=given)
    given["dead-term"] = "no"
    assert reward.allow == {"jump": "meant"}
    with pytest.raises(TypeError):
        reward.allow["dead-term"] = "no"


def test_a_weight_or_a_clamp_is_a_number_and_no_flag():
    for parts in ({"weight": True}, {"low": False}, {"high": True}):
        with pytest.raises(DefinitionError, match="this is a bool"):
            term(**parts)(gap.__wrapped__)
    for parts in ({"low": True}, {"high": False}):
        with pytest.raises(DefinitionError, match="this is a bool"):
            made(**parts)
