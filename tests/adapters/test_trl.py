"""A reward as TRL calls it: real names, None where it does not apply, and terms that add up to the total.

The calls in `recorded/trl.json` are those of a real trainer; `real_packages.py` made them.
"""

import json
import os
import pickle
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, Ledger, OutOfRange
from plaudit.adapters.trl import reward_func, reward_funcs
from plaudit.errors import MissingExtra, MissingField, ShapeMismatch, TooManyMasked, UnknownInput, WrongType
from plaudit.llm import Scoring, feature, read_rollouts
from support import ranked, sums

RECORDED = json.loads((Path(__file__).parent / "recorded" / "trl.json").read_text(encoding="utf-8"))
REWARD, CLAMPED = sums.reward(), sums.reward(low=-0.25, high=1.0)
BATCH = {"prompts": sums.PROMPTS, "completions": sums.COMPLETIONS, **sums.COLUMNS}


def expected(reward, call):
    """Return the totals of a call, one sample at a time."""
    rows = zip(call["completions"], call["answer"], call["kind"], strict=True)
    return [reward.score(**sums.features(c, a)).total if kind == "sum" else None for c, a, kind in rows]


def weighted(funcs, call):
    """Return the rewards as TRL adds them up: None is left out, and a row of None alone has no reward."""
    rows = zip(*(func(**call) for func in funcs.funcs), strict=True)
    return [
        None if all(score is None for score in row) else sum(w * s for w, s in zip(funcs.weights, row, strict=True))
        for row in rows
    ]


@pytest.mark.parametrize("reward", [REWARD, CLAMPED], ids=["plain", "clamped"])
@pytest.mark.parametrize("call", RECORDED["calls"], ids=["texts", "conversations"])
def test_recorded_calls_of_the_trainer_are_scored(reward, call):
    logged = {"log_extra": {}, "log_metric": {}}
    hooks = {name: logged[name].__setitem__ for name in logged}
    totals = reward_func(Scoring(reward, sums.features, applies=sums.is_sum))(**{**call, **hooks})
    assert totals == expected(reward, call)
    assert None in totals
    assert weighted(reward_funcs(Scoring(reward, sums.features, applies=sums.is_sum)), call) == pytest.approx(totals)
    names = ["correct", "length", "form", *(["total.clamp"] if reward is CLAMPED else [])]
    extra = logged["log_extra"]
    inputs = [extra.pop(f"sums/inputs/{name}") for name in ("right", "words", "style")]
    assert next(zip(*inputs, strict=True)) == tuple(sums.features(call["completions"][0], call["answer"][0]).values())
    assert {column[totals.index(None)] for column in inputs} == {None}
    assert list(extra) == list(logged["log_metric"]) == [f"sums/{name}" for name in names]
    columns = list(zip(*extra.values(), strict=True))
    assert [None if row[0] is None else sum(row) for row in columns] == pytest.approx(totals)
    known = [total for total in totals if total is not None]
    assert sum(logged["log_metric"].values()) == pytest.approx(sum(known) / len(known))


def test_a_batch_gives_what_was_worked_out_by_hand():
    assert reward_func(Scoring(REWARD, sums.features, applies=sums.is_sum))(**BATCH) == sums.TOTALS


def test_names_are_those_that_trl_logs():
    assert reward_func(Scoring(REWARD, sums.features)).__name__ == "sums"
    assert reward_func(Scoring(REWARD, sums.features), name="quality").__name__ == "quality"
    plain, clamped = (reward_funcs(Scoring(reward, sums.features)) for reward in (REWARD, CLAMPED))
    assert [func.__name__ for func in plain.funcs] == ["correct", "length", "form"]
    assert plain.weights == [1.0, -0.5, 0.25]
    assert [func.__name__ for func in clamped.funcs] == ["correct", "length", "form", "total.clamp"]
    assert clamped.weights == [1.0, -0.5, 0.25, 1.0]


@given(st.lists(st.lists(st.sampled_from(["2", "5", "=", "roses"]), max_size=8).map(" ".join), max_size=6))
def test_the_terms_add_up_to_the_total(completions):
    call = {"prompts": [""] * len(completions), "completions": completions, "answer": ["5"] * len(completions)}
    for reward in (REWARD, CLAMPED):
        totals = reward_func(Scoring(reward, sums.features))(**call)
        assert weighted(reward_funcs(Scoring(reward, sums.features)), call) == pytest.approx(totals)
        assert all(isinstance(total, float) for total in totals)


