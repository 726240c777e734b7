"""A reward as C: no warning from any compiler, the same refusals as Python, names and texts that cannot break out."""

import keyword
import math
import pickle
import re
import shutil
import subprocess

import numpy as np
import pytest

from plaudit import Field, Reward, State, Task, fact, term
from plaudit.errors import NotFinite, OutOfRange, OutsideDomain, TargetError, UnknownCategory
from plaudit.targets.c.harness import STATUSES
from plaudit.targets.c.reward import STATUSES as NUMBERED
from plaudit.targets.c.writing import KEYWORDS
from plaudit.targets.inputs import list_slots
from support.c_compilers import COMPILERS, CFunction, compile_text
from support.strategies import load

STRICTER = ("-Wshadow", "-Wdouble-promotion", "-Wcast-qual", "-Wundef", "-Wsign-conversion", "-Wfloat-conversion")


# -- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("knobs", ["constant", "struct"])
def test_no_compiler_has_a_warning_and_the_numbers_are_those_worked_out_by_hand(reward, batch, totals, language, knobs):
    made = CFunction(reward.compile("c", knobs=knobs), language=language, flags=("-O2", *STRICTER))
    found = made.score(batch)
    assert found.ok.all()
    np.testing.assert_allclose(found.total, totals, rtol=1e-15)


@pytest.mark.parametrize("language", COMPILERS)
def test_in_floats_nothing_is_computed_in_doubles(reward, batch, totals, language):
    compiled = reward.compile("c", real="float")
    found = CFunction(compiled, language=language, flags=("-O2", *STRICTER)).score(batch)
    assert "double" not in compiled.header
    np.testing.assert_allclose(found.total, totals, rtol=1e-6)


SIGNS = """\
import math
import pickle


def floors(a, b):
    return a // b


def rests(a, b):
    return a % b


def rounds(a):
    return round(a)


def up(a):
    return math.ceil(a)


def down(a):
    return math.floor(a)


def least(a, b):
    return min(a, b)


def most(a, b):
    return max(a, b)


def held(a):
    return min(max(a, -0.0), 3.0)


def negated(a):
    return -a
"""
NUMBERS = (
    0.0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    -0.3,
    3.0,
    -7.0,
    7.5,
    0.1,
    5e-324,
    -5e-324,
    1e300,
    1e-300,
    2.0**53,
    2.0**53 + 2,
)


@pytest.mark.parametrize("language", COMPILERS)
def test_signs_halves_and_denormals_are_python_s_to_the_bit(language):
    space = load(SIGNS)
    terms = [term(space[name]) for name in space if callable(space[name])]
    reward = Reward("signs", version="1", terms=terms, fields=[Field("a"), Field("b")])
    compiled = reward.compile("c")
    function = CFunction(compiled, language=language, flags=("-O2",))
    pairs = [(a, b) for a in NUMBERS for b in NUMBERS]
    names = list(compiled.bound.inputs)
    found = function([[{"a": a, "b": b}[name] for name in names] for a, b in pairs])
    python = reward.compile("python", on_bad="mask")
    for at, (a, b) in enumerate(pairs):
        wanted = python({"a": a, "b": b})
        assert (found["status"][at] == 0) == wanted.ok
        for name, value in wanted.scores.items():
            got = found[f"scores.{name}"][at]
            assert repr(float(got)) == repr(value) or math.isnan(got), (name, a, b)


ODD = (
    0.1,
    1 / 3,
    5e-324,
    1e308,
    1.7976931348623157e308,
    2.2250738585072014e-308,
    123456789.123456789,
    -0.0,
    1e22,
    3e-45,
)


@pytest.mark.parametrize("real", ["double", "float"])
def test_a_constant_is_read_back_as_it_is(real):
    kept = [value for value in ODD if real == "double" or abs(value) < 3e38]
    space = load("\n\n\n".join(f"def t{i}(x):\n    return {value!r} if x > 0 else 1" for i, value in enumerate(kept)))
    terms = [term(weight=0.0)(space[f"t{i}"]) for i in range(len(kept))]
    reward = Reward("odd", version="1", terms=terms, fields=[Field("x")])
    found = CFunction(reward.compile("c", real=real))([[1.0]])
    wanted = kept if real == "double" else [float(np.float32(value)) for value in kept]
    assert [repr(float(found[f"scores.t{i}"][0])) for i in range(len(kept))] == list(map(repr, wanted))


