"""What a step earned, told from states: the inputs of the reward, versions, extremes, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import OutOfRange, ShapeMismatch, UnknownField, WrongType
from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix.calculate import calculate_reward, measure_inputs, remember
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.step import find_exit_distance
from plaudit.systems.hackmatrix.rules import ACTION_SIPHON, Rules
from plaudit.systems.hackmatrix.siphon_quality import check_siphon_optimality
from plaudit.systems.hackmatrix.state import Before, Enemies, Enemy, EnvState, Grid, Player, data_block
from support.hackmatrix_model.boards import entry, random_states
from support.hackmatrix_model.examples import examples

COUNT = 150
RULES = [Rules.seed(), Rules.reference()]
NAMES = ["seed", "reference"]
LARGEST = 2**31 - 1


def drawn(seed):
    """Return random states with what happened in the step: of completing, winning and dying what can go together."""
    rng = np.random.default_rng(seed)
    completed = rng.random(COUNT) < 0.3
    won = completed & (rng.random(COUNT) < 0.3)
    died = ~completed & (rng.random(COUNT) < 0.3)
    return random_states(COUNT, seed=seed), completed, won, died, rng.integers(0, 28, COUNT).astype(np.int32)


def distance(state, rules):
    return find_exit_distance(to_plain(state), rules=rules)


def plain_inputs(state, completed, won, died, action, rules):
    """Return what the reward reads of a step, for `reward.score`."""
    player, before = state.player, state.before
    now, then = distance(state, rules), int(before.exit_distance)
    if then < 0:
        then = 0 if completed else now
    own = ("score", "hp", "credits", "energy")
    enemies = [slot for slot in range(state.enemies.count) if state.enemies.from_siphon[slot]]
    away = [
        (abs(int(state.enemies.row[slot]) - int(player.row)), abs(int(state.enemies.col[slot]) - int(player.col)))
        for slot in enemies
    ]
    return {
        "prev": {name: int(getattr(before, name)) for name in own} | {"exit_distance": then},
        "curr": {name: int(getattr(player, name)) for name in own} | {"exit_distance": now},
        "stage": max(1, int(state.stage) - (completed and not won)),
        "action": int(action),
        "kills": int(before.kills),
        "picked_up": bool(before.picked_up),
        "stage_completed": bool(completed),
        "won": bool(won),
        "died": bool(died),
        "siphon_death": (0, 1) in away or (1, 0) in away,
        "missed_credits": int(before.missed_credits),
        "missed_energy": int(before.missed_energy),
    }


@pytest.mark.parametrize(
    ("rules", "label"),
    [
        pytest.param(rules, label, id=f"{name}-{label}", marks=pytest.mark.slow if name == "seed" and at else ())
        for name, rules in zip(NAMES, RULES, strict=True)
        for at, label in enumerate(hackmatrix.VERSIONS)
    ],
)
def test_a_step_earns_what_the_reward_says_of_it(rules, label):
    """The same terms in Python, on inputs that are measured cell by cell."""
    reward = hackmatrix.version(label)
    batch = drawn(5)
    score = jax.vmap(lambda *step: calculate_reward(*step, rules=rules, reward=reward))
    total, parts = jax.device_get(score(*batch))
    for at in range(COUNT):
        signal = reward.score(**plain_inputs(entry(batch[0], at), *(part[at] for part in batch[1:]), rules))
        near = {"abs": 1e-5, "rel": 1e-6}  # what float32 can tell: 1e-5 up to 10, and some 1e-3 of a victory
        assert total[at] == pytest.approx(signal.total, **near), f"state {at}"
        values = {part.name: part.value for part in signal.terms}
        assert {name: part[at] for name, part in parts.items()} == pytest.approx(values, **near), f"state {at}"


def test_the_components_come_in_their_order_as_float32_also_from_jit():
    for call in (calculate_reward, jax.jit(calculate_reward)):
        total, parts = call(EnvState(), False, False, False, 0)
        assert list(parts) == examples()["reward_keys"]
        assert {(part.shape, part.dtype) for part in (total, *parts.values())} == {((), jnp.dtype("float32"))}


def test_the_components_add_up_to_the_total():
    total, parts = jax.vmap(calculate_reward)(*drawn(6))
    summed = np.sum([np.asarray(part, np.float64) for part in parts.values()], axis=0)
    np.testing.assert_allclose(total, summed, atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("label", hackmatrix.VERSIONS)
def test_there_is_a_number_however_far_a_game_goes(label):
    """The ranges that the reward declares bound what checkers look at, not the game."""
    reward = hackmatrix.version(label)
    rich = Player(score=LARGEST, credits=LARGEST, energy=LARGEST, attack=LARGEST)
    poor = Before(kills=LARGEST, missed_credits=LARGEST, missed_energy=LARGEST, exit_distance=LARGEST, score=-LARGEST)
    for stage in (1, 8, 9):
        for happened in ((False, False, False), (True, False, False), (True, True, False), (False, False, True)):
            total, parts = calculate_reward(
                EnvState(player=rich, before=poor, stage=stage), *happened, ACTION_SIPHON, reward=reward
            )
            assert np.isfinite([total, *parts.values()]).all()


def test_numbers_beyond_the_declared_ranges_are_simply_computed():
    state = EnvState(
        player=Player(score=5_000, credits=2_000), before=Before(score=1_000, credits=400, kills=100), stage=8
    )  # fmt: skip
    total, parts = calculate_reward(state, True, True, False, 0)
    expected = {"score_gain": 2_000, "resource_gain": 80, "kills": 30, "victory": 500_500, "resource_holding": 20}
    assert {name: parts[name].item() for name in expected} == pytest.approx(expected, rel=1e-6)
    assert total == pytest.approx(sum(expected.values()) + 100 - 0.01, rel=1e-6)


@pytest.mark.parametrize(
    ("stage", "completed", "won", "paid"),
    [(2, True, False, 1), (8, True, False, 64), (8, True, True, 100), (9, True, True, 100), (9, True, False, 100)],
)
def test_the_stage_that_is_paid_is_the_one_that_was_played(stage, completed, won, paid):
    _, parts = calculate_reward(EnvState(stage=stage), completed, won, False, 0)
    assert parts["stage_completion"] == paid


@pytest.mark.parametrize("label", hackmatrix.VERSIONS)
@pytest.mark.parametrize("completed", [False, True])
def test_a_distance_that_is_not_known_counts_as_no_change(completed, label):
    state = EnvState(stage=2, before=Before(exit_distance=-1))
    _, parts = calculate_reward(state, completed, False, False, 0, reward=hackmatrix.version(label))
    assert parts["distance_shaping"] == 0


def test_the_repaired_version_takes_a_step_away_for_what_a_step_closer_pays():
    potential = hackmatrix.version("potential")
    for before, expected in ((9, -0.05), (11, 0.05)):
        state = EnvState(before=Before(exit_distance=before))
        _, parts = calculate_reward(state, False, False, False, 0, reward=potential)
        assert parts["distance_shaping"] == pytest.approx(expected)


def test_a_reward_with_other_weights_or_fewer_terms_is_paid_as_it_says():
    dear = hackmatrix.reward.with_weights(kills=2.0)
    state = EnvState(before=Before(kills=3))
    assert calculate_reward(state, False, False, False, 0, reward=dear)[1]["kills"] == 6
    few = Reward(
        "few",
        version="1",
        terms=[each for each in hackmatrix.reward.terms if each.name in ("step_penalty", "kills")],
        fields=[hackmatrix.reward.fields["kills"]],
    )
    total, parts = calculate_reward(state, False, False, False, 0, reward=few)
    assert list(parts) == ["step_penalty", "kills"]
    assert total == pytest.approx(0.89)


@term
def luck(fortune):
    return fortune


def test_a_reward_that_reads_what_the_game_does_not_measure_is_refused():
    reward = Reward("lucky", version="1", terms=[luck], fields=[Field("fortune", low=0, high=1)])
    with pytest.raises(UnknownField, match="reward 'lucky' reads 'fortune', which the game does not measure"):
        calculate_reward(EnvState(), False, False, False, 0, reward=reward)


@pytest.mark.parametrize(
    "rules", [pytest.param(RULES[0], id=NAMES[0], marks=pytest.mark.slow), pytest.param(RULES[1], id=NAMES[1])]
)
def test_before_an_action_everything_it_may_change_is_remembered(rules):
    states, *_, actions = drawn(7)
    remembered = jax.vmap(lambda state, action: remember(state, action, rules=rules))(states, actions)
    before = jax.device_get(remembered.before)
    for name in ("score", "hp", "credits", "energy"):
        np.testing.assert_array_equal(getattr(before, name), getattr(states.player, name))
    assert before.exit_distance.tolist() == [distance(entry(states, at), rules) for at in range(COUNT)]
    assert not before.kills.any()
    assert not before.picked_up.any()
    quality = jax.vmap(lambda state: check_siphon_optimality(state, rules=rules))(states)
    judged = (actions == ACTION_SIPHON) & (states.player.data_siphons > 0)
    np.testing.assert_array_equal(before.missed_credits, np.where(judged, quality.missed_credits, 0))
    np.testing.assert_array_equal(before.missed_energy, np.where(judged, quality.missed_energy, 0))
    assert before.missed_credits.any()
    assert not before.missed_credits[~judged].any()


def test_remembering_changes_nothing_else():
    state = entry(random_states(1, seed=8), 0)
    after = remember(state, 4)
    changed = jax.tree.map(lambda old, new: np.array_equal(old, new), state, after.replace(before=state.before))
    assert all(jax.tree.leaves(changed))


def test_nothing_earns_anything_right_after_remembering_but_the_step_penalty():
    states, *_, actions = drawn(9)
    nothing = [np.zeros(COUNT, bool)] * 3

    def idle(state, action, *happened):
        return calculate_reward(remember(state, action), *happened)[0]

    earned = jax.vmap(idle)(states, actions, *nothing, np.zeros(COUNT, np.int32))
    np.testing.assert_allclose(earned, -0.01, atol=1e-7)


def test_only_enemies_in_the_list_count_at_death():
    enemies = Enemies.of(Enemy("virus", 0, 1, from_siphon=True)).replace(count=jnp.int32(0))
    _, parts = calculate_reward(EnvState(enemies=enemies), False, False, True, 0)
    assert parts["siphon_death_penalty"] == 0


@pytest.mark.parametrize("make", [bool, int, np.bool_, np.int64, jnp.bool_, jnp.int32])
def test_flags_and_actions_may_be_plain_or_arrays(make):
    true = make(1)
    state = EnvState(stage=2, before=Before(missed_credits=2))
    kind = type(true) if not isinstance(true, bool | np.bool_) else int
    action = 4 if isinstance(true, jax.Array) else kind(4)
    _, parts = calculate_reward(state, true, False, False, action)
    assert parts["stage_completion"] == 1
    assert parts["siphon_quality"] == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("arguments_of", "error", "words"),
    [
        (lambda state: (state, False, False, False, 28), OutOfRange, "the action is 28; it must be from 0 to 27"),
        (lambda state: (state, False, False, False, -1), OutOfRange, "the action is -1"),
        (
            lambda state: (state, False, False, False, 2.0),
            WrongType,
            "the action is 2.0; it must be an integer from 0 to 27",
        ),
        (lambda state: (state, False, False, False, jnp.float32(2)), WrongType, "an integer from 0 to 27"),
        (lambda state: (state, False, False, False, True), WrongType, "the action is True; it must be an integer"),
        (lambda state: (state, False, False, False, "UP"), WrongType, "the action is 'UP'; it must be an integer"),
        (lambda state: (state, False, False, False, None), WrongType, "the action is None; it must be an integer"),
        (
            lambda state: (state, False, False, False, [1, 2]),
            ShapeMismatch,
            r"the action has shape \(2,\).*jax.vmap",
        ),
        (lambda state: (state, 0.5, False, False, 0), WrongType, "stage_completed is 0.5; it must be a bool"),
        (lambda state: (state, False, 2, False, 0), OutOfRange, "game_won is 2; it must be a bool"),
        (lambda state: (state, False, False, None, 0), WrongType, "player_died is None; it must be a bool"),
        (lambda state: (state, False, [True], False, 0), ShapeMismatch, r"game_won has shape \(1,\)"),
        (
            lambda state: (state.player, False, False, False, 0),
            WrongType,
            "the state is a Player; it must be an EnvState",
        ),
        (lambda _: (random_states(3), False, False, False, 0), ShapeMismatch, r"states of shape \(3,\).*jax.vmap"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_arguments_are_named(arguments_of, error, words):
    arguments = arguments_of(EnvState())
    with pytest.raises(error, match=words):
        calculate_reward(*arguments)


def test_inside_jit_types_are_checked_and_values_are_not():
    scored = jax.jit(lambda action: calculate_reward(EnvState(), False, False, False, action)[0])
    with pytest.raises(WrongType, match="the action is of float32; it must be an integer"):
        scored(2.0)
    assert scored(99) == pytest.approx(-0.01)


def test_what_the_reward_reads_has_its_names():
    inputs = measure_inputs(EnvState(), *[jnp.bool_(False)] * 3, jnp.int32(0), rules=Rules.seed())
    assert sorted(inputs) == sorted(hackmatrix.reward.program.inputs)


def test_a_board_that_opens_costs_nothing_under_the_reference_and_pays_under_none():
    """CRASH opens a wall: from no path to 10 cells."""
    sealed = Grid.of({(1, col): data_block(1) for col in range(6)})
    for rules, then in ((Rules.seed(), 10), (Rules.reference(), 0)):
        before = remember(EnvState(grid=sealed), 7, rules=rules)
        assert before.before.exit_distance == then
        after = before.replace(grid=Grid.of({(1, col): data_block(1) for col in range(1, 6)}))
        assert calculate_reward(after, False, False, False, 7, rules=rules)[1]["distance_shaping"] == 0
