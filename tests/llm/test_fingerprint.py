"""Fingerprints of features: whatever a person edits that decides a result changes them, and nothing else does."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from plaudit.plugins.arguments import load_module

HELPER = '''
    import functools
    import itertools
    import logging
    import operator
    import re
    from collections import Counter, namedtuple
    from dataclasses import dataclass, field
    from datetime import timedelta
    from decimal import Decimal
    from enum import Enum
    from fractions import Fraction
    from math import floor as cut
    from pathlib import Path

    import numpy as np

    LOG = logging.getLogger("helper")
    NUMBERS = [1, 2]
    BY_NAME = {"a": (1, 2), "b": {3, 4}}
    ARRAY = np.array([1.0, 2.0])
    SCALAR = np.float32(1.5)
    PRICE = Decimal("1.5")
    SHARE = Fraction(1, 3)
    PLACE = Path("data/one.txt")
    WAIT = timedelta(seconds=5)
    FIRST = operator.itemgetter(0)
    NOTHING = None
    BY_CALL = {"one": str.upper, "two": "abc".find, "three": itertools.chain}
    START = 10
    COUNTER = itertools.count(START)
    SEEN = {"start": 0}
    KINDS = frozenset({"alpha", "beta", "gamma"})

    def scale(text, *, by=2):
        return len(text) * by

    @functools.cache
    def cached(text):
        return inner(text) + 1

    def inner(text):
        return len(text) + 2

    def clipped(low):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(text):
                return max(low, function(text)) + 3
            return wrapper
        return decorate

    @clipped(4)
    def decorated(text):
        return len(text) + 5

    @functools.singledispatch
    def dispatched(value):
        return 6

    @dispatched.register
    def _(value: str):
        return 7

    class Base:
        step = 8

        def count(self, text):
            return len(text) + self.step

        @property
        def width(self):
            return 9

    class Judge(Base):
        """A judge."""

        def __init__(self, words, pattern):
            self.words, self.pattern, self.asked, self.kept = words, pattern, 0, {}

        def __call__(self, text):
            self.asked += 1
            self.kept[text] = self.count(text)
            return self.kept[text] + self.width

    JUDGE = Judge(["fine", "good"], re.compile("x+"))

    @dataclass(slots=True)
    class Limits:
        low: int = 11
        names: list = field(default_factory=list)

    LIMITS = Limits(12, ["one"])
    Pair = namedtuple("Pair", "left right")
    PAIR = Pair(13, 14)

    class Level(Enum):
        HIGH = 15

    def remember(text):
        SEEN[text] = len(text)
        return next(COUNTER)

    def everything(text):
        """Read it all."""
        constants = (NUMBERS, BY_NAME, ARRAY, SCALAR, PRICE, SHARE, PLACE, WAIT, FIRST, NOTHING, cut, KINDS, BY_CALL)
        LOG.debug("%s", constants)
        level = Level.HIGH.value + LIMITS.low + PAIR.left
        return level + scale(text) + cached(text) + decorated(text) + dispatched(text) + JUDGE(text) + remember(text)
'''
SOURCE = """
    import own_helper
    from plaudit.llm import feature

    @feature
    def whole(text):
        import own_late
        return own_helper.everything(text) + own_late.more(text)

    @feature
    def constants(text):
        return [own_helper.NUMBERS, own_helper.LIMITS, text]
"""
LATE = """
    def more(text):
        return 16
