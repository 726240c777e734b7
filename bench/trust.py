"""How far to trust a check: what it says of rewards whose flaw is known. `python bench/trust.py`.

Two sets of our own. The corpus has rewards from the literature and from practice, each with what is wrong, beside sound
ones. The worlds are small simulators, each with a task, a sound and a flawed reward, written without knowing the rules;
a check is told nothing, the declared task, or what playing the world shows and what is wanted.
"""

import sys
from collections import Counter
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from timing import QUICK, table

from checks.corpus import BAD, GOOD, Case
from checks.worlds import WORLDS, World
from plaudit import Report, Task
from plaudit.analysis import observe
from plaudit.checks.check import check

TOLD = ("nothing", "declared", "observed")
"""What a check is told of a world: nothing, its task, or what playing it shows and what is wanted."""
WANTED = ("goal", "goal_ends", "better", "aim", "prefer")


@cache
def observe_world(name: str) -> tuple[Task, object]:
    """Return what playing a world shows, with what is wanted in it and nothing else of its task, and the steps."""
    [world] = [each for each in WORLDS if each.name == name]
    env = world.make()
    seen, steps = observe(env, world.features, steps=3_000)
    env.close()
    wanted = {part: getattr(world.task, part) for part in WANTED}
    if world.task.discount is not None:
        wanted["discount"] = world.task.discount
    return seen.evolve(**wanted, ends={**seen.ends, **world.task.ends}), steps


def check_case(case: Case) -> Report:
    """Check a reward of the corpus."""
    return check(case.reward, outcomes=case.outcomes)


def check_world(world: World, told: str, which: str) -> Report:
    """Check the sound or the flawed reward of a world."""
    task, steps = observe_world(world.name) if told == "observed" else (None, None)
    return check(getattr(world, which), task=world.task if told == "declared" else task, steps=steps)


def list_warnings(report: Report) -> str:
    """Return the codes of the warnings, each once."""
    return ", ".join(dict.fromkeys(finding.code for finding in report.at_least("warning")))


def main() -> None:
    """Print both counts, and what was found in each world."""
    bad, good = (BAD[:3], GOOD[:3]) if QUICK else (BAD, GOOD)
    found = sum({*case.finds} <= {each.code for each in check_case(case).at_least(case.severity)} for case in bad)
    warned = sum(bool({*case.finds} & {each.code for each in check_case(case).at_least("warning")}) for case in bad)
    alarms, advised = (sum(bool(check_case(case).at_least(least)) for case in good) for least in ("warning", "advice"))
    print(f"corpus: {found} of {len(bad)} flaws named, {warned} of them by a warning")
    print(f"corpus: of {len(good)} sound rewards, {alarms} get a warning and {advised} get advice\n")

    worlds = WORLDS[:1] if QUICK else WORLDS
    warnings = {
        (world.name, told, which): list_warnings(check_world(world, told, which))
        for world in worlds
        for told in TOLD
        for which in ("flawed", "sound")
    }
    rows = [(each.name, *(warnings[each.name, told, "flawed"] or "-" for told in TOLD)) for each in worlds]
    table([("flawed reward of", *TOLD), *rows])
    for told in TOLD:
        count = Counter(which for _, how, which in (key for key, codes in warnings.items() if codes) if how == told)
        print(f"{told}: warns of {count['flawed']} of {len(worlds)} flawed rewards and {count['sound']} sound ones")


if __name__ == "__main__":
    main()