# -- refusals --------------------------------------------------------------------------------------------------------


GOOD = {"distance": 1.0, "level": 1, "lit": True, "mood": "calm", "force": [1.0, 2.0], "success": False}
GOOD |= {"prev": {"place": 0.0}, "curr": {"place": 0.0}, "terminal": False}


def to_row(compiled, inputs):
    """Return inputs as a row of numbers, in the order of the Program."""
    row = []
    for slot in list_slots(compiled.bound):
        value = inputs[slot.record][slot.key] if slot.record else inputs[slot.key]
        value = value[slot.entry] if slot.entry is not None else value
        row.append(slot.field.labels.index(value) if slot.field.kind == "category" else float(value))
    return row


@pytest.mark.parametrize("knobs", ["constant", "struct"])
@pytest.mark.parametrize(
    ("bad", "kind", "blamed", "entry"),
    [
        ({"distance": -1.0}, OutOfRange, "distance", 0),
        ({"distance": math.nan}, NotFinite, "distance", 0),
        ({"distance": math.inf}, NotFinite, "distance", 0),
        ({"level": 7}, OutOfRange, "level", 0),
        ({"level": math.nan}, NotFinite, "level", 0),
        ({"level": math.inf}, OutOfRange, "level", 0),
        ({"force": [1.0, -9.5]}, OutOfRange, "force", 1),
        ({"prev": {"place": -math.inf}}, NotFinite, "prev.place", 0),
    ],
)
def test_what_python_refuses_is_a_status_that_names_the_field(reward, knobs, bad, kind, blamed, entry):
    with pytest.raises(kind, match=blamed):
        reward.score(**{**GOOD, **bad})
    compiled = reward.compile("c", knobs=knobs)
    found = CFunction(compiled)([to_row(compiled, {**GOOD, **bad}), to_row(compiled, GOOD)])
    assert found["status"].tolist() == [list(NUMBERED).index(STATUSES[kind]), 0]
    assert list(compiled.structs.field_names)[int(found["field"][0])] == blamed
    assert found["entry"][0] == entry
    assert f"'{blamed}'" in compiled.checks[int(found["check"][0]) - 1].text
    assert math.isnan(found["total"][0])
    assert found["check"][1] == 0
    assert found["field"][1] == found["term"][1] == -1


def test_a_position_that_names_no_category_is_refused(reward):
    compiled = reward.compile("c")
    at = [slot.name for slot in list_slots(compiled.bound)].index("mood")
    rows = np.zeros((4, len(compiled.bound.inputs)))
    rows[:, at] = [0, 2, 3, -1]
    found = CFunction(compiled)(rows)
    assert [list(NUMBERED)[int(each)] for each in found["status"]] == ["OK", "OK", *["UNKNOWN_CATEGORY"] * 2]


DOMAINS = """\
import math
import pickle


def divides(x):
    return 1 / x


def takes_log(x):
    return math.log(x) if x < 5 else 0.0


def explodes(x):
    return x * x * x * x
"""


@pytest.mark.parametrize(("x", "blamed"), [(0.0, "divides"), (-1.0, "takes_log"), (1e100, "explodes"), (1.0, None)])
def test_an_operation_outside_its_domain_names_its_term(x, blamed):
    space = load(DOMAINS)
    terms = [term(space[name]) for name in ("divides", "takes_log", "explodes")]
    reward = Reward("domains", version="1", terms=terms, fields=[Field("x")])
    compiled = reward.compile("c")
    found = CFunction(compiled)([[x]])
    if blamed is None:
        assert found["status"][0] == 0
        return
    with pytest.raises(OutsideDomain, match=f"term '{blamed}'"):
        reward.score(x=x)
    assert list(NUMBERED)[int(found["status"][0])] == "OUTSIDE_DOMAIN"
    assert reward.program.terms[int(found["term"][0])] == blamed
    said = compiled.checks[int(found["check"][0]) - 1].text
    assert f"term '{blamed}'" in said or (x == 1e100 and "is not finite" in said)


