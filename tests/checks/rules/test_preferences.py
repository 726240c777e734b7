"""What the author prefers: single steps, whole episodes, and the risk worth taking."""

import pytest

from plaudit import DefinitionError, Field, InputError, Reward, Task, fact, prefer, term
from plaudit.checks.check import check
from plaudit.checks.solver.z3 import is_available
from support.asking import really, told, undecided

NEAR = Field("distance", low=0, high=10)
LIT = Field("lit", flag=True)


def reward(*preferences, fields=(NEAR, LIT), **task):
    @term
    def pay(distance, lit):
        return distance - (3 if lit else 0)

    return Reward("r", version="1", terms=[pay], fields=fields, task=Task(prefer=preferences, **task))


def test_a_preference_that_the_reward_contradicts_is_told_with_both_rows():
    made = reward(prefer({"distance": 2}, over={"distance": 8}, because="near is good"))
    (finding,) = told(made, "order-inversion")
    assert (finding.severity, finding.term) == ("warning", "total")
    low, high = really(made, finding)
    assert high - low == 6
    assert finding.message == (
        f"the preferred option (near is good) earns {low:g}, less than the other option: {high:g}."
    )
    assert [step.note for step in finding.witness] == ["preferred", "not preferred"]
    assert finding.witness[0].inputs["lit"] == finding.witness[1].inputs["lit"]  # the same on both sides


@pytest.mark.parametrize("z3", [True, False] if is_available() else [False])
def test_a_preference_that_the_reward_shares_is_left_alone(z3):
    assert told(reward(prefer({"distance": 8}, over={"distance": 2})), "order-inversion", z3=z3) == []


def test_earning_the_same_is_not_enough():
    made = reward(prefer({"distance": 5, "lit": True}, over={"distance": 2, "lit": False}))
    (finding,) = told(made, "order-inversion")
    assert finding.message == "the preferred option earns 2, the same as the other option: 2."
    assert really(made, finding) == [2, 2]


def test_what_is_left_open_must_hold_for_every_value():
    @term
    def pay(distance, lit):
        return distance if lit else 5

    task = Task(prefer=[prefer({"lit": True}, over={"lit": False})])
    made = Reward("r", version="1", terms=[pay], fields=[NEAR, LIT], task=task)
    (finding,) = told(made, "order-inversion")
    better, worse = finding.witness
    assert better.inputs["distance"] == worse.inputs["distance"] <= 5
    assert really(made, finding) == [better.inputs["distance"], 5]


def test_whole_episodes_are_added_up():
    made = reward(prefer([{"distance": 9, "lit": False}], over=[{"distance": 5, "lit": False}] * 2))
    (finding,) = told(made, "order-inversion")
    assert finding.message == "the preferred option earns 9, less than the other option: 10."
    assert really(made, finding) == [9, 5, 5]
    discounted = reward(prefer([{"distance": 9, "lit": False}], over=[{"distance": 5, "lit": False}] * 2), discount=0.5)
    assert told(discounted, "order-inversion") == []  # 5 + 2.5


def test_what_a_fact_ties_to_the_difference_follows_it():
    @term
    def gentle(action, force):
        return -force + 0 * action

    @fact
    def brakes(action, force):
        return force == (0.0, 2.0, 5.0)[action]

    fields = [Field("action", values=(0, 1, 2)), Field("force", low=0, high=9)]
    wrong, right = prefer({"action": 2}, over={"action": 0}), prefer({"action": 0}, over={"action": 2})
    made = Reward("r", version="1", terms=[gentle], fields=fields, task=Task(facts=[brakes], prefer=[wrong, right]))
    (finding,) = told(made, "order-inversion")
    assert [step.inputs["force"] for step in finding.witness] == [5, 0]
    assert really(made, finding) == [-5, 0]
    assert finding.facts == ("brakes",)


def test_a_preference_about_steps_that_facts_rule_out_says_nothing():
    @fact
    def far(distance):
        return distance > 4

    made = reward(prefer({"distance": 2}, over={"distance": 8}), facts=[far])
    assert undecided(made, "order-inversion") == ["a stated preference is about steps that facts rule out"]


def test_a_step_keeps_to_what_is_declared_of_it():
    @term
    def gain(prev, curr):
        return curr.x - prev.x

    def walk(preference):
        task = Task(max_change={"x": 1}, prefer=[preference])
        return Reward("r", version="1", terms=[gain], fields=[Field("x", low=0, high=10)], task=task)

    near = prefer({"prev": {"x": 5}, "curr": {"x": 6}}, over={"prev": {"x": 5}, "curr": {"x": 5.5}})
    assert told(walk(near), "order-inversion") == []
    start = prefer({"prev.x": 2}, over={"prev.x": 8})  # from either, to the same place: too far for one step
    assert undecided(walk(start), "order-inversion") == ["a stated preference is about steps that facts rule out"]