def test_a_batch_is_scored_once_for_all_terms_and_anew_when_it_comes_again():
    asked = []

    def features(completion, answer):
        asked.append(completion)
        return sums.features(completion, answer)

    funcs = reward_funcs(Scoring(REWARD, features, applies=sums.is_sum))
    first = weighted(funcs, BATCH)
    assert len(asked) == 3
    assert weighted(funcs, BATCH) == first
    assert len(asked) == 6
    funcs.funcs[0](**BATCH)
    assert funcs.funcs[1](**{**BATCH, "completions": ["2"] * 4})[0] == 0.25
    assert funcs.funcs[1](**BATCH)[2] == 1.0
    funcs.funcs[0](**BATCH)
    funcs.funcs[0](**BATCH)
    assert len(asked) == 6 + 5 * 3 - 3


def test_what_is_no_column_is_handed_to_every_sample():
    def features(completion, trainer_state, *, answer="2"):
        return {"right": trainer_state["step"] > 3, "words": 0, "style": "bare"}

    func = reward_func(Scoring(REWARD, features))
    assert func(["a", "b"], ["c", "d"], trainer_state={"step": 4}, log_metric=lambda *_: None) == [1.0, 1.0]
    everything = reward_func(
        Scoring(REWARD, lambda **sample: {"right": "log_extra" in sample, "words": 0, "style": "bare"})
    )
    assert everything(["a"], ["c"], log_extra=lambda *_: None) == [0.0]


def test_where_it_applies_to_nothing_there_is_nothing_to_log():
    logged = []
    func = reward_func(Scoring(REWARD, sums.features, applies=lambda completion: False))
    assert func(**BATCH, log_metric=lambda *entry: logged.append(entry)) == [None] * 4
    assert reward_func(Scoring(REWARD, sums.features))([], [], answer=[]) == []
    assert logged == []
    columns = {}  # the table of completions keeps what was logged before, if nothing comes
    func(**BATCH, log_extra=columns.__setitem__)
    assert columns.pop("sums/correct") == columns.pop("sums/inputs/words") == [None] * 4


def test_an_input_that_cannot_be_scored_is_an_error_and_never_none():
    def features(completion):
        return {"right": True, "words": -1 if completion == "roses" else 1, "style": "bare"}

    for func in (reward_func(Scoring(REWARD, features)), *reward_funcs(Scoring(REWARD, features)).funcs):
        with pytest.raises(OutOfRange, match="(?s)reward 'sums', field 'words': -1.*in sample 3$"):
            func(**BATCH)
    with pytest.raises(
        MissingField, match="(?s)features asks for 'anwser'.*Did you mean 'answer'.*in sample 0$"
    ) as raised:
        reward_func(Scoring(REWARD, _misspelt))(**BATCH)
    assert "It has: prompt, completion, answer, kind." in str(raised.value)
    with pytest.raises(WrongType, match="feature '<lambda>' returned 3, .* return a mapping of inputs"):
        reward_func(Scoring(REWARD, lambda completion: 3))(**BATCH)
    with pytest.raises(ShapeMismatch, match="'answer' has 1 entries for 4 completions"):
        reward_func(Scoring(REWARD, sums.features))(**{**BATCH, "answer": ["2"]})
    with pytest.raises(ShapeMismatch, match="'prompt' has 0 entries for 4 completions"):
        reward_func(Scoring(REWARD, sums.features))([], sums.COMPLETIONS)
    with pytest.raises(DefinitionError, match="is not a Reward"):
        reward_func(Scoring(sums.features, REWARD))
    with pytest.raises(DefinitionError, match="features are functions, or a list of them"):
        reward_func(Scoring(REWARD, "features"))


