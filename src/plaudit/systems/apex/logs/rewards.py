"""Rewards of records that come from a log: the step reward over the changes that a log keeps, and one for no reward."""

from plaudit import Field, Reward, Signal, term
from plaudit.systems.apex.logs.rows import RewardRow
from plaudit.systems.apex.reward import phase_advance, reward, switch_cost, terminal_bonus, test_improvement, token_cost


@term(weight=phase_advance.weight, kind="shaping", name="phase_advance")
def logged_phase_advance(phase_advance: bool) -> bool:
    """Reach a later phase, by whatever detector the run had."""
    return phase_advance


@term(weight=test_improvement.weight, kind="goal", name="test_improvement")
def logged_test_improvement(delta_pass_rate: float) -> float:
    """Pass more of the tests."""
    return delta_pass_rate


@term(weight=token_cost.weight, kind="penalty", name="token_cost")
def logged_token_cost(delta_tokens: float) -> float:
    """Spend tokens."""
    return delta_tokens


@term(weight=switch_cost.weight, kind="penalty", name="switch_cost")
def logged_switch_cost(switch_committed: bool) -> bool:
    """Commit a switch of topology."""
    return switch_committed


# A log is history: what lies outside the ranges that are meant is recorded as it was.
logged = Reward(
    reward.name,
    version="logged",
    terms=[logged_phase_advance, logged_test_improvement, logged_token_cost, logged_switch_cost, terminal_bonus],
    fields=[
        Field("phase_advance", flag=True, doc="The task reached a later phase."),
        Field("delta_pass_rate", low=-1, high=1, outside="allow", doc="Change of the share of tests passing."),
        Field("delta_tokens", low=0, outside="allow", unit="tokens", doc="Tokens spent in the step."),
        Field("switch_committed", flag=True, doc="A switch of topology took effect."),
        reward.fields["success"],
    ],
    doc="Progress of a task shared by several agents, less what it cost, from the changes that a log keeps.",
)


def score_row(row: RewardRow) -> Signal:
    """Return what the formula makes of a logged row.

    Whether an episode ended well is not in the row of its end, and is read from what it earned.

    >>> row = RewardRow(
    ...     step=5, delta_pass_rate=0, delta_tokens=50, phase_advance=True, switch_committed=False, r_step=0.295
    ... )
    >>> score_row(row).total
    0.295
    """
    changes = {
        "phase_advance": row.phase_advance,
        "delta_pass_rate": row.delta_pass_rate,
        "delta_tokens": row.delta_tokens,
        "switch_committed": row.switch_committed,
    }
    if not row.terminal:
        return logged.score(**changes)
    ends = [logged.score(**changes, terminal=True, success=success) for success in (True, False)]
    return min(ends, key=lambda end: abs(end.total - row.r_step))


@term(weight=0.0)
def nothing() -> float:
    """Earn nothing: the log has no reward for this decision."""
    return 0.0


unrewarded = Reward(
    "apex-unrewarded",
    version="logged",
    terms=[nothing],
    fields=[],
    doc="Carries a decision or a latency whose reward is not in the log.",
)