def test_categories_and_vectors_are_compared_by_what_they_are():
    @term
    def mixed(mood, force):
        return (2 if mood == "calm" else 0) + max(force)

    fields = [Field("mood", values=("wild", "calm")), Field("force", length=2, low=0, high=1)]
    fine = prefer({"mood": "calm", "force": (0, 0)}, over={"mood": "wild", "force": (1, 0)})
    wrong = prefer({"mood": "wild"}, over={"mood": "calm"})
    made = Reward("r", version="1", terms=[mixed], fields=fields, task=Task(prefer=[fine, wrong]))
    (finding,) = told(made, "order-inversion")
    assert [step.inputs["mood"] for step in finding.witness] == ["wild", "calm"]
    really(made, finding)


@pytest.mark.skipif(not is_available(), reason="z3 is not installed")
def test_rounding_of_very_large_numbers_contradicts_nobody():
    made = reward(prefer({"lit": False}, over={"lit": True}), fields=[Field("distance"), LIT])
    assert told(made, "order-inversion") == []


def test_whether_a_preference_holds_may_be_left_undecided():
    @term
    def tangled(x, y, z, lit):
        return (x - y) + (y - z) + (z - x) + (0.5 if lit else 0)

    fields = [*(Field(name, low=0, high=1) for name in "xyz"), LIT]
    preference = prefer({"lit": True}, over={"lit": False}, because="light")
    made = Reward("r", version="1", terms=[tangled], fields=fields, task=Task(prefer=[preference]))
    (why,) = undecided(made, "order-inversion", z3=False)
    assert why == "whether the preference 'light' always holds: z3 is turned off"
    if is_available():
        assert told(made, "order-inversion") == []


def test_a_reward_without_preferences_contradicts_none():
    assert told(reward(), "order-inversion") == []


RULES = ["outcome-order", "risk-tolerance"]


@term
def pay(x):
    return x


@term(terminal=True)
def end(won):
    return 10 if won else -10


def episode_reward(**task):
    fields = [Field("x", low=-5, high=5), Field("won", flag=True)]
    return Reward("r", version="1", terms=[pay, end], fields=fields, task=Task(**task))


def episode(*xs, won=None):
    rows = [{"x": x, "won": bool(won), "terminal": False} for x in xs]
    return rows if won is None else [*rows[:-1], {**rows[-1], "terminal": True}]


def test_episodes_in_their_order_are_left_alone():
    outcomes = {"crash": episode(0, won=False), "idle": episode(0), "win": episode(0, won=True)}
    assert told(episode_reward(), "outcome-order", outcomes=outcomes) == []


def test_neighbours_that_the_reward_ranks_otherwise_are_told():
    outcomes = {"crash": episode(0, won=False), "idle": episode(*[5] * 4), "win": episode(1, won=True)}
    (finding,) = told(episode_reward(), "outcome-order", outcomes=outcomes)
    assert (finding.severity, finding.term) == ("warning", "total")
    assert finding.message == "'idle' earns 20, more than 'win' with 11, although it is the worse outcome."
    assert {step.total for step in finding.witness} == {5.0, 11.0}


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_earning_the_same_is_told_as_such(noise):
    outcomes = {"idle": episode(1), "win": episode(1 + noise)}
    (finding,) = told(episode_reward(), "outcome-order", outcomes=outcomes)
    assert finding.message.startswith("'idle' earns 1, the same as 'win' with 1")


def test_returns_are_discounted():
    outcomes = {"idle": episode(*[1] * 3), "win": episode(2)}
    (finding,) = told(episode_reward(), "outcome-order", outcomes=outcomes)
    assert "'idle' earns 3" in finding.message
    assert told(episode_reward(discount=0.5), "outcome-order", outcomes=outcomes) == []  # 1.75


def test_the_odds_of_a_gamble_are_told():
    outcomes = {"crash": episode(0, won=False), "idle": episode(0), "win": episode(0, won=True)}
    (finding,) = told(episode_reward(), "risk-tolerance", outcomes=outcomes)
    assert finding.severity == "advice"
    assert finding.message == (
        "rather than take 'idle', an agent gambles on 'win' as long as 'crash' is less likely than 0.5 (returns -10, 0, 10)."
    )
    assert told(episode_reward(), "risk-tolerance", outcomes={"a": episode(0), "b": episode(1)}) == []
    wrong = {"crash": episode(5), "idle": episode(0), "win": episode(0, won=True)}
    assert told(episode_reward(), "risk-tolerance", outcomes=wrong) == []  # in another order the odds mean nothing


def test_without_episodes_the_rules_are_said_to_be_skipped():
    report = check(episode_reward(), only=RULES)
    assert report.skipped == dict.fromkeys(RULES, "no outcome episodes were given")


def test_an_episode_without_a_step_earns_nothing():
    outcomes = {"crash": episode(0, won=False), "nothing": [], "win": episode(1)}
    assert told(episode_reward(), "outcome-order", outcomes=outcomes) == []


def test_a_row_that_cannot_be_scored_is_an_error_that_names_it():
    with pytest.raises(InputError) as caught:
        check(episode_reward(), only=RULES, outcomes={"idle": episode(0), "win": [*episode(0), {"x": 99, "won": True}]})
    assert caught.value.__notes__ == ["It is row 1 of the outcome 'win'."]
    with pytest.raises(DefinitionError, match="outcome 'win', row 0: 5 is not a mapping of inputs"):
        check(episode_reward(), only=RULES, outcomes={"idle": episode(0), "win": [5]})