@pytest.mark.parametrize(
    "completion",
    [None, 3, {}, sums.said("5")[0], ["5"], [None], sums.said(5), sums.said([{"type": "text"}]), sums.said(["5"])],
    ids=repr,
)
def test_a_completion_that_is_neither_text_nor_messages_is_refused_with_its_sample(completion):
    says = (
        "(?s)(a completion is a string or a list of messages|the content of .* or a list of parts), not .* of sample 1$"
    )
    with pytest.raises(WrongType, match=says):
        reward_func(Scoring(REWARD, sums.features))(["", ""], ["5", completion], answer=["5", "5"])


def test_any_error_of_a_function_names_the_sample():
    def fails(completion):
        return {}["style"] if completion == "roses" else True

    for func in (
        reward_func(Scoring(REWARD, fails, applies=lambda kind: kind == "poem")),
        reward_func(Scoring(REWARD, sums.features, applies=fails)),
    ):
        with pytest.raises(KeyError, match="(?s)style.*sample 3$"):
            func(**BATCH)


async def _async(completion):
    return True


class _Async:
    async def __call__(self, completion):
        return True


@pytest.mark.parametrize("function", [_async, _Async(), partial(_async)], ids=["function", "object", "partial"])
def test_what_is_async_is_awaited_but_for_what_says_where_a_reward_applies(function):
    async def later(completion, answer):
        return {**sums.features(completion, answer), "right": await function(completion)}

    for made in (reward_func, reward_funcs):
        with pytest.raises(DefinitionError, match="is async, and nothing here awaits it"):
            made(Scoring(REWARD, sums.features, applies=function))
    told = reward_func(Scoring(REWARD, later, applies=sums.is_sum))(**BATCH)
    assert told == [sums.TOTALS[0], sums.TOTALS[1], 1 + sums.TOTALS[2], None]


class _Tensor:
    """What a tensor has of a list and of an array."""

    def __init__(self, entries, ndim=1):
        self._entries, self.ndim = entries, ndim

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return map(_Tensor, self._entries, [0] * len(self))

    def __contains__(self, entry):
        return entry in self._entries

    def tolist(self):
        return self._entries


@pytest.mark.parametrize("kind", [np.array, _Tensor, range, tuple], ids=["array", "tensor", "range", "tuple"])
def test_a_column_of_any_kind_gives_each_sample_its_entry(kind):
    column = range(4) if kind is range else kind([0, 1, 2, 3])
    func = reward_func(Scoring(REWARD, lambda count: {"right": False, "words": count, "style": "bare"}))
    assert func(**BATCH, count=column) == [-0.125 * count for count in range(4)]
    with pytest.raises(ShapeMismatch, match="'count' has 4 entries for 1 completions"):
        func(["a"], ["b"], count=column)


def test_a_table_gives_each_sample_its_row_and_a_single_value_is_in_all():
    func = reward_func(Scoring(REWARD, lambda row, single: {"right": False, "words": row[1] + single, "style": "bare"}))
    assert func(["a", "b"], ["c", "d"], row=np.array([[0, 1], [0, 2]]), single=np.array(1)) == [-0.25, -0.375]


def _misspelt(anwser):
    return {}


_misspelt.__name__ = "features"


def test_the_functions_travel_to_another_process():
    for func in (reward_func(Scoring(REWARD, sums.features)), reward_funcs(Scoring(REWARD, sums.features)).funcs[0]):
        again = pickle.loads(pickle.dumps(func))
        assert again.__name__ == func.__name__
        assert again(**BATCH) == func(**BATCH)


def test_the_adapters_import_no_framework():
    names = ("trl", "verifiers", "openenv", "verl", "inspect_ai")
    script = f"import sys, {', '.join(f'plaudit.adapters.{name}' for name in names)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & {*names, "torch", "transformers", "jax", "pydantic"} == set()


class Flaky:
    """Features of which one sample's fail: a judge that was down, an input out of range."""

    def __init__(self, error=None):
        self.error = error

    def __call__(self, completion, answer):
        if completion != "roses":
            return sums.features(completion, answer)
        if self.error is not None:
            raise type(self.error)(*self.error.args)
        return {"right": True, "words": -1, "style": "bare"}


