"""Random rewards and tasks: whatever a message says is true when its numbers are typed in."""

import math
import random
import re

import pytest

from plaudit import check
from plaudit.checks.finding import Finding, Incentive
from plaudit.checks.formats.plain import format_finding, format_value
from plaudit.checks.formats.text import format_incentive_pay
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.staying import count_steps, drop_potentials
from plaudit.checks.solver.ranges import encode_value
from plaudit.checks.solver.solver import Solver
from plaudit.checks.solver.z3 import is_available
from plaudit.errors import InputError, PlauditError
from plaudit.testing.random_rewards import draw_case
from support.everyday import draw_reward

EVERYDAY, WILD, SOAK = 49, 5, 10_000
PORTION = 1_000
WITH_Z3 = 12
WILD_SHARE = 10
"""In the long run, one in so many rewards is a wild one: deep expressions, vectors, gates, schedules, infinite inputs."""
N = r"(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)"
MOST_DIGITS = 12
"""Nobody types in a number with more."""


class Claim:
    """A finding or an incentive, with the means to score its rows anew."""

    def __init__(self, reward, said: Finding | Incentive):
        self.reward, self.said, self.witness = reward, said, said.witness
        self.text = said.message if isinstance(said, Finding) else said.where
        self.model = RewardModel(reward)

    def parse(self, pattern):
        """Return what the groups of a pattern stand for in the message, numbers as they are printed."""
        found = re.search(pattern, self.text)
        assert found, f"{pattern!r} is not in {self.text!r}"
        return found.groups()

    def score(self, step, **typed):
        """Return what the reward makes of a row with some inputs typed in; None where it cannot be scored."""
        typed = {name: self.read(name, value) for name, value in typed.items()}
        try:
            return self.reward._compiled({**step.inputs, **typed})
        except InputError:
            return None

    def total(self, step, **typed):
        return float(self.score(step, **typed).total)

    def lasting(self, step, **typed):
        """Return what a step pays, without potential-based terms if the message says that they do not count."""
        return self.without_potentials(step, **typed) if "not counting" in self.text else self.total(step, **typed)

    def without_potentials(self, step, **typed):
        """Return what a step pays without potential-based terms."""
        model = drop_potentials(CheckContext(self.model, Solver(z3=False)))
        inputs = {**step.inputs, **{name: self.read(name, value) for name, value in typed.items()}}
        row = {name: encode_value(self.model.fields[name], value) for name, value in inputs.items()}
        return float(model.score(row).total)

    def read(self, name, text):
        """Return a value of an input as somebody types it in."""
        if not isinstance(text, str):
            return text
        field = self.model.fields[name]
        if field.kind == "flag":
            return {"true": True, "false": False}[text]
        return text if field.kind == "category" else number(text.removesuffix(f" {field.unit}"))


def number(text):
    return float(text.replace(",", ""))


def same(printed, value, scale=0.0):
    """Assert that a printed number is a value in six digits; what is a difference may be off by rounding."""
    found = number(printed)
    assert math.isclose(found, value, rel_tol=6e-6, abs_tol=1e-9 + 1e-12 * scale), f"{printed} is not {value!r}"


def wrong_way(claim):
    first, second = claim.witness
    if "earns the most at" in claim.text:
        worse, gain, better = claim.parse(
            rf"earns the most at \S+ (\S+), with everything else as wanted: {N} more than at (\S+), although"
        )
        (name,) = (each for each in first.inputs if first.inputs[each] != second.inputs[each])
    else:
        pattern = rf"earns {N} more at ([\w.\[\]]+) (\S+) than at \2 (\S+)(?:, all else equal| with .*), although "
        gain, name, worse, better = claim.parse(pattern)
    totals = claim.total(first, **{name: worse}), claim.total(second, **{name: better})
    same(gain, totals[0] - totals[1], max(map(abs, totals)))


