"""Units, and operations on units that do not go together."""

import re

import pytest

from plaudit import Field, Reward, term
from plaudit.checks.rules.units import Unit, list_mismatches
from plaudit.language import nodes as n
from support.asking import told
from support.written import reward_from

METRES, SPEED = Field("x", low=0, high=9, unit="m"), Field("y", low=0, high=9, unit="m/s")


def test_metres_and_metres_per_second_do_not_add_up():
    (finding,) = told(reward_from("def f(x, y): return x + y", METRES, SPEED), "unit-mismatch")
    assert (finding.severity, finding.term) == ("warning", "f")
    assert "m/s" in finding.message
    assert finding.message.startswith("'f' ")


def test_each_mismatch_is_told_once_for_its_term():
    @term
    def one(x, y):
        return x + y

    @term
    def two(x, y):
        return 1 if x > y else 0

    @term
    def three(x, y):
        return x / y

    found = told(Reward("r", version="1", terms=[one, two, three], fields=[METRES, SPEED]), "unit-mismatch")
    assert [finding.term for finding in found] == ["one", "two"]


@pytest.mark.parametrize(
    "kind", [kind for kind in n.FUNCTIONS if kind not in (n.Sqrt, n.Power)], ids=lambda kind: kind.function
)
def test_the_result_of_a_function_is_a_pure_number_or_has_the_unit_of_its_arguments(kind):
    call = f"{kind.function}({n.format_slots(kind)})"
    joined = reward_from(f"import plaudit\ndef f(x, y): return {call.format('x', 'x')} + y", METRES, SPEED)
    (mismatch,) = list_mismatches(joined.program)
    assert (mismatch.operation, str(mismatch.left)) == ("adds", "1" if kind.pure else "m")
    if issubclass(kind, n.Binary):
        mixed = reward_from(f"import plaudit\ndef f(x, y): return {call.format('x', 'y')}", METRES, SPEED)
        assert [each.operation for each in list_mismatches(mixed.program)] == ["combines"]


def test_what_goes_together_is_left_alone():
    other = Field("y", low=0, high=9, unit="m")
    assert told(reward_from("def f(x, y): return x - 2 * y", METRES, other), "unit-mismatch") == []
    assert told(reward_from("def f(x, y): return x - 2 * y", METRES, Field("y", low=0, high=9)), "unit-mismatch") == []


def test_terms_of_different_units_are_told_of_under_the_total_or_not_at_all():
    @term
    def one(x):
        return x

    @term
    def two(y):
        return y

    found = told(Reward("r", version="1", terms=[one, two], fields=[METRES, SPEED]), "unit-mismatch")
    assert found == []  # weights convert what terms are worth


def test_a_sine_of_degrees_is_told_in_a_sentence_of_its_own():
    angle = Field("x", low=0, high=360, unit="deg")
    made = reward_from("def f(x): return math.sin(x) + 2 * math.sin(x) + math.cos(x)", angle)
    sine, cosine = told(made, "unit-mismatch")
    assert sine.message == "'f' takes the sine of an angle in deg, but it must be in rad."
    assert cosine.message == "'f' takes the cosine of an angle in deg, but it must be in rad."
    assert "math.pi / 180" in sine.advice
    repaired = reward_from("def f(x): return math.sin(x * math.pi / 180)", angle)
    assert told(repaired, "unit-mismatch") == []


def test_a_unit_is_told_as_it_is_written():
    power, work = Field("x", low=0, high=9, unit="W"), Field("y", low=0, high=9, unit="J")
    (finding,) = told(reward_from("def f(x, y): return x - y", power, work), "unit-mismatch")
    assert finding.message == "'f' adds W and J."


FIELDS = {
    field.name: field
    for field in (
        Field("gap", unit="m", low=0, high=100),
        Field("width", unit="m", low=0, high=100),
        Field("trip", unit="km", low=0, high=100),
        Field("speed", unit="m/s", low=0, high=60),
        Field("braking", unit="m/s²", low=-10, high=10),
        Field("push", unit="m/s^2", low=-10, high=10),
        Field("elapsed", unit="s", low=0, high=10),
        Field("area", unit="m^2", low=0, high=10),
        Field("angle", unit="rad", low=-4, high=4),
        Field("share", low=0, high=1),
        Field("odd", unit="about 3 m", low=0, high=1),
        Field("close", flag=True),
        Field("mode", values=("a", "b")),
        Field("power", unit="W", low=0, high=10),
        Field("spin", unit="rad/s", low=0, high=10),
        Field("twist", unit="N*m", low=0, high=10),
        Field("heading", unit="deg", low=0, high=360),
        Field("slope", unit="°", low=0, high=90),
        Field("torque", unit="N*m", length=2, low=-1, high=1),
        Field("level", values=(0, 1, 2), unit="levels"),
    )
}


