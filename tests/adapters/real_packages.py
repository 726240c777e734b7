"""Checks the adapters against the packages themselves, and records how these call: run by hand, each in its own place.

    python tests/adapters/real_packages.py trl         with trl >= 1.16 and torch, math-verify and reasoning-gym installed
    python tests/adapters/real_packages.py trl16       with trl >= 1.6 and the same: nothing is recorded
    python tests/adapters/real_packages.py tutorial    with trl >= 1.16; its page has to be renewed afterwards
    python tests/adapters/real_packages.py rubric      with verifiers < 0.4
    python tests/adapters/real_packages.py task        with verifiers >= 0.4
    python tests/adapters/real_packages.py openenv     with openenv
    python tests/adapters/real_packages.py inspect     with inspect-ai
    python tests/adapters/real_packages.py verl        with verl and torch
    python tests/adapters/real_packages.py nemo        with nemo-gym

`make llm-test` builds these places, except the last, and runs each. Each prints what it checked; most write the calls they saw to `recorded/<name>.json`, which the tests replay, and the logs of TRL, verifiers and Inspect to `recorded/logs`.
"""

import asyncio
import contextlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import real_failures
import real_logs
import real_task
from real_training import STEPS, check_equal, trained

from plaudit import Field, Reward, term
from plaudit.errors import Abstained
from plaudit.llm import Scoring, feature
from plaudit.schedules import linear
from support import sums

RECORDED = Path(__file__).parent / "recorded"
CLAMPED = sums.reward(low=-0.25, high=1.0)
TERMS = ("correct", "length", "form", "total.clamp")
TOTALS = [None if total is None else max(total, -0.25) for total in sums.TOTALS]