@pytest.mark.parametrize("error", [None, RuntimeError("the judge was down")], ids=["inputs", "features"])
def test_a_sample_that_cannot_be_scored_is_masked_counted_and_logged(error, capsys):
    metrics, call = {}, {**BATCH, "log_metric": lambda name, value: metrics.update({name: value})}
    alone = reward_func(Scoring(REWARD, Flaky(error), on_bad="mask"))
    whole = reward_func(Scoring(REWARD, sums.features))(**BATCH)
    assert alone(**call) == [*whole[:3], None]
    assert alone.masked == 1
    assert metrics["sums/masked"] == 0.25
    warning = capsys.readouterr().err.rstrip()
    assert warning.startswith("sums: 1 of 4 samples could not be scored and have no reward; the first: ")
    assert warning.endswith("sample 3")
    alone(**{**BATCH, "completions": ["5"] * 4, "log_metric": call["log_metric"]})
    assert (alone.masked, metrics["sums/masked"]) == (1, 0.0)

    terms = reward_funcs(Scoring(REWARD, Flaky(error), on_bad="mask"))
    assert weighted(terms, BATCH)[:3] == pytest.approx(whole[:3])
    assert weighted(terms, BATCH)[3] is None
    assert {func.masked for func in terms.funcs} == {2}


def test_a_function_that_asks_for_what_no_sample_has_is_not_masked():
    for wrong in ({"features": _misspelt}, {"features": sums.features, "applies": _misspelt}):
        with pytest.raises(MissingField, match="(?s)asks for 'anwser'.*in sample 0$"):
            reward_func(Scoring(REWARD, on_bad="mask", **wrong))(**BATCH)


def test_numbers_out_of_range_are_clipped_where_that_is_asked_for():
    clipped = reward_func(Scoring(REWARD, Flaky(), on_bad="clip"))
    assert clipped(**BATCH)[3] == REWARD.score(right=True, words=0, style="bare").total
    assert pickle.loads(pickle.dumps(clipped))(**BATCH) == clipped(**BATCH)
    with pytest.raises(RuntimeError, match="down"):
        reward_func(Scoring(REWARD, Flaky(RuntimeError("down")), on_bad="clip"))(**BATCH)
    with pytest.raises(DefinitionError, match="on_bad='zero' is not one of raise, mask, clip"):
        reward_func(Scoring(REWARD, sums.features, on_bad="zero"))


def _forgetful(completion, answer):
    given = sums.features(completion, answer)
    return {name: given[name] for name in ("right", "style")}


def _wordy(completion, answer):
    return {**sums.features(completion, answer), "wrods": 3}


@pytest.mark.parametrize("on_bad", ["raise", "mask", "clip"])
@pytest.mark.parametrize(
    ("features", "error", "says"),
    [
        (_forgetful, MissingField, "needs 'words', which was not given"),
        (_wordy, UnknownInput, "does not read 'wrods'. Did you mean 'words'?"),
    ],
    ids=["missing", "unknown"],
)
def test_fields_that_are_wrong_in_every_sample_are_an_error_whatever_on_bad_says(features, error, says, on_bad):
    func = reward_func(Scoring(REWARD, features, on_bad=on_bad))
    with pytest.raises(error, match=f"(?s)reward 'sums' {says}") as raised:
        func(**BATCH)
    if on_bad == "mask":
        assert "None of 4 samples has the right fields, so none is masked: have the features" in str(raised.value)
    for terms in reward_funcs(Scoring(REWARD, features, on_bad=on_bad)).funcs:
        with pytest.raises(error):
            terms(**BATCH)


def test_a_field_that_some_samples_lack_is_masked_there():
    def features(completion, answer):
        return (_forgetful if completion == "roses" else sums.features)(completion, answer)

    func = reward_func(Scoring(REWARD, features, on_bad="mask"))
    assert func(**BATCH)[3] is None
    assert func.masked == 1
    poem = {name: column[3:] for name, column in BATCH.items()}
    for _ in range(3):  # fewer than ten samples, and others had their fields
        assert func(**poem) == [None]


def test_the_share_of_samples_that_lost_a_term_is_logged():
    @feature
    def right(text):
        if text == "2":
            raise ConnectionError("down")
        return True

    parts = [right, feature(name="words")(lambda text: 1), feature(name="style")(lambda text: "bare")]
    metrics = {}
    func = reward_func(Scoring(REWARD, parts, on_bad="mask", on_lost_term="group"))
    assert func(**BATCH, log_metric=metrics.__setitem__) == [-0.125, 0.875, 0.875, 0.875]
    assert (metrics["sums/lost_terms"], metrics["sums/masked"]) == (0.25, 0.0)


