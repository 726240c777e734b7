"""Every target carries states as a plain loop does: step by step, from where an episode begins, past rows it masks."""

import functools
import pickle

import numpy as np
import pytest

from plaudit import DefinitionError, Field, OutOfRange, Reward, State, TargetError, term
from plaudit.errors import MissingField, NotFinite, ShapeMismatch, UnknownInput, WrongType
from support import carrying, walks
from support.running import mark_numba_slow

TARGETS = ["numpy", "numba", "jax", "torch"]
STEPS, ENVS = 12, 3


@functools.cache
def build(name, target, **options):
    """Return one of the rewards compiled, once for all tests."""
    library = pytest.importorskip(target if target != "python" else "numpy")
    assert library is not None
    return carrying.REWARDS[name].compile(target, **options, **({"parallel": False} if target == "numba" else {}))


def step_through(name, target, columns, resets):
    """Return the totals of all steps, and the last state."""
    reward, compiled = carrying.REWARDS[name], build(name, target)
    state = reward.initial_state(batch=ENVS)
    step_once = lambda row, state, reset: compiled.step(row, state, reset=reset)  # noqa: E731 - what is jitted is one
    if target == "jax":
        step_once = pytest.importorskip("jax").jit(step_once)
    totals = []
    for step in range(STEPS):
        row = {name: column[step] for name, column in columns.items()}
        scores, state = step_once(row, state, resets[step])
        totals.append(np.asarray(scores.total))
    return np.array(totals), state


@pytest.fixture
def resets():
    return np.random.default_rng(1).random((STEPS, ENVS)) < 0.1


