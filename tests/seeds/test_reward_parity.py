"""The reward at parity: the cases of the plan, phase by phase, on states that are built by hand.

All are under `Rules.seed()`, which is what `calculate_reward` takes by default.
"""

import numpy as np
import pytest

from plaudit.systems.hackmatrix.calculate import calculate_reward, remember
from plaudit.systems.hackmatrix.pathfinding import bfs_distance
from plaudit.systems.hackmatrix.rewards import STAGE_COMPLETION_REWARDS
from plaudit.systems.hackmatrix.rules import ACTION_PROGRAM_START, ACTION_SIPHON, PROGRAM_RESET
from plaudit.systems.hackmatrix.siphon_quality import check_siphon_optimality, compute_siphon_yield
from plaudit.systems.hackmatrix.state import Before, Enemies, Enemy, EnvState, Grid, Player, data_block, program_block

UP, DOWN, LEFT, RIGHT = range(4)
WAIT = ACTION_PROGRAM_START + 5
RESET = ACTION_PROGRAM_START + PROGRAM_RESET
STEP_PENALTY = -0.01


def earned(state, *, action=WAIT, stage_completed=False, game_won=False, player_died=False):
    """Return the components that are not 0, apart from the step penalty; the total is checked to be their sum."""
    total, parts = calculate_reward(state, stage_completed, game_won, player_died, action)
    values = {name: value.item() for name, value in parts.items()}
    assert next(iter(values)) == "step_penalty"
    assert len(values) == 15
    assert total == pytest.approx(sum(values.values()), abs=1e-3 if values["victory"] else 1e-5)
    assert values.pop("step_penalty") == pytest.approx(STEP_PENALTY)
    return {name: pytest.approx(value, abs=1e-5) for name, value in values.items() if value}


class TestPhase1SimpleComponents:
    def test_step_penalty_is_paid_for_every_step(self):
        total, parts = calculate_reward(EnvState(), False, False, False, UP)
        assert total == pytest.approx(STEP_PENALTY)
        assert parts["step_penalty"] == pytest.approx(STEP_PENALTY)

    @pytest.mark.parametrize("stage", range(1, 8))
    def test_stage_completion_pays_for_the_stage_that_was_played(self, stage):
        state = EnvState(stage=stage + 1)  # it is on the next one already
        assert earned(state, stage_completed=True) == {"stage_completion": STAGE_COMPLETION_REWARDS[stage - 1]}

    def test_score_gain_is_half_the_difference(self):
        assert earned(EnvState(player=Player(score=12), before=Before(score=5))) == {"score_gain": 3.5}

    def test_kills_pay_0_3_each(self):
        assert earned(EnvState(before=Before(kills=3)), action=RIGHT) == {"kills": 0.9}

    def test_data_siphon_collection_pays_1(self):
        state = EnvState(player=Player(data_siphons=1), before=Before(picked_up=True))
        assert earned(state, action=UP) == {"data_siphon": 1.0}

    def test_hp_loss_costs_1_each(self):
        assert earned(EnvState(player=Player(hp=1), before=Before(hp=3))) == {"damage_penalty": -2.0}

    def test_hp_recovery_pays_1_each(self):
        assert earned(EnvState(player=Player(hp=3), before=Before(hp=1))) == {"hp_recovery": 2.0}

    @pytest.mark.parametrize("stage", [8, 9])
    def test_victory_pays_500_and_100_a_point_on_top_of_the_last_stage(self, stage):
        """The stage stays 8; a state that counted on to 9 is taken as one that was won too."""
        state = EnvState(player=Player(score=3), stage=stage, before=Before(score=3))
        assert earned(state, stage_completed=True, game_won=True) == {"stage_completion": 100.0, "victory": 800.0}

    def test_resource_gain_pays_0_05_each(self):
        state = EnvState(player=Player(credits=7, energy=4), before=Before(credits=3, energy=2))
        assert earned(state, action=ACTION_SIPHON) == {"resource_gain": 0.3}

    def test_resources_that_are_spent_cost_as_much(self):
        state = EnvState(player=Player(credits=0, energy=1), before=Before(credits=3, energy=3))
        assert earned(state) == {"resource_gain": -0.25}

    def test_resource_holding_pays_0_01_each_on_completing_a_stage(self):
        state = EnvState(player=Player(credits=10, energy=5), stage=2)
        assert earned(state, stage_completed=True) == {"stage_completion": 1.0, "resource_holding": 0.15}

    def test_resource_holding_pays_nothing_during_a_stage(self):
        assert earned(EnvState(player=Player(credits=10, energy=5))) == {}

    def test_program_waste_is_reset_at_2_hp(self):
        assert (RESET, PROGRAM_RESET) == (19, 14)
        state = EnvState(player=Player(hp=3), before=Before(hp=2))
        assert earned(state, action=RESET) == {"hp_recovery": 1.0, "program_waste": -0.3}

    def test_program_waste_is_neither_reset_at_1_hp_nor_another_program_at_2(self):
        assert earned(EnvState(player=Player(hp=3), before=Before(hp=1)), action=RESET) == {"hp_recovery": 2.0}
        assert earned(EnvState(player=Player(hp=2)), action=RESET + 1) == {}

    def test_death_on_stage_1_costs_nothing_more(self):
        assert earned(EnvState(player=Player(hp=0), before=Before(hp=1)), player_died=True) == {"damage_penalty": -1.0}

    @pytest.mark.parametrize(
        ("stage", "penalty"), [(2, -0.5), (3, -1.5), (4, -3.5), (5, -7.5), (6, -15.5), (7, -31.5), (8, -63.5)]
    )
    def test_death_costs_half_of_what_the_stages_before_paid(self, stage, penalty):
        state = EnvState(
            player=Player(hp=0, score=40, credits=9), stage=stage, before=Before(hp=1, score=40, credits=9)
        )
        assert earned(state, player_died=True) == {"damage_penalty": -1.0, "death_penalty": penalty}


