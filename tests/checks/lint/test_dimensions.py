"""Units that do not go together; what counts as such is tested with `units`."""

from asking import told
from plaudit import Field, Reward, term
from written import reward_from

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
    assert sine.message == "'f' takes the sine of an angle in deg, and it must be in rad."
    assert cosine.message == "'f' takes the cosine of an angle in deg, and it must be in rad."
    assert "math.pi / 180" in sine.advice
    repaired = reward_from("def f(x): return math.sin(x * math.pi / 180)", angle)
    assert told(repaired, "unit-mismatch") == []


def test_a_unit_is_told_as_it_is_written():
    power, work = Field("x", low=0, high=9, unit="W"), Field("y", low=0, high=9, unit="J")
    (finding,) = told(reward_from("def f(x, y): return x - y", power, work), "unit-mismatch")
    assert finding.message == "'f' adds W and J."