def loop(claim):
    moved, way, gain = claim.parse(rf"a \d+-step cycle \(([\w., \[\]]+): (.*?)\) earns {N} every time around")
    names = moved.split(", ")
    states = [dict(zip(names, each.split(" "), strict=True)) for each in way.split(" → ")]
    assert states[0] == states[-1]
    total = 0.0
    for step, before, after in zip(claim.witness, states, states[1:], strict=False):
        typed = {f"prev.{name}": value for name, value in before.items()}
        typed |= {end: value for name, value in after.items() for end in (f"curr.{name}", name)}
        total += claim.lasting(step, **{name: value for name, value in typed.items() if name in step.inputs})
    if len(states) == len(claim.witness) + 1:
        same(gain, total)


def jump(claim):
    name, at, below, above = claim.parse(rf" at ([\w.\[\]]+) = (?:about )?{N}: from {N} just below to {N} just above")
    _around(claim, name, at, below, above)


def gap(claim):
    here, name, at, below, above = claim.parse(
        rf" is {N} at exactly ([\w.\[\]]+) = {N}, but {N} just below it and {N} just above"
    )
    _around(claim, name, at, below, above)
    same(here, float(claim.score(claim.witness[1], **{name: at}).scores[claim.said.term]))


def _around(claim, name, at, below, above):
    """Assert that a score is what is said just below a number and just above it."""
    for side, printed, step in ((-1, below, claim.witness[0]), (1, above, claim.witness[-1])):
        near = number(at) + side * (1e-5 if "about" in claim.text else 1e-9) * max(1e-3, abs(number(at)))
        found = float(claim.score(step, **{name: near}).scores[claim.said.term])
        assert math.isclose(number(printed), found, rel_tol=1e-4, abs_tol=1e-4), (printed, found)


def staying(claim):
    (pay,) = claim.parse(rf"can stay put and earn (?:up to )?({N[1:-1]}|an unbounded amount) a step forever")
    if pay != "an unbounded amount":
        same(pay, max(claim.lasting(step) for step in claim.witness))
    for step in claim.witness:
        for where, paid in re.findall(rf"[(; ]([^(;]*): {N} a step", claim.text):
            if where == step.note:
                same(paid, claim.lasting(step))


def event(claim):
    shown = {step.note.removeprefix("with "): step for step in claim.witness if step.note.startswith("with ")}
    steps = {name: claim.without_potentials(step) for name, step in shown.items()}  # the message does not say so yet
    for name, pay in re.findall(rf"'(\w+)' (?:pays )?(?:up to )?{N}", claim.text.partition(", over and over")[0]):
        if name in steps:
            same(pay, steps[name])
    if found := re.search(
        rf"After {N} such steps?, '(\w+)' has earned more than the best end, which pays {N}", claim.text
    ):
        count, name, end = found.groups()
        assert number(count) * steps[name] > number(end) * (1 - 1e-5)


def cheap_end(claim):
    (cost,) = claim.parse(rf"costs (?:at least )?{N}, and (?:there is an end|the bad end)")
    assert -claim.witness[0].total >= number(cost) * (1 - 1e-5)


def goal(claim):
    if found := re.search(rf"outside the goal pays {N} a step(?: \(.*\))?: {N} ", claim.text):
        pay, worth = found.groups()
        same(pay, math.fsum(map(claim.lasting, claim.witness)) / len(claim.witness))
        same(worth, number(pay) * count_steps(claim.reward), abs(number(worth)) * 1e7)
    elif "an end outside" in claim.text:
        (pay,) = claim.parse(rf"an end outside the goal pays {N}")
        same(pay, claim.lasting(claim.witness[0]))


def idle(claim):
    (pay,) = claim.parse(rf"doing nothing pays {N} a step")
    same(pay, claim.witness[0].total)
    if "no step pays more" in claim.text:
        return
    (worth,) = claim.parse(rf"a step: {N} ")
    same(worth, claim.witness[0].total * count_steps(claim.reward))


