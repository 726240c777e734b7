"""Steps that cannot be scored: masked, clipped or raised, and counted in info, in the ledger and on curves."""

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import probe
from plaudit.analysis.environments import sample_transitions
from plaudit.errors import DefinitionError, MissingField, NotFinite, OutOfRange, TooManyMasked
from plaudit.schedules import linear
from support import carrying, walks
from support.ledgers import verified

PLAIN = walks.reward()
STEPS = 200


class Straight(gymnasium.Env):
    """Counts its steps; an episode has a hundred."""

    observation_space = gymnasium.spaces.Box(0, 1e6, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, pay=0.5):
        self._taken, self._pay = 0, pay

    def reset(self, *, seed=None, options=None):
        return np.array([self._taken], np.float64), {}

    def step(self, action):
        self._taken += 1
        return np.array([self._taken], np.float64), self._pay, False, self._taken % 100 == 0, {}


@term
def steady(x):
    return x


@term(weight=0.5)
def open_road(road):
    return 1 if road == "open" else 0


DRIVING = Reward(
    "driving",
    version="1",
    terms=[steady, open_road],
    fields=[Field("x", low=0, high=1), Field("road", values=("open", "shut"))],
)


def read(**changes):
    """Return features that give x=0.25 on an open road, and something else at some steps."""

    def features(obs, action, next_obs, info):
        taken = np.ravel(next_obs).astype(int)
        fields = {"x": [0.25] * len(taken), "road": ["open"] * len(taken)}
        for name, odd in changes.items():
            for at, step in enumerate(taken):
                fields[name][at] = odd.get(step, fields[name][at])
        one = np.ndim(next_obs) == 1
        return {name: column[0] if one else column for name, column in fields.items()}

    return features


def run(env, count):
    """Take steps; return what each is paid, and its info."""
    env.reset()
    found = []
    for _ in range(count):
        _, paid, _, truncated, info = env.step(env.action_space.sample() * 0)
        found.append((paid, info))
        if np.any(truncated) and not isinstance(env, gymnasium.vector.VectorWrapper):
            env.reset()
    return found


BAD = [
    pytest.param({"x": {150: math.nan}}, "field 'x': the value is NaN", {}, id="NaN"),
    pytest.param({"x": {150: 7.0}}, "field 'x': 7.0 is outside", {"x": 7.0}, id="outside"),
    pytest.param({"x": {150: None}}, "field 'x': a value is None", {}, id="None"),
    pytest.param({"road": {150: "wet"}}, "field 'road': 'wet' is not one of its values", {}, id="category"),
]


@pytest.mark.parametrize(("odd", "reason", "kept"), BAD)
def test_one_step_that_cannot_be_scored_does_not_end_the_night(tmp_path, odd, reason, kept):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Straight(), DRIVING, read(**odd), ledger=ledger, run="night")
        with pytest.warns(UserWarning, match=reason) as told:
            found = run(env, STEPS)
        assert len(told) == 1
        env.close()
        paid, infos = zip(*found, strict=True)
        assert [at for at, each in enumerate(paid, 1) if each != 0.75] == [150]
        assert (paid[149], infos[149]["reward_components"]) == (0.0, {"steady": 0.0, "open_road": 0.0})
        assert reason in infos[149]["reward_masked"]
        assert [info.get("masked_steps", 0) for info in infos] == [0] * 149 + [1] * 51
        assert not any("reward_masked" in info for info in (*infos[:149], *infos[150:]))

        [masked] = [record for record in ledger.history() if record.masked]
        assert (masked.episode, masked.step, masked.original_reward) == ("2", 50, 0.5)
        assert reason in masked.masked
        assert math.isnan(masked.total)
        assert (
            masked.signal.inputs == {"x": 0.25, "road": "open"} | kept
            if kept
            else masked.signal.inputs.keys() < {"x", "road"}
        )

        assert ledger.stats().rewards["driving@1"].masked == 1
        assert ledger.stats().records == STEPS
        assert "1 of them masked" in str(ledger.stats())
        assert ledger.history().totals().mean == 0.75
        episodes = ledger.episodes()
        assert [each.length for each in episodes] == [100] * 2
        assert [each.total for each in episodes] == [75.0, 74.25]
        verified(ledger)
        ledger.export(tmp_path / "rewards.jsonl")
    with Ledger(tmp_path / "copy.db") as copy:
        assert copy.import_file(tmp_path / "rewards.jsonl") == STEPS
        assert [record.masked for record in copy.history() if record.masked] == [masked.masked]
        assert [each.total for each in copy.episodes()] == [each.total for each in episodes]
        verified(copy)