def test_what_only_the_end_reads_is_nobody_s_business_before_it(reward, batch):
    compiled = reward.compile("c")
    names = [slot.name for slot in list_slots(compiled.bound)]
    function = CFunction(compiled)
    assert set(compiled.bound.terminal) == {"success"}
    row = dict.fromkeys(names, 0.0)
    assert function([[row[name] for name in names]])["status"][0] == 0


def test_statuses_cover_every_error_of_a_row():
    assert set(STATUSES) == {NotFinite, OutOfRange, OutsideDomain, UnknownCategory}
    assert set(STATUSES.values()) < set(NUMBERED)


# -- knobs and states --------------------------------------------------------------------------------------------------


def test_knobs_in_a_struct_can_be_changed_while_the_program_runs(reward, batch):
    compiled = reward.compile("c", knobs="struct")
    changed = {"near.reach": 0.5, "effort.weight": 3.0, "far": 7.0, "total.low": -2.0}
    found = CFunction(compiled, knobs=changed).score(batch)
    wanted = reward.with_params(changed).compile("numpy")(batch)
    assert found.total.tolist() == wanted.total.tolist()


@pytest.mark.parametrize("value", ["(double)NAN", "HUGE_VAL", "-HUGE_VAL"])
def test_a_knob_that_is_no_number_is_refused(reward, value):
    compiled = reward.compile("c", knobs="struct")
    found = CFunction(compiled, knobs={"near.reach": value})(np.zeros((1, len(compiled.bound.inputs))))
    assert list(NUMBERED)[int(found["status"][0])] == "BAD_KNOB"
    assert "near.reach" in compiled.checks[int(found["check"][0]) - 1].text


def test_a_state_is_carried_and_stays_where_a_row_is_refused():
    space = load("def rise(prev, up):\n    return prev.height + up\n\n\ndef high(curr):\n    return curr.height\n")
    height = State("height", reset=1.0, low=0, high=10, update=space["rise"])
    reward = Reward("climb", version="1", terms=[term(space["high"])], fields=[Field("up", low=-5, high=5), height])
    compiled = reward.compile("c")
    names = list(compiled.bound.inputs)
    rows = [{"prev.height": 1.0, "up": 2.5}, {"prev.height": 9.0, "up": 4.0}, {"prev.height": 9.0, "up": 99.0}]
    found = CFunction(compiled)([[row[name] for name in names] for row in rows])
    assert [list(NUMBERED)[int(each)] for each in found["status"]] == ["OK", "OUT_OF_RANGE", "OUT_OF_RANGE"]
    assert found["height[0]"].tolist() == [3.5, 9.0, 9.0]
    assert "1.0" in compiled.header.partition("climb_initial_state(void)")[2][:120]


@pytest.mark.parametrize("language", COMPILERS)
def test_a_reward_that_reads_nothing_but_its_state_has_no_warning(language):
    space = load("def count(prev):\n    return prev.steps + 1\n\n\ndef late(curr):\n    return -curr.steps\n")
    steps = State("steps", reset=0.0, low=0, update=space["count"])
    reward = Reward("late", version="1", terms=[term(space["late"])], fields=[steps])
    found = CFunction(reward.compile("c", knobs="struct"), language=language)([[4.0]])
    assert (found["total"][0], found["steps[0]"][0]) == (-5.0, 5.0)


def test_what_only_a_dropped_quotient_reads_is_not_declared():
    space = load("def kept(x, y, z):\n    spare = abs(x) / y + abs(x) / z\n    return y\n")
    reward = Reward("r", version="1", terms=[term(space["kept"])], fields=[Field("x"), Field("y"), Field("z")])
    for knobs in ("constant", "struct"):
        found = CFunction(reward.compile("c", knobs=knobs))([[1.0, 2.0, 3.0], [1.0, 2.0, 0.0]])
        assert [list(NUMBERED)[int(each)] for each in found["status"]] == ["OK", "OUTSIDE_DOMAIN"]


@pytest.mark.parametrize("language", COMPILERS)
def test_a_value_compared_with_itself_has_no_warning(language):
    space = load(
        "def same(lit, mood, x):\n    return (1 if lit == lit else 0) + (2 if mood != mood else 0) + 4 * (x == x)\n"
    )
    fields = [Field("lit", flag=True), Field("mood", values=("calm", "wild")), Field("x")]
    reward = Reward("same", version="1", terms=[term(space["same"])], fields=fields)
    found = CFunction(reward.compile("c"), language=language)([[1.0, 1.0, 2.0], [1.0, 7.0, 2.0]])
    assert found["total"][0] == 5.0
    assert list(NUMBERED)[int(found["status"][1])] == "UNKNOWN_CATEGORY"


