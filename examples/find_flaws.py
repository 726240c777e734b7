"""Find flaws in a reward before an agent does, and check the repair.

Run it: `python examples/find_flaws.py`.
"""

from plaudit import Field, Reward, Task, bounds, check, term


@term(weight=0.05, kind="shaping")
def closer(prev, curr):
    """Come closer to the exit."""
    return max(0.0, prev.cells_left - curr.cells_left)


@term(weight=0.05, kind="shaping", name="closer")
def both_ways(prev, curr):
    """Come closer to the exit; moving away costs the same."""
    return prev.cells_left - curr.cells_left


@term(weight=-0.01, kind="penalty")
def step():
    """Take a step."""
    return 1.0


FIELDS = [Field("cells_left", low=0, high=35)]
WALKING = Task(max_change={"cells_left": 1})  # a step changes the distance by one cell at most
flawed = Reward("maze", version="1", terms=[closer, step], fields=FIELDS, task=WALKING)
repaired = Reward("maze", version="2", terms=[both_ways, step], fields=FIELDS, task=WALKING)

for reward in (flawed, repaired):
    print(f"{reward.name}@{reward.version}, a step earns {bounds(reward).total}")
    findings = check(reward).at_least("warning")
    for finding in findings:
        print(f"  {finding.code}: {finding.message}")
        for row in finding.witness:
            print(f"    {dict(row.inputs)} earns {row.total:g}")
    if not findings:
        print("  no findings")
