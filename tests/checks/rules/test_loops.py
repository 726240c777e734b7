"""Laps that pay."""

import pytest

from plaudit import Field, Reward, Task, fact, term
from plaudit.checks.check import check
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.state_graph import MOST_CHOICES, StateGraph
from plaudit.checks.solver.z3 import is_available
from support.asking import really, told, undecided
from support.written import plain

X = Field("x", low=0, high=10)
SLOW = {"x": 1}


def reward(*terms, fields=(X,), action=None, high=None, **task):
    return Reward("r", version="1", terms=terms, fields=fields, action=action, high=high, task=Task(**task))


@term
def closer(prev, curr):
    """Pay for coming closer, and take nothing back."""
    return max(0, prev.x - curr.x)


@term(weight=-0.1)
def step():
    return 1


def lap_of(made, finding):
    """Return a lap as told by its witness, and assert that it is one, and earns what the message says."""
    steps = finding.witness
    totals = really(made, finding)
    ends = [
        (
            {k: v for k, v in each.inputs.items() if k.startswith("prev.")},
            {k: v for k, v in each.inputs.items() if k.startswith("curr.")},
        )
        for each in steps
    ]
    for (_, after), (before, _) in zip(ends, [*ends[1:], ends[0]], strict=True):
        assert {k.removeprefix("curr."): v for k, v in after.items()} == {
            k.removeprefix("prev."): v for k, v in before.items()
        }
    assert f"earns {format_number(sum(totals))}" in finding.message
    assert sum(totals) > 0
    return totals


def test_pay_for_one_direction_only_is_a_loop():
    made = reward(closer, step)
    (finding,) = told(made, "loop-that-pays")
    assert (finding.severity, finding.term) == ("warning", "closer")
    assert sorted(lap_of(made, finding)) == pytest.approx([-0.1, 9.9])
    assert "a 2-step cycle (x: " in finding.message
    assert finding.facts == ()


def test_a_step_limits_what_a_lap_earns():
    made = reward(closer, step, max_change=SLOW)
    (finding,) = told(made, "loop-that-pays")
    assert sorted(lap_of(made, finding)) == pytest.approx([-0.1, 0.9])
    assert finding.facts == ("x changes by at most 1 in a step",)


def test_a_lap_that_costs_as_much_as_it_earns_is_none():
    @term(weight=-0.5)
    def dear():
        return 1

    assert told(reward(closer, dear, max_change=SLOW), "loop-that-pays") == []

    @term(weight=-0.49)
    def cheaper():
        return 1

    assert len(told(reward(closer, cheaper, max_change=SLOW), "loop-that-pays")) == 1


PROVED = pytest.mark.skipif(not is_available(), reason="z3 is not installed")
PLACE = Field("place", values=("home", "away"))
GAIN, LOSS = "max(0, prev.x - curr.x)", "min(0, prev.x - curr.x)"


@pytest.mark.parametrize(
    ("texts", "how", "options"),
    [
        pytest.param(["prev.x - curr.x"], {}, {}, marks=PROVED, id="shaping"),
        pytest.param(["prev.x - curr.x"], {}, {"discount": 1.0}, marks=PROVED, id="shaping, discount 1"),
        pytest.param(["prev.x - 0.9 * curr.x"], {}, {"discount": 0.9}, marks=PROVED, id="shaping, discount 0.9"),
        pytest.param([GAIN, LOSS], {}, {}, marks=PROVED, id="two terms that take back what the other pays"),
        pytest.param(["curr.x + 0 * prev.x"], {}, {}, id="what standing still pays as well"),
        pytest.param(["curr.x"], {}, {}, id="what is paid for being there"),
        pytest.param(
            ['(5 if curr.place == "home" else 0) + (1 if prev.place != curr.place else 0)'],
            {},
            {"fields": [PLACE]},
            id="standing on the lap pays more a step",
        ),
        pytest.param([f"50 * {GAIN}"], {"terminal": True}, {}, id="the end of an episode"),
        pytest.param([GAIN], {"weight": 0}, {}, id="a term without weight"),
        pytest.param([f"{GAIN} - 0.1"], {}, {"high": 0.05}, id="a clamped total: 0.05 there, 0.1 back"),
    ],
)
def test_what_is_no_loop(texts, how, options):
    terms = [term(name=f"f{at}", **how)(plain(f"def f(prev, curr): return {text}")) for at, text in enumerate(texts)]
    assert told(reward(*terms, **options), "loop-that-pays") == []