@pytest.mark.parametrize("name", carrying.REWARDS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_batch_goes_on_as_a_plain_loop_does(target, name, resets):
    reward, columns = carrying.REWARDS[name], carrying.draw(name, STEPS, ENVS)
    totals, state = step_through(name, target, columns, resets)
    close = 1e-12 if target in ("numpy", "numba") else 2e-5
    np.testing.assert_allclose(totals, carrying.compute(name, columns, resets), rtol=close, atol=close)
    for each, carried in reward.program.states.items():
        assert tuple(state[each].shape) == (ENVS, *carried.field.shape)
        assert str(state[each].dtype).removeprefix("torch.").startswith("bool" if carried.field.flag else "float")


@pytest.mark.parametrize("name", carrying.REWARDS)
def test_one_row_at_a_time_is_the_same_to_the_bit(name, resets):
    reward, columns = carrying.REWARDS[name], carrying.draw(name, STEPS, ENVS)
    totals, last = step_through(name, "numpy", columns, resets)
    compiled = reward.compile("python")
    for env in range(ENVS):
        state = signalled = reward.initial_state()
        for step in range(STEPS):
            row = {key: column[step, env] for key, column in columns.items()}
            scores, state = compiled.step(row, state, reset=bool(resets[step, env]))
            signalled = reward.initial_state() if resets[step, env] else signalled
            plain = {key: value for key, value in row.items() if "." not in key}
            before = {key.removeprefix("prev."): value for key, value in row.items() if key.startswith("prev.")}
            after = {key.removeprefix("curr."): value for key, value in row.items() if key.startswith("curr.")}
            records = {"prev": {**before, **signalled}, **({"curr": after} if after else {})}
            signal = reward.score(**plain, **records)
            signalled = signal.state
            assert scores.total == signal.total == totals[step, env]
            assert state == signalled
        assert all(np.array_equal(state[key], last[key][env]) for key in state)


@pytest.mark.parametrize("target", mark_numba_slow(["python", *TARGETS]))
def test_a_step_that_is_given_its_states_as_columns_scores_the_same(target):
    compiled = build("walking", target)
    contact, air = [True, False, True, False], [0.3, 0.1, 0.0, 9.99]
    scores, _ = compiled.step({"contact": contact}, {"air_time": air})
    again = compiled({"contact": contact, "prev.air_time": air})
    nested = compiled({"contact": contact, "prev": {"air_time": air}})
    assert float(scores.total) == float(again.total) == float(nested.total)


@pytest.mark.parametrize("target", TARGETS)
def test_a_masked_row_leaves_the_state_as_it_was(target):
    compiled = build("driving", target, on_bad="mask")
    state = {"alarm": np.array([False, True]), "average": np.array([3.0, 4.0]), "before_last": np.array([0.5, 0.5])}
    row = {"warned": np.array([True, True]), "speed": np.array([99.0, 10.0]), "prev.action": 0.25, "curr.action": 0.0}
    scores, after = compiled.step(row, state)
    assert np.asarray(scores.ok).tolist() == [False, True]
    assert np.asarray(after["alarm"]).tolist() == [False, True]
    np.testing.assert_allclose(np.asarray(after["average"]), [3.0, 4.6], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(after["before_last"]), [0.5, 0.25])


def test_one_masked_row_leaves_the_state_as_it_was():
    compiled = carrying.walking().compile("python", on_bad="mask")
    before = {"air_time": [0.1, 0.2, float("nan"), 0.4]}
    scores, after = compiled.step({"contact": [True] * 4}, before)
    assert not scores.ok
    assert after["air_time"][:2] == [0.1, 0.2]


@pytest.mark.parametrize("target", mark_numba_slow(["python", *TARGETS]))
def test_other_parameters_change_the_update_too(target):
    compiled = build("walking", target)
    _, after = compiled.step({"contact": [False] * 4}, {"air_time": [0.0] * 4}, params={"air_time.dt": 0.5})
    np.testing.assert_allclose(np.asarray(after["air_time"]), [0.5] * 4)


def test_lax_scan_carries_the_state_under_jit_and_vmap():
    jax = pytest.importorskip("jax")
    reward, columns = carrying.walking(), carrying.draw("walking", STEPS, ENVS)
    compiled = reward.compile("jax")

    def step(state, contact):
        scores, state = compiled.step({"contact": contact}, state)
        return state, scores.total

    run = jax.jit(lambda start, rows: jax.lax.scan(step, start, rows))
    expected = carrying.compute("walking", columns, np.zeros((STEPS, ENVS), bool))
    last, totals = run(reward.initial_state(batch=ENVS), columns["contact"])
    np.testing.assert_allclose(totals, expected, atol=2e-5)
    assert last["air_time"].shape == (ENVS, 4)
    one = jax.vmap(run, in_axes=(None, 1), out_axes=1)
    np.testing.assert_allclose(one(reward.initial_state(batch=()), columns["contact"])[1], expected, atol=2e-5)


def test_a_gradient_flows_through_what_was_carried():
    jax = pytest.importorskip("jax")
    compiled = carrying.driving().compile("jax")
    row = {"warned": False, "prev.action": 0.0, "curr.action": 0.0}

    def pay(speed):
        _, state = compiled.step({**row, "speed": speed}, carrying.driving().initial_state(batch=()))
        scores, _ = compiled.step({**row, "speed": 1.0}, state)
        return scores.total

    assert float(jax.grad(pay)(30.0)) == pytest.approx(-0.5 * 0.9 * 0.1, rel=1e-4)


def test_pytorch_keeps_the_dtype_of_the_inputs_and_compiles():
    torch = pytest.importorskip("torch")
    reward = carrying.touching()
    compiled = reward.compile("torch", on_bad="mask")
    force = torch.full((ENVS, 2), 5.0, dtype=torch.float32)
    _, state = compiled.step({"force": force}, reward.initial_state(batch=ENVS))
    assert state["history"].dtype == torch.float32
    assert state["history"][:, 0].tolist() == [[5.0, 5.0]] * ENVS
    assert state["history"][:, 1:].abs().sum() == 0


@pytest.mark.parametrize("target", ["python", "numpy"])
def test_a_compiled_reward_that_was_pickled_carries_on(target):
    compiled = pickle.loads(pickle.dumps(carrying.walking().compile(target)))
    _, after = compiled.step({"contact": [False] * 4}, {"air_time": [1.0] * 4})
    np.testing.assert_allclose(after["air_time"], [1.02] * 4)


@pytest.mark.parametrize("target", ["python", *TARGETS])
@pytest.mark.parametrize(
    ("inputs", "state", "error", "words"),
    [
        ({"contact": [True] * 4}, {}, MissingField, "state 'air_time' is not given"),
        ({"contact": [True] * 4}, [0.0] * 4, WrongType, "a state must be a mapping"),
        ({"contact": [True] * 4}, {"air": [0.0] * 4}, UnknownInput, "carries no state 'air'"),
        ({"contact": [True] * 4, "prev": {"air_time": [0.0] * 4}}, None, UnknownInput, "given twice"),
        ({"contact": [True] * 4, "prev.air_time": [0.0] * 4}, None, UnknownInput, "given twice"),
        (
            {"contact": [True] * 4, "air_time": [0.0] * 4},
            None,
            UnknownInput,
            "it computes the state after a step itself",
        ),
        (
            {"contact": [True] * 4, "curr": {"air_time": [0.0] * 4}},
            None,
            UnknownInput,
            "it computes the state after a step itself",
        ),
        ({"contact": [True] * 4}, {"air_time": [0.0] * 3}, ShapeMismatch, "4 values"),
        ({"contact": [True] * 4}, {"air_time": [0.0, 0.0, 0.0, 11.0]}, OutOfRange, r"11.0 is outside"),
        ({"contact": [True] * 4}, {"air_time": [0.0, 0.0, 0.0, float("nan")]}, NotFinite, "the value is NaN"),
    ],
)
def test_a_step_that_cannot_be_taken_says_why(target, inputs, state, error, words):
    compiled = build("walking", target)
    with pytest.raises(error, match=words):
        compiled.step(inputs, carrying.walking().initial_state() if state is None else state)


@pytest.mark.parametrize("target", ["python", "numpy", "jax", "torch"])
def test_a_state_that_leaves_its_range_is_named_with_its_value(target):
    pytest.importorskip(target if target != "python" else "numpy")
    reward = carrying.driving().with_params({"average.keep": 1.25})
    row = {"warned": False, "speed": 0.0, "prev.action": 0.0, "curr.action": 0.0}
    state = {"alarm": False, "average": 40.0, "before_last": 0.0}
    with pytest.raises(OutOfRange, match=r"state 'average'.*after this step it is 50.0, outside .*\[0, 40\]"):
        reward.compile(target, guard=False).step(row, state)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("state", "reset", "error", "words"),
    [
        (
            {"air_time": np.zeros((3, 5))},
            np.zeros(3, bool),
            ShapeMismatch,
            r"4 values are needed, but the shape is \(3, 5",
        ),
        ({"air_time": np.zeros((3, 4))}, np.zeros(2, bool), ShapeMismatch, r"reset has the shape \(2,\)"),
        ({"air_time": ["a", "b", "c", "d"]}, None, WrongType, "air_time"),
    ],
)
def test_a_batch_whose_state_does_not_fit_says_so(target, state, reset, error, words):
    compiled = build("walking", target)
    with pytest.raises(error, match=words):
        compiled.step({"contact": np.ones((3, 4), bool)}, state, reset=reset)