@pytest.mark.filterwarnings("ignore:a step could not be scored")
def test_a_masked_step_is_recorded_in_its_place_whatever_the_inputs_come_in(tmp_path):
    def features(obs, action, next_obs, info):
        step = int(next_obs[0])
        x = {40: np.float64(0.5), 150: math.nan, 151: None}.get(step, np.float32(0.1))
        return {"x": x, "road": "open"}

    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Straight(), DRIVING, features, ledger=ledger, max_masked=1)
        run(env, STEPS)
        env.close()
        steps = [(int(record.episode), record.step) for record in ledger.history()]
        assert steps == [(1, step) for step in range(1, 101)] + [(2, step) for step in range(1, 101)]
        assert {record.signal.inputs.get("x") for record in ledger.history()} == {float(np.float32(0.1)), 0.5, None}
        assert [episode.first_record for episode in ledger.episodes()] == [1, 101]
        verified(ledger)


@pytest.mark.filterwarnings("ignore:a step could not be scored")
def test_what_could_not_be_read_is_never_replaced_by_a_stand_in(tmp_path):
    usual = Reward(
        "driving",
        version="1",
        terms=[steady, open_road],
        fields=[Field("x", low=0, high=1, missing=0.5), Field("road", values=("open", "shut"), missing="open")],
    )
    features = read(x={150: math.nan, 151: 7.0}, road={150: None, 151: None, 160: "wet"})
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Straight(), usual, features, ledger=ledger, max_masked=1)
        run(env, STEPS)
        env.close()
        wider = Field("x", low=0, high=10, missing=0.25)
        done = ledger.rescore(usual.evolve(version="2", fields=[wider, usual.fields["road"]]))
        assert [(each.records, each.needed) for each in done.lacking] == [(1, ("x",)), (1, ("road",))]
        assert (done.records, done.refused) == (198, 0)
        assert {record.origin: record.total for record in ledger.history(job=done.job) if record.origin > 148} == {
            **{at: 0.75 for at in range(149, 201) if at not in (150, 151, 160)},
            151: 7.5,  # which the wider range lets in, on the road that was not given
        }
        assert [each.finished for each in ledger.episodes(job=done.job)] == [True, False]
        ledger.export(tmp_path / "rewards.jsonl")
        with Ledger(tmp_path / "copy.db") as copy:
            assert copy.import_file(tmp_path / "rewards.jsonl") == STEPS
            assert [record.signal.inputs for record in copy.history()] == [
                record.signal.inputs for record in ledger.history()
            ]
            verified(copy)


def test_an_infinite_number_that_is_clipped_loses_nothing(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Straight(), DRIVING, read(x={150: math.inf}), ledger=ledger, on_bad="clip")
        paid = [each for each, _ in run(env, STEPS)]
        env.close()
        assert [record.total for record in ledger.history()] == paid
        assert [record.context["clipped"] for record in ledger.history() if "clipped" in record.context] == [
            {"x": "inf"}
        ]