def test_a_loop_of_three_that_no_loop_of_two_shows():
    moods = ("rock", "paper", "scissors")

    @term
    def beats(prev, curr):
        if prev.mood == "rock" and curr.mood == "paper":
            return 1
        if prev.mood == "paper" and curr.mood == "scissors":
            return 1
        if prev.mood == "scissors" and curr.mood == "rock":
            return 1
        return -2 if prev.mood != curr.mood else 0

    made = reward(beats, fields=[Field("mood", values=moods)])
    (finding,) = told(made, "loop-that-pays")
    assert lap_of(made, finding) == [1, 1, 1]
    assert "a 3-step cycle (mood: " in finding.message


def test_the_shortest_lap_and_the_one_that_pays_most_are_told():
    phases = ("plan", "code", "test", "done")

    @term
    def forward(prev, curr):
        if phases.index(curr.phase) == phases.index(prev.phase) + 1:
            return 1
        return 0

    made = reward(forward, fields=[Field("phase", values=phases)])
    short, long = told(made, "loop-that-pays")
    assert lap_of(made, short) == [1, 0]
    assert sorted(lap_of(made, long)) == [0, 1, 1, 1]


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_never_returns_is_a_price(direction):
    sign = 1 if direction == "up" else -1

    @term
    def forward(prev, curr):
        return 1 if prev.phase != curr.phase else 0

    @term(weight=-0.001 * sign)
    def used(prev, curr):
        return curr.tokens - prev.tokens

    fields = [Field("phase", values=("a", "b")), Field("tokens", low=0, high=10_000, unit="tokens")]
    made = reward(forward, used, fields=fields, monotone={"tokens": direction}, idle={"tokens": 5_000})
    (finding,) = told(made, "loop-that-pays")
    assert "earns 2 every time around, as long as it costs fewer than 2,000 tokens" in finding.message
    assert finding.facts == (f"tokens only {'rises' if direction == 'up' else 'falls'}",)
    lap_of(made, finding)


def test_a_price_that_no_lap_can_afford_is_not_told_as_one():
    @term
    def forward(prev, curr):
        return 1 if prev.phase != curr.phase else 0

    @term(weight=-0.001)
    def used(prev, curr):
        return curr.tokens - prev.tokens

    fields = [Field("phase", values=("a", "b")), Field("tokens", low=0, high=100)]
    (finding,) = told(reward(forward, used, fields=fields, monotone={"tokens": "up"}), "loop-that-pays")
    assert "as long as" not in finding.message


def test_facts_can_close_a_loop():
    @term
    def forward(prev, curr):
        return 1 if prev.phase == "a" and curr.phase == "b" else 0

    @fact
    def stays(prev, curr):
        return curr.phase == "b" if prev.phase == "b" else True

    phase = [Field("phase", values=("a", "b"))]
    (finding,) = told(reward(forward, fields=phase), "loop-that-pays")
    assert "phase: a → b → a" in finding.message
    assert told(reward(forward, fields=phase, facts=[stays]), "loop-that-pays") == []


def test_a_fact_about_what_no_term_reads_closes_a_loop_of_three():
    @term
    def pay(prev, curr):
        if prev.phase == "a" and curr.phase == "b":
            return 1
        return -2 if prev.phase == "b" and curr.phase == "a" else 0

    @term
    def low(battery):
        return 0 * battery

    @fact
    def no_way_back(prev, curr):
        return prev.phase != "c" or curr.phase != "a" or prev.battery > 2

    fields = [Field("phase", values=("a", "b", "c")), Field("battery", low=0, high=1)]
    assert len(told(reward(pay, low, fields=fields), "loop-that-pays")) == 1
    assert told(reward(pay, low, fields=fields, facts=[no_way_back]), "loop-that-pays") == []


def test_a_fact_about_what_no_term_reads_closes_a_loop_too():
    @term
    def low(battery):
        return 0 if battery > 0 else -1

    @fact
    def drains(prev, curr, battery):
        return prev.battery - battery >= abs(curr.x - prev.x)

    made = reward(closer, low, fields=[X, Field("battery", low=0, high=100)], facts=[drains])
    assert told(made, "loop-that-pays") == []


def test_actions_are_chosen_and_events_at_rest():
    @term
    def paid(prev, curr, push, luck):
        return max(0, curr.x - prev.x) - 20 * push + 50 * luck

    fields = [X, Field("push", values=(0, 1)), Field("luck", flag=True)]
    made = reward(paid, fields=fields, action="push")
    (finding,) = told(made, "loop-that-pays")
    assert all(each.inputs["push"] == 0 and not each.inputs["luck"] for each in finding.witness)
    lap_of(made, finding)
    throttle = Field("push", low=-1, high=1)
    (finding,) = told(reward(paid, fields=[X, throttle, fields[2]], action="push"), "loop-that-pays")
    assert all(each.inputs["push"] == -1 for each in finding.witness)