def test_of_a_single_sample_nothing_is_concluded_and_of_a_second_one_it_is():
    func = reward_func(Scoring(REWARD, _forgetful, on_bad="mask"))
    first, second = ({name: column[at : at + 1] for name, column in BATCH.items()} for at in range(2))
    assert func(**first) == [None]
    with pytest.raises(MissingField, match="None of 2 samples has the right fields"):
        func(**second)


def test_samples_that_the_reward_is_not_about_do_not_count_for_the_share():
    def is_short(completion):
        return completion in ("2", "roses")

    many, metrics = {name: column * 6 for name, column in BATCH.items()}, {}
    flaky = Flaky(RuntimeError("down"))
    half = reward_func(Scoring(REWARD, flaky, applies=is_short, on_bad="mask"))
    assert half(**many, log_metric=metrics.__setitem__).count(None) == 18
    assert (half.masked, metrics["sums/masked"]) == (6, 0.5)
    strict = reward_func(Scoring(REWARD, flaky, applies=is_short, on_bad="mask", max_masked=0.4))
    with pytest.raises(
        TooManyMasked,
        match="6 of 12 samples.*max_masked=0.4. The first: RuntimeError: down in feature 'Flaky' of sample 3",
    ):
        strict(**many)


def test_more_masked_samples_than_allowed_end_the_training():
    def down(completion, answer):
        raise ConnectionError("the judge is down")

    many = {name: column * 4 for name, column in BATCH.items()}
    says = "(?s)reward 'sums': 16 of 16 samples could not be scored.*max_masked=0.5. The first: ConnectionError"
    for func in (
        reward_func(Scoring(REWARD, down, on_bad="mask")),
        *reward_funcs(Scoring(REWARD, down, on_bad="mask")).funcs,
    ):
        with pytest.raises(TooManyMasked, match=says):
            func(**many)
    assert reward_func(Scoring(REWARD, down, on_bad="mask", max_masked=1))(**many) == [None] * 16
    small = reward_func(Scoring(REWARD, down, on_bad="mask"))
    assert [small(**BATCH), small(**BATCH)] == [[None] * 4] * 2
    with pytest.raises(TooManyMasked, match="12 of 12 samples so far"):
        small(**BATCH)
    with pytest.raises(DefinitionError, match="max_masked=0 must be a fraction"):
        reward_func(Scoring(REWARD, down, max_masked=0))


@pytest.mark.parametrize(
    ("group_size", "prompts", "totals"),
    [
        (None, ranked.PROMPTS, [0, 0, 1, 0, 1, 0]),
        (3, ["a"] * 6, [0, 0, 1, 0, 1, 0]),
        (2, ["a"] * 6, [0, 1, 1, 0, 1, 0]),
        (None, ["a", "b"] * 3, [1, 1, 1, 1, 1, 1]),  # those that follow each other
    ],
    ids=["by prompt", "by size", "by another size", "mixed"],
)
def test_completions_of_a_prompt_are_scored_as_a_group_with_the_weight_of_the_step(group_size, prompts, totals):
    func = reward_func(Scoring(ranked.REWARD, ranked.FEATURES), group_size=group_size)
    for step in (0, 5, 10):
        told = func(prompts, ranked.COMPLETIONS, trainer_state=SimpleNamespace(global_step=step))
        assert told == [total * step / 10 for total in totals]
    with pytest.raises(DefinitionError, match="group_size=0 is not a number of completions"):
        reward_func(Scoring(ranked.REWARD, ranked.FEATURES), group_size=0)