@pytest.mark.parametrize("fast", [False, True], ids=["numpy", "numba"])
@pytest.mark.parametrize(("odd", "reason", "kept"), BAD)
def test_one_of_many_environments_is_masked_alone(tmp_path, monkeypatch, fast, odd, reason, kept):
    if fast:
        monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", 1)
    features = read(**odd)

    def first_alone(obs, action, next_obs, info):
        fields, usual = features(obs, action, next_obs, info), read()(obs, action, next_obs, info)
        return {name: [fields[name][0], *usual[name][1:]] for name in fields}

    with Ledger(tmp_path / "rewards.db") as ledger:
        envs = SyncVectorEnv([Straight] * 3, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
        env = RewardWrapper(envs, DRIVING, first_alone, ledger=ledger, run="night")
        with pytest.warns(UserWarning, match="environment 0"):
            found = run(env, 160)
        env.close()
        paid, infos = zip(*found, strict=True)
        assert paid[149].tolist() == [0.0, 0.75, 0.75]
        assert f"field '{next(iter(odd))}'" in infos[149]["reward_masked"][0]
        assert infos[149]["reward_masked"].tolist()[1:] == [None, None]
        assert infos[149]["_reward_masked"].tolist() == [True, False, False]
        assert [info.get("masked_steps", np.zeros(3)).tolist() for info in infos[148:]] == [[0] * 3] + [[1, 0, 0]] * 11
        assert not any("reward_masked" in info for info in (*infos[:149], *infos[150:]))
        assert sum(each.sum() for each in paid) == 0.75 * (3 * 160 - 1)
        assert [(record.episode, record.step) for record in ledger.history() if record.masked] == [("4", 50)]
        assert ledger.history().count() == 3 * 160
        verified(ledger)


def test_a_night_of_bad_steps_is_an_error():
    env = RewardWrapper(Straight(), DRIVING, read(x=dict.fromkeys(range(150, 200), math.nan)))
    with (
        pytest.warns(UserWarning, match="NaN"),
        pytest.raises(TooManyMasked, match=r"2 of 151 steps so far could not be scored.*max_masked=0.01.*x.*NaN"),
    ):
        run(env, STEPS)


def test_how_many_may_be_masked_is_a_setting():
    odd = read(x=dict.fromkeys(range(1, 101), math.nan))
    with pytest.warns(UserWarning, match="NaN"):
        found = run(RewardWrapper(Straight(), DRIVING, odd, max_masked=1.0), 200)
    assert found[-1][1]["masked_steps"] == 100
    for wrong in (0, 1.5, "few"):
        with pytest.raises(DefinitionError, match="max_masked="):
            RewardWrapper(Straight(), DRIVING, read(), max_masked=wrong)


def test_wrong_names_are_an_error_whatever_is_said():
    for on_bad in ("mask", "clip", "raise"):
        for envs in (Straight(), SyncVectorEnv([Straight] * 2)):
            env = RewardWrapper(envs, DRIVING, lambda *_: {"y": 0.5, "road": "open"}, on_bad=on_bad)
            with pytest.raises(MissingField, match="needs 'x'"):
                run(env, 1)
    with pytest.raises(DefinitionError, match="on_bad='msak' is not one of raise, mask, clip. Did you mean 'mask'"):
        RewardWrapper(Straight(), DRIVING, read(), on_bad="msak")


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_clip_holds_numbers_within_their_ranges_and_keeps_what_they_were(tmp_path, many):
    with Ledger(tmp_path / "rewards.db") as ledger:
        envs = SyncVectorEnv([Straight] * 2) if many else Straight()
        env = RewardWrapper(envs, DRIVING, read(x={3: 7.0, 4: -1.0}), on_bad="clip", ledger=ledger, run="night")
        paid, infos = zip(*run(env, 5), strict=True)
        env.close()
        assert [float(np.ravel(each)[0]) for each in paid] == [0.75, 0.75, 1.5, 0.5, 0.75]
        counts = [info.get("clipped_steps", [0, 0] if many else 0) for info in infos]
        assert [np.ravel(count).tolist() for count in counts] == [[n] * (1 + many) for n in (0, 0, 1, 2, 2)]
        held = [info.get("reward_clipped") for info in infos]
        wanted = [{"x": 7.0}, {"x": -1.0}]
        assert [np.ravel(each).tolist() for each in held[2:4]] == [[each] * (1 + many) for each in wanted]
        assert held[:2] + held[4:] == [None] * 3
        records = list(ledger.history(step=3))
        assert [record.signal.inputs["x"] for record in records] == [1.0] * len(records)
        assert [record.context["clipped"] for record in records] == [{"x": 7.0}] * len(records)
        assert ledger.rewards()[0].fingerprint == DRIVING.fingerprint
        verified(ledger)
    env = RewardWrapper(envs, DRIVING, read(x=dict.fromkeys(range(100), math.nan)), on_bad="clip")
    with pytest.raises(NotFinite, match="field 'x'"):
        run(env, 1)


@term
def pull(force, load):
    return force[0] + force[1] + 10 * load


PULLING = Reward(
    "pulling",
    version="1",
    terms=[pull],
    fields=[Field("force", length=2, low=-1, high=1), Field("load", low=0, high=2.5)],
)


@pytest.mark.parametrize(
    ("given", "wanted", "clipped"),
    [
        pytest.param(
            {"force": np.array([0.5, 5.0]), "load": 1.0}, [11.5] * 3, [{"force": [0.5, 5.0]}] * 3, id="one vector"
        ),
        pytest.param({"force[0]": 3.0, "force[1]": [0, 0, 4], "load": 0}, [1, 1, 2], None, id="entries"),
        pytest.param(
            {"force": np.zeros((3, 2)), "load": np.array([1, 2, 9])}, [10, 20, 25], [{}, {}, {"load": 9}], id="integers"
        ),
    ],
)
def test_clip_holds_what_is_given_for_all_environments_or_as_integers(tmp_path, given, wanted, clipped):
    with Ledger(tmp_path / "rewards.db") as ledger:
        envs = SyncVectorEnv([Straight] * 3)
        env = RewardWrapper(envs, PULLING, lambda *_: given, on_bad="clip", ledger=ledger, run="night")
        [(paid, _)] = run(env, 1)
        env.close()
        assert paid.tolist() == wanted
        assert [record.total for record in ledger.history()] == wanted
        if clipped is not None:
            assert [record.context.get("clipped", {}) for record in ledger.history()] == clipped
        verified(ledger)


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_raise_ends_it(many):
    envs = SyncVectorEnv([Straight] * 2) if many else Straight()
    env = RewardWrapper(envs, DRIVING, read(x={3: 7.0}), on_bad="raise")
    with pytest.raises(OutOfRange, match="field 'x'"):
        run(env, 5)


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_an_own_reward_that_is_not_a_number_is_not_added_to_and_its_step_is_counted_once(tmp_path, many):
    class Silent(Straight):
        """Says from its second step on that it pays NaN."""

        def step(self, action):
            self._pay = 0.5 if self._taken < 1 else math.nan
            return super().step(action)

    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(
            SyncVectorEnv([Silent] * 2) if many else Silent(),
            DRIVING,
            read(x={3: math.nan}),
            mode="add",
            max_masked=1.0,
            ledger=ledger,
            run="night",
        )
        with pytest.warns(UserWarning, match="own reward is nan; mode='add' needs"):
            paid, infos = zip(*run(env, 3), strict=True)
        env.close()
        assert [np.ravel(each).tolist() for each in paid] == [[each] * (1 + many) for each in (1.25, 0.75, 0.0)]
        counts = [info.get("masked_steps", [0] * (1 + many)) for info in infos]
        assert [np.ravel(count).tolist() for count in counts] == [[n] * (1 + many) for n in (0, 1, 2)]
        assert np.ravel(infos[1]["reward_components"]["original.reward"]).tolist() == [0.0] * (1 + many)
        reasons = [reason for info in infos[1:] for reason in np.ravel(info["reward_masked"])]
        assert all(reason.endswith("own reward is nan; mode='add' needs a finite one.") for reason in reasons)
        assert ["field 'x'" in reason for reason in reasons] == [False] * (1 + many) + [True] * (1 + many)
        assert [bool(record.masked) for record in ledger.history(step=2)] == [False] * (1 + many)  # it has a score
        assert [bool(record.masked) for record in ledger.history(step=3)] == [True] * (1 + many)
        verified(ledger)


def test_info_of_many_environments_can_be_told_apart_by_gymnasium():
    rising = DRIVING.with_weights(steady=linear(0, 1, over=4))
    odd = iter([{1: 7.0}, {2: 7.0}])

    def features(obs, action, next_obs, info):
        return {**read(x=next(odd))(obs, action, next_obs, info), "step": np.array([1, 2])}

    env = DictInfoToList(RewardWrapper(SyncVectorEnv([Straight] * 2), rising, features, on_bad="clip"))
    env.reset()
    for count in (1, 2):
        *_, infos = env.step(np.zeros(2, np.int64))
        assert [info["reward_clipped"] for info in infos] == [{"x": 7.0}] * 2
        assert [info["clipped_steps"] for info in infos] == [count] * 2
        assert [info["reward_weights"] for info in infos] == [{"steady": 0.25}, {"steady": 0.5}]


def test_a_counter_that_is_none_masks_the_step():
    rising = DRIVING.with_weights(steady=linear(0, 1, over=4))
    env = RewardWrapper(Straight(), rising, lambda *_: {"x": 0.5, "road": "open", "step": None}, max_masked=1.0)
    with pytest.warns(UserWarning, match="'step': a value is None"):
        [(paid, info)] = run(env, 1)
    assert (paid, info["masked_steps"]) == (0.0, 1)
    assert math.isnan(info["reward_weights"]["steady"])


def test_a_masked_step_leaves_the_states_of_its_environment_as_they_were():
    reward = carrying.touching()
    given = [[5.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]
    alone = iter(given)
    one = RewardWrapper(Straight(), reward, lambda *_: {"force": next(alone)}, max_masked=1.0)
    together = iter(given)
    many = RewardWrapper(
        SyncVectorEnv([Straight] * 2),
        reward,
        lambda *_: {"force": np.array([next(together), [0.0, 0.0]])},
        max_masked=1.0,
    )
    with pytest.warns(UserWarning, match="-1.0 is outside"):
        paid = [each for each, _ in run(one, 3)]
    with pytest.warns(UserWarning, match="-1.0 is outside"):
        side_by_side = [each.tolist() for each, _ in run(many, 3)]
    assert paid == [each[0] for each in side_by_side]
    assert paid[1] == 0.0
    good = iter([given[0], given[2]])
    straight = RewardWrapper(Straight(), reward, lambda *_: {"force": next(good)})
    assert [paid[0], paid[2]] == [each for each, _ in run(straight, 2)]


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_features_may_give_more_than_the_reward_reads(many):
    def generous(obs, action, next_obs, info):
        return {**read()(obs, action, next_obs, info), "debug": object(), "speed": 3.0}

    envs = SyncVectorEnv([Straight] * 2) if many else Straight()
    assert np.ravel(run(RewardWrapper(envs, DRIVING, generous), 1)[0][0])[0] == 0.75


def test_features_may_give_more_to_a_probe_and_a_comparison_too():
    def generous(obs, action, next_obs, info):
        return {**walks.features(obs, action, next_obs, info), "debug": object()}

    probed = probe(walks.Walk(), PLAIN, generous, steps=300, seeds=2)
    assert {"random", "always 1"} <= {each.name for each in probed.policies}
    sampled = sample_transitions(walks.Walk(), [PLAIN, PLAIN.with_weights(effort=-1.0)], generous, steps=20)
    assert "debug" not in sampled.columns
    assert len(sampled.columns["moved"]) == 20


def test_what_is_not_one_environment_and_a_function_of_a_step_is_refused_in_our_words():
    from stable_baselines3.common.vec_env import DummyVecEnv

    class Parallel:
        possible_agents = ("a", "b")

    env = Straight()
    for given, words in (
        ((DummyVecEnv([Straight]), DRIVING, read()), "of Stable-Baselines3.*plaudit.adapters.sb3.make_vec_env"),
        ((Parallel(), DRIVING, read()), "PettingZoo environment of several agents"),
        (
            ("CartPole-v1", DRIVING, read()),
            r"is a string; pass the environment itself: gymnasium.make\('CartPole-v1'\)",
        ),
        ((3, DRIVING, read()), "env=3 is not a Gymnasium environment"),
        ((env, DRIVING), "RewardWrapper needs features: .* function of"),
        ((env,), "RewardWrapper needs reward"),
        ((), "RewardWrapper needs env: "),
        ((SyncVectorEnv([Straight]), DRIVING), "RewardWrapper needs features: .* function of"),
        ((SyncVectorEnv([Straight]),), "RewardWrapper needs reward"),
        (
            (env, DRIVING, lambda obs: {}),
            r"features=<lambda>\(obs\) is not a plain function of \(obs, action, next_obs",
        ),
        ((env, DRIVING, None), "features=None is not a plain function"),
    ):
        with pytest.raises(DefinitionError, match=words):
            RewardWrapper(*given)
    with pytest.raises(DefinitionError, match="features=3 is not"):
        RewardWrapper(env=env, reward=DRIVING, features=3)
    with pytest.raises(DefinitionError, match="RewardWrapper needs env"):
        RewardWrapper(reward=DRIVING, features=read())
    with pytest.raises(DefinitionError, match="env=None is not a Gymnasium environment"):
        RewardWrapper(None, DRIVING, read())


def read_cart(obs, action, next_obs, info):
    return {"x": 0.5, "road": "open"}


def test_its_specification_is_json_and_makes_it_again(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(gymnasium.make("CartPole-v1"), DRIVING, read_cart, ledger=ledger, run="night")
        text = env.spec.to_json()
        env.close()
        again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
        assert again.get_wrapper_attr("reward") == DRIVING
        again.reset(seed=0)
        assert again.step(0)[1] == 1.0
        again.close()
        assert ledger.history(run="night").count() == 1
    local = RewardWrapper(gymnasium.make("CartPole-v1"), DRIVING, lambda *step: read_cart(*step))
    spec = gymnasium.envs.registration.EnvSpec.from_json(local.spec.to_json())
    with pytest.raises(DefinitionError, match="cannot be imported"):
        gymnasium.make(spec)
