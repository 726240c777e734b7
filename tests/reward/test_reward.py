"""A reward: terms over fields, clamped, weighted and added up in order, and every mistake in it named."""

import math

import pytest

from plaudit import DefinitionError, Field, InputError, Reward, Signal, term
from plaudit.errors import DuplicateName, ReadError, UnknownField, UnknownParameter, UnusedField
from support.strategies import load


@term(weight=2.0, low=-1.0, high=3.0, kind="goal")
def near(x, *, reach=2.0):
    """How near it is."""
    return reach - x


@term(weight=-0.5)
def effort(force, *, far):
    return far * abs(force)


@term(weight=0.0)
def unweighted(x):
    return x * 1000


@term(terminal=True, weight=10)
def won(success):
    return success


FIELDS = [Field("x", low=0, high=100), Field("force"), Field("success", flag=True)]


def made(**options):
    settings = {"terms": [near, effort, unweighted, won], "fields": FIELDS, "shared": {"far": 4.0}} | options
    return Reward(settings.pop("name", "made"), version=settings.pop("version", "1"), **settings)


REWARD = made(low=-20.0, high=20.0, doc="For tests.")


# -- what it is ----------------------------------------------------------------------------------------------------


def test_it_says_what_it_is():
    assert (REWARD.name, REWARD.version, REWARD.doc) == ("made", "1", "For tests.")
    assert [t.name for t in REWARD.terms] == ["near", "effort", "unweighted", "won"]
    assert list(REWARD.fields) == ["x", "force", "success"]
    assert REWARD.inputs == ("x", "force", "terminal", "success")
    assert repr(REWARD).startswith("Reward(made@1: near, effort, unweighted, won; ")
    assert REWARD.fingerprint[:12] in repr(REWARD)


def test_every_parameter_has_one_dotted_name():
    assert dict(REWARD.params) == {
        "near.reach": 2.0,
        "near.weight": 2.0,
        "near.low": -1.0,
        "near.high": 3.0,
        "effort.weight": -0.5,
        "unweighted.weight": 0.0,
        "won.weight": 10.0,
        "far": 4.0,
        "total.low": -20.0,
        "total.high": 20.0,
    }


def test_what_it_says_cannot_be_changed():
    for mapping in (REWARD.params, REWARD.fields, REWARD.shared):
        with pytest.raises(TypeError):
            mapping["x"] = 1


def test_two_rewards_are_equal_when_name_version_formula_and_domain_are():
    assert made() == made()
    assert hash(made()) == hash(made())
    assert made() != made(version="2")
    assert made() != made(name="other")
    assert made() != made(shared={"far": 5.0})
    assert made() != made(fields=[Field("x", low=0, high=99), *FIELDS[1:]])
    assert made() != "made"
    assert made() == made(doc="Said otherwise.")


# -- the order of operations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "force", "near_parts", "effort_parts", "total"),
    [
        (1.0, 0.0, (1.0, 1.0, 2.0), (0.0, 0.0, -0.0), 2.0),
        (5.0, -1.0, (-3.0, -1.0, -2.0), (4.0, 4.0, -2.0), -4.0),
        (0.0, 2.0, (2.0, 2.0, 4.0), (8.0, 8.0, -4.0), 0.0),
        (0.0, 50.0, (2.0, 2.0, 4.0), (200.0, 200.0, -100.0), -20.0),
    ],
)
def test_a_score_is_clamped_then_weighted_then_added_and_the_total_clamped(x, force, near_parts, effort_parts, total):
    signal = REWARD.score(x=x, force=force)
    for name, parts in (("near", near_parts), ("effort", effort_parts)):
        assert (signal[name].score, signal[name].clamped, signal[name].value) == parts
    assert signal.total == total


def test_a_weight_of_zero_gives_a_value_of_zero():
    signal = REWARD.score(x=7.0, force=0.0)
    assert signal["unweighted"].score == 7000.0
    assert signal["unweighted"].value == 0.0


def test_terms_add_up_in_declared_order():
    @term
    def big(x):
        return x * 1e16

    @term
    def small(x):
        return x

    @term(weight=-1)
    def again(x):
        return x * 1e16

    fields = [Field("x")]
    assert Reward("a", version="1", terms=[big, small, again], fields=fields).score(x=1.0).total == 0.0
    assert Reward("b", version="1", terms=[big, again, small], fields=fields).score(x=1.0).total == 1.0