def test_categories_that_spell_a_status_or_a_constant_get_other_names():
    space = load('def one(OUT, DOMAIN):\n    return 1 if OUT == "OF_RANGE" and DOMAIN == "FINGERPRINT" else 0\n')
    fields = [Field("OUT", values=("OF_RANGE", "x")), Field("DOMAIN", values=("FINGERPRINT", "x"))]
    reward = Reward("ALL", version="1", terms=[term(space["one"])], fields=fields)
    assert CFunction(reward.compile("c"))([[0, 0]])["total"][0] == 1.0


# -- names and texts ---------------------------------------------------------------------------------------------------

PRINTABLE = "*/ int broken; /* ??/ \" ' </script> %s %d é \\"
HOSTILE = f"{PRINTABLE} \x1b[31m \u202e \ud800 ??/\n*/ #error broken\n\\"
NAMES = ("register", "NULL", "x0", "status", "total_", "x_FILE_", "__FILE__")


@pytest.mark.parametrize("language", COMPILERS)
def test_no_text_of_a_reward_breaks_out(language):
    lines = "def {0}(and_, {0}_):\n    return {0}_ + (1 if and_ == {1!r} else 0)"
    space = load("\n\n\n".join(lines.format(name, HOSTILE) for name in NAMES))
    for name in NAMES:
        space[name].__doc__ = HOSTILE * 200  # more than 10,000 characters
    moods = Field("and_", values=(HOSTILE, "and", "a b", "a-b", "größe", ""))
    fields = [moods, *(Field(f"{name}_", doc=HOSTILE, unit=HOSTILE) for name in NAMES)]
    terms = [term(space[name]) for name in NAMES]
    reward = Reward(f"int {PRINTABLE}", version=PRINTABLE, terms=terms, fields=fields, doc=HOSTILE)
    compiled = reward.compile("c", knobs="struct")
    assert compiled.header.isascii()
    assert len(compiled.header) > 10_000 * len(NAMES)
    found = CFunction(compiled, language=language)([[0.0, *range(len(NAMES))]])
    assert found["status"][0] == 0
    assert found["total"][0] == sum(range(len(NAMES))) + len(NAMES)


@pytest.mark.parametrize("language", [pytest.param("gcc", marks=pytest.mark.slow), "clang++"])
def test_every_keyword_can_be_a_field_a_term_and_a_knob(language):
    plain = sorted(name for name in KEYWORDS if not keyword.iskeyword(name))
    code = "\n\n\n".join(f"def {name}({name}, *, knob=1.0):\n    return {name} * knob" for name in plain)
    space = load(code)
    reward = Reward("words", version="1", terms=[term(space[n]) for n in plain], fields=[Field(n) for n in plain])
    compiled = reward.compile("c", knobs="struct")
    found = CFunction(compiled, language=language, flags=("-O0",))([[1.0] * len(plain)])
    assert found["total"][0] == len(plain)
    assert "field register -> register_" in compiled.header


def test_two_versions_of_a_reward_stand_in_one_program(reward):
    parts = [reward.compile("c", prefix=prefix).header for prefix in ("old", "new")]
    compile_text("".join(parts) + "int main(void) { return 0; }\n")


def test_inputs_and_knobs_are_read_in_one_order_so_that_the_text_is_always_the_same(reward):
    header = reward.compile("c", knobs="struct").header
    read = [(found[0], int(found[1:])) for found in re.findall(r"const double ([px]\d+) = ", header)]
    assert {kind for kind, _ in read} == {"p", "x"}
    assert read == sorted(read)


def test_the_text_says_which_reward_it_is(reward):
    header = reward.compile("c").header
    assert '#define ALL_NAME "all"' in header
    assert '#define ALL_VERSION "1"' in header
    assert f'#define ALL_FINGERPRINT "{reward.fingerprint}"' in header


# -- the program around it ---------------------------------------------------------------------------------------------