def test_a_missing_state_says_where_it_comes_from():
    with pytest.raises(MissingField, match=r"needs 'prev.air_time'(.|\n)*reward.initial_state\(\)"):
        carrying.walking().score(contact=[True] * 4)


def test_a_reward_without_state_has_no_step():
    with pytest.raises(DefinitionError, match="carries no state"):
        walks.reward().compile("numpy").step({}, {})


@pytest.mark.parametrize("keys", [None, ("episode", "step")])
def test_sql_reads_states_from_columns_of_their_own(keys):
    duckdb, pyarrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    reward, columns = carrying.driving(), carrying.draw("driving", STEPS, 1)
    flat = {name: column.reshape(-1) for name, column in columns.items()}
    found = reward.score_episodes(flat, episode=np.zeros(STEPS), step=np.arange(STEPS))
    names = {"curr.action": "action"} if keys else {}
    table = {names.get(name, name): column for name, column in flat.items() if not keys or name != "prev.action"}
    table |= {f"prev.{name}": column for name, column in found.states.items()}
    table |= {"episode": np.zeros(STEPS), "step": np.arange(STEPS)}
    compiled = reward.compile("sql", keys=keys) if keys else reward.compile("sql")
    connection = duckdb.connect()
    steps = pyarrow.table({name: column.tolist() for name, column in table.items()})  # noqa: F841 - DuckDB finds it
    given = connection.execute(
        f"SELECT total FROM ({compiled.select('steps', keep=['step'])}) ORDER BY step"
    ).fetchall()
    totals = [row[0] for row in given]
    assert totals[1:] == found.scores.total[1:].tolist()
    assert (totals[0] is None) == bool(keys)  # the first row has no row before it, where `prev.action` is
    with pytest.raises(TargetError, match="pass states as columns"):
        compiled.step({}, {})


def touch(force, last_contacts):
    return (force > 1.0) | last_contacts


def feel(force):
    return force > 1.0


def fly(force, prev, *, dt):
    return np.where(touch(force, prev.last_contacts), 0.0, np.minimum(prev.feet_air_time + dt, 100.0))


@term(name="air_time")
def pay_air_time(force, command, prev, *, dt, least=0.5):
    first_contact = (prev.feet_air_time > 0) & touch(force, prev.last_contacts)
    paid = np.sum((prev.feet_air_time + dt - least) * first_contact)
    return paid if np.linalg.norm(command) > 0.1 else 0.0


def test_feet_air_time_is_that_of_legged_gym():
    """The loop below is `_reward_feet_air_time` of legged_gym's `LeggedRobot`, line by line, in NumPy."""
    fields = [
        Field("force", shape=(4,), low=0, high=1e4),
        Field("command", shape=(2,), low=-2, high=2),
        State("last_contacts", shape=(4,), flag=True, reset=False, update=feel),
        State("feet_air_time", shape=(4,), reset=0.0, low=0, high=100, update=fly),
    ]
    reward = Reward("legged", version="1", terms=[pay_air_time], fields=fields, shared={"dt": 0.02})
    rng = np.random.default_rng(0)
    last_contacts, air_time = np.zeros((ENVS, 4), bool), np.zeros((ENVS, 4))
    compiled, state = reward.compile("numpy"), reward.initial_state(batch=ENVS)
    for _ in range(100):
        force, commands = rng.exponential(1.0, (ENVS, 4)), rng.uniform(-0.2, 0.2, (ENVS, 2))
        scores, state = compiled.step({"force": force, "command": commands}, state)
        contact = force > 1.0
        contact_filt = np.logical_or(contact, last_contacts)
        last_contacts = contact
        first_contact = (air_time > 0.0) * contact_filt
        air_time = air_time + 0.02
        paid = np.sum((air_time - 0.5) * first_contact, axis=1)
        paid = paid * (np.linalg.norm(commands, axis=1) > 0.1)
        air_time = air_time * ~contact_filt
        np.testing.assert_allclose(scores.total, paid, rtol=1e-12, atol=1e-12)
    assert np.array_equal(state["last_contacts"], last_contacts)