DIED = {"damage_penalty": -1.0, "death_penalty": -0.5}


class TestPhase2SiphonCausedDeath:
    def died(self, *enemies):
        state = EnvState(player=Player(row=2, col=2, hp=0), stage=2, enemies=Enemies.of(*enemies), before=Before(hp=1))
        return earned(state, player_died=True)

    @pytest.mark.parametrize("cell", [(3, 2), (1, 2), (2, 1), (2, 3)])
    def test_death_next_to_a_siphon_born_enemy_costs_10(self, cell):
        enemies = [Enemy("daemon", 0, 0), Enemy("virus", *cell, from_siphon=True)]
        assert self.died(*enemies) == DIED | {"siphon_death_penalty": -10.0}

    def test_death_next_to_another_enemy_does_not(self):
        assert self.died(Enemy("daemon", 3, 2), Enemy("virus", 2, 3, from_task=True)) == DIED

    @pytest.mark.parametrize("cell", [(3, 3), (1, 1), (4, 2), (2, 2)])
    def test_death_away_from_a_siphon_born_enemy_or_diagonal_to_it_does_not(self, cell):
        assert self.died(Enemy("daemon", 2, 3), Enemy("virus", *cell, from_siphon=True)) == DIED


class TestPhase3DistanceByPath:
    def test_without_obstacles_a_step_towards_the_exit_pays_0_05(self):
        before = EnvState(player=Player(row=0, col=0))
        assert moved(before, UP, row=1) == {"distance_shaping": 0.05}
        assert moved(before.replace(player=Player(row=1)), DOWN, row=0) == {}

    def test_a_wall_of_blocks_is_walked_around(self):
        """Directly the exit comes closer, 5 to 4; by path it goes away, 11 to 12. Then the other way round."""
        for siphoned in (False, True):
            wall = Grid.of({(3, col): data_block(1, siphoned=siphoned) for col in range(1, 6)})
            before = EnvState(player=Player(row=2, col=3), grid=wall)
            assert bfs_distance(wall.block_kind != 0, 2, 3, 5, 5) == 11
            assert moved(before, RIGHT, col=4) == {}
            assert moved(before, LEFT, col=2) == {"distance_shaping": 0.05}

    def test_where_no_path_leads_the_direct_distance_stands_in(self):
        sealed = Grid.of({(1, col): data_block(1) for col in range(6)})
        before = EnvState(grid=sealed)
        assert bfs_distance(sealed.block_kind != 0, 0, 0, 5, 5) == -1
        assert moved(before, RIGHT, col=1) == {"distance_shaping": 0.05}

    def test_death_pays_no_shaping(self):
        before = EnvState(player=Player(hp=1), stage=4)
        assert moved(before, UP, row=1, hp=0, player_died=True) == {"damage_penalty": -1.0, "death_penalty": -3.5}

    def test_completing_a_stage_pays_the_distance_that_was_left(self):
        before = EnvState(player=Player(row=5, col=3))
        next_board = {"stage": 2, "exit_row": 0, "exit_col": 0}
        expected = {"stage_completion": 1.0, "distance_shaping": 0.1}
        assert moved(before, RIGHT, col=5, stage_completed=True, **next_board) == expected


