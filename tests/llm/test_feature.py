"""Features: how a function becomes one, its fingerprint, and the order in which features are called."""

import re
import sys
import textwrap

import pytest

from plaudit.errors import DefinitionError, DuplicateName, MissingField, UnknownParameter
from plaudit.llm import Feature, feature
from plaudit.llm.feature import FeatureSet


def load(tmp_path, source, *, name="rewards", helper=None):
    """Return the features of a module that is written and imported anew."""
    if helper is not None:
        (tmp_path / "own_helper.py").write_text(textwrap.dedent(helper))
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
    for module in (name, "own_helper"):
        sys.modules.pop(module, None)
    sys.path.insert(0, str(tmp_path))
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(tmp_path))
        sys.dont_write_bytecode = before


SOURCE = """
    import math
    import own_helper
    from own_helper import clean
    from plaudit.llm import feature

    LIMIT = 3

    @feature
    def right(text, answer, *, tolerance=0.1):
        return math.fabs(own_helper.parse(clean(text)) - answer) < tolerance * LIMIT
"""
HELPER = """
    import re
    NUMBER = re.compile("[0-9]+")
    def clean(text):
        return text.strip()
    def parse(text):
        return float(NUMBER.findall(text)[-1])
    def unused(text):
        return 1
"""


def fingerprint(tmp_path, source=SOURCE, helper=HELPER):
    return load(tmp_path, source, helper=helper).right.fingerprint


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("source", "    LIMIT = 3", "    # three\n    LIMIT = 3"),
        ("source", "        return math", '        """Whether it is right."""\n        return math'),
        ("source", "return math.fabs(own", "return (math.fabs)(own"),
        ("helper", "return 1", "return 2"),
        ("helper", "return text.strip()", "return text.strip()  # of spaces"),
    ],
)
def test_what_has_no_meaning_changes_no_fingerprint(tmp_path, where, old, new):
    given = {"source": SOURCE, "helper": HELPER}
    changed = {**given, where: given[where].replace(old, new)}
    assert changed != given
    assert fingerprint(tmp_path, **changed) == fingerprint(tmp_path)


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("source", "LIMIT = 3", "LIMIT = 4"),
        ("source", "tolerance=0.1", "tolerance=0.2"),
        ("source", "@feature", "@feature(version='2')"),
        ("source", "<", "<="),
        ("helper", "[-1]", "[0]"),
        ("helper", "[0-9]+", "[0-9]"),
        ("helper", "return text.strip()", "return text"),
    ],
)
def test_what_decides_the_result_changes_the_fingerprint_wherever_it_is(tmp_path, where, old, new):
    given = {"source": SOURCE, "helper": HELPER}
    changed = {**given, where: given[where].replace(old, new)}
    assert changed != given
    assert fingerprint(tmp_path, **changed) != fingerprint(tmp_path)


def test_the_fingerprint_is_the_same_in_every_process_and_call(tmp_path):
    assert fingerprint(tmp_path) == fingerprint(tmp_path)
    assert re.fullmatch("[0-9a-f]{64}", fingerprint(tmp_path))


asked = 0


@feature
def counted(text):
    global asked
    asked += 1
    return asked


def test_a_counter_that_a_feature_moves_is_no_part_of_it():
    before = Feature(counted.function).fingerprint
    counted("x")
    assert asked == 1
    assert Feature(counted.function).fingerprint == before


def test_recursion_lambdas_and_callable_objects_have_fingerprints():
    def again(text):
        return 0 if not text else 1 + again(text[1:])

    class Judge:
        def __init__(self, model):
            self.model = model

        def __call__(self, text):
            return len(text)

    found = [Feature(again), Feature(lambda text: len(text), name="n"), Feature(Judge("a")), Feature(Judge("b"))]
    assert len({each.fingerprint for each in found}) == 4
    assert Feature(Judge("a")).fingerprint == found[2].fingerprint


def test_settings_are_keyword_parameters_and_can_be_changed():
    @feature
    def near(text, answer, *, tolerance=0.5):
        return abs(float(text) - answer) <= tolerance

    assert near("1", 1.4)
    strict = near.with_(tolerance=0.1, name="exact")
    assert not strict("1", 1.4)
    assert (strict.name, near.name, strict.settings) == ("exact", "near", {"tolerance": 0.1})
    assert strict.fingerprint != near.fingerprint
    assert near.with_(name="other").fingerprint == near.fingerprint
    with pytest.raises(UnknownParameter, match="no setting 'tolerence'. Did you mean 'tolerance'"):
        near.with_(tolerence=1)


def test_features_that_others_read_come_first_and_are_in_their_fingerprints():
    @feature
    def parsed(text):
        return text.split()

    @feature
    def words(parsed):
        return len(parsed)

    order = FeatureSet([words, parsed])
    assert [each.name for each in order.ordered] == ["parsed", "words"]
    changed = FeatureSet([words, feature(name="parsed")(lambda text: [])])
    assert changed.fingerprints["words"] != order.fingerprints["words"]
    with pytest.raises(MissingField, match="words asks for 'parsed', which a sample does not have"):
        FeatureSet([words]).require({"text": ""})


def test_definitions_that_cannot_work_are_refused():
    @feature
    def one(two):
        return two

    @feature
    def two(one):
        return one

    with pytest.raises(DefinitionError, match="read each other in a circle: one → two → one"):
        FeatureSet([one, two])
    with pytest.raises(DuplicateName, match="two features are called 'one'"):
        FeatureSet([one, one])
    with pytest.raises(DefinitionError, match="there are no features"):
        FeatureSet([])
    with pytest.raises(DefinitionError, match="is not a function"):
        FeatureSet(["one"])
    with pytest.raises(DefinitionError, match=r"has a parameter \*parts"):
        feature(lambda *parts: 1)
    with pytest.raises(DefinitionError, match="choose one of batch=True and group=True"):
        feature(batch=True, group=True)
    with pytest.raises(DefinitionError, match="version=2 is not a string"):
        feature(version=2)(lambda text: 1)
    with pytest.raises(DefinitionError, match="'one' is a feature already"):
        feature(one)
