"""How long the future is: what a pay for every step adds up to, and the rule about a discount that does not see it."""

from plaudit.checks.formats.plain import format_number
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.reward.reward import Reward

TOLERANCE = 1e-6
"""By how much one thing must be worth more than another, relative to it, to count as more."""
MOST_BEYOND = 10
"""An episode of more than so many times the steps that a discount sees has an end that nobody sees."""


@rule("short-sighted", severity="advice", why="What is paid beyond the horizon of the discount is not seen.")
def find_short_sight(context: CheckContext) -> Found:
    """Find a discount that sees only a small part of an episode at whose end there is something to be had."""
    discount, horizon = context.reward.discount, context.reward.horizon
    reached = context.reward.goal is not None and context.reward.goal_ends
    ends = reached or any(term.terminal and term.weight != 0 for term in context.reward.terms)
    if discount is None or horizon is None or discount >= 1 or not ends:
        return
    seen = 1 / (1 - discount)
    if horizon > MOST_BEYOND * seen * (1 + TOLERANCE):
        yield context.finding(
            "total",
            f"a discount of {format_number(discount)} sees about {format_number(round(seen))} steps, and an episode "
            f"has {format_number(horizon)}: seen from the first step, what the last one pays counts "
            f"{discount**horizon:.1g} times as much.",
            f"Raise the discount towards {format_number(1 - 1 / horizon)}, shorten the episode, or pay for progress.",
        )


def count_steps(reward: Reward) -> float | None:
    """Return how many steps a pay for every step adds up to; None where neither discount nor horizon says so.

    >>> from plaudit import term
    >>> @term
    ... def alive():
    ...     return 1
    >>> count_steps(Reward("r", version="1", terms=[alive], fields=[], discount=0.5, horizon=3))
    1.75
    """
    discount, horizon = reward.discount or 1.0, reward.horizon
    if discount >= 1:
        return None if horizon is None else float(horizon)
    seen = 1.0 if horizon is None else 1 - discount**horizon
    return seen / (1 - discount)


def describe_horizon(reward: Reward) -> str:
    """Return over how long something adds up, as people say it."""
    parts = [] if reward.horizon is None else [f"over {format_number(reward.horizon)} steps"]
    if reward.discount is not None and reward.discount < 1:
        parts += [] if parts else ["for ever"]
        parts += [f"at a discount of {format_number(reward.discount)}"]
    return " ".join(parts)