def moved(before, action, *, stage_completed=False, player_died=False, **changes):
    """Return what a move earned that changed something of the player, or of the state on completing a stage."""
    ours = {name: changes.pop(name) for name in ("row", "col", "hp") if name in changes}
    state = remember(before, action)
    arrays = {name: np.int32(value) for name, value in changes.items()}
    player = state.player.replace(**{name: np.int32(value) for name, value in ours.items()})
    after = state.replace(player=player, **arrays)
    return earned(after, action=action, stage_completed=stage_completed, player_died=player_died)


class TestPhase4SiphonQuality:
    def siphoned(self, cells, *, row=2, col=1, action=ACTION_SIPHON):
        before = EnvState(player=Player(row=row, col=col, data_siphons=1), grid=Grid.of(cells))
        return earned(remember(before, action), action=action)

    def test_an_optimal_siphon_costs_nothing(self):
        cells = {(2, 2): data_block(5), (2, 0): {"credits": 3}, (2, 4): {"credits": 2}}
        assert self.siphoned(cells) == {}

    def test_a_siphon_from_a_worse_cell_costs_half_the_value_it_missed(self):
        cells = {(2, 2): data_block(5), (2, 4): {"credits": 3}, (1, 3): {"energy": 2}}
        state = EnvState(player=Player(row=2, col=1), grid=Grid.of(cells))
        here, there = compute_siphon_yield(state, 2, 1), compute_siphon_yield(state, 2, 3)
        assert (here.credits, here.energy, here.points.tolist()) == (0, 0, [5, 0, 0, 0, 0])
        assert (there.credits, there.energy, there.points.tolist()) == (3, 2, [5, 0, 0, 0, 0])
        assert [part.item() for part in check_siphon_optimality(state)] == [False, 3, 2]
        assert self.siphoned(cells) == {"siphon_quality": -0.5 * (0.05 * 3 + 0.05 * 2)}

    @pytest.mark.parametrize("other", [data_block(6), program_block("PUSH")], ids=["points", "program"])
    def test_cells_that_give_different_blocks_are_not_compared(self, other):
        cells = {(2, 2): data_block(5), (5, 2): other, (5, 4): {"credits": 3}}
        assert self.siphoned(cells) == {}

    def test_another_action_is_not_judged(self):
        cells = {(2, 2): data_block(5), (2, 4): {"credits": 3}}
        assert self.siphoned(cells, action=WAIT) == {}
        missed = EnvState(before=Before(missed_credits=3))
        assert earned(missed, action=WAIT) == {}
        assert earned(missed, action=ACTION_SIPHON) == {"siphon_quality": -0.075}