def saturated(claim):
    what, limit, name, at = claim.parse(
        rf"is stuck at its (\w+) of {N} for (\S+) (?:from|up to) (?:about )?{N} \(declared .*\): on"
    )
    for step, typed in ((claim.witness[0], at), (claim.witness[1], claim.witness[1].inputs[name])):
        score = float(claim.score(step, **{name: typed}).scores[claim.said.term])
        edge = number(limit)
        assert score >= edge if what == "cap" else score <= edge, (score, edge)


def never_binds(claim):
    inside, below, above = claim.parse(
        rf"never binds: the value (always lies in \[{N[1:-1]}, {N[1:-1]}\]|is never below {N}|is never above {N})"
    )
    low, high = re.findall(N, inside) if "[" in inside else (below or "-1e400", above or "1e400")
    term = claim.said.term
    for step in claim.witness if term != "total" else ():  # terms after the clamp count in a total
        found = float(claim.score(step).scores[term])
        assert number(low) <= found + 1e-5 * abs(found) + 1e-9
        assert number(high) >= found - 1e-5 * abs(found) - 1e-9


def dead(claim):
    (value,) = claim.parse(rf"adds {N} to every reward")
    (step,) = claim.witness
    same(value, float(claim.score(step).values[claim.said.term]))


def wrong_sign(claim):
    (step,) = claim.witness
    value = float(claim.score(step).values[claim.said.term])
    same(re.search(rf"{claim.said.term} adds {N}", step.note)[1], value)
    if "raise the total" in claim.text:
        (paid,) = claim.parse(rf"can raise the total: by {N} here")
        same(paid, value)
        assert value > 0
    else:
        assert value < 0


def inversion(claim):
    better, how, over = claim.parse(rf" earns {N}, (the same as|less than) the other option: {N}\.")
    (preference,) = claim.reward.task.prefer
    sums = [
        claim.total(step, **dict(row))
        for step, (row,) in zip(claim.witness, (preference.better, preference.over), strict=True)
    ]
    same(better, sums[0])
    same(over, sums[1])
    assert sums[0] <= sums[1]
    assert (better == over) == (how == "the same as"), claim.text


def dominated_action(claim):
    name = claim.reward.action
    best = claim.parse(rf"^{name} (\S+) is at least")[0]
    for step in claim.witness:
        assert (format_value(step.inputs[name]) == best) == (step.note == "better")
    pairs = zip(claim.witness[::2], claim.witness[1::2], strict=True)
    assert all(one.total > other.total for one, other in pairs)


def residue(claim):
    for step in claim.witness:
        (value,) = re.fullmatch(rf"{claim.said.term} adds {N}", step.note).groups()
        same(value, float(claim.score(step).values[claim.said.term]))


def short_sight(claim):
    steps, discount, horizon = claim.parse(rf"looks about {N} steps ahead \(discount {N}\), but an episode has {N}:")
    assert number(discount) == claim.reward.task.discount
    assert number(steps) == round(1 / (1 - number(discount)))
    assert number(horizon) == claim.reward.task.horizon


def unscorable(claim):
    assert [step.total for step in claim.witness] == [None]


def nothing_more(claim):
    """A message without numbers."""


SAYS = {
    "wrong-way": wrong_way,
    "loop-that-pays": loop,
    "jump": jump,
    "zone-gap": gap,
    "pays-for-staying": staying,
    "pays-per-event": event,
    "cheap-end": cheap_end,
    "goal-not-best": goal,
    "idle-floor": idle,
    "saturated-clamp": saturated,
    "clamp-never-binds": never_binds,
    "dead-term": dead,
    "wrong-sign": wrong_sign,
    "order-inversion": inversion,
    "dominated-action": dominated_action,
    "not-potential-based": residue,
    "short-sighted": short_sight,
    "not-a-number": unscorable,
    "may-divide-by-zero": unscorable,
}
"""What each rule says of its numbers, as assertions; a rule that is not here says none that a witness shows."""


