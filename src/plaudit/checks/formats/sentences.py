"""A finding in a few plain sentences, for readers that draw no tables."""

from collections.abc import Iterator, Mapping, Sequence

from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.values import Value, rounded, visible, written

MOST_STEPS = 6


def told(finding: Finding, rest: Mapping[str, Value]) -> str:
    """Return a finding as lines: what is wrong, a line a step of its witness, what to do, and the facts it rests on.

    >>> stay = Step({"near": True}, 0.5, "stay")
    >>> found = Finding(code="jump", severity="advice", term="gap", message="Oh.", advice="Do.", witness=(stay,))
    >>> print(told(found, {}))
    gap: Oh.
    stay: near true; total 0.5
    Do.
    """
    said = [f"{finding.term}: {visible(finding.message)}", *_steps(finding.witness, rest), visible(finding.advice)]
    return "\n".join([*said, f"Facts used: {visible(', '.join(finding.facts))}."] if finding.facts else said)


def _steps(steps: Sequence[Step], rest: Mapping[str, Value]) -> Iterator[str]:
    said = {name for step in steps for name, value in step.inputs.items() if name not in rest or value != rest[name]}
    resting = ", the others at rest" if any(step.inputs.keys() - said for step in steps) else ""
    for step in steps[:MOST_STEPS]:
        note = f"{visible(step.note)}: " if step.note else ""
        inputs = ", ".join(f"{name} {written(value)}" for name, value in step.inputs.items() if name in said)
        yield f"{note}{inputs or 'all inputs at rest'}{resting if inputs else ''}; total {rounded(step.total)}"
    if len(steps) > MOST_STEPS:
        yield f"… {len(steps) - MOST_STEPS:,} more rows"
