"""`plaudit diff`: what changed between two versions of a reward, and the effect on recorded steps."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.options import (
    apply_task,
    check_any_record,
    ledger_options,
    parse_ledger_query,
    seconds_option,
    task_option,
)
from plaudit.cli.prove import EXIT
from plaudit.errors import DefinitionError
from plaudit.plugins.arguments import check_exists, find_reward, open_ledger
from plaudit.terminal import Screen, show_progress

if TYPE_CHECKING:
    from plaudit.analysis import Diff
    from plaudit.ledger.ledger import Ledger
    from plaudit.reward.reward import Reward


@click.command(epilog="Example: plaudit diff roadsense@R7 roadsense@R8 --ledger rewards.db --run night-3")
@click.argument("before")
@click.argument("after")
@click.option("--ledger", "where", metavar="LEDGER", help="Show the effect on the records of this ledger.")
@click.option("--data", metavar="FILE", help="Show the effect on the rows of this file, folder or address.")
@click.option("--shared", is_flag=True, help="Leave out terms with inputs that the other reward lacks.")
@task_option()
@ledger_options("reward", "version", "run", "episode", "phase", "actor", "since", "until")
@seconds_option("--timeout", 10.0, "Time limit for the proof.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def diff(
    before: str,
    after: str,
    where: str | None,
    data: str | None,
    shared: bool,
    task: str | None,
    timeout: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what changed between two reward versions.

    BEFORE and AFTER are rewards, or labels such as following@1 that --ledger holds. Added, removed, renamed and
    changed terms are shown with their formulas side by side and numbers as old → new, then whether the two rewards
    are provably equal or where they differ most. With --ledger or --data, both score the steps there: totals, terms,
    returns and ranks of episodes, and the ten steps that changed most. Of rollouts of a language model, it says what
    changes within groups instead: advantages that change sign, and groups that gain or lose their gradient. To read
    their texts with other features, use `plaudit rescore --features`. Nothing is written.

    Exit code: 0 if the rewards are equal, 1 if they differ, 2 if they cannot be compared, 3 if undecided.
    """
    query = parse_ledger_query(options, where)
    if where is not None and data is not None:
        raise click.UsageError("--ledger and --data cannot be combined; choose one.")
    if data is not None and not set(data) & set("*?[@"):  # a pattern, or a version of a table
        check_exists(data)
    if where is None:
        old, new = (apply_task(find_reward(each), task) for each in (before, after))
        found = _compare(old, new, shared, timeout, data=data)
    else:
        with open_ledger(where) as ledger:
            check_any_record(ledger, query)
            old, new = (apply_task(_find_label(each, ledger), task) for each in (before, after))
            found = _compare(old, new, shared, timeout, ledger=ledger, **query)
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else found.format(max(Screen().width, 60)))
    raise click.exceptions.Exit(EXIT[found.verdict])


def _compare(before: "Reward", after: "Reward", shared: bool, timeout: float, **more: Any) -> "Diff":
    from plaudit.analysis import diff as compare

    data = more.get("data")
    with show_progress("" if data is None else Path(data).name) as progress:
        return compare(before, after, shared=shared, timeout=timeout, progress=progress, **more)


def _find_label(text: str, ledger: "Ledger") -> "Reward":
    """Return the reward that `text` names, or the one that a ledger stores under that label."""
    try:
        return find_reward(text)
    except DefinitionError:
        stored = {f"{each.name}@{each.version}": each.reward for each in ledger.rewards()}
        if text in stored:
            return stored[text]
        if "@" not in text or Path(text).exists():
            raise
        held = ", ".join(stored) or "none"
        raise DefinitionError(f"there is no reward {text!r}. Rewards in {ledger.name}: {held}.") from None