@pytest.mark.parametrize(
    ("low", "high", "total"), [(None, None, 50.0), (None, 5.0, 5.0), (60.0, None, 60.0), (5, 5, 5.0)]
)
def test_the_total_is_held_within_its_own_clamps(low, high, total):
    @term
    def same(x):
        return x

    assert Reward("t", version="1", terms=[same], fields=[Field("x")], low=low, high=high).score(x=50).total == total


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["name", "version"])
@pytest.mark.parametrize("text", ["", "  ", "a\nb", "\x00", None, 5])
def test_name_and_version_are_printable_texts(part, text):
    with pytest.raises(DefinitionError, match=f"a reward's {part} must be a printable string"):
        made(**{part: text})


def test_a_reward_has_terms_and_they_are_terms():
    with pytest.raises(DefinitionError, match="reward 'made' has no terms"):
        made(terms=[])
    with pytest.raises(DefinitionError, match="is not a term; decorate the function with @term"):
        made(terms=[abs])
    with pytest.raises(DefinitionError, match="is not a Field"):
        made(fields=["x"])


MISTAKES = {
    "two terms of one name": (DuplicateName, "two terms called 'near'", {"terms": [near, near]}),
    "two fields of one name": (DuplicateName, "declares the field 'x' twice", {"fields": [*FIELDS, Field("x")]}),
    "an unused field": (UnusedField, "no term reads the declared field 'extra'", {"fields": [*FIELDS, Field("extra")]}),
    "an undeclared field": (
        UnknownField,
        "reads 'force', which the reward does not declare",
        {"fields": [FIELDS[0], FIELDS[2]]},
    ),
    "terminal": (
        DefinitionError,
        "'terminal' needs no declaration",
        {"fields": [*FIELDS, Field("terminal", flag=True)]},
    ),
    "a shared knob left out": (UnknownParameter, "a term needs 'far'", {"shared": {}}),
    "a shared knob of another name": (
        UnknownParameter,
        "no term has a keyword-only parameter 'fra' without a default, nor reads it from a record.$",
        {"shared": {"far": 1.0, "fra": 2.0}},
    ),
    "clamps out of order": (DefinitionError, "low=2.0 is above high=1.0", {"low": 2, "high": 1}),
    "an action that is no field": (
        UnknownField,
        "action='forc' is not a declared field. Did you mean 'force'",
        {"action": "forc"},
    ),
    "an old name": (TypeError, "terms share the parameters in shared=", {"params": {"far": 1.0}}),
    "an unknown keyword": (
        TypeError,
        r"unexpected keyword argument 'field'\. Did you mean 'fields'\?",
        {"field": FIELDS},
    ),
}


