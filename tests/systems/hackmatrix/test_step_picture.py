"""The page's picture of a recorded step: the board before the action, from the context of the record."""

import re

import pytest

from plaudit import Ledger
from plaudit.page.svg import clean_svg
from plaudit.systems import hackmatrix

BOARD = (
    ". 3c C2 *4 . EXIT/. . . . #,? ./D2xs+ . . :,PUSH . ./"
    ". . #,+5*,5pt x :,G1,9pt ./. . @ . #,+4*,ANTI-V V2z/*1 . . . . 2e,(S)"
)


@pytest.fixture
def draw(tmp_path):
    """Record a step with a context, and return its picture."""

    def draw_recorded(context, **changes):
        row = {**hackmatrix.episode()[0], **changes}
        with Ledger(tmp_path / "rewards.db") as ledger:
            record = ledger.record(hackmatrix.reward.score(**row), context=context)
            return hackmatrix.draw_step(ledger.history(id=record).first(), hackmatrix.reward)

    return draw_recorded


def test_the_board_is_drawn_and_kept_as_it_is(draw):
    picture = draw({"board": BOARD}, action=hackmatrix.action_of("UP"))
    cleaned = clean_svg(picture)
    assert cleaned.left_out == frozenset()
    assert len(re.findall("<[a-z]", cleaned.markup)) == len(re.findall("<[a-z]", picture))
    assert re.search("<title>(.*)</title>", picture)[1] == (
        "The board before UP; cryptog at row 5, column 2; the exit at row 5, column 5; daemon at row 3, column 0; "
        "glitch at row 2, column 4; the player at row 1, column 2; virus at row 1, column 5."
    )
    assert 'transform="translate(130 230) rotate(-90)"' in picture  # an arrow that goes up from row 1, column 2
    for text in ("ANTI-V", "9pt", "EXIT", "C2"):
        assert f">{text}</text>" in picture


def test_programs_have_no_arrow(draw):
    assert "rotate(" not in draw({"board": BOARD}, action=hackmatrix.action_of("RESET"))


@pytest.mark.parametrize("context", [None, {}, [BOARD], {"board": 3}, {"board": "@ ."}, {"board": BOARD + "/."}])
def test_a_record_without_a_board_is_not_drawn(draw, context):
    assert draw(context) is None


def test_what_somebody_wrote_into_a_board_is_text(draw):
    picture = draw({"board": BOARD.replace("3c", "<script>alert(1)</script>").replace("/script", "script")})
    assert "<script" not in picture
    assert clean_svg(picture).left_out == frozenset()