def kind(value):
    """Return a value as JSON where that can hold it, else what kind of thing it is."""
    if isinstance(value, list | tuple):
        return [kind(each) for each in value]
    if isinstance(value, dict):
        return {str(key): kind(each) for key, each in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return f"<{'function' if callable(value) else type(value).__name__}>"


def write(name, package, calls):
    RECORDED.mkdir(exist_ok=True)
    content = {"package": package, "version": version(package), **calls}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    (RECORDED / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{package} {content['version']}: recorded/{name}.json")


# -- TRL --------------------------------------------------------------------------------------------------------------


def trl():
    """Train a tiny model in every way, and record the calls and the logs."""
    calls = trl_trainings()
    trl_environments()
    write("trl", "trl", {"calls": calls})
    real_logs.log_trl(trained)
    trl_tutorial()


def trl16():
    """Train a tiny model in every way that the oldest version has which leaves out samples without a reward."""
    trl_trainings()


def trl_trainings():
    """Train with the whole reward, with its terms, with plain functions and through failures; return some calls."""
    seen = []

    def probe(prompts, completions, **columns):
        seen.append({"prompts": kind(prompts), "completions": kind(completions), **kind(columns)})
        return [None] * len(completions)

    for conversational in (False, True):
        trl_sums(probe, conversational=conversational)
    trl_groups()
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=29517"]
    subprocess.run([*launch, __file__, "trl_processes"], check=True)
    real_task.train_task()
    real_failures.train_through_failures()
    return [seen[0], seen[len(seen) // 2]]


def trl_sums(probe, *, conversational):
    """Train with the whole reward, with its terms, and with functions without plaudit: the same model comes of it."""
    from plaudit.adapters.trl import reward_func, reward_funcs

    whole = reward_func(Scoring(CLAMPED, sums.features, applies=sums.is_sum))
    terms = reward_funcs(Scoring(CLAMPED, sums.features, applies=sums.is_sum))
    one, completions, extra = trained([whole, probe], [1.0, 0.0], conversational=conversational)
    parts, again, _ = trained(terms.funcs, terms.weights, conversational=conversational)
    plain, without, _ = trained([plain_total], [1.0], conversational=conversational)
    assert completions == again == without, "all sample alike"
    check_equal(one, parts)
    check_equal(one, plain)
    assert len(one) == STEPS
    assert any(log["grad_norm"] for log in one)
    for log in one:
        added = [log[f"sums/{name}"] for name in TERMS]
        assert math.isclose(sum(added), log["rewards/sums/mean"], abs_tol=1e-5)
    columns = [f"sums/inputs/{name}" for name in CLAMPED.inputs] + [f"sums/{name}" for name in TERMS]
    assert sorted(extra) == sorted(columns), list(extra)
    assert {len(column) for column in extra.values()} == {len(completions[-1])}
    print("as with plain functions:", [(log["loss"], log["grad_norm"], log["reward"]) for log in plain])
    print("logged with one function:", *(key for key in one[0] if "sums" in key))
    print("logged with a function a term:", *(key for key in parts[0] if key.startswith("rewards/")))


def plain_total(completions, answer, kind, **_):
    """Return the rewards of sums, as somebody would write them without plaudit."""
    totals = []
    for completion, right, what in zip(completions, answer, kind, strict=True):
        text = completion if isinstance(completion, str) else completion[0]["content"]
        words = text.split()
        paid = (words[-1:] == [right]) - 0.5 * min(len(words) / 4, 1.0) + 0.25 * ("=" in words)
        totals.append(min(max(paid, -0.25), 1.0) if what == "sum" else None)
    return totals


@feature
async def words(text):
    await asyncio.sleep(0)
    return len(text.split())


@feature(group=True)
def rank(words):
    groups.append(len(words))
    return [sum(other < own for other in words) / len(words) for own in words]


groups = []


@term(weight=linear(0.0, 1.0, over=1))
def brief(rank):
    return 1 - rank


def trl_groups():
    """Train with a feature that is awaited, one of a group, and a weight that follows the trainer's steps."""
    from plaudit.adapters.trl import reward_func

    made = Reward("brief", version="1", terms=[brief], fields=[Field("rank", low=0, high=1)])
    logs, *_ = trained([reward_func(Scoring(made, [words, rank]))], [1.0], conversational=True)
    assert groups == [4] * 4 * STEPS, groups
    assert logs[0]["reward"] == 0 < logs[1]["reward"], "the weight is 0 in step 0"
    print("groups:", groups, "rewards by step:", [log["reward"] for log in logs])


def trl_processes():
    """Train in two processes with half of each group in either."""
    from plaudit.adapters.trl import reward_func

    made = Reward("brief", version="1", terms=[brief], fields=[Field("rank", low=0, high=1)])
    logs, *_ = trained([reward_func(Scoring(made, [words, rank]))], [1.0], conversational=False, batch=2)
    assert groups == [4] * STEPS, groups
    print("groups of two processes:", groups, [log["reward"] for log in logs])


def trl_environments():
    """Train in environments: their reward as a function of a batch, and as their own `get_reward`."""
    from plaudit.adapters.trl import reward_func

    made = Reward("counted", version="1", terms=[count], fields=[Field("asked", low=0)])
    scoring = Scoring(made, [asked])

    class Counting:
        def reset(self, **columns):
            self.asked = len(columns["answer"])

        def guess(self, number: str) -> str:
            """Guess a number.

            Args:
                number: The number.
            """
            return number

    class Paying(Counting):
        def get_reward(self):
            return scoring.score([{"environments": self}]).totals[0]

    outside, *_ = trained([reward_func(scoring)], [1.0], conversational=True, environment_factory=Counting)
    inside, *_ = trained(None, None, conversational=True, environment_factory=Paying)
    assert [log["reward"] for log in outside] == [log["reward"] for log in inside] == [0.75] * STEPS
    print("environments:", [log["rewards/counted/mean"] for log in outside], [log["reward"] for log in inside])


@feature
def asked(environments):
    return environments.asked


@term
def count(asked):
    return asked


def tutorial():
    """Train as the tutorial does, and record what its page shows."""
    write("tutorial", "trl", trl_tutorial())


def trl_tutorial():
    """Run a page up to the end of its training, and return what decided the calls of the reward function, and these."""
    import trl

    from support import pages, training

    given, rows, calls = [], [], []

    def configured(config):
        def noted(folder, **settings):
            given.append(settings)
            return config(folder, logging_steps=1, disable_tqdm=True, **settings)

        return noted

    class Shown(trl.SFTTrainer):
        def __init__(self, *args, train_dataset, **more):
            rows.extend(train_dataset)
            super().__init__(*args, train_dataset=train_dataset, **more)

    class Noted(trl.GRPOTrainer):
        def __init__(self, *args, reward_funcs, **more):
            def noted(prompts, completions, **columns):
                rewards = reward_funcs(prompts, completions, **columns)
                groups = prompts[:: given[1]["num_generations"]]
                calls.append({"prompts": groups, "completions": completions, "rewards": rewards})
                return rewards

            super().__init__(*args, reward_funcs=noted, **more)

    whole = training.PAGE.read_text(encoding="utf-8")
    until, found, _ = whole.partition("## Read what was paid")
    assert found
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        page = Path(folder, "until_trained.md")
        page.write_text(until, encoding="utf-8")
        names = {"SFTConfig": configured(trl.SFTConfig), "GRPOConfig": configured(trl.GRPOConfig)}
        with patch.multiple(trl, SFTTrainer=Shown, GRPOTrainer=Noted, **names):
            pages.run_page(page, Path(folder))
    means = [
        statistics.mean(reward for call in part for reward in call["rewards"]) for part in (calls[:10], calls[-10:])
    ]
    assert means[0] < means[1], means
    print("tutorial:", means)
    examples = {"settings": given[0], "rows": training.describe_examples(rows)}
    return {"examples": examples, "settings": given[1], "calls": calls}


# -- verifiers --------------------------------------------------------------------------------------------------------


def rubric():
    """Score rollouts with a `Rubric`, by one function and by a function a term."""
    try:
        import verifiers.legacy as vf
    except ModuleNotFoundError:
        import verifiers as vf

    from plaudit.adapters.verifiers import rubric_func, rubric_funcs

    seen = []

    async def probe(**sample):
        seen.append({name: kind(part) for name, part in sample.items()})
        return 0.0

    def state(at):
        prompt = [{"role": "user", "content": sums.PROMPTS[at]}]
        made = vf.State(prompt=prompt, completion=sums.said(sums.COMPLETIONS[at]), answer=sums.COLUMNS["answer"][at])
        made.update(info={"kind": sums.COLUMNS["kind"][at]}, task="sums", trajectory=[])
        return made

    terms = rubric_funcs(Scoring(CLAMPED, _counted))

    async def scored(found, **options):
        states = [state(at) for at in range(3)]
        for one in states:
            await found.score_rollout(one, **options)
        group = [state(at) for at in range(3)]
        await found.score_group(group, **options)
        return [one["reward"] for one in states], [one["reward"] for one in group], states[0]["metrics"]

    whole = vf.Rubric(funcs=[rubric_func(Scoring(CLAMPED, sums.features)), probe], weights=[1.0, 0.0])
    apart = vf.Rubric(funcs=list(terms.funcs), weights=list(terms.weights))
    for found in (whole, apart):
        alone, together, metrics = asyncio.run(scored(found))
        for got in (alone, together):
            assert all(math.isclose(*pair) for pair in zip(got, TOTALS[:3], strict=True)), (got, TOTALS)
        print("metrics:", metrics)
    assert len(counted) == 6, "each rollout is scored once for four functions"

    for on_bad in ("raise", "mask"):
        group = [state(at) for at in range(3)]
        func = rubric_func(Scoring(CLAMPED, _fail_second, on_bad=on_bad))
        asyncio.run(vf.Rubric(funcs=[func]).score_group(group))
        assert [type(one.get("error")) for one in group] == [type(None), ConnectionError, type(None)]
        assert [one["reward"] for one in group] == [TOTALS[0], 0.0, TOTALS[2]], "verifiers makes a 0 of an exception"
        print("failed rollouts:", [one.get("error") for one in group])
    _score_groups(vf, state)
    write("rubric", "verifiers", {"calls": seen[:1]})
    real_logs.log_rubric(vf)


counted = []


def _counted(completion, answer):
    counted.append(completion)
    return sums.features(completion, answer)


def _score_groups(vf, state):
    """Score groups by functions of a group, as verifiers recognizes them."""
    from plaudit.adapters.verifiers import rubric_func, rubric_funcs

    reward = Reward(
        "brief", version="1", terms=[short, right], fields=[Field("rank", low=0, high=1), Field("met", flag=True)]
    )
    for on_bad in ("raise", "mask"):
        scoring = Scoring(reward, [words, rank, met], on_bad=on_bad)
        funcs, weights = rubric_funcs(scoring)
        for found in (vf.Rubric(funcs=[rubric_func(scoring)]), vf.Rubric(funcs=list(funcs), weights=list(weights))):
            assert found.has_group_rewards
            groups.clear()
            states = [state(at) for at in range(3)]
            asyncio.run(found.score_group(states))
            assert groups == [3], groups
            assert [round(one["reward"], 6) for one in states] == [2.0, 1.666667, 0.333333]
            states[1]["completion"] = None
            for one in states:
                one.pop("reward")
            asyncio.run(found.score_group(states))
            failed = [one["reward"] for one in states if one.get("error")]
            assert failed == [0.0] * (3 if on_bad == "raise" else 1), "one fails the group only where it is raised"
            with contextlib.suppress(AssertionError):  # verifiers refuses functions of a group there
                asyncio.run(found.score_rollout(state(0)))
                raise RuntimeError("a rollout alone was scored")
    print("groups:", [one["reward"] for one in states], [one.get("error") for one in states])


@feature
def met(text, answer):
    return text.endswith(answer)


@term
def short(rank):
    return 1 - rank


@term
def right(met):
    return 1 if met else 0


def _fail_second(completion, answer):
    if answer == sums.COLUMNS["answer"][1]:
        raise ConnectionError("the judge is down")
    return sums.features(completion, answer)


def task():
    """Score a trace with the rewards of a `Task`."""
    import verifiers.v1 as vf

    from plaudit.adapters.verifiers import rubric_funcs, task_reward

    seen = []
    terms = rubric_funcs(Scoring(CLAMPED, _counted))

    class Data(vf.TaskData):
        answer: str

    class Whole(vf.Task[Data]):
        quality = vf.reward(task_reward(Scoring(CLAMPED, sums.features)))

        @vf.metric
        async def probe(self, task, trace):
            seen.append({"task": type(task).__mro__[1].__name__, "trace": type(trace).__name__.partition("[")[0]})
            return 0.0

    class Apart(vf.Task[Data]):
        pass

    for func, weight in zip(terms.funcs, terms.weights, strict=True):
        setattr(Apart, func.__name__.replace(".", "_"), vf.reward(func, weight=weight))

    for made in (Whole, Apart):
        for at in range(3):
            data = Data(prompt=sums.PROMPTS[at], answer=sums.COLUMNS["answer"][at])
            trace = _trace(vf, made(data), sums.COMPLETIONS[at])
            asyncio.run(made(data).score(trace))
            assert math.isclose(trace.reward, TOTALS[at]), (trace.rewards, TOTALS[at])
        print({name: (reward.score, reward.weight) for name, reward in trace.rewards.items()})
    assert len(counted) == 3, "each rollout is scored once for four functions"

    def abstains(text):
        raise Abstained("no reference answer")

    for features in (_fail_second, abstains):
        for on_bad in ("raise", "mask"):
            lost = task_reward(Scoring(CLAMPED, features, on_bad=on_bad))

            class Lost(vf.Task[Data]):
                quality = vf.reward(lost)

            data = Data(prompt=sums.PROMPTS[1], answer=sums.COLUMNS["answer"][1])
            try:
                asyncio.run(Lost(data).score(_trace(vf, Lost(data), sums.COMPLETIONS[1])))
            except vf.TaskError as error:
                print("failed rollout:", error)
            else:
                raise AssertionError("a rollout that cannot be scored has a reward")
    write("task", "verifiers", {"calls": seen[:1]})
    real_logs.log_task(vf)


def _trace(vf, task, said):
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import TraceTask
    from verifiers.v1.types import AssistantMessage, UserMessage

    about = TraceTask(type=type(task).__name__, data=task.data)
    asked = MessageNode.model_construct(message=UserMessage(content=task.data.prompt), sampled=False)
    told = MessageNode.model_construct(message=AssistantMessage(content=said), sampled=True)
    return vf.Trace.model_construct(task=about, rewards={}, metrics={}, info={}, nodes=[asked, told], ok=True)


# -- OpenEnv ----------------------------------------------------------------------------------------------------------


def openenv():
    """Step an environment whose rubric is a reward."""
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State
    from openenv.core.rubrics import WeightedSum

    from plaudit.adapters.openenv import components, rubric

    class Answer(Action):
        text: str

    class Sums(Environment):
        def reset(self, seed=None, episode_id=None, **others):
            self._reset_rubric()
            return Observation()

        def step(self, action, timeout_s=None, **others):
            seen = Observation(metadata={"answer": "5"})
            seen.reward = self._apply_rubric(action, seen)
            return seen.model_copy(update={"metadata": {**seen.metadata, **components(self.rubric.signal)}})

        @property
        def state(self):
            return State()

    def features(action, observation):
        return sums.features(action.text, observation.metadata["answer"])

    made = rubric(Scoring(sums.reward(), features))
    calls = []
    made.register_forward_hook(lambda of, action, observation, result: calls.append((kind(action), result)))
    world = Sums(rubric=made)
    world.reset()
    observation = world.step(Answer(text="2 + 3 = 5"))
    assert observation.reward == 0.75
    told = json.loads(observation.model_dump_json())
    assert told["metadata"]["reward_components"] == {"correct": 1.0, "length": -0.5, "form": 0.25}
    names = {name: child.last_score for name, child in made.named_rubrics()}
    assert names == {"terms": None, "terms.correct": 1.0, "terms.length": -0.5, "terms.form": 0.25}
    assert calls == [("<Answer>", 0.75)]
    both = WeightedSum([made, made.get_rubric("terms.correct")], weights=[0.5, 0.5])
    assert both(Answer(text="2 + 3 = 5"), observation) == 0.5 * 0.75 + 0.5 * 1.0
    made.load_state_dict(made.state_dict())
    scoring = Scoring(sums.reward(), lambda action: {"right": True, "words": -1, "style": "bare"}, on_bad="mask")
    unscorable = rubric(scoring)
    unscored = Sums(rubric=unscorable)
    unscored.reset()
    reply = Observation(metadata={"answer": "5"}, reward=unscored._apply_rubric(Answer(text=""), Observation()))
    assert json.loads(reply.model_dump_json())["reward"] is None
    assert unscorable.masked == 1
    print("named rubrics:", names)
    write("openenv", "openenv", {"named_rubrics": names, "observation": told})


# -- Inspect ----------------------------------------------------------------------------------------------------------


def inspect():
    """Evaluate a model that says what it is told to: terms and totals are reported, and what has no reward is not."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    from plaudit.adapters.inspect_ai import scorer

    folder = tempfile.TemporaryDirectory()

    def evaluated(scoring, order=(3, 0, 1, 2)):
        rows = [
            Sample(
                input=sums.PROMPTS[at], target=sums.COLUMNS["answer"][at], metadata={"kind": sums.COLUMNS["kind"][at]}
            )
            for at in order
        ]
        said = [[ContentReasoning(reasoning="Well."), ContentText(text=sums.COMPLETIONS[at])] for at in order]
        outputs = [ModelOutput.from_content("mockllm/model", content) for content in said]
        for output in outputs:
            output.usage = ModelUsage()  # counting tokens would download a tokenizer
        model = get_model("mockllm/model", custom_outputs=outputs)
        made = Task(dataset=rows, solver=generate(), scorer=scorer(scoring))
        return eval(made, model=model, display="none", log_dir=folder.name, max_samples=1, log_realtime=False)[0]

    log = evaluated(Scoring(CLAMPED, sums.features, applies=sums.is_sum))
    assert log.status == "success", log.error
    found = [sample.scores["sums"] for sample in log.samples]
    assert math.isnan(found[0].value)
    assert (found[0].reason, found[0].explanation) == ("abstained", "Abstained: the reward does not apply")
    for score, total, said in zip(found[1:], TOTALS, sums.COMPLETIONS, strict=False):
        assert list(score.value) == ["total", *TERMS]
        assert score.value["total"] == total
        assert math.isclose(sum(score.value[name] for name in TERMS), total)
        assert score.answer == said, "reasoning is no part of the answer"
    means = {result.name: result.metrics["mean"].value for result in log.results.scores}
    assert math.isclose(means["total"], sum(TOTALS[:3]) / 3)
    assert math.isclose(sum(means[name] for name in TERMS), means["total"])
    counts = {(result.scored_samples, result.unscored_samples) for result in log.results.scores}
    assert counts == {(3, 1)}, counts
    masked = evaluated(Scoring(CLAMPED, _fail_second, on_bad="mask"), order=(0, 1, 2))
    lost = masked.samples[1].scores["sums"]
    assert (lost.reason, math.isnan(lost.value)) == ("scoring_failed", True)
    assert "the judge is down" in lost.explanation
    stopped = evaluated(Scoring(CLAMPED, _fail_second), order=(0, 1, 2))
    assert stopped.status == "error"
    assert "the judge is down" in stopped.error.message
    print("means:", means, "unscored:", lost.reason, lost.explanation)
    print("all unscored:", evaluated(Scoring(CLAMPED, sums.features, applies=lambda kind: False)).status)
    write("inspect", "inspect-ai", {"score": found[1].model_dump(exclude_none=True, exclude={"history"})})
    real_logs.log_inspect(scorer(Scoring(CLAMPED, sums.features, applies=sums.is_sum)))


# -- verl -------------------------------------------------------------------------------------------------------------


def verl():
    """Score a batch with verl's reward managers: one that calls one by one, and those that await or use threads."""
    import torch
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
    from verl.workers.reward_manager.naive import NaiveRewardManager as LegacyManager

    from plaudit.adapters.verl import compute_score

    vocabulary = ["", *sorted({word for text in sums.COMPLETIONS for word in text.split()})]

    class Tokenizer:
        eos_token = "<eos>"

        def decode(self, ids, skip_special_tokens=True):
            return " ".join(vocabulary[at] for at in ids if at)

    def batch():
        ids = [[vocabulary.index(word) for word in text.split()] for text in sums.COMPLETIONS[:3]]
        width = max(map(len, ids))
        responses = torch.tensor([each + [0] * (width - len(each)) for each in ids])
        prompts = torch.zeros(3, 2, dtype=torch.long)
        mask = torch.cat([torch.ones_like(prompts), (responses != 0).long()], dim=1)
        import numpy as np

        tensors = {"prompts": prompts, "responses": responses, "attention_mask": mask}
        truths = [{"ground_truth": sums.COLUMNS["answer"][at]} for at in range(3)]
        others = {
            "reward_model": truths,
            "data_source": ["sums"] * 3,
            "extra_info": [{"kind": "sum"} for _ in range(3)],
        }
        columns = {name: np.array(column, dtype=object) for name, column in others.items()}
        return DataProto.from_dict(tensors=tensors, non_tensors=columns)

    seen = []

    def probe(**sample):
        seen.append(kind(sample))
        return 0.0

    async def awaited(completion, answer):
        await asyncio.sleep(0)
        return sums.features(completion, answer)

    LegacyManager(Tokenizer(), 0, probe)(batch())
    config = OmegaConf.create({"reward": {"timeout": 10.0}, "trainer": {"experiment_name": "sums"}})
    for features in (sums.features, awaited):
        score = compute_score(Scoring(CLAMPED, features))
        for name in ("naive", "gdpo", "rate_limited"):
            manager = get_reward_manager_cls(name)(config=config, tokenizer=Tokenizer(), compute_score=score)

            async def run(manager=manager):
                data = batch()
                return await asyncio.gather(*(manager.run_single(data[at : at + 1]) for at in range(3)))

            results = manager.loop.run_until_complete(run())
            assert [result["reward_score"] for result in results] == TOTALS[:3], results
            for result in results:
                terms = [result["reward_extra_info"][each] for each in TERMS]
                assert math.isclose(sum(terms), result["reward_score"])
        print("awaited" if features is awaited else "in threads:", results[1]["reward_extra_info"])
    found = LegacyManager(Tokenizer(), 0, compute_score(Scoring(CLAMPED, sums.features)))(batch(), return_dict=True)
    assert found["reward_tensor"].sum(dim=1).tolist() == TOTALS[:3]
    assert list(found["reward_extra_info"]) == ["score", *TERMS]
    try:
        LegacyManager(Tokenizer(), 0, compute_score(Scoring(CLAMPED, _fail_second)))(batch())
    except ConnectionError as error:
        print("ends the training:", error)
    else:
        raise AssertionError("a sample that cannot be scored has a reward")
    write("verl", "verl", {"calls": seen})


# -- NeMo Gym ---------------------------------------------------------------------------------------------------------


def nemo():
    """Answer a verify request with the components of a signal."""
    from nemo_gym import base_resources_server as server

    from plaudit.adapters.openenv import components

    class Answered(getattr(server, "BaseMultiRewardVerifyResponse", server.BaseVerifyResponse)):
        reward_components: dict[str, float]
        reward_version: str
        correct: float
        length: float
        form: float

    told = components(sums.reward().score(**sums.features("2 + 3 = 5", "5")))
    reply = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": []}
    reply |= {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    request = server.BaseVerifyRequest(responses_create_params={"input": "2 + 3"}, response=reply)
    answer = Answered(**request.model_dump(), **told, **told["reward_components"])
    back = json.loads(answer.model_dump_json())
    assert (back["reward"], back["reward_components"]) == (0.75, {"correct": 1.0, "length": -0.5, "form": 0.25})
    assert (back["form"], back["reward_version"]) == (0.25, "sums@1")
    print(f"nemo-gym {version('nemo-gym')}: {type(answer).__mro__[1].__name__} holds {back['reward_components']}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    globals()[sys.argv[1]]()