@pytest.mark.parametrize(("error", "match", "options"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_definition_is_named(error, match, options):
    with pytest.raises(error, match=match):
        made(**options)


def test_a_term_and_a_shared_parameter_of_one_name_are_refused():
    with pytest.raises(DuplicateName, match="'near' is both a term and a shared parameter"):
        space = load("def uses(x, *, near):\n    return x * near\n")
        Reward("r", version="1", terms=[near, term(space["uses"])], fields=[FIELDS[0]], shared={"near": 1.0})


@pytest.mark.parametrize("value", [math.nan, "4", None, 10**400, 2**53 + 1])
def test_every_number_of_a_reward_is_finite_and_held_by_a_float(value):
    with pytest.raises((DefinitionError, ReadError), match="far"):
        made(shared={"far": value})
    if value is not None:
        with pytest.raises(DefinitionError, match=r"total\.low="):
            made(low=value)
        with pytest.raises(DefinitionError, match=r"total\.high="):
            made(high=value)


def test_the_action_is_a_declared_field():
    assert made(action="force").action == "force"


def test_one_shared_knob_serves_every_term_that_names_it():
    space = load("def a(x, *, far):\n    return x * far\n\n\ndef b(x, *, far):\n    return x > far\n")
    reward = Reward(
        "r", version="1", terms=[term(space["a"]), term(space["b"])], fields=[Field("x")], shared={"far": 2.0}
    )
    assert reward.score(x=3).values == {"a": 6.0, "b": 1.0}
    assert reward.with_params(far=5.0).score(x=3).values == {"a": 15.0, "b": 0.0}


# -- parts of it ---------------------------------------------------------------------------------------------------


def test_some_of_the_terms_are_a_reward_of_their_own():
    part = REWARD.select_terms("effort", "near")
    assert [t.name for t in part.terms] == ["near", "effort"]
    assert list(part.fields) == ["x", "force"]
    assert part.inputs == ("x", "force")
    assert part.low == -20.0
    assert part.score(x=1.0, force=0.5).total == 2.0 - 1.0
    assert "won.weight" not in part.params
    alone = REWARD.select_terms("near")
    assert "far" not in alone.params
    assert alone.fingerprint != REWARD.fingerprint
    with pytest.raises(UnknownParameter, match="has no term 'nera'. Did you mean 'near'"):
        REWARD.select_terms("nera")
    with pytest.raises(DefinitionError, match="has no terms"):
        REWARD.select_terms()


def test_another_version_label_is_the_same_formula():
    other = REWARD.with_version("2-rc")
    assert other.version == "2-rc"
    assert other.fingerprint == REWARD.fingerprint
    assert other != REWARD
    assert REWARD.version == "1"
    with pytest.raises(DefinitionError):
        REWARD.with_version("")


def test_the_end_alone_needs_a_terminal_term():
    assert REWARD.score_terminal(success=True).total == 10.0
    with pytest.raises(DefinitionError, match="has no terminal terms"):
        made(terms=[near], fields=FIELDS[:1], shared={}).score_terminal(success=True)


def test_the_total_of_the_end_alone_is_clamped_too():
    assert made(high=5.0).score_terminal(success=True).total == 5.0


def test_scoring_takes_any_field_name_even_its_own():
    space = load("def f(self, inputs, cls):\n    return self + inputs + cls\n")
    reward = Reward(
        "names", version="1", terms=[term(space["f"])], fields=[Field("self"), Field("inputs"), Field("cls")]
    )
    assert reward.score(self=1, inputs=2, cls=3).total == 6.0
    assert isinstance(reward.score(self=1, inputs=2, cls=3), Signal)


def test_many_rewards_of_one_term_do_not_get_in_each_other_s_way():
    rewards = [made(shared={"far": float(i)}) for i in range(4)]
    assert [reward.score(x=2.0, force=1.0)["effort"].score for reward in rewards] == [0.0, 1.0, 2.0, 3.0]


def test_a_bad_row_leaves_the_reward_as_it_was():
    for _ in range(2):
        with pytest.raises(InputError):
            REWARD.score(x=-1.0, force=0.0)
        assert REWARD.score(x=1.0, force=0.0).total == 2.0


def test_it_renders_as_python_and_as_a_formula():
    text = REWARD.source()
    compile(text, "<source>", "exec")
    for name in ("near", "effort", "unweighted", "won"):
        assert name in text
        assert name in REWARD.formula() or name.replace("_", r"\_") in REWARD.formula()


def test_a_note_on_one_function_names_the_terms_made_of_it_once():
    @term
    def near(x, info):
        info["seen"] = x
        return x

    terms = [near, *(near.with_(name=f"near_{at}", weight=2.0) for at in range(5))]
    reward = Reward("r", version="1", terms=terms, fields=[Field("x")])
    (note,) = reward.notes
    assert note.term == "near, near_0, near_1 and 3 more"
    assert "is dropped" in note.what
    assert [each.term for each in Reward("r", version="1", terms=terms[:2], fields=[Field("x")]).notes] == [
        "near, near_0"
    ]


def test_a_term_that_cannot_be_read_says_so_before_a_shared_parameter_that_nothing_needs():
    def paid(self, number):
        car = self.cars[number]
        return self.config["gain"] * car.speed

    with pytest.raises(UnknownField, match="reads 'self.cars', which the reward does not declare"):
        Reward("cars", version="1", terms=[term(paid)], fields=[Field("speed")], shared={"gain": 1.0})
    with pytest.raises(UnknownParameter, match=r"'gian' .* Did you mean 'gain'"):
        Reward("cars", version="1", terms=[term(paid)], fields=[Field("speed")], shared={"gian": 1.0})