@pytest.mark.parametrize(
    ("size", "prompts", "message"),
    [
        (
            2,
            ranked.PROMPTS,
            "group_size=2: completions 2 and 3 have different prompts. Give the trainer's num_generations",
        ),
        (4, ["a"] * 6, "group_size=4 does not divide 6 completions"),
        (2, [[{"role": "user", "content": text}] for text in "aabbcd"], "completions 4 and 5 have different prompts"),
    ],
)
def test_groups_that_mix_prompts_or_lack_completions_are_refused(size, prompts, message):
    func = reward_func(Scoring(ranked.REWARD, ranked.FEATURES), group_size=size)
    with pytest.raises(ShapeMismatch, match=message):
        func(prompts, ranked.COMPLETIONS, trainer_state=SimpleNamespace(global_step=0))
    arrays = [[{"pixels": np.zeros(2)}] for _ in range(6)]  # which cannot be compared
    reward_func(Scoring(ranked.REWARD, ranked.FEATURES), group_size=3)(
        arrays, ranked.COMPLETIONS, trainer_state=SimpleNamespace(global_step=0)
    )


def test_the_environment_of_a_sample_is_a_part_of_it():
    def features(environments):
        return {"right": environments.won, "words": 0, "style": "bare"}

    func = reward_func(Scoring(REWARD, features))
    assert func(["a", "b"], ["", ""], environments=[SimpleNamespace(won=at) for at in (True, False)]) == [1.0, 0.0]


PROCESS = """
import sys
from types import SimpleNamespace
import torch.distributed as distributed
from plaudit import Ledger
from plaudit.adapters.trl import reward_func
from plaudit.llm import Scoring, feature
from plaudit.schedules import linear
from support import ranked

rank, place = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
own = slice(0, 4) if rank == 0 else slice(4, 6)  # the second group is in both processes
for size in (None, 3):
    func = reward_func(Scoring(ranked.REWARD, ranked.FEATURES), group_size=size)
    print(*func(ranked.PROMPTS[own], ranked.COMPLETIONS[own], trainer_state=SimpleNamespace(global_step=10)))
with Ledger(sys.argv[3]) as ledger:  # groups are known though no feature needs them
    recorded = Scoring(ranked.WORDY, [ranked.words], ledger=ledger, run="night", actor=f"rank {rank}")
    print(*reward_func(recorded)(ranked.PROMPTS[own], ranked.COMPLETIONS[own]))
distributed.destroy_process_group()
"""


def test_a_group_may_be_in_several_processes(tmp_path):
    pytest.importorskip("torch")
    folder = Path(__file__).parents[1]
    place = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [folder, *sys.path])), "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-c", PROCESS]
    paths = [str(tmp_path / name) for name in ("meeting", "rewards.db")]
    started = [
        subprocess.Popen([*command, str(rank), *paths], stdout=subprocess.PIPE, text=True, env=place)
        for rank in range(2)
    ]
    told = [process.communicate(timeout=120)[0].splitlines() for process in started]
    assert told == [["0.0 0.0 1.0 0.0"] * 2 + ["1.0 2.0 3.0 0.0"], ["1.0 0.0"] * 2 + ["1.0 0.0"]]
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        rollouts = list(read_rollouts(ledger, ledger.history()))
    assert len({(each.sample["prompt"], each.group, each.group_size) for each in rollouts}) == 2
    assert {each.group_size for each in rollouts} == {3}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Make a version of TRL look installed: what pip leaves beside a package, and Python reads versions from."""

    def write(version):
        folder = tmp_path / f"trl-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trl\nVersion: {version}\n", encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    return write


@pytest.mark.parametrize("version", ["0.29.1", "1.0.0", "1.5.1", "1.5.0.dev0"])
def test_masking_is_refused_with_a_trl_that_counts_none_as_zero(version, install):
    install(version)
    for made in (reward_func, reward_funcs):
        with pytest.raises(
            MissingExtra, match=f"needs TRL 1.6 or later, and {version} is installed.*pip install 'trl>=1.6'"
        ):
            made(Scoring(REWARD, sums.features, on_bad="mask"))
        made(Scoring(REWARD, sums.features))
        made(Scoring(REWARD, sums.features, on_bad="clip"))


@pytest.mark.parametrize("version", ["1.6.0", "1.6.0rc1", "1.16.0", "2.0.0"])
def test_masking_is_fine_with_a_trl_that_leaves_none_out(version, install):
    install(version)
    assert reward_func(Scoring(REWARD, Flaky(), on_bad="mask"))(**BATCH)[3] is None


def test_the_extra_installs_a_trl_that_leaves_none_out():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert "trl>=1.6,<2" in tomllib.loads(text)["project"]["optional-dependencies"]["llm"]
