"""The view from above shows the step it is given, to scale, wherever the road leads; a film is a small GIF of such views."""

from dataclasses import astuple
from math import cos, degrees, inf, radians, sin

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from PIL import Image

from plaudit.errors import DefinitionError, FileError, MissingField
from plaudit.systems.roadsense.pictures import Zones, colors, draw_top_view, save_film
from plaudit.systems.roadsense.pictures.scene import find_lane_parts
from plaudit.systems.roadsense.pictures.window import Window
from plaudit.systems.roadsense.world import CarState
from support.examples import examples

SCALE = 960 / 120


def where(picture, color):
    """Return the rows and columns of the pixels of a colour."""
    return np.nonzero((picture == list(bytes.fromhex(color[1:]))).all(axis=2))


def test_a_picture_has_the_size_that_is_asked_for_and_is_the_callers_own(drive):
    picture = draw_top_view(drive()[0], size=(640, 200))
    assert picture.shape == (200, 640, 3)
    assert picture.dtype == np.uint8
    assert picture.flags.writeable
    assert picture.flags.owndata


def test_the_same_frame_gives_the_same_bytes(drive):
    first, again = (draw_top_view(drive()[40]).tobytes() for _ in range(2))
    assert first == again


def test_cars_are_drawn_to_scale(drive):
    _, columns = where(draw_top_view(drive()[0]), colors.EGO)
    assert columns.max() - columns.min() == pytest.approx(5.0 * SCALE, abs=4)  # its outline is dark


def test_the_window_follows_the_ego(drive):
    places = [where(draw_top_view(frame), colors.EGO)[1].max() for frame in drive()[::20]]
    assert len(set(places)) == 1


def test_brake_lights_are_lit_while_a_car_brakes(drive):
    frames = drive(hazard=20, reaction=5)
    assert len(where(draw_top_view(frames[10]), colors.BRAKE_LIGHT)[0]) == 0
    one = len(where(draw_top_view(frames[21]), colors.BRAKE_LIGHT)[0])
    both = len(where(draw_top_view(frames[30]), colors.BRAKE_LIGHT)[0])
    assert 0 < one < both


def test_the_hazard_is_marked_once_it_has_begun(drive):
    frame = drive()[30]
    assert len(where(draw_top_view(frame), colors.HAZARD)[0]) > 100 + len(
        where(draw_top_view(frame._replace(hazard=None)), colors.HAZARD)[0]
    )


def test_who_is_heard_is_shown(drive):
    frame = drive()[0]
    assert len(where(draw_top_view(frame), colors.HEARD)[0]) > 0
    assert len(where(draw_top_view(frame._replace(heard=frozenset())), colors.HEARD)[0]) == 0


def test_the_lane_is_tinted_in_the_zones_of_the_reward(drive):
    frame = drive(hazard=None)[0]
    frame = frame._replace(cars={"V001": frame.cars["V001"]})
    front = where(draw_top_view(frame), colors.EGO)[1].max() + 1
    _, columns = where(draw_top_view(frame, zones=Zones(safe_from=30.0, safe_to=60.0)), colors.SAFE_LANE)
    on_the_lane = columns[columns > 200]  # the legend is in the corner
    assert (on_the_lane.min() - front) / SCALE == pytest.approx(30, abs=0.6)
    assert (on_the_lane.max() - front) / SCALE == pytest.approx(60, abs=0.6)


def test_without_zones_nothing_is_tinted(drive):
    picture = draw_top_view(drive(hazard=None)[0], zones=None)
    assert not any(
        len(where(picture, color)[0]) for color in (colors.SAFE_LANE, colors.UNSAFE_LANE, colors.COLLISION_LANE)
    )


@examples(0.25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turn=st.floats(0, 360), east=st.floats(-5000, 5000), north=st.floats(-5000, 5000))
def test_a_world_that_is_turned_and_moved_looks_the_same(drive, turn, east, north):
    frame = drive(path=80.0)[30]
    road = [(80 * sin(at / 80), 80 - 80 * cos(at / 80)) for at in range(0, 240, 3)]

    def moved(x, y):
        sine, cosine = sin(radians(turn)), cos(radians(turn))  # clockwise, as headings go
        return x * cosine + y * sine + east, y * cosine - x * sine + north

    cars = {
        name: car._replace(x=moved(*car[:2])[0], y=moved(*car[:2])[1], heading=(car.heading + turn) % 360)
        for name, car in frame.cars.items()
    }
    here = draw_top_view(frame, road=road).astype(int)
    there = draw_top_view(frame._replace(cars=cars), road=[moved(x, y) for x, y in road]).astype(int)
    assert np.abs(here - there).mean() < 0.05  # an edge may fall on the other side of a pixel