def told_places(claim):
    """Assert that the numbers that say where an incentive is are those of its witness."""
    inputs = claim.witness[0].inputs
    for name, values in re.findall(
        r"(?:^|, )([a-z]\w*(?:\[\d\])?) (-?[\d.,]+(?: m)?(?: → -?[\d.,]+(?: m)?)*)(?=$|, )", claim.text
    ):
        ends = [each for each in (f"prev.{name}", f"curr.{name}", name) if each in inputs]
        told = [claim.read(ends[0], each) for each in values.split(" → ")] if ends else []
        if claim.said.kind == "lap":
            told = told[:2]
        held = list(dict.fromkeys(inputs[end] for end in ends))
        if ends:
            assert list(dict.fromkeys(told)) == pytest.approx(held, rel=1e-7, abs=0), (name, told, held)


def what_pays(claim):
    """Assert that what an incentive pays is what its witness earns, in the numbers that are shown."""
    (shown,) = re.search(rf"{N}|unbounded", format_incentive_pay(claim.said)).groups()
    if shown is not None:
        totals = [step.total for step in claim.witness]
        ends, event = claim.said.kind in ("end", "bad end"), claim.said.kind == "event"
        mean = totals[0] if event else math.fsum(totals) / len(totals)
        same(shown, totals[0] - totals[1] if ends else mean, max(map(abs, totals)))


def believe(reward, report):
    """Assert that every witness scores what it says, and that what is said of it is so in the printed numbers."""
    assert not report.failed, report.failed
    rest = report.rest
    for said in (*report.findings, *report.incentives):
        claim = Claim(reward, said)
        for step in said.witness:
            scores = claim.score(step)
            assert step.total == (None if scores is None else float(scores.total)), step
            for name, value in step.inputs.items():
                assert claim.model.fields[name].holds(value), (name, step)
        if isinstance(said, Finding):
            text = format_finding(said, rest)
            SAYS.get(said.code, nothing_more)(claim)
        else:
            text = f"{said.where} {format_incentive_pay(said)} {said.worth}"
            what_pays(claim)
            told_places(claim)
        for written in re.findall(r"[\d,]*\.?\d+(?:e[+-]?\d+)?|\bnan\b", text):
            digits = re.sub("[,.]", "", written).strip("0")
            assert len(digits) <= MOST_DIGITS, f"{written} in {text}"
            assert re.fullmatch(r"\d*(e\+[12]\d)?", digits), f"{written} in {text}"


def draw(seed, wild):
    """Return a random reward, or None where what was drawn is none."""
    try:
        return draw_case(random.Random(seed).choice).reward if wild else draw_reward(seed)
    except PlauditError:
        return None


def believe_reports(seeds, *, wild=False, z3=False):
    """Assert it of the random rewards of some seeds; a failure names the seed."""
    for seed in seeds:
        reward = draw(seed, wild)
        if reward is None:
            continue
        try:
            believe(reward, check(reward, z3=z3, timeout=20))
        except BaseException as error:
            error.add_note(f"It is the {'wild' if wild else 'everyday'} reward of seed {seed}, with {reward.task}.")
            raise


def test_what_is_said_of_everyday_rewards_is_true_when_it_is_typed_in():
    believe_reports(range(EVERYDAY))


def test_what_is_said_of_wild_rewards_is_true_when_it_is_typed_in():
    believe_reports(range(WILD), wild=True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SOAK, PORTION))
def test_what_is_said_of_many_random_rewards_is_true_when_it_is_typed_in(first):
    for seed in range(first, first + PORTION):
        believe_reports([seed], wild=seed % WILD_SHARE == 0)


@pytest.mark.skipif(not is_available(), reason="z3 is not installed")
def test_z3_is_said_to_be_forbidden_only_where_the_user_forbids_it():
    for seed in range(WITH_Z3):
        reward = draw_reward(seed)
        report = check(reward, timeout=3, only=("wrong-way", "loop-that-pays", "dead-term", "clamp-never-binds"))
        assert not [each for each in report.undecided if "turned off" in each.why]
