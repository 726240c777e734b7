"""A group is one wherever its completions were scored: it is scored again as a whole, or not at all."""

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.llm import Scoring, feature, read_rollouts, rescore_rollouts
from support.ranks import score_in_ranks


@feature(group=True)
def rank(text):
    return [sum(len(other) < len(own) for other in text) / len(text) for own in text]


@feature(group=True, name="rank")
def same_rank(text):
    lengths = sorted(map(len, text))
    return [lengths.index(len(own)) / len(text) for own in text]


@feature(name="rank")
def alone(text):
    return len(text) / 10


@term
def short(rank):
    return 1 - rank


REWARD = Reward("brief", version="1", terms=[short], fields=[Field("rank", low=0, high=1)])
NEXT = REWARD.with_version("2")
HALVES = [["a", "bb"], ["ccc", "dddd"]]
WHOLE = [1.0, 0.75, 0.5, 0.25]


def list_parts(halves=HALVES, prompt="p"):
    return [[{"prompt": prompt, "completion": text} for text in half] for half in halves]


def list_totals(ledger, **query):
    return {each.sample.text: each.record.total for each in read_rollouts(ledger, ledger.history(**query))}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def test_all_processes_give_a_group_one_name_that_no_other_has(ledger):
    groups = [[1, 1], [1, 2]]
    for step in range(2):
        score_in_ranks(ledger, REWARD, [rank], list_parts(), groups=groups, step=step)
    rollouts = list(read_rollouts(ledger, ledger.history(step=0)))
    named = {each.sample.text: (each.group, each.group_size) for each in rollouts}
    assert named["a"] == named["bb"] == named["ccc"] != named["dddd"]
    assert (named["a"][1], named["dddd"][1]) == (3, 1)
    assert len({each.group for each in read_rollouts(ledger, ledger.history())}) == 4


def test_a_group_of_several_processes_is_scored_again_as_one(ledger):
    assert score_in_ranks(ledger, REWARD, [rank], list_parts()) == WHOLE
    found = rescore_rollouts(ledger, NEXT, [same_rank])
    assert sorted(list_totals(ledger, job=1).items()) == list(zip(["a", "bb", "ccc", "dddd"], WHOLE, strict=True))
    assert (found.groups, found.partial, found.features["rank"].ran) == (1, 0, 4)


@pytest.mark.parametrize("together", [1, 3, 512])
def test_a_group_whose_records_lie_apart_is_scored_again_as_one(ledger, monkeypatch, together):
    monkeypatch.setattr("plaudit.llm.rescoring._TOGETHER", together)
    wanted = {}
    for step in range(6):
        halves = [[f"{'x' * at}{step}" for at in half] for half in ((1, 4), (2, 3))]
        totals = score_in_ranks(ledger, REWARD, [rank], list_parts(halves), step=step)
        wanted |= dict(zip([text for half in halves for text in half], totals, strict=True))
        Scoring(REWARD, [alone], ledger=ledger, run="night", actor=f"other {step}").score(
            [{"prompt": "p", "completion": "z" * 9}]
        )
    found = rescore_rollouts(ledger, NEXT, [same_rank])
    done = list_totals(ledger, job=1)
    assert {text: done[text] for text in wanted} == wanted
    assert (found.groups, found.partial) == (6, 0)
    assert found.features["rank"].ran == 24 + 6


def test_a_part_of_the_records_is_scored_with_the_rest_of_their_groups(ledger):
    score_in_ranks(ledger, REWARD, [rank], list_parts())
    found = rescore_rollouts(ledger, NEXT, [same_rank], actor="rank 1")
    assert list_totals(ledger, job=1) == {"ccc": 0.5, "dddd": 0.25}
    assert (found.groups, found.partial, found.features["rank"].ran) == (0, 1, 2)
    assert "1 group is not compared: a part was not chosen, or is not there" in str(found)


def test_a_group_of_which_a_part_is_missing_is_not_scored_again_on_the_rest(ledger, tmp_path):
    with Ledger(tmp_path / "elsewhere.db") as elsewhere:
        score_in_ranks(ledger, REWARD, [rank], list_parts(), absent={1: elsewhere})
    Scoring(REWARD, [rank], ledger=ledger, run="night").score(list_parts()[0])
    found = rescore_rollouts(ledger, NEXT, [same_rank])
    assert found.reasons == {"Abstained: rank needs all 4 completions of a group, and 2 are not in the ledger": 2}
    assert (found.rescoring.records, found.groups, found.partial, found.features["rank"].ran) == (2, 1, 1, 2)
    kept = rescore_rollouts(ledger, NEXT, [rank])
    assert (kept.rescoring.records, kept.reasons) == (4, {})


def test_a_group_of_which_texts_were_forgotten_is_not_scored_again_on_the_rest(ledger):
    score_in_ranks(ledger, REWARD, [rank], list_parts())
    ledger.forget(actor="rank 1")
    found = rescore_rollouts(ledger, NEXT, [same_rank])
    assert found.reasons == {
        "Abstained: its texts were not kept, or were forgotten": 2,
        "Abstained: rank needs all 4 completions of a group, and of 2 the texts were not kept, or were forgotten": 2,
    }


def test_of_several_features_of_a_group_the_one_that_cannot_be_run_is_named(ledger, tmp_path):
    first = feature(group=True, name="first")(lambda text: [own == text[0] for own in text])
    fields = [Field("rank", low=0, high=1), Field("first", flag=True)]

    @term
    def ahead(first):
        return 1 if first else 0

    reward = Reward("both", version="1", terms=[short, ahead], fields=fields)
    with Ledger(tmp_path / "elsewhere.db") as elsewhere:
        score_in_ranks(ledger, reward, [first, rank], list_parts(), absent={1: elsewhere})
    (why,) = rescore_rollouts(ledger, reward.with_version("2"), [first, same_rank]).reasons
    assert why.startswith("Abstained: rank needs all 4 completions")


def test_actors_that_score_the_same_prompt_have_groups_of_their_own(ledger):
    for actor in ("one", "two"):
        Scoring(REWARD, [rank], ledger=ledger, run="night", actor=actor).score(list_parts()[0])
    found = rescore_rollouts(ledger, NEXT, [same_rank])
    assert [record.total for record in ledger.history(job=1)] == [1.0, 0.5] * 2
    assert found.groups == 2


def test_the_judges_of_a_missing_group_are_not_asked(ledger, tmp_path):
    asked = []

    @feature(judge=True)
    def clear(text):
        asked.append(text)
        return 0.5

    judged = feature(group=True, name="rank")(lambda clear: clear)
    with Ledger(tmp_path / "elsewhere.db") as elsewhere:
        score_in_ranks(ledger, REWARD, [rank], list_parts(), absent={1: elsewhere})
    found = rescore_rollouts(ledger, NEXT, [clear, judged])
    assert (asked, sum(found.reasons.values())) == ([], 2)