ADDED, CHOSEN = [("adds", "m", "m/s")], [("chooses between", "m", "m/s")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gap + braking", [("adds", "m", "m/s^2")]),
        ("1 if speed < braking else 0", [("compares", "m/s", "m/s^2")]),
        ("gap if close else speed", CHOSEN),
        ("min(gap, speed)", CHOSEN),
        ("trip - gap", [("adds", "km", "m")]),
        ("braking - push", []),  # two spellings of one unit
        ("gap + speed + braking", ADDED),  # one mistake is one mismatch
        # units multiply and divide; a root halves them, and of an odd power nothing is known
        ("gap / speed - elapsed if speed * elapsed + braking * elapsed**2 < gap else elapsed", []),
        ("elapsed if area == gap * width else 0", []),
        ("gap - speed / elapsed", [("adds", "m", "m/s^2")]),
        ("math.sqrt(gap**2 + width**2) + math.sqrt(area)", []),
        ("math.sqrt(gap) + speed", []),
        ("math.sqrt(gap**2 + area) - area", [("adds", "m", "m^2")]),
        ("power - twist * spin", []),
        ("power - twist", [("adds", "W", "N*m")]),
        # constants, knobs and tables adapt, and a product with a constant may be a conversion
        ("abs(gap) + 1.0 if max(gap, 0) < knob and -speed > -knob else gap - knob", []),
        ("gap - knob * speed + 1000 * trip + speed / 2", []),
        ("gap + WORTH[level]", []),
        ("max(abs(gap) + 1.0, 0.0) + round(-speed)", ADDED),
        # a length by a length, and what a function makes of a unit, are pure numbers; a radian is a length by a length
        ("gap / width if gap / width < knob else math.tanh(gap)", []),
        ("gap / width + gap", [("adds", "1", "m")]),
        ("math.exp(-gap) + math.log1p(speed) * math.sin(angle)", []),
        ("math.exp(-gap) + speed", [("adds", "1", "m/s")]),
        ("math.atan2(gap, width) + angle + math.atan2(gap, 2.0)", []),
        ("math.atan2(gap, width) + math.atan2(gap, speed) + gap", [("combines", "m", "m/s")]),
        ("gap * angle + width", []),
        # what has no unit never complains, and a flag chooses and counts
        ("gap + share + speed if mode == 'a' and close else odd + share", []),
        ("gap * close + width - close", []),
        ("gap * close + speed", ADDED),
        # sines are of radians
        ("math.sin(heading)", [("takes the sine of", "deg", "rad")]),
        ("math.cos(-slope + knob)", [("takes the cosine of", "°", "rad")]),
        ("math.cos(heading * math.pi / 180) + math.sin(share) + math.sin(angle) + math.tanh(heading)", []),
        ("math.cos(gap / width)", []),
        # components of a vector have its unit
        ("sum(t * t for t in torque)", []),
        ("max(abs(t) for t in torque) + gap", [("adds", "N*m", "m")]),
    ],
)
def test_what_is_joined_must_have_one_unit(text, said):
    read = [name for name in FIELDS if re.search(rf"\b{name}\b", text)]
    source = f"WORTH = (0.0, 1.0, 4.0)\ndef f({', '.join(read)}, *, knob=2.0): return {text}"
    mismatches = list_mismatches(reward_from(source, *(FIELDS[name] for name in read)).program)
    assert [(each.operation, str(each.left), str(each.right)) for each in mismatches] == said


def test_a_mismatch_belongs_to_every_term_that_uses_it():
    @term
    def first(x, y):
        return x + y

    @term
    def second(x, y):
        return (x + y) * 2

    @term
    def third(x):
        return x

    reward = Reward("r", version="1", terms=[first, second, third], fields=[METRES, SPEED])
    assert [each.terms for each in list_mismatches(reward.program)] == [("first", "second")]