"""


def run(tmp_path, *, seed="0", use=False, by="import", level="WARNING"):
    """Return the fingerprints of the features as another process finds them."""
    given = {"own_helper.py": HELPER, "own_rewards.py": SOURCE, "own_late.py": LATE}
    for name, text in given.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    code = f"""
        import json, logging, sys
        sys.path.insert(0, {str(tmp_path)!r})
        logging.getLogger("helper").setLevel({level!r})
        from plaudit.plugins.arguments import load_module
        made = load_module("own_rewards.py") if {by!r} == "file" else __import__("own_rewards")
        if {use!r}:
            made.whole("one two")
        print(json.dumps([made.whole.fingerprint, made.constants.fingerprint]))
    """
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_unedited_code_has_the_same_fingerprints_in_every_process(tmp_path):
    wanted = run(tmp_path)
    # Counters and caches have other values when something was computed before.
    assert run(tmp_path, seed="1", by="file", use=True, level="DEBUG") == wanted


EDITS = [
    ("NUMBERS = [1, 2]", "NUMBERS = [1, 3]"),
    ('"a": (1, 2)', '"a": [1, 2]'),
    ("{3, 4}", "{3, 5}"),
    ("np.array([1.0, 2.0])", "np.array([1.0, 2.5])"),
    ("np.array([1.0, 2.0])", "np.array([[1.0, 2.0]])"),
    ("np.float32(1.5)", "np.float64(1.5)"),
    ('Decimal("1.5")', 'Decimal("1.50")'),
    ("Fraction(1, 3)", "Fraction(2, 3)"),
    ("data/one.txt", "data/two.txt"),
    ("seconds=5", "seconds=6"),
    ("itemgetter(0)", "itemgetter(1)"),
    ("NOTHING = None", "NOTHING = 0"),
    ("str.upper", "str.lower"),
    ('"abc".find', '"abd".find'),
    ("itertools.chain", "itertools.cycle"),
    ("from math import floor as cut", "from math import ceil as cut"),
    ("START = 10", "START = 11"),
    ('{"start": 0}', '{"start": 1}'),
    ('"gamma"', '"delta"'),
    ("by=2", "by=3"),
    ("inner(text) + 1", "inner(text) + 2"),
    ("len(text) + 2", "len(text) + 3"),
    ("function(text)) + 3", "function(text)) + 4"),
    ("@clipped(4)", "@clipped(5)"),
    ("len(text) + 5", "len(text) + 6"),
    ("return 6", "return 60"),
    ("return 7", "return 70"),
    ("step = 8", "step = 80"),
    ("len(text) + self.step", "len(text) - self.step"),
    ("return 9", "return 90"),
    ('["fine", "good"]', '["fine", "nice"]'),
    ('re.compile("x+")', 're.compile("y+")'),
    ("self.asked += 1", "self.asked += 2"),
    ("low: int = 11", "low: int = 110"),
    ('Limits(12, ["one"])', 'Limits(120, ["one"])'),
    ('Limits(12, ["one"])', 'Limits(12, ["two"])'),
    ("Pair(13, 14)", "Pair(13, 140)"),
    ('"left right"', '"right left"'),
    ("HIGH = 15", "HIGH = 150"),
    ("SEEN[text] = len(text)", "SEEN[text] = len(text) + 1"),
]


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Load the features anew from files, as a command does."""
    folder = tmp_path_factory.mktemp("rewards")

    def load(helper, late=LATE, source=SOURCE, *, name="own_rewards"):
        for each, text in (("own_helper", helper), ("own_late", late), (name, source)):
            (folder / f"{each}.py").write_text(textwrap.dedent(text))
            sys.modules.pop(each, None)
        return load_module(str(folder / f"{name}.py"))

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(sys, "dont_write_bytecode", True)
        yield load
    for name in ("own_helper", "own_late", "own_words", "plaudit_file_own_rewards", "plaudit_file_own_words"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def before(load):
    """Return the fingerprint of the code as it is."""
    found = load(HELPER).whole.fingerprint
    assert load(HELPER).whole.fingerprint == found
    return found


def test_comments_and_docstrings_decide_nothing(load, before):
    plain = HELPER.replace('"""Read it all."""', "# read it all").replace('"""A judge."""', '"""Another one."""')
    assert plain != HELPER
    assert load(plain).whole.fingerprint == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(*edit, id=" to ".join(edit), marks=pytest.mark.slow if at % 2 else ())
        for at, edit in enumerate(EDITS)
    ],
)
def test_an_edit_that_decides_a_result_changes_the_fingerprint(load, before, old, new):
    assert HELPER.count(old) == 1
    assert load(HELPER.replace(old, new)).whole.fingerprint != before


def test_constants_and_modules_that_are_read_in_a_function_are_found(load):
    def fingerprints(*files):
        made = load(*files)
        return made.whole.fingerprint, made.constants.fingerprint

    whole, constants = fingerprints(HELPER)
    assert fingerprints(HELPER.replace("NUMBERS = [1, 2]", "NUMBERS = [1, 3]"))[1] != constants
    late = fingerprints(HELPER, LATE.replace("16", "17"))
    assert (late[0] != whole, late[1]) == (True, constants)


CLIENT = """
    import string
    from plaudit.llm import feature

    MODEL = "small"
    TEMPLATE = string.Template(f"Judge with {MODEL}: $text")

    @feature
    def asked(text, answer=MODEL):
        return len(TEMPLATE.substitute(text=text))
"""


def test_an_object_of_a_library_counts_by_the_statement_that_makes_it(load):
    before = load(HELPER, source=CLIENT).asked.fingerprint
    assert load(HELPER, source=CLIENT).asked.fingerprint == before
    for old, new in (("Judge with", "Grade with"), ('MODEL = "small"', 'MODEL = "large"')):
        assert load(HELPER, source=CLIENT.replace(old, new)).asked.fingerprint != before


CACHED = """
    import functools
    from plaudit.llm import feature

    @functools.lru_cache(maxsize=64)
    def parse(text):
        return len(text)

    @feature
    @functools.cache
    def words(text):
        return parse(text)
"""


def test_a_cached_feature_is_the_same_under_every_name_of_its_module(load):
    wanted = load(HELPER, source=CACHED).words.fingerprint
    assert load(HELPER, source=CACHED, name="own_words").words.fingerprint == wanted
    assert load(HELPER, source=CACHED.replace("return len(text)", "return -len(text)")).words.fingerprint != wanted
    assert load(HELPER, source=CACHED.replace("return parse(text)", "return -parse(text)")).words.fingerprint != wanted
