"""The game as PPO plays it: seen from the player, with inputs from which the reward comes out again, and baselines."""

from itertools import pairwise

import numpy as np
import pytest

from plaudit import Ledger
from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.features import GRID_FEATURES, PLAYER_FEATURES
from plaudit.systems.hackmatrix.observation import observe
from plaudit.systems.hackmatrix.playing.board import parse_board
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, DIRECTIONS, PROGRAMS, SIZE
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
from plaudit.systems.hackmatrix.training.games import (
    BASELINES,
    center_on_player,
    choose_random_action,
    choose_random_direction,
    choose_scripted_action,
)
from plaudit.systems.hackmatrix.training.report import record_episodes
from support.hackmatrix_model.episodes import play_episodes
from support.hackmatrix_model.toy import jax, jnp


@pytest.mark.slow  # each is compiled into a program of its own, and test_baselines.py knows how far they get
def test_the_script_gets_further_than_a_random_walk_and_that_further_than_dice():
    script, walk, dice = (play_episodes(name, 0).evaluation() for name in ("script", "random walk", "random"))
    assert script.mean_return > walk.mean_return > dice.mean_return
    assert script.mean_stage > 2.5 > walk.mean_stage
    assert all(each.unfinished == 0 for each in (script, walk, dice))


@pytest.mark.parametrize(
    "policy", [pytest.param(name, marks=pytest.mark.slow if name != "script" else ()) for name in BASELINES]
)
def test_what_was_read_gives_the_rewards_again(policy):
    found, episodes = play_episodes(policy, 0).evaluation(), play_episodes(policy, 0).inputs
    score = hackmatrix.reward.compile("numpy")
    scores = [score({name: column.astype(float) for name, column in episode.items()}) for episode in episodes]
    assert np.mean([each.total.sum() for each in scores]) == pytest.approx(found.mean_return, abs=1e-3)
    for name, mean in found.terms.items():
        assert np.mean([each.values[name].sum() for each in scores]) == pytest.approx(mean, abs=1e-3)
    assert np.mean([len(each.total) for each in scores]) == found.mean_length


def test_recorded_episodes_are_explained_and_rescored_by_the_ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        found = play_episodes("script", 0)
        about = {"run": "run", "actor": "script", "steps": 0, "boards": found.boards[:3]}
        numbers = record_episodes(ledger, hackmatrix.reward, found.inputs[:3], **about)
        assert ledger.verify().ok
        last = ledger.history(run="run", episode="3").last(1).first()
        assert last.signal.inputs["died"]
        assert last.id == numbers[-1]
        assert ledger.rescore(hackmatrix.version("potential")).records == len(numbers)
        shown_where_the_player_goes(list(ledger.history(run="run", episode="3")))


def shown_where_the_player_goes(records):
    """Assert that the boards of an episode are drawn, and that the player goes where the actions say."""
    boards = [parse_board(record.context["board"]) for record in records]
    places = [next(place for place, cell in board.items() if "@" in cell.beings) for board in boards]
    assert hackmatrix.draw_step(records[0], hackmatrix.reward).count("<rect") >= SIZE * SIZE
    assert len(set(places)) > 3
    for record, (before, after) in zip(records, pairwise(places), strict=False):
        if before != after and not record.signal.inputs["stage_completed"]:
            up, right = DIRECTIONS[int(record.signal.inputs["action"])]
            assert after == (before[0] + up, before[1] + right)


NUMBERS = len(PLAYER_FEATURES) + len(PROGRAMS)
THINGS = ["there", *(name for name in GRID_FEATURES if name not in PROGRAMS)]


def view_of(state):
    """Return a view of a state: the player's numbers, the cells around it by feature, the programs within reach."""
    view = np.asarray(center_on_player(observe(state).flat()))
    cells = view[NUMBERS : NUMBERS + 121 * len(THINGS)].reshape(11, 11, len(THINGS))
    programs = view[NUMBERS + 121 * len(THINGS) :].reshape(5, len(PROGRAMS))
    return view[:NUMBERS], {name: cells[..., at] for at, name in enumerate(THINGS)}, programs


@pytest.mark.parametrize(("row", "col"), [(0, 0), (5, 5), (2, 4), (3, 0)])
def test_everything_is_as_far_away_as_it_is(row, col):
    state = EnvState(
        player=Player(row=row, col=col),
        grid=Grid.of({(1, 2): data_block(9), (4, 1): {"credits": 3}}, exit=(5, 0)),
        enemies=Enemies.of(Enemy("daemon", 4, 3)),
    )
    _, cells, _ = view_of(state)
    for name, at in {"daemon": (4, 3), "data_block": (1, 2), "credits": (4, 1), "exit": (5, 0)}.items():
        assert np.argwhere(cells[name]).tolist() == [[5 + at[0] - row, 5 + at[1] - col]]
    assert cells["there"].sum() == 36
    assert cells["there"][5, 5] == 1
    assert cells["there"][5 - row : 11 - row, 5 - col : 11 - col].all()


