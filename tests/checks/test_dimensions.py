"""Units: what texts mean, and when two of them may be added."""

import pytest

from plaudit.checks.dimensions import Unit


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
