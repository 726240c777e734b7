"""Decisions out of a ledger: whatever way they were recorded, with their extra credits, under any reward."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from plaudit import Entry, Ledger, errors
from plaudit.learn import SharedLearner, linucb
from plaudit.learn.off_policy import always, evaluate, read_decisions, uniform


def decision(action="star", probability=0.5, **more):
    return {"decision": {"action": action, "probability": probability, **more}}


def read(ledger, **choice):
    return read_decisions(ledger, decision_class="topology", **choice)


def test_a_log_is_what_was_recorded(ledger, recorded):
    numbers = recorded(80)
    records = [ledger[number] for number in numbers]
    log = read(ledger).decisions
    assert log.actions == ("flat", "star")
    assert [log.actions[at] for at in log.chosen] == [record.context["decision"]["action"] for record in records]
    assert log.rewards.tolist() == [record.total for record in records]
    assert log.contexts.tolist() == [record.context["decision"]["x"] for record in records]
    assert log.probabilities.tolist() == [0.5] * 80
    assert log.episodes is None


@pytest.mark.parametrize("episodes", [None, [at // 10 for at in range(60)]], ids=["no episodes", "episodes"])
def test_one_by_one_and_in_a_batch_is_the_same_log(ledger, recorded, episodes):
    for together in (True, False):
        recorded(60, together=together, run=f"together={together}", episode=episodes)
    one, many = (read(ledger, run=f"together={together}").decisions for together in (False, True))
    assert one.chosen.tolist() == many.chosen.tolist()
    assert one.rewards.tolist() == many.rewards.tolist()
    assert one.contexts.tolist() == many.contexts.tolist()
    assert (one.episodes is None) == (episodes is None)
    if episodes:
        assert one.episodes.tolist() == many.episodes.tolist() == episodes


def test_long_logs_come_in_order(ledger, recorded):
    recorded(9000, contexts=[decision(("star", "flat")[at % 2], x=[float(at)]) for at in range(9000)])
    told = []
    log = read(ledger, progress=lambda done, total: told.append((done, total))).decisions
    assert log.contexts[:, 0].tolist() == list(range(9000))
    assert told[-1] == (9000, 9000)


def test_records_are_chosen_by_time_and_run(ledger, recorded):
    start = datetime(2026, 11, 1, tzinfo=UTC)
    recorded(40, at=[start + timedelta(hours=at) for at in range(40)])
    recorded(5, run="other")
    found = read(ledger, run="night-3", since=start + timedelta(hours=10), until=start + timedelta(hours=30))
    assert len(found.decisions) == 20
    assert len(read(ledger).decisions) == 45


def test_the_same_context_for_all_is_read_for_all(ledger, rewards):
    ledger.record_batch(rewards["1"], {"delta": [0.1, 0.2, 0.3]}, decision_class="topology", context=decision())
    assert read(ledger).decisions.chosen.tolist() == [0, 0, 0]


def test_decisions_without_an_episode_stand_for_themselves(ledger, recorded):
    recorded(4, episode=["a", "a", "b", "b"])
    recorded(3)
    assert read(ledger).decisions.episodes.tolist() == [0, 0, 1, 1, 2, 3, 4]


def test_blocked_decisions_happened_all_the_same(ledger, recorded):
    recorded(4, contexts=[decision() | ({"blocked": "drill"} if at % 2 else {}) for at in range(4)])
    found = read(ledger)
    assert len(found.decisions) == 4
    assert found.source.blocked == 2


# -- extra credits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    "names",
    [[{"id": "a"}, {"id": "b"}], [{"number": 7}, {"number": 8}], [{"step": 0}, {"step": 1}]],
    ids=["id", "number", "step"],
)
def test_an_extra_credit_goes_to_the_decision_that_it_names(ledger, recorded, names, together):
    contexts = [decision(**names[0]), decision(**names[1]), decision(**names[0]) | {"again": True}]
    numbers = recorded(3, contexts=contexts, episode=1, together=together)
    first, second, extra = (ledger[number].total for number in numbers)
    found = read(ledger)
    assert found.decisions.rewards.tolist() == [first + extra, second]
    assert found.source.credits == 1
    assert found.source.unmatched == 0


def test_an_extra_credit_needs_no_more_than_a_name(ledger, recorded):
    contexts = [decision(id="a", x=[1.0]), {"decision": {"action": "star", "id": "a"}, "again": True}]
    numbers = recorded(2, contexts=contexts)
    found = read(ledger)
    assert found.decisions.rewards.tolist() == [sum(ledger[number].total for number in numbers)]
    assert found.decisions.contexts.tolist() == [[1.0]]


@pytest.mark.parametrize(
    "name", [{"id": 7}, {"number": 7}, {"step": 7}, {"step": 7.5}, {"step": "7"}, {"id": "å"}], ids=str
)
def test_a_decision_has_one_name_however_it_is_read(ledger, recorded, name):
    numbers = recorded(2, contexts=[decision(**name), decision(**name) | {"blocked": "drill"}], episode=["a", "b"])
    numbers += recorded(1, contexts=[decision(**name) | {"again": True}], episode="a" if "id" not in name else "b")
    totals = [ledger[number].total for number in numbers]
    own = 1 if "id" in name else 0
    totals[own] += totals.pop()
    assert read(ledger).decisions.rewards.tolist() == totals


def test_a_credit_that_names_no_decision_goes_to_the_last_of_its_episode(ledger, recorded):
    contexts = [decision(), decision(), decision(), decision() | {"again": True}]
    numbers = recorded(4, contexts=contexts, episode=["a", "a", "b", "a"])
    totals = [ledger[number].total for number in numbers]
    assert read(ledger).decisions.rewards.tolist() == [totals[0], totals[1] + totals[3], totals[2]]


def test_numbers_are_of_an_episode_and_ids_of_a_run(ledger, recorded):
    again = {"again": True}
    by_number = [decision(number=1), decision(number=1), decision(number=1) | again]
    numbers = recorded(3, contexts=by_number, episode=["a", "b", "a"])
    totals = [ledger[number].total for number in numbers]
    assert read(ledger).decisions.rewards.tolist() == [totals[0] + totals[2], totals[1]]
    by_id = [decision(id="x"), decision(id="x") | again]
    numbers = recorded(2, contexts=by_id, episode=["a", "b"], run="other")
    totals = [ledger[number].total for number in numbers]
    assert read(ledger, run="other").decisions.rewards.tolist() == [sum(totals)]


def test_decisions_known_in_different_ways_get_their_own_credits(ledger, recorded):
    again = {"again": True}
    contexts = [decision(id="x"), decision(number=4), decision(number=4) | again, decision(id="x") | again]
    numbers = recorded(4, contexts=contexts, episode=1)
    totals = [ledger[number].total for number in numbers]
    assert read(ledger).decisions.rewards.tolist() == [totals[0] + totals[3], totals[1] + totals[2]]


def test_a_number_used_again_is_that_of_the_last_decision(ledger, recorded):
    contexts = [decision(number=1), decision(number=1), decision(number=1) | {"again": True}, decision(number=1)]
    numbers = recorded(4, contexts=contexts, episode=1)
    totals = [ledger[number].total for number in numbers]
    assert read(ledger).decisions.rewards.tolist() == [totals[0], totals[1] + totals[2], totals[3]]


def test_a_credit_of_a_decision_that_was_not_chosen_is_counted_and_told(ledger, recorded):
    start = datetime(2026, 11, 1, tzinfo=UTC)
    contexts = [decision(id="a"), *[decision("flat") for _ in range(120)], decision(id="a") | {"again": True}]
    recorded(122, contexts=contexts, at=[start + timedelta(hours=at) for at in range(122)])
    found = evaluate(ledger, always("flat"), decision_class="topology", since=start + timedelta(hours=1))
    assert found.decisions == 120
    assert found.source.unmatched == 1
    assert any("that were not selected" in note for note in found.notes)


def test_credits_alone_are_no_log(ledger, recorded):
    recorded(2, contexts=[decision(id="a") | {"again": True}] * 2)
    with pytest.raises(errors.NotEvaluable, match="only extra credits"):
        read(ledger)


def test_a_learner_that_many_share_leaves_a_log_that_can_be_evaluated(ledger, rewards):
    shared = SharedLearner(ledger, linucb(("star", "flat"), 1, floor=0.2), decision_class="topology", seed=3)
    rng = np.random.default_rng(0)
    for at in range(60):
        made = shared.choose([float(rng.normal())])
        shared.credit(made, rewards["1"].score(delta=0.5 if made.action == "star" else 0.1), run="r", episode=at // 4)
        if at % 4 == 3:
            shared.credit(made, rewards["1"].score(delta=0.25), again=True, run="r", episode=at // 4)
    found = evaluate(ledger, always("star"), decision_class="topology", minimum_effective=10)
    assert found.decisions == 60
    assert found.episodes == 15
    assert found.source.credits == 15
    assert found["snips"].value > 0.5


# -- another reward ----------------------------------------------------------------------------------------------------


def test_another_reward_scores_what_was_recorded_and_writes_nothing(ledger, recorded, rewards):
    numbers = recorded(50)
    before = ledger.stats().to_dict()
    found = read(ledger, reward=rewards["1"])
    assert found.source.reward == "step@1"
    assert found.source.rescored
    assert found.decisions.rewards.tolist() == [ledger[number].signal.inputs["delta"] for number in numbers]
    assert ledger.stats().to_dict() == before
    assert not ledger.jobs()


def test_records_of_two_rewards_need_one_to_compare_them_by(ledger, recorded, rewards):
    recorded(30)
    recorded(20, reward="1")
    with pytest.raises(errors.NotEvaluable, match="30 of step@2, 20 of step@1"):
        read(ledger)
    assert len(read(ledger, reward=rewards["1"]).decisions) == 50


def test_records_without_an_input_are_an_error_or_left_out_and_counted(ledger, recorded, rewards):
    recorded(30)
    recorded(20, reward="1")
    with pytest.raises(errors.MissingField, match="20 decisions were recorded without what step@2 needs: tokens"):
        read(ledger, reward=rewards["2"])
    found = read(ledger, reward=rewards["2"], on_bad="mask")
    assert len(found.decisions) == 30
    assert found.source.lacking == 20
    assert "Left out: 20 decisions that step@2 cannot score" in found.source.describe()[0]


def test_inputs_that_the_other_reward_refuses_are_an_error_or_left_out_and_counted(ledger, rewards):
    columns = {"delta": [0.1, 0.2, 0.3], "tokens": [100.0, 900.0, 200.0]}
    ledger.record_batch(rewards["2"], columns, decision_class="topology", context=[decision() for _ in range(3)])
    with pytest.raises(errors.NotEvaluable, match="step@cheap refuses the inputs of 1 decision"):
        read(ledger, reward=rewards["cheap"])
    found = read(ledger, reward=rewards["cheap"], on_bad="mask")
    assert found.decisions.rewards.tolist() == pytest.approx([0.0, 0.1])
    assert found.source.refused == 1


def test_a_decision_whose_extra_credit_is_refused_is_left_out_whole(ledger, rewards):
    columns = {"delta": [0.1, 0.2, 0.3], "tokens": [100.0, 100.0, 900.0]}
    contexts = [decision(id="a"), decision(id="b"), decision(id="a") | {"again": True}]
    ledger.record_batch(rewards["2"], columns, decision_class="topology", context=contexts)
    found = read(ledger, reward=rewards["cheap"], on_bad="mask")
    assert found.decisions.rewards.tolist() == pytest.approx([0.1])
    assert found.source.refused == 1


def test_nothing_that_can_be_scored_is_an_error_even_where_bad_ones_are_left_out(ledger, recorded, rewards):
    recorded(20, reward="1")
    with pytest.raises(errors.MissingField):
        read(ledger, reward=rewards["2"], on_bad="mask")


def test_a_bonus_of_terminal_terms_is_added_and_told_where_the_other_reward_has_none(ledger, rewards):
    paid = rewards["bonus"]
    ledger.record(paid.score(delta=0.5, solved=False), decision_class="topology", context=decision(id="a"))
    ledger.record(paid.score(delta=0.1, solved=False), decision_class="topology", context=decision("flat", id="b"))
    ledger.record(
        paid.score_terminal(solved=True), decision_class="topology", context=decision(id="a") | {"again": True}
    )
    assert read(ledger).decisions.rewards.tolist() == [1.5, 0.1]
    found = read(ledger, reward=rewards["1"])
    assert found.decisions.rewards.tolist() == [0.5, 0.1]
    assert found.source.unpaid == 1
    assert "1 extra credit came from terminal terms; step@1 has none." in found.source.describe()


# -- what cannot be read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0, 5])
@pytest.mark.parametrize(
    ("context", "error", "words"),
    [
        (None, errors.NotEvaluable, "record {} holds no decision"),
        ("star", errors.NotEvaluable, "record {} holds no decision"),
        ({"arm": 2}, errors.NotEvaluable, "record {} holds no decision"),
        ({"decision": "star"}, errors.WrongType, "record {}"),
        ({"decision": {"probability": 0.5}}, errors.MissingField, "record {}.*no 'action'"),
        ({"decision": {"action": 2, "probability": 0.5}}, errors.WrongType, "record {}.*not a string"),
        (decision(probability=0), errors.OutOfRange, "record {}.*probability 0"),
        (decision(probability=1.5), errors.OutOfRange, "record {}"),
        (decision(probability="0.5"), errors.WrongType, "record {}.*probability"),
        (decision(probability=True), errors.WrongType, "record {}.*probability"),
        (decision(probability=None), errors.NotEvaluable, "1 of {} decisions have no probability"),
        (decision(x=["1.0"]), errors.WrongType, "record {}.*x"),
        (decision(x=1.0), errors.WrongType, "record {}.*x"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(ledger, recorded, context, error, words, before):
    good = decision(x=[1.0]) if "x" in json.dumps(context) else decision()
    contexts = [good] * before + [context]
    recorded(len(contexts), contexts=contexts)
    with pytest.raises(error, match=words.format(len(contexts))):
        read(ledger)


def test_decisions_of_the_same_page_with_other_features_are_two_kinds(ledger, recorded):
    recorded(3, contexts=[decision(x=[1.0]), decision(x=[1.0]), decision(x=[1.0, 2.0])])
    with pytest.raises(errors.ShapeMismatch, match="record 3: its decision was made on 2 features"):
        read(ledger)


def test_decisions_with_and_without_features_are_two_kinds(ledger, recorded):
    recorded(2, contexts=[decision(x=[1.0]), decision()])
    with pytest.raises(
        errors.ShapeMismatch, match="record 2: its decision was made on 0 features, and that of record 1 on 1"
    ):
        read(ledger)


def test_decisions_in_different_pages_with_other_features_are_two_kinds(ledger, recorded):
    recorded(16_384, contexts=[decision(x=[1.0])] * 16_384)
    recorded(10, contexts=[decision(x=[1.0, 2.0])] * 10)
    with pytest.raises(
        errors.ShapeMismatch, match="different numbers of features: 1 .such as record 1., 2 .such as record 16385."
    ):
        read(ledger)


def test_whole_numbers_of_any_size_are_features(ledger, recorded):
    recorded(2, contexts=[decision(x=[1]), decision(x=[2**80])])
    assert read(ledger).decisions.contexts[:, 0].tolist() == [1.0, 2.0**80]


def test_an_unknown_class_is_guessed(ledger, recorded):
    with pytest.raises(errors.NotEvaluable, match="no record.*No record has a decision class"):
        read(ledger)
    recorded(5)
    with pytest.raises(errors.NotEvaluable, match="Did you mean 'topology'"):
        read_decisions(ledger, decision_class="toplogy")
    with pytest.raises(errors.NotEvaluable, match="run='morning'"):
        read(ledger, run="morning")


def test_what_to_do_with_bad_records_has_three_answers(ledger, recorded):
    recorded(5)
    with pytest.raises(errors.DefinitionError, match="is not one of raise, mask, clip"):
        read(ledger, on_bad="ignore")


def test_a_ledger_opened_to_read_is_enough(ledger, recorded, tmp_path):
    recorded(200)
    with Ledger(tmp_path / "rewards.db", read_only=True) as opened:
        assert evaluate(opened, uniform(), decision_class="topology").decisions == 200


def test_records_of_other_classes_do_not_matter(ledger, recorded, rewards):
    recorded(5)
    ledger.record_many(Entry(rewards["1"].score(delta=0.0), decision_class="other", context=7) for _ in range(3))
    assert len(read(ledger).decisions) == 5
