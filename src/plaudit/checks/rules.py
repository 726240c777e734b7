"""Every rule that `check` knows: its code, how grave it is, and why it matters."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from plaudit.checks.finding import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """What a finding's code stands for; `docs/checks/<code>.md` says more."""

    code: str
    severity: Severity
    """What a finding of this rule usually is."""
    why: str
    """Why it matters, in a sentence."""


_RULES = (
    Rule("loop-that-pays", "warning", "An agent can go round for ever and be paid for it without getting anywhere."),
    Rule("not-potential-based", "advice", "Shaping that does not telescope can change which policy is best."),
    Rule("pays-for-staying", "advice", "An agent that is paid for staying where it is has a reason never to finish."),
    Rule("pays-per-event", "advice", "What pays whenever it happens can be worth more, repeated, than finishing."),
    Rule("cheap-end", "advice", "Where every step costs, an agent may learn to end the episode badly and soon."),
    Rule("saturated-clamp", "warning", "Where a clamp binds nearly everywhere, the term says nothing any more."),
    Rule("clamp-never-binds", "warning", "A clamp out of reach protects nothing and hides what the range really is."),
    Rule("dead-term", "warning", "A term that is the same for every input teaches nothing."),
    Rule("dominated-term", "advice", "A term a hundred times smaller than another is drowned by its noise."),
    Rule("unreachable-branch", "warning", "What can never happen is never paid: the number there has no effect."),
    Rule("zone-gap", "warning", "A single value between two zones falls through to a third: a wrong `<` or `<=`."),
    Rule("zone-overlap", "advice", "Two zones claim the same values, and only the first one gets them."),
    Rule("jump", "advice", "At a jump the smallest change of an input makes a large change of the reward."),
    Rule("wrong-sign", "warning", "A penalty that pays, or a bonus that costs, teaches the opposite of what is meant."),
    Rule("dominated-action", "warning", "An action that is never better than another never needs to be learnt."),
    Rule("order-inversion", "warning", "The reward prefers what its author does not."),
    Rule("outcome-order", "warning", "The reward ranks whole episodes in another order than its author."),
    Rule("risk-tolerance", "advice", "The odds at which an agent would gamble are fixed by the reward alone."),
    Rule("unbounded", "warning", "One row can outweigh a whole training run."),
    Rule("may-divide-by-zero", "warning", "A row that the declared ranges allow cannot be scored."),
    Rule("not-a-number", "warning", "A row that the declared ranges allow cannot be scored."),
    Rule("unit-mismatch", "warning", "Metres and metres per second added or compared make no sense."),
    Rule("unused-field", "advice", "A field that cannot change the total is measured for nothing."),
    Rule("unused-knob", "warning", "A knob that changes nothing will be tuned in vain."),
    Rule("missing-range", "advice", "Without ranges little can be proved."),
    Rule("contradictory-facts", "warning", "Facts that are true of no step prove whatever one likes."),
    Rule("unused-allow", "advice", "A reason for what is no longer there hides the flaw when it comes back."),
    Rule("changed-since-read", "warning", "The function and the reward made of it no longer compute the same."),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.code: rule for rule in _RULES})
"""Every rule by its code."""