def test_there_is_no_heap_no_global_and_no_double_in_floats(reward):
    if shutil.which("nm") is None:
        pytest.skip("needs binutils")
    text = reward.compile("c", real="float").header
    text += "all_status f(const all_inputs *in, all_outputs *out);\n"
    text += "all_status f(const all_inputs *in, all_outputs *out) { return all_score(in, out); }\n"
    made = compile_text(text, flags=("-Os", "-c"))
    symbols = subprocess.run(["nm", str(made)], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [tuple(line.split()[-2:]) for line in symbols]
    assert {kind for kind, _ in found} <= {"T", "t", "U", "r"}
    assert {name for kind, name in found if kind == "U"} <= {"tanhf", "floorf", "_GLOBAL_OFFSET_TABLE_"}


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only"])
def test_fast_math_is_refused_for_nan_would_pass(reward, flag):
    with pytest.raises(AssertionError, match="compile without -ffast-math"):
        compile_text(reward.compile("c").header, flags=("-c", flag))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"real": "half"}, "real='half' is not one of double, float"),
        ({"knobs": "both"}, "knobs='both' is not one of constant, struct"),
        ({"prefix": "__x"}, "plain C identifier"),
        ({"prefix": "a b"}, "plain C identifier"),
        ({"raal": "float"}, "Did you mean 'real'"),
    ],
)
def test_an_option_that_does_not_exist_is_told(reward, options, told):
    with pytest.raises(TargetError, match=told):
        reward.compile("c", **options)


def test_it_is_text_and_runs_nothing(reward):
    made = reward.compile("c")
    assert "real='double'" in repr(made)
    with pytest.raises(TargetError, match="C target is source text"):
        made({"distance": 1.0})
    with pytest.raises(TargetError, match="C target is source text"):
        made.step({}, {})


# -- other rules about rows --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slow():
    """A reward with a fact, a range and a division that a flag guards."""
    space = load(
        "def pace(speed, load):\n    return load / speed\n\n\ndef loaded(speed, load):\n    return load <= speed\n"
    )
    fields = [Field("speed", low=1, high=5), Field("load", low=0, high=9)]
    return Reward(
        "slow", version="1", terms=[term(space["pace"])], fields=fields, task=Task(facts=[fact(space["loaded"])])
    )


def test_facts_are_tested_where_that_is_asked_for(slow):
    row = [{"speed": 2.0, "load": 3.0}[name] for name in slow.program.inputs]
    assert CFunction(slow.compile("c"))([row])["total"][0] == 1.5
    checked = slow.compile("c", guard="facts")
    found = CFunction(checked)([row])
    assert list(NUMBERED)[int(found["status"][0])] == "OUT_OF_RANGE"
    assert "loaded" in checked.checks[int(found["check"][0]) - 1].text


def test_without_guards_only_the_domains_of_operations_count(slow):
    function = CFunction(slow.compile("c", guard=False))
    rows = [[{"speed": speed, "load": 3.0}[name] for name in slow.program.inputs] for speed in (0.5, 0.0)]
    found = function(rows)
    assert [list(NUMBERED)[int(each)] for each in found["status"]] == ["OK", "OUTSIDE_DOMAIN"]
    assert found["total"][0] == 6.0


def test_numbers_are_clipped_where_that_is_asked_for(slow):
    function = CFunction(slow.compile("c", on_bad="clip"))
    rows = [[{"speed": speed, "load": 3.0}[name] for name in slow.program.inputs] for speed in (0.5, math.nan)]
    found = function(rows)
    assert found["total"][0] == 3.0
    assert list(NUMBERED)[int(found["status"][1])] == "NOT_FINITE"


def test_it_survives_pickling(reward):
    made = reward.compile("c", real="float", knobs="struct")
    assert pickle.loads(pickle.dumps(made)).header == made.header


def test_what_a_row_costs_is_counted():
    space = load("import math\n\n\ndef wave(x, y):\n    return math.tanh(x * y) + x * y if x < y else -x\n")
    reward = Reward(
        "wave", version="1", terms=[term(space["wave"])], fields=[Field("x", low=0, high=1), Field("y", low=0, high=1)]
    )
    made = reward.compile("c")
    assert made.operations["tanh"] == 1
    assert made.operations["multiplications"] == 1
    assert made.operations["additions"] == 1
    assert not made.exact
    assert "except for tanh" in made.header
    assert f"at most {sum(made.operations.values())} operations" in made.header