def test_in_a_bend_the_cars_stay_in_the_picture(drive):
    frame = drive(path=80.0)[0]
    _, columns = where(draw_top_view(frame), colors.PEER)
    assert len(columns) > 2 * 200


def test_a_road_that_turns_back_is_drawn_on_both_sides(drive):
    there = [(float(x), 0.0) for x in range(0, 201, 10)]
    back = [(float(x), 8.0) for x in range(200, -1, -10)]
    own = drive()[0].cars["V001"]
    window = Window.follow(own, 960, 140, 120.0)
    road = np.array([*there, *back])
    assert len(find_lane_parts(road, window)) == 2
    straight, both = (draw_top_view(drive()[0], road=each) for each in (there, [*there, *back]))
    assert len(where(both, colors.ASPHALT)[0]) > 1.5 * len(where(straight, colors.ASPHALT)[0])


def test_posts_stand_still_beside_a_road_that_goes_by(drive):
    """Without a road, too: what moves by half the distance between two posts looks different, by all of it the same."""
    frame = drive(hazard=None)[0]

    def seen(metres):
        cars = {name: car._replace(x=car.x + metres) for name, car in frame.cars.items()}
        return where(draw_top_view(frame._replace(cars=cars)), colors.POST)[1].tolist()

    assert seen(0.0) == seen(10.0) != seen(5.0)


def test_a_car_outside_the_window_is_named_at_its_edge(drive):
    frame = drive(hazard=None)[0]
    far = frame.cars["V003"]._replace(x=500.0)
    out = draw_top_view(frame._replace(cars={**frame.cars, "V003": far}))
    gone = draw_top_view(frame._replace(cars={name: frame.cars[name] for name in ("V001", "V002")}))
    rows, columns = np.nonzero((np.abs(out.astype(int) - gone) > 40).any(axis=2))
    assert columns.min() > 800
    assert rows.max() < 100


@given(radius=st.floats(20, 2000), apart=st.floats(6, 30), start=st.floats(0, 500))
def test_the_nearest_car_is_in_the_picture_in_every_bend_and_the_next_in_gentle_ones(radius, apart, start):
    def car(metres):
        turn = metres / radius
        return CarState(radius * sin(turn), radius - radius * cos(turn), 10.0, 0.0, (90 - degrees(turn)) % 360)

    cars = [car(start + at * apart) for at in range(3)]
    window = Window.follow(cars[0], 960, 140, 120.0, others=cars[1:])
    own, nearest, following = (window.shows(at) for at in window.pixels(np.array([each[:2] for each in cars])))
    assert own
    assert nearest
    assert following or radius < 60


def test_nobody_ahead_and_nothing_earned_yet_can_be_drawn(drive):
    frame = drive(hazard=None)[0]
    alone = frame._replace(
        cars={"V001": frame.cars["V001"]}, measured=frame.measured._replace(distance=inf), terms={}, total=0.0
    )
    assert draw_top_view(alone).shape == (240, 960, 3)


def test_many_terms_with_long_names_stay_in_the_picture(drive):
    frame = drive()[0]
    terms = {f"a_rather_long_name_of_a_term_{at}": -1.0 for at in range(8)}
    assert draw_top_view(frame._replace(terms=terms), size=(480, 200)).shape == (200, 480, 3)


def test_a_frame_without_the_ego_says_who_is_there(drive):
    with pytest.raises(MissingField, match="step 1: there is no car 'V009' to follow; on the road: V001, V002, V003"):
        draw_top_view(drive()[0], ego="V009")


@pytest.mark.parametrize("size", [(479, 240), (960, 199), (0, 0), (-960, 240)])
def test_a_picture_too_small_to_be_read_is_refused(drive, size):
    with pytest.raises(DefinitionError, match="too small"):
        draw_top_view(drive()[0], size=size)