@pytest.mark.parametrize(
    ("text", "powers"),
    [
        ("m", {"m": 1}),
        ("m/s", {"m": 1, "s": -1}),
        ("m/s^2", {"m": 1, "s": -2}),
        ("m/s²", {"m": 1, "s": -2}),
        ("m/s**2", {"m": 1, "s": -2}),
        ("m/s2", {"m": 1, "s": -2}),
        ("m/s/s", {"m": 1, "s": -2}),
        ("m*s^-2", {"m": 1, "s": -2}),
        ("m·s⁻²", {"m": 1, "s": -2}),
        (" m / s ", {"m": 1, "s": -1}),
        ("km/h", {"km": 1, "h": -1}),
        ("1/s", {"s": -1}),
        ("s^-1", {"s": -1}),
        ("1", {}),
        ("m/m", {}),
        ("tokens", {"tokens": 1}),
        ("alignment_events", {"alignment_events": 1}),
        ("%", {"%": 1}),
        ("°C", {"°C": 1}),
        ("N*m", {"N": 1, "m": 1}),
        ("kg*m²/(s*A)^2", {"kg": 1, "m": 2, "s": -2, "A": -2}),
        ("W/(m²·K)", {"W": 1, "m": -2, "K": -1}),
        ("m/s*kg", {"m": 1, "s": -1, "kg": 1}),
    ],
)
def test_a_text_is_read_into_powers(text, powers):
    assert Unit.read(text) == Unit.of(powers)


@pytest.mark.parametrize(
    "text",
    ["", " ", "N m", "metres per second", "10 m", "2", "m/", "/s", "m//s", "m^", "m^x", "(m", "m)", "*", "m^^2", "-", "m,s",
     "m^" + "9" * 5000, "(" * 100_000],
)  # fmt: skip
def test_what_cannot_be_read_is_unknown(text):
    assert Unit.read(text) is None


@pytest.mark.parametrize("text", ["m", "m/s^2", "1/s", "1", "N*m", "A/m^2/s", "%"])
def test_a_unit_is_written_as_it_is_read(text):
    assert str(Unit.read(text)) == text


def test_names_are_only_names():
    assert not Unit.read("km").fits(Unit.read("m"))
    assert not Unit.read("%").fits(Unit.read("1"))


def test_a_radian_counts_for_nothing():
    assert Unit.read("m*rad").fits(Unit.read("m"))
    assert Unit.read("rad/s").fits(Unit.read("1/s"))
    assert not Unit.read("rad").fits(Unit.read("m"))
    assert not Unit.read("rad").fits(Unit.read("deg"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("N", "kg*m/s^2"),
        ("J", "N*m"),
        ("J", "kg*m²/s²"),
        ("W", "J/s"),
        ("W", "N*m*rad/s"),
        ("Pa", "N/m^2"),
        ("Pa*m^3", "J"),
        ("Hz", "1/s"),
        ("m/s", "m*Hz"),
        ("J/kg", "m²/s²"),
        ("°", "deg"),
    ],
)
def test_a_name_may_stand_for_a_product(one, other):
    assert Unit.read(one).fits(Unit.read(other))
    assert Unit.read(other).fits(Unit.read(one))
    assert str(Unit.read(one)) == str(Unit.read(one.replace("²", "^2")))  # it is told as it was written


@pytest.mark.parametrize(
    ("one", "other"), [("W", "J"), ("N", "kg"), ("Pa", "N"), ("Hz", "s"), ("kW", "W"), ("V*A", "W")]
)
def test_other_products_do_not_fit(one, other):
    assert not Unit.read(one).fits(Unit.read(other))


def test_a_root_looks_into_names():
    assert Unit.read("J/kg").root() == Unit.read("m/s")
    assert Unit.read("J^2").root() == Unit.read("J")
    assert Unit.read("J").root() is None


def test_only_even_powers_have_a_root():
    assert Unit.read("m^2/s^4").root() == Unit.read("m/s^2")
    assert Unit().root() == Unit()
    assert Unit.read("m^3").root() is None


def test_nothing_is_known_of_the_unit_of_a_power():
    joined = reward_from("def f(x, y, *, p=1.5): return x ** p + y", METRES, SPEED)
    assert list_mismatches(joined.program) == []