def test_a_vector_has_laps():
    @term
    def push(prev, curr):
        return max(0, curr.force[0] - prev.force[0]) + 0 * curr.force[1] * prev.force[1]

    made = reward(push, fields=[Field("force", length=2, low=0, high=1)])
    (finding,) = told(made, "loop-that-pays")
    lap_of(made, finding)
    assert "(force[0]: " in finding.message


def test_without_ranges_a_lap_is_told_in_numbers_people_can_read():
    made = reward(closer, step, fields=[Field("x")])
    (finding,) = told(made, "loop-that-pays")
    lap_of(made, finding)
    assert all(abs(each.inputs["prev.x"]) <= 1e6 for each in finding.witness)


def test_a_field_that_can_be_infinite_has_laps():
    @term
    def nearer(prev, curr):
        return 1 if curr.x < prev.x else 0

    made = reward(nearer, fields=[Field("x", low=0, infinite=True)])
    found = told(made, "loop-that-pays")
    assert found
    for finding in found:
        lap_of(made, finding)


def test_with_other_parameters_a_loop_may_be_gone():
    made = reward(closer, step, max_change=SLOW)
    assert told(made, "loop-that-pays")
    assert told(made.with_weights(step=-0.6), "loop-that-pays") == []


def test_a_loaded_reward_has_the_same_loop():
    made = Reward.from_json(reward(closer, step).to_json())
    (finding,) = told(made, "loop-that-pays")
    assert finding.place is None
    lap_of(made, finding)


def test_a_lap_that_lies_between_the_edges_is_found():
    @term
    def narrow(prev, curr):
        return 1 if 3.3 < curr.x + prev.x < 3.4 and curr.x > prev.x else -0.1

    made = reward(narrow)
    (finding,) = told(made, "loop-that-pays")
    lap_of(made, finding)


def test_whether_a_lap_pays_may_be_left_undecided():
    @term
    def tangled(prev, curr):
        return (prev.x - prev.y) + (prev.y - curr.x) + (curr.x - prev.x) - 0.001 * abs(curr.x - prev.x)

    made = reward(tangled, fields=[Field("x", low=0, high=1), Field("y", low=0, high=1)])
    assert undecided(made, "loop-that-pays", z3=False) == [
        f"whether a {length}-step cycle pays: z3 is turned off" for length in (2, 3)
    ]


@pytest.mark.parametrize("z3", [True, False])
def test_a_step_of_listed_numbers_rules_out_a_lap_that_jumps(z3):
    @term
    def skipping(prev, curr):
        """Pay for two stages at once; one back costs."""
        return 3 if curr.stage - prev.stage >= 2 else -1 if curr.stage < prev.stage else 0

    stages = [Field("stage", values=(0, 1, 2, 3))]
    made = reward(skipping, fields=stages)
    (finding, *_) = told(made, "loop-that-pays", z3=z3)
    lap_of(made, finding)
    report = check(reward(skipping, fields=stages, max_change={"stage": 1}), only="loop-that-pays", z3=z3)
    assert report.findings == ()
    assert z3 is False or not is_available() or report.undecided == ()


def test_a_flag_of_a_lap_is_told_as_true_or_false():
    @term
    def lit(prev, curr):
        return 1 if curr.on and not prev.on else 0

    (finding,) = told(reward(lit, fields=[Field("on", flag=True)]), "loop-that-pays")
    assert "(on: false → true → false)" in finding.message or "(on: true → false → true)" in finding.message


@term
def back_and_forth(prev, curr):
    return abs(curr.x - prev.x)


@term(weight=-0.01)
def effort(action):
    return sum(force * force for force in action)


@pytest.mark.parametrize("length", [12, 64])
def test_a_long_vector_of_actions_is_not_combined_whole(length):
    action = Field("action", low=-1, high=1, length=length)
    made = reward(back_and_forth, effort, fields=[X, action], actions=["action"])
    graph = StateGraph(RewardModel(made))
    assert len(graph.options) == MOST_CHOICES
    assert len({tuple(row.values()) for row in graph.options}) == MOST_CHOICES
    assert set(graph.options[0].values()) == {0.0}  # at rest first: what earns most is to make no effort
    assert len(graph.laps()[0].states) == 2
    assert graph.laps()[0].gain == pytest.approx(20)


GRIP = tuple(at / 40 for at in range(40))


@fact
def grips(action, grip):
    return grip == GRIP[action]


@term
def hold(action, grip):
    return 0.5 if grip > 0.96 and action > 0 else 0.0


def test_of_many_combinations_those_are_kept_that_facts_allow():
    fields = [X, Field("action", values=tuple(range(40))), Field("grip", low=0, high=1)]
    made = reward(closer, hold, fields=fields, action="action", facts=[grips])
    options = StateGraph(RewardModel(made)).options
    assert options
    assert all(row["grip"] == GRIP[int(row["action"])] for row in options)
