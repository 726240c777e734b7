"""Games as text: what stands where, in 80 columns, and nothing that the player does not see."""

import re
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.errors import ShapeMismatch
from plaudit.systems.hackmatrix.features import GRID_FEATURES
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.playing import board, render
from plaudit.systems.hackmatrix.rules import ENEMIES, PROGRAMS
from plaudit.systems.hackmatrix.state import (
    Enemies,
    Enemy,
    EnvState,
    Grid,
    Player,
    Transmission,
    Transmissions,
    data_block,
    program_block,
)
from support.hackmatrix_model.boards import entry, random_states

SOME = 64
"""How many random states are drawn."""


@cache
def make_board():
    return EnvState(
        player=Player(row=1, col=2, hp=2, credits=3, energy=1, data_siphons=1, score=9, attack=2),
        grid=Grid.of(
            {
                (0, 5): {"data_siphon": True, "energy": 2},
                (1, 4): program_block("ANTI-V"),
                (2, 2): data_block(5),
                (2, 3): {"siphon_center": True, "siphoned": True},
                (2, 4): data_block(9, siphoned=True),
                (3, 3): program_block("PUSH", siphoned=True),
                (4, 4): data_block(7, question=True),
                (5, 1): {"credits": 3},
            }
        ),
        enemies=Enemies.of(
            Enemy("virus", 1, 5, stunned=True),
            Enemy("glitch", 2, 4, hp=1),
            Enemy("daemon", 3, 0, hp=2, disabled=1, from_siphon=True),
            Enemy("virus", 3, 0),
            Enemy("cryptog", 4, 3),
            Enemy("cryptog", 5, 2),
        ),
        transmissions=Transmissions.of(Transmission("daemon", 0, 0), Transmission("virus", 5, 3, turns=4)),
        stage=3,
        turn=7,
        next_task=10,
        owned=[name in ("WAIT", "CRASH", "UNDO") for name in PROGRAMS],
    )


PICTURE = """\
       0       1       2       3       4       5
   ┌───────┬───────┬───────┬───────┬───────┬───────┐  Stage 3 of 8        turn 7
 5 │       │       │  C2   │  *4   │       │       │
   │       │  3c   │       │       │       │ EXIT  │  hp        ♥♥·
   ├───────┼───────┼───────┼───────┼───────┼───────┤  attack    2
 4 │       │       │       │       │▒▒▒▒▒▒▒│       │  credits   3
   │       │       │       │       │▒▒ ? ▒▒│       │  energy    1
   ├───────┼───────┼───────┼───────┼───────┼───────┤  siphons   1
 3 │ D2xs+ │       │       │░░░░░░░│       │       │  score     9
   │       │       │       │░PUSH░░│       │       │  next task in 3 turns
   ├───────┼───────┼───────┼───────┼───────┼───────┤
 2 │       │       │▒ +5* ▒│       │░ G1 ░░│       │  CRASH  3c 2e WAIT   1e
   │       │       │▒ 5pt ▒│   ×   │░ 9pt ░│       │  UNDO   1c
   ├───────┼───────┼───────┼───────┼───────┼───────┤
 1 │       │       │   @   │       │▒ +4* ▒│  V2z  │
   │       │       │       │       │ANTI-V▒│       │
   ├───────┼───────┼───────┼───────┼───────┼───────┤
 0 │  *1   │       │       │       │       │       │
   │       │       │       │       │       │2e (S) │
   └───────┴───────┴───────┴───────┴───────┴───────┘"""


@pytest.fixture(scope="module")
def states():
    return random_states(SOME)


def cell(picture, row, col):
    """Return the two lines of a cell."""
    at = 2 + 3 * (5 - row)
    return [line[4 + 8 * col : 11 + 8 * col] for line in picture.splitlines()[at : at + 2]]


def test_a_board_in_one_line_says_what_the_player_sees():
    assert board.describe_board(make_board().snapshot()) == (
        ". 3c C2 *4 . EXIT/. . . . #,? ./D2xs+ . . :,PUSH . ./"
        ". . #,+5*,5pt x :,G1,9pt ./. . @ . #,+4*,ANTI-V V2z/*1 . . . . 2e,(S)"
    )


def test_a_board_in_one_line_is_read_as_what_is_drawn(states):
    for at in range(SOME):
        state = entry(states, at)
        assert board.parse_board(board.describe_board(state)) == board.find_signs(to_plain(state))


