"""What a term is over its inputs: the numbers of the reward, its zones, and the rows of findings."""

import numpy as np
import pytest
from matplotlib import pyplot

from plaudit import Field, Reward, check, term
from plaudit.analysis import sweep
from plaudit.errors import DefinitionError, InputError, UnknownField, UnknownParameter


@term
def zone(distance, *, near=5.0, far=20.0):
    """Three zones, the last with a slope."""
    if distance <= near:
        return -3
    return 1 if distance < far else far / distance


@term(weight=0.5)
def care(distance, speed, mood):
    return -1 if speed > distance and mood == "calm" else 0


FIELDS = [
    Field("distance", low=0, high=40, infinite=True, unit="m"),
    Field("speed", low=0, high=9, unit="m/s"),
    Field("mood", values=("calm", "wild")),
]
FOLLOWING = Reward("following", version="1", terms=[zone, care], fields=FIELDS)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_its_numbers_are_those_of_the_reward():
    found = sweep(FOLLOWING, "distance", at={"speed": 7.0}, points=50)
    for distance, value in zip(found.over[0].values, found.values, strict=True):
        assert value == FOLLOWING.score(distance=float(distance), speed=7.0, mood="calm").total
    assert found.at == {"speed": 7.0, "mood": "calm"}
    assert found.beyond == 0.0


def test_zones_end_where_the_curve_jumps_or_bends():
    assert sweep(FOLLOWING, "distance", term="zone").cuts == (5.0, 20.0)
    assert sweep(FOLLOWING, "distance", term="care", at={"speed": 7.0}).cuts == (7.0,)
    assert sweep(FOLLOWING, "distance", term="care", at={"speed": 7.0, "mood": "wild"}).cuts == ()


def test_a_term_is_asked_for_what_it_reads_alone():
    found = sweep(FOLLOWING, "distance", term="zone")
    assert found.at == {}
    with pytest.raises(UnknownField, match="does not read 'speed'"):
        sweep(FOLLOWING, "speed", term="zone")


def test_a_jump_is_drawn_as_a_gap():
    ax = sweep(FOLLOWING, "distance", term="zone").plot()
    lines = [line for line in ax.lines if line.get_linewidth() == 2]
    assert all(np.ptp(line.get_ydata()) < 1 for line in lines)
    assert [float(line.get_ydata()[0]) for line in lines] == [-3.0, 1.0]
    assert lines[0].get_xdata()[-1] == 5.0  # which belongs to the first zone
    assert ax.get_xlabel() == "distance (m)"


def test_categories_are_bars_with_their_names():
    ax = sweep(FOLLOWING, "mood", term="care", at={"speed": 5.0}).plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["calm", "wild"]
    assert [bar.get_height() for bar in ax.containers[0]] == [-0.5, 0.0]


def test_two_inputs_make_a_map():
    found = sweep(FOLLOWING, ("distance", "speed"), term="care")
    assert found.values.shape == (len(found.over[1].values), len(found.over[0].values))
    row, column = 150, 10
    distance, speed = float(found.over[0].values[column]), float(found.over[1].values[row])
    assert found.values[row, column] == FOLLOWING.score(distance=distance, speed=speed, mood="calm")["care"].value
    ax = found.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("distance (m)", "speed (m/s)")
    columns = found.to_columns()
    assert len(columns["care"]) == found.values.size
    assert columns["care"][column] == found.values[0, column]


def test_rows_of_findings_are_marked_with_what_they_are_paid():
    report = check(FOLLOWING)
    found = sweep(FOLLOWING, "distance", term="zone", report=report)
    assert found.witnesses
    for witness in found.witnesses:
        assert witness.on_curve
        assert witness.value == FOLLOWING.score(distance=witness.place[0], speed=0.0, mood="calm")["zone"].value
    ax = found.plot()
    assert found.witnesses[0].finding in ax.get_legend().get_texts()[0].get_text()
    narrow = sweep(FOLLOWING, "distance", term="zone", report=report, ranges={"distance": (30.0, 31.0)})
    assert f"0 of {len(narrow.witnesses)} rows" in " ".join(text.get_text() for text in narrow.plot().texts)
    total = sweep(FOLLOWING, "distance", report=report, at={"speed": 8.9})
    assert not any(witness.on_curve for witness in total.witnesses)


def test_a_notebook_shows_where_it_changes():
    found = sweep(FOLLOWING, ("distance"), term="zone", report=check(FOLLOWING))
    text = found._repr_html_()
    assert "following@1: zone over distance" in text
    assert "jumps or bends at 5, 20" in text
    assert found.witnesses[0].finding in text
    assert len(repr(found)) < 2000


def test_what_cannot_be_drawn_is_refused_with_what_to_do():
    with pytest.raises(UnknownField, match="Did you mean 'distance'"):
        sweep(FOLLOWING, "distnce")
    with pytest.raises(UnknownParameter, match="Did you mean 'zone'"):
        sweep(FOLLOWING, "distance", term="zome")
    with pytest.raises(DefinitionError, match=r"speed=99.0 is not .*: 0 … 9"):
        sweep(FOLLOWING, "distance", at={"speed": 99.0})
    with pytest.raises(InputError, match="two different"):
        sweep(FOLLOWING, ("distance", "distance"))
    open_ended = Reward("r", version="1", terms=[term(lambda_free)], fields=[Field("x")])
    with pytest.raises(DefinitionError, match="ranges="):
        sweep(open_ended, "x")
    assert sweep(open_ended, "x", ranges={"x": (-1.0, 1.0)}).values[0] == -1.0


def lambda_free(x):
    return x


def test_where_it_cannot_be_scored_there_is_a_gap():
    inverse = Reward("r", version="1", terms=[term(divide)], fields=[Field("x", low=-1, high=1)])
    found = sweep(inverse, "x", points=3)
    assert np.isnan(found.values).any()
    assert found.plot().lines


def divide(x):
    return 1 / x
