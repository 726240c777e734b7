"""Checks the adapters against the packages themselves, and records how these call: run by hand, each in its own place.

    python tests/adapters/real_packages.py trl         with trl >= 1.6 and torch installed
    python tests/adapters/real_packages.py rubric      with verifiers < 0.4
    python tests/adapters/real_packages.py task        with verifiers >= 0.4
    python tests/adapters/real_packages.py openenv     with openenv
    python tests/adapters/real_packages.py nemo        with nemo-gym

Each prints what it checked; all but the last write the calls they saw to `recorded/<name>.json`, which the tests replay.
"""

import asyncio
import json
import math
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from support import sums

RECORDED = Path(__file__).parent / "recorded"


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
    """Train a tiny model for two steps with the whole reward, with its terms, and with a probe that writes down calls."""
    from plaudit.adapters.trl import reward_func, reward_funcs

    seen = []

    def probe(prompts, completions, **columns):
        seen.append({"prompts": kind(prompts), "completions": kind(completions), **kind(columns)})
        return [None] * len(completions)

    for conversational in (False, True):
        clamped = sums.reward(low=-0.25, high=1.0)
        whole = reward_func(clamped, sums.features, applies=sums.is_sum)
        terms = reward_funcs(clamped, sums.features, applies=sums.is_sum)
        one, completions = trained([whole, probe], [1.0, 0.0], conversational=conversational)
        parts, again = trained(terms.funcs, terms.weights, conversational=conversational)
        assert completions == again, "both runs sample alike"
        for key in ("reward", "reward_std", "grad_norm", "loss"):
            pairs = [(a[key], b[key]) for a, b in zip(one, parts, strict=True)]
            assert all(math.isclose(*pair, abs_tol=1e-5) for pair in pairs), (key, pairs)
        for log in one:
            added = [log[f"sums/{name}"] for name in ("correct", "length", "form", "total.clamp")]
            assert math.isclose(sum(added), log["rewards/sums/mean"], abs_tol=1e-5)
        print("logged with one function:", *(key for key in one[0] if "sums" in key))
        print("logged with a function a term:", *(key for key in parts[0] if key.startswith("rewards/")))
    masked = reward_func(sums.reward(), _judged, on_bad="mask", max_masked=1.0)
    logs, _ = trained([masked], [1.0], conversational=False)
    assert masked.masked > 0
    assert all(0 < log["sums/masked"] < 1 for log in logs)
    for log in logs:  # a sample without a reward is in neither mean; counted as 0, it would be in the first
        assert math.isclose(log["reward"], log["rewards/sums/mean"], abs_tol=1e-5), log
    print("masked:", masked.masked, [log["sums/masked"] for log in logs], [log["reward"] for log in logs])
    write("trl", "trl", {"calls": [seen[0], seen[len(seen) // 2]]})


def _judged(completion, answer):
    """Return the reward's inputs; the judge is down for every second text or so."""
    if len(completion) % 2:
        raise ConnectionError("the judge is down")
    return sums.features(completion, answer)


def trained(funcs, weights, *, conversational):
    """Return what TRL logs in two steps, and the completions it scored."""
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
    from trl import GRPOConfig, GRPOTrainer

    set_seed(0)
    words = ["<pad>", "<eos>", "<unk>", *"0123456789+=", "a", "poem", "I", "think"]
    inner = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(words), num_key_value_heads=2, **shape, **ends))
    prompts = [[{"role": "user", "content": prompt}] for prompt in sums.PROMPTS] if conversational else sums.PROMPTS
    rows = Dataset.from_dict({"prompt": prompts, **sums.COLUMNS})
    with tempfile.TemporaryDirectory() as folder:
        settings = {"per_device_train_batch_size": 16, "num_generations": 4, "max_completion_length": 5, "max_steps": 2}
        quiet = {"report_to": [], "logging_steps": 1, "save_strategy": "no", "use_cpu": True, "disable_tqdm": True}
        config = GRPOConfig(output_dir=folder, reward_weights=weights, seed=0, learning_rate=1e-2, **settings, **quiet)
        trainer = GRPOTrainer(
            model=model, reward_funcs=funcs, args=config, train_dataset=rows, processing_class=tokenizer
        )
        texts = []
        trainer.add_callback(_callback(trainer, texts))
        trainer.train()
        assert trainer.reward_func_names == [func.__name__ for func in funcs]
        assert torch.isfinite(torch.tensor([log["loss"] for log in trainer.state.log_history if "loss" in log])).all()
        return [log for log in trainer.state.log_history if "reward" in log], texts


def _callback(trainer, texts):
    from transformers import TrainerCallback

    class Keep(TrainerCallback):
        def on_step_end(self, *args, **others):
            texts.append(list(trainer._logs["completion"]))

    return Keep()


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

    clamped = sums.reward(low=-0.25, high=1.0)
    terms = rubric_funcs(clamped, sums.features)
    totals = [max(total, -0.25) for total in sums.TOTALS[:3]]

    async def scored(found, **options):
        states = [state(at) for at in range(3)]
        for one in states:
            await found.score_rollout(one, **options)
        group = [state(at) for at in range(3)]
        await found.score_group(group, **options)
        return [one["reward"] for one in states], [one["reward"] for one in group], states[0]["metrics"]

    whole = vf.Rubric(funcs=[rubric_func(clamped, sums.features), probe], weights=[1.0, 0.0])
    apart = vf.Rubric(funcs=list(terms.funcs), weights=list(terms.weights))
    for found in (whole, apart):
        alone, together, metrics = asyncio.run(scored(found))
        for got in (alone, together):
            assert all(math.isclose(*pair) for pair in zip(got, totals, strict=True)), (got, totals)
        print("metrics:", metrics)

    for on_bad in ("raise", "mask"):
        group = [state(at) for at in range(3)]
        asyncio.run(vf.Rubric(funcs=[rubric_func(clamped, _fail_second, on_bad=on_bad)]).score_group(group))
        assert [type(one.get("error")) for one in group] == [type(None), ConnectionError, type(None)]
        assert [one["reward"] for one in group] == [totals[0], 0.0, totals[2]], "verifiers makes a 0 of an exception"
        print("failed rollouts:", [one.get("error") for one in group])
    write("rubric", "verifiers", {"calls": seen[:1]})


def _fail_second(completion, answer):
    if answer == sums.COLUMNS["answer"][1]:
        raise ConnectionError("the judge is down")
    return sums.features(completion, answer)


def task():
    """Score a trace with the rewards of a `Task`."""
    import verifiers.v1 as vf

    from plaudit.adapters.verifiers import rubric_funcs, task_reward

    seen = []
    clamped = sums.reward(low=-0.25, high=1.0)
    terms = rubric_funcs(clamped, lambda task, trace: sums.features(trace.info["said"], task.answer))

    class Data(vf.TaskData):
        answer: str

    class Whole(vf.Task[Data]):
        quality = vf.reward(task_reward(clamped, lambda task, trace: sums.features(trace.info["said"], task.answer)))

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
            assert math.isclose(trace.reward, max(sums.TOTALS[at], -0.25)), (trace.rewards, sums.TOTALS[at])
        print({name: (reward.score, reward.weight) for name, reward in trace.rewards.items()})
    for on_bad in ("raise", "mask"):
        lost = task_reward(clamped, lambda task, trace: _fail_second(trace.info["said"], task.answer), on_bad=on_bad)

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


def _trace(vf, task, said):
    from verifiers.v1.trace import TraceTask

    about = TraceTask(type=type(task).__name__, data=task.data)
    return vf.Trace.model_construct(task=about, rewards={}, metrics={}, info={"said": said}, ok=True)


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

    made = rubric(sums.reward(), lambda action, observation: sums.features(action.text, observation.metadata["answer"]))
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
    unscorable = rubric(sums.reward(), lambda action: {"right": True, "words": -1, "style": "bare"}, on_bad="mask")
    unscored = Sums(rubric=unscorable)
    unscored.reset()
    reply = Observation(metadata={"answer": "5"}, reward=unscored._apply_rubric(Answer(text=""), Observation()))
    assert json.loads(reply.model_dump_json())["reward"] is None
    assert unscorable.masked == 1
    print("named rubrics:", names)
    write("openenv", "openenv", {"named_rubrics": names, "observation": told})


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
