"""A film is a small GIF that is there when it is complete, or not at all."""

import numpy as np
import pytest
from PIL import Image

from plaudit.errors import DefinitionError, FileError
from plaudit.systems.roadsense.pictures import colors, film, top_view

SMALL = (480, 200)


def test_a_film_shows_every_so_many_steps_and_rests_on_the_last(drive, tmp_path):
    film(drive(21), tmp_path / "drive.gif", fps=20, every=4, size=SMALL)
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
    frames = drive(60)
    film(frames, tmp_path / "drive.gif", every=2)
    with Image.open(tmp_path / "drive.gif") as made:
        made.seek(20)
        shown = np.asarray(made.convert("RGB")).astype(int)
    seen = top_view(frames[40]).astype(int)
    assert np.abs(shown - seen).mean() < 2
    lit = (seen == list(bytes.fromhex(colors.BRAKE_LIGHT[1:]))).all(axis=2)
    assert lit.any()
    assert np.abs(shown - seen)[lit].mean() < 12


def test_the_same_frames_give_the_same_film(drive, tmp_path):
    for name in ("one.gif", "two.gif"):
        film(drive(20), tmp_path / name, size=SMALL)
    assert (tmp_path / "one.gif").read_bytes() == (tmp_path / "two.gif").read_bytes()


def test_six_seconds_of_film_are_small(drive, tmp_path):
    film(drive(120), tmp_path / "drive.gif")
    assert (tmp_path / "drive.gif").stat().st_size < 250_000


def test_one_frame_is_a_film(drive, tmp_path):
    film(drive(1), tmp_path / "drive.GIF", size=SMALL)
    with Image.open(tmp_path / "drive.GIF") as made:
        assert made.n_frames == 1


def test_a_film_under_another_ending_is_refused_and_leaves_nothing(drive, tmp_path):
    with pytest.raises(FileError, match=r"drive\.mp4: a film is saved as \.gif; name the file so\."):
        film(drive(2), tmp_path / "drive.mp4")
    assert not list(tmp_path.iterdir())


def test_a_film_in_no_folder_is_refused(drive, tmp_path):
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        film(drive(2), tmp_path / "nowhere" / "drive.gif", size=SMALL)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"fps": 0}, "fps=0"), ({"fps": 51}, "fps=51"), ({"every": 0}, "every=0"), ({"every": 1.5}, "every=1.5")],
)
def test_a_film_of_another_speed_is_refused(drive, tmp_path, options, told):
    with pytest.raises(DefinitionError, match=told):
        film(drive(2), tmp_path / "drive.gif", **options)


def test_a_film_of_nothing_is_refused(tmp_path):
    with pytest.raises(DefinitionError, match="at least one frame"):
        film([], tmp_path / "drive.gif")


def test_a_film_that_fails_midway_leaves_the_old_one(drive, tmp_path):
    film(drive(4), tmp_path / "drive.gif", size=SMALL)
    before = (tmp_path / "drive.gif").read_bytes()
    frames = drive(4)
    frames[2] = frames[2]._replace(cars={})
    with pytest.raises(ValueError, match="no car 'V001'"):
        film(frames, tmp_path / "drive.gif", size=SMALL)
    assert (tmp_path / "drive.gif").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["drive.gif"]