def test_the_players_own_numbers_stay():
    state = EnvState(player=Player(row=3, col=1, hp=2, credits=7), stage=4)
    numbers, _, _ = view_of(state)
    np.testing.assert_array_equal(numbers, np.asarray(observe(state).flat())[:NUMBERS])


def test_programs_are_seen_where_a_siphon_reaches_them():
    blocks = {(2, 2): "WAIT", (1, 1): "PUSH", (0, 1): "HACK", (5, 5): "CALM"}
    state = EnvState(
        player=Player(row=1, col=2), grid=Grid.of({at: program_block(name) for at, name in blocks.items()})
    )
    _, cells, programs = view_of(state)
    assert [(int(at), PROGRAMS[slot]) for at, slot in np.argwhere(programs)] == [(1, "WAIT"), (3, "PUSH")]
    assert cells["program_block"].sum() == 4


def test_views_are_the_same_one_by_one_and_in_bfloat16():
    players = [(row, col) for row in range(6) for col in range(6)]
    states = [EnvState(player=Player(row=row, col=col)) for row, col in players]
    flat = jnp.stack([observe(state).flat() for state in states])
    together = center_on_player(flat)
    np.testing.assert_array_equal(together, jnp.stack([center_on_player(each) for each in flat]))
    np.testing.assert_array_equal(center_on_player(flat.astype(jnp.bfloat16)), together.astype(jnp.bfloat16))
    assert jax.jit(center_on_player)(flat).shape == (36, 33 + 121 * 20 + 5 * 23)


scripted = jax.jit(choose_scripted_action)


def said(state):
    return ACTION_NAMES[int(scripted(state))]


def at(row, col, *enemies, transmissions=(), blocks=(), exit=(5, 5)):
    return EnvState(
        player=Player(row=row, col=col),
        enemies=Enemies.of(*(Enemy("virus", *cell) for cell in enemies)),
        transmissions=Transmissions.of(*(Transmission("virus", *cell) for cell in transmissions)),
        grid=Grid.of({cell: data_block(1) for cell in blocks}, exit=exit),
        exit_row=exit[0],
        exit_col=exit[1],
    )


@pytest.mark.parametrize(
    ("make", "action"),
    [
        (lambda: at(0, 0), "UP"),
        (lambda: at(5, 0), "RIGHT"),
        (lambda: at(5, 5, exit=(0, 5)), "DOWN"),
        (lambda: at(5, 5, exit=(5, 0)), "LEFT"),
        (lambda: at(0, 0, (0, 4)), "RIGHT"),
        (lambda: at(2, 2, (2, 0), (2, 5)), "LEFT"),
        (lambda: at(2, 2, (0, 2), (2, 0)), "DOWN"),
        (lambda: at(2, 2, transmissions=[(0, 2)]), "DOWN"),
        (lambda: at(2, 2, (3, 3)), "UP"),  # in no line
        (lambda: at(2, 2, (2, 5), blocks=[(2, 4)]), "UP"),  # behind a block
        (lambda: at(2, 2, (2, 4), blocks=[(2, 4)]), "RIGHT"),  # on the first block in line
        (lambda: at(2, 2, (2, 3), blocks=[(2, 3)]), "RIGHT"),  # on a block beside the player
        (lambda: at(0, 0, blocks=[(1, 0)]), "RIGHT"),
        (lambda: at(0, 0, blocks=[(2, 0), (1, 1), (0, 3), (2, 1)]), "RIGHT"),  # the short way round
        (lambda: at(4, 5, blocks=[(5, 4)]), "UP"),
    ],
)
def test_the_script_shoots_what_it_sees_and_else_goes_to_the_exit(make, action):
    assert said(make()) == action


def test_where_no_way_leads_to_the_exit_the_script_moves_all_the_same():
    assert said(at(0, 0, blocks=[(4, 5), (5, 4), (1, 0)])) == "RIGHT"


def test_all_legal_actions_are_as_likely():
    mask = jnp.zeros(28, bool).at[jnp.array([1, 4, 27])].set(True)
    drawn = jax.vmap(choose_random_action, (0, None))(jax.random.split(jax.random.key(0), 3000), mask)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [1, 4, 27]
    assert (abs(counts - 1000) < 130).all()  # five standard deviations


def test_a_random_walk_takes_directions_only():
    mask = jnp.ones(28, bool).at[2].set(False)
    drawn = jax.vmap(choose_random_direction, (0, None))(jax.random.split(jax.random.key(0), 300), mask)
    assert set(drawn.tolist()) == {0, 1, 3}