def test_a_board_is_drawn_with_row_5_on_top_and_what_the_player_has_beside_it():
    assert render.to_text(make_board()) == PICTURE


def test_a_hidden_cryptog_a_question_block_and_the_type_of_a_transmission_are_seen_when_all_is_revealed():
    revealed = render.to_text(make_board(), reveal=True)
    assert cell(revealed, 4, 3)[0].strip() == "C2"
    assert cell(revealed, 4, 4) == ["▒ +7* ▒", "▒7pt?▒▒"]
    assert cell(revealed, 5, 3)[0].strip() == "*4V"


def test_show_lets_cryptogs_be_seen():
    assert cell(render.to_text(make_board()), 4, 3)[0].strip() == ""
    assert cell(render.to_text(make_board().replace(show=jnp.bool_(True))), 4, 3)[0].strip() == "C2"


def test_a_hidden_cryptog_hides_who_stands_behind_it():
    behind = EnvState(enemies=Enemies.of(Enemy("cryptog", 3, 3), Enemy("virus", 3, 3)))
    assert cell(render.to_text(behind), 3, 3)[0].strip() == ""
    before = EnvState(enemies=Enemies.of(Enemy("virus", 3, 3), Enemy("cryptog", 3, 3)))
    assert cell(render.to_text(before), 3, 3)[0].strip() == "V2"


def test_effects_and_what_is_to_come_are_told():
    state = EnvState(show=jnp.bool_(True), calm=jnp.bool_(True), step_active=jnp.bool_(True), pending=jnp.int32(4))
    told = render.to_text(state)
    assert re.search(r"in effect +SHOW CALM STEP", told)
    assert re.search(r"next task +never \(CALM\)", told)
    assert re.search(r"let in +4 transmissions", told)


def test_a_picture_has_80_columns_and_its_board_stays_in_place(states):
    for at in range(SOME):
        lines = render.to_text(entry(states, at), reveal=at % 2 == 0, legend=True).splitlines()
        assert max(map(len, lines)) <= 80
        assert all(len(line) >= 52 and line[51] in "┐│┤┘" for line in lines[1:20])


def test_a_picture_shows_what_an_observation_shows(states):
    grids = jax.device_get(jax.jit(jax.vmap(observe))(states)).grid
    feature = {name: at for at, name in enumerate(GRID_FEATURES)}
    for at in range(SOME):
        picture, grid = render.to_text(entry(states, at)), grids[at]
        for row, col in np.ndindex(6, 6):
            (who, what), seen = cell(picture, row, col), grid[row, col]
            kinds = [name[0].upper() for name in ENEMIES if seen[feature[name]]]
            assert re.findall(r"[VDGC](?=\d)", who) == kinds
            assert ("?" in what) == bool(seen[feature["question_block"]] and not seen[feature["block_siphoned"]])
            assert ("pt" in what) == bool(seen[feature["block_points"]])
            for name in ("EXIT", "(S)"):
                there = seen[feature["exit" if name == "EXIT" else "data_siphon"]]
                assert (name in what) <= bool(there)


def test_colours_are_added_and_nothing_else():
    coloured = render.to_text(make_board(), color=True)
    assert "\x1b[1;31mV2z\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == PICTURE


def test_ascii_is_enough():
    plain = render.to_text(make_board(), ascii=True, legend=True)
    assert plain.isascii()
    assert [len(line) for line in plain.splitlines()[:20]] == [len(line) for line in PICTURE.splitlines()]
    assert cell(plain, 2, 2) == ["# +5* #", "# 5pt #"]


def test_every_sign_is_in_the_legend():
    for sign in "@VDGCzxs*ceS▒░×":
        assert sign in render.LEGEND


def test_everything_on_one_cell_is_cut_and_does_not_move_the_others():
    crowded = EnvState(
        enemies=Enemies.of(Enemy("virus", 0, 0, stunned=True, disabled=1, from_siphon=True), Enemy("virus", 0, 0)),
        transmissions=Transmissions.of(Transmission("virus", 0, 0, turns=100)),
    )
    assert cell(render.to_text(crowded), 0, 0)[0] == "@V2zxs+"


def test_a_picture_of_many_games_is_refused_with_what_to_do(states):
    with pytest.raises(ShapeMismatch, match=f"the state holds a batch of .{SOME},. games, and one is needed.*leaf.0."):
        render.to_text(states)
