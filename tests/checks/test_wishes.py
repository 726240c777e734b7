"""Random rewards with random wishes: what is found is really so, and what is proved no row contradicts."""

from hypothesis import given
from hypothesis import strategies as st

from plaudit import Reward, Task
from plaudit.checks.check import check
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.goals import bound_goal
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.staying import drop_potentials
from plaudit.checks.rules.wanted import LEAST_GAIN, LEAST_SHARE
from plaudit.checks.solver.ranges import encode_value
from plaudit.checks.solver.solver import Solver
from support.asking import really, samples
from support.examples import examples
from support.strategies import Case
from support.written import module, readable

CODES = ("wrong-way", "unpriced", "goal-not-best", "idle-floor", "cheap-end", "unreachable-goal", "short-sighted")


@st.composite
def wishful(draw) -> tuple[Case, Reward]:
    """Return a random case, and its reward with a task that says of some fields what is better, and perhaps a goal."""
    case = draw(readable())
    chosen = {
        each.name: draw(st.sampled_from((None, "low", "high"))) for each in case.fields if each.kind != "category"
    }
    task = Task(better={name: better for name, better in chosen.items() if better}, discount=0.9)
    reward = case.reward.with_task(task)
    numbers = [each for each in reward.fields.values() if each.kind == "number" and not each.shape]
    if not numbers:
        return case, reward
    name, edge = draw(st.sampled_from(numbers)).name, draw(st.sampled_from((-1.0, 0.0, 0.5, 2.0)))
    goal = module(f"def goal({name}): return {name} >= {edge}")["goal"]
    try:
        return case, reward.with_task(task.evolve(goal=goal, goal_ends=draw(st.booleans())))
    except ValueError:  # the ranges rule it out
        return case, reward


@examples(0.04)
@given(drawn=wishful(), discount=st.sampled_from((0.9, 0.99)))
def test_whatever_is_found_of_random_wishes_is_really_so(drawn, discount):
    _, reward = drawn
    made = reward.with_task(reward.task.evolve(discount=discount, horizon=50))
    report = check(made, only=CODES, z3=False)
    assert not report.failed
    for finding in report:
        totals = really(made, finding)
        if finding.code == "wrong-way":
            assert totals[0] > totals[1]
        if finding.code == "unpriced":
            assert len(set(totals)) == 1


@examples(0.04)
@given(drawn=wishful(), seed=st.integers(0, 99))
def test_no_step_in_the_goal_pays_more_than_its_bound(drawn, seed):
    case, reward = drawn
    made = reward.with_task(reward.task.evolve(goal_ends=True))
    if made.task.goal is None:
        return
    context = CheckContext(RewardModel(made), Solver(z3=False))
    bound, paid = bound_goal(context), drop_potentials(context)
    (goal,) = made._bound.goal_program.inputs
    edge = made.task.goal.source.function
    for sample in samples(case, seed, 200) if bound is not None and goal in made.inputs else ():
        scores = paid.score(sample.row)
        if scores is not None and edge(sample.row[goal]):
            assert float(scores.total) <= bound + 1e-6 * max(1.0, abs(bound))


@examples(0.04)
@given(drawn=wishful(), seed=st.integers(0, 99))
def test_where_nothing_goes_the_wrong_way_no_pair_of_rows_does(drawn, seed):
    case, made = drawn
    report = check(made, only="wrong-way", z3=False)
    guilty = {finding.message.partition("'")[2].partition("'")[0] for finding in report}
    open_ended = " ".join(each.why for each in report.undecided)
    model = RewardModel(made)
    rows = [sample.row for sample in samples(case, seed, 12) if sample.scores is not None]
    for name, field in model.program.inputs.items():
        if field.better is None or name.startswith("prev.") or field.name in guilty or f"worse {name} " in open_ended:
            continue
        gains = [_compare(model, row, name, other[name]) for row in rows for other in rows]
        sign = 1 if field.better == "high" else -1
        wrong = max((-sign * gain for gain in gains), default=0.0)
        right = max((sign * gain for gain in gains), default=0.0)
        assert (
            wrong <= max(LEAST_GAIN, 2 * LEAST_SHARE * right) + 1e-6 * max(map(abs, gains), default=0.0) or right == 0
        )


def _compare(model, row, name, value):
    """Return what a higher value of an input earns more than a lower one, all else equal; 0 where there is none."""
    low, high = sorted((row[name], encode_value(model.fields[name], value)))
    scores = [model.score({**row, name: each}) for each in (low, high)]
    if low == high or None in scores:
        return 0.0
    return float(scores[1].total) - float(scores[0].total)