@pytest.mark.parametrize("span", [0.0, -5.0, float("nan"), inf])
def test_a_window_of_no_width_is_refused(drive, span):
    with pytest.raises(DefinitionError, match="span"):
        draw_top_view(drive()[0], span=span)


def test_a_window_keeps_distances(drive):
    window = Window.follow(drive(path=80.0)[10].cars["V001"], 960, 140, 120.0)
    a, b = window.pixels(np.array([[3.0, 4.0], [10.0, 28.0]]))
    assert np.hypot(*(a - b)) == pytest.approx(25.0 * SCALE)
    assert astuple(window)[5:7] == (960, 140)


SMALL = (480, 200)


def test_a_film_shows_every_so_many_steps_and_rests_on_the_last(drive, tmp_path):
    save_film(drive(21), tmp_path / "drive.gif", fps=20, every=4, size=SMALL)
    with Image.open(tmp_path / "drive.gif") as made:
        assert made.n_frames == 6
        assert made.size == SMALL
        assert made.info["loop"] == 0
        durations = []
        for at in range(made.n_frames):
            made.seek(at)
            durations.append(made.info["duration"])
    assert durations == [50] * 5 + [1500]


def test_a_film_looks_like_the_views_it_is_made_of(drive, tmp_path):
    frames = drive(30)
    save_film(frames, tmp_path / "drive.gif", every=2)
    with Image.open(tmp_path / "drive.gif") as made:
        made.seek(12)
        shown = np.asarray(made.convert("RGB")).astype(int)
    seen = draw_top_view(frames[24]).astype(int)
    assert np.abs(shown - seen).mean() < 2
    lit = (seen == list(bytes.fromhex(colors.BRAKE_LIGHT[1:]))).all(axis=2)
    assert lit.any()
    assert np.abs(shown - seen)[lit].mean() < 12


def test_the_same_frames_give_the_same_film(drive, tmp_path):
    for name in ("one.gif", "two.gif"):
        save_film(drive(20), tmp_path / name, size=SMALL)
    assert (tmp_path / "one.gif").read_bytes() == (tmp_path / "two.gif").read_bytes()


def test_six_seconds_of_film_are_small(drive, tmp_path):
    save_film(drive(120), tmp_path / "drive.gif")
    assert (tmp_path / "drive.gif").stat().st_size < 250_000


def test_one_frame_is_a_film(drive, tmp_path):
    save_film(drive(1), tmp_path / "drive.GIF", size=SMALL)
    with Image.open(tmp_path / "drive.GIF") as made:
        assert made.n_frames == 1


def test_a_film_under_another_ending_is_refused_and_leaves_nothing(drive, tmp_path):
    with pytest.raises(FileError, match=r"drive\.mp4: a film is saved as \.gif; change the file name\."):
        save_film(drive(2), tmp_path / "drive.mp4")
    assert not list(tmp_path.iterdir())


def test_a_film_in_no_folder_is_refused(drive, tmp_path):
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        save_film(drive(2), tmp_path / "nowhere" / "drive.gif", size=SMALL)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"fps": 0}, "fps=0"), ({"fps": 51}, "fps=51"), ({"every": 0}, "every=0"), ({"every": 1.5}, "every=1.5")],
)
def test_a_film_of_another_speed_is_refused(drive, tmp_path, options, told):
    with pytest.raises(DefinitionError, match=told):
        save_film(drive(2), tmp_path / "drive.gif", **options)


def test_a_film_of_nothing_is_refused(tmp_path):
    with pytest.raises(DefinitionError, match="at least one frame"):
        save_film([], tmp_path / "drive.gif")


def test_a_film_that_fails_midway_leaves_the_old_one(drive, tmp_path):
    save_film(drive(4), tmp_path / "drive.gif", size=SMALL)
    before = (tmp_path / "drive.gif").read_bytes()
    frames = drive(4)
    frames[2] = frames[2]._replace(cars={})
    with pytest.raises(ValueError, match="no car 'V001'"):
        save_film(frames, tmp_path / "drive.gif", size=SMALL)
    assert (tmp_path / "drive.gif").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["drive.gif"]
