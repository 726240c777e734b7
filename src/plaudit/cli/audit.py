"""`plaudit audit`: signs of reward hacking in the records of a ledger."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaudit.checks.check import FailOn
from plaudit.checks.report import LocatedReport
from plaudit.checks.rules import list_history_rules
from plaudit.cli._support.findings import (
    Format,
    choose_format,
    exit_with,
    open_report,
    print_reports,
    print_rules,
    report_options,
)
from plaudit.cli._support.options import (
    apply_task,
    explain_nothing,
    parse_query,
    parse_setting,
    query_options,
    task_option,
)
from plaudit.plugins.arguments import find_reward, open_ledger
from plaudit.rows.addresses import is_address
from plaudit.rows.streams import is_data_set
from plaudit.terminal import show_progress

if TYPE_CHECKING:
    from plaudit.checks.report import Report
    from plaudit.ledger.ledger import Ledger
    from plaudit.reward.reward import Reward
    from plaudit.reward.task.task import Task


@click.command(epilog="Example: plaudit audit rewards.db --run night-3 --threshold one_term=0.9")
@click.argument("where", metavar="[SOURCE]", required=False)
@report_options(list_history_rules, "plaudit audit --rules")
@task_option()
@click.option(
    "--threshold", metavar="NAME=VALUE", multiple=True, help="Override a threshold of a rule; can be repeated."
)
@query_options(without=("step", "key", "after"))
def audit(
    where: str | None,
    chosen: Format | None,
    as_json: bool,
    fail_on: FailOn,
    only: Sequence[str],
    ignore: Sequence[str],
    output: str | None,
    rules: bool,
    explain: str | None,
    task: str | None,
    threshold: Sequence[str],
    **options: Any,
) -> None:
    """Audit recorded episodes for reward hacking.

    SOURCE is a ledger, or a data set: a file or folder of rows, an s3:// or gs:// address, or a Delta table, whose
    rows --reward scores and whose columns run, actor, episode, step, terminated and truncated say where they belong.

    Reports, for each reward of a ledger, cycles that agents walked, places where they stayed, returns that rise while
    the stated objective falls, terms that pay almost everything, clamps that always bind, and more. Each finding names
    records that show it; `plaudit ledger why` explains a record. Rules without enough steps or episodes are listed as
    not run. `plaudit check REWARD --ledger LEDGER` also checks the definition of the reward.

    Exit code: 0 if no finding is at or above --fail-on, 1 if one is, 2 if SOURCE cannot be read.
    """
    form = choose_format(chosen, as_json)
    if rules or explain:
        print_rules(list_history_rules().values(), explain, form)
        return
    if where is None:
        raise click.UsageError("name a SOURCE: a ledger or a data set.")
    query = parse_query(options)
    if is_data_set(where):
        if "reward" not in query:
            raise click.UsageError("a data set does not say which reward paid; name it with --reward.")
        reward = find_reward("@".join(query.pop(each) for each in ("reward", "version") if each in query))
        wanted = None if task is None else apply_task(reward, task).task
        with open_report(output) as file:
            report = _audit(where, reward, wanted, only, ignore, threshold, query)
            done = [LocatedReport.of(report, reward, file=where if is_address(where) else str(Path.cwd() / where))]
            print_reports(done, form, file)
        exit_with(done, fail_on)
        return
    with open_report(output) as file, open_ledger(where) as ledger:
        done = []
        for label, reward in _list_rewards(ledger, query).items():
            wanted = None if task is None else apply_task(reward, task).task
            report = _audit(ledger, label, wanted, only, ignore, threshold, query)
            done.append(LocatedReport.of(report, reward, file=str(Path.cwd() / where)))
        print_reports(done, form, file)
    exit_with(done, fail_on)


def _list_rewards(ledger: "Ledger", query: dict[str, Any]) -> dict[str, "Reward"]:
    """Return the rewards of the selected records, by label."""
    history = ledger.history(**query)
    found = [layout.reward for layout, _ in history.counts()]
    if not found:
        raise explain_nothing(history)
    return {f"{reward.name}@{reward.version}": reward for reward in found}


def _audit(
    where: "Ledger | str",
    reward: "Reward | str",
    task: "Task | None",
    only: Sequence[str],
    ignore: Sequence[str],
    threshold: Sequence[str],
    query: dict[str, Any],
) -> "Report":
    from plaudit.analysis import Thresholds
    from plaudit.analysis import audit as audit_history

    thresholds = Thresholds().with_values(dict(map(parse_setting, threshold)))
    chosen = {name: value for name, value in query.items() if name not in ("reward", "version")}  # the label says both
    with show_progress(str(reward) if isinstance(reward, str) else f"{reward.name}@{reward.version}") as progress:
        return audit_history(
            where,
            reward,
            task=task,
            only=only,
            ignore=ignore,
            thresholds=thresholds,
            progress=progress,
            **chosen,
        )
