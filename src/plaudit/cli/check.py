"""`plaudit check`: find flaws in rewards, for people and as a CI gate."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plaudit.checks.check import FailOn
from plaudit.checks.check import check as check_reward
from plaudit.checks.report import LocatedReport, Report, TaskLabel
from plaudit.checks.rules import RULES, find_rule, list_all_rules
from plaudit.cli._support.environments import (
    budget_option,
    find_environment,
    find_features,
    find_reference,
    make_option,
    parse_option,
)
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
    drop_unset,
    ledger_options,
    parse_ledger_query,
    seconds_option,
    task_option,
    tune,
    tuning_options,
)
from plaudit.cli._support.outcomes import Episodes, arrange_outcomes, read_outcomes
from plaudit.plugins.arguments import check_exists, find_reward, open_ledger
from plaudit.plugins.options import SEED
from plaudit.reward.reward import Reward
from plaudit.systems import BUILT_IN
from plaudit.terminal import ExitCode, show_progress, show_stages, show_status

if TYPE_CHECKING:
    from plaudit.analysis import EnvironmentCheck

_EXAMPLE = "Example: plaudit check roadsense parking.py:reward --ignore jump"


@click.command(epilog=_EXAMPLE)
@click.argument("rewards", metavar="[REWARD]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Check the default version of all built-in rewards.")
@report_options(list_all_rules, "plaudit check --rules", loaded=RULES)
@seconds_option("--timeout", 60.0, "Approximate time limit per reward.")
@task_option()
@tuning_options()
@click.option("--outcomes", metavar="FILE", help="Named episodes from worst to best: see above.")
@click.option("--ledger", "where", metavar="LEDGER", help="Check the findings against the records of this ledger.")
@ledger_options("run", "episode", "phase", "actor", "job")
@click.option("--env", metavar="ENV", help="Observe this environment, check with what was seen, and probe it.")
@click.option(
    "--features",
    metavar="FILE.py:NAME",
    help="With --env: function from a step to the reward's inputs.  [default: `features` beside the reward]",
)
@make_option()
@budget_option("With --env: time limit (90s, 5m, 1h) or steps (200000) of the probe.  [default: 1m]", default=None)
@click.option("--seed", metavar="NUMBER", type=SEED, help="With --env: random seed.  [default: 0]")
@click.option(
    "--reference", metavar="FILE.py:NAME|LEDGER#RUN", help="With --env: a policy or episodes that do what you want."
)
def check(
    rewards: Sequence[str],
    everything: bool,
    chosen: Format | None,
    as_json: bool,
    fail_on: FailOn,
    only: Sequence[str],
    ignore: Sequence[str],
    timeout: float,
    task: str | None,
    settings: Sequence[str],
    params: str | None,
    outcomes: str | None,
    output: str | None,
    rules: bool,
    explain: str | None,
    where: str | None,
    env: str | None,
    features: str | None,
    options: Sequence[str],
    budget: dict[str, Any] | None,
    seed: int | None,
    reference: str | None,
    **records: Any,
) -> None:
    """Find flaws in a reward, with a witness for each.

    Looks for loops that pay, terms that teach nothing, wrong signs and more. Each finding shows concrete inputs (the
    witness) and suggests a fix. Findings that a reward allows, with a reason, are counted separately, and open
    questions are listed.

    Checking a FILE.py executes it: check only files that you trust. A JSON file from `plaudit show --spec` is only
    data.

    --outcomes takes a JSON object from names to lists of rows, ordered from worst to best, or episodes of ledgers:
    rewards.db#night-3/7=parked,rewards.db#night-3/9=landed. --ledger adds to each finding how often it happened in
    the records, in which episodes and what it earned, and runs the rules of `plaudit audit`; --run and similar
    options select the records.

    --env takes the id of a Gymnasium environment, or file.py:Name or package.module:Name of a class, function or
    instance. It is observed for about 10,000 steps, and findings that contradict those steps are dropped. Then it is
    probed as by `plaudit probe`, and one report says what an agent will do, how certain that is, and which episodes
    show it. Ctrl-C during the probe prints the results so far.

    Exit code: 0 if no finding is at or above --fail-on, 1 if one is, 2 if a reward cannot be checked, 3 if --env has
    no findings and the probe is undecided, 4 if a rule failed because of a bug in plaudit; the other rules still run.
    """
    form = choose_format(chosen, as_json)
    if rules or explain:
        print_rules([find_rule(explain)] if explain else [*RULES.values()], explain, form)
        return
    query = parse_ledger_query(records, where)
    given = {"features": features, "make": options, "budget": budget, "seed": seed, "reference": reference}
    playing = _parse_playing(env, drop_unset({**given, "make": options or None}), where)
    _refuse_history_codes((*only, *ignore), where)
    if where is not None:
        check_exists(where)
    if not rewards and not everything:
        raise click.UsageError("name a REWARD, or use --all for all built-in ones.")
    names = _list_names(rewards, everything)
    job = CheckJob(
        names, tuple(only), tuple(ignore), timeout, params, tuple(settings), outcomes, where, query, task, playing
    )
    with open_report(output) as file:
        done = check_rewards(job)
        print_reports([each.located for each in done], form, file)
    if any(each.tried is not None and each.tried.interrupted for each in done):
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    exit_with([each.located for each in done], fail_on)
    if fail_on != "never" and any(each.tried is not None and each.tried.is_undecided for each in done):
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def _refuse_history_codes(codes: Sequence[str], where: str | None) -> None:
    for code in codes if where is None else ():
        if code not in RULES:
            raise click.UsageError(f"{code} needs recorded steps; name a ledger with --ledger.")


def _parse_playing(env: str | None, given: dict[str, Any], where: str | None) -> dict[str, Any] | None:
    """Return the options for an environment, or None if none is named."""
    if env is None:
        for name in given:
            raise click.UsageError(f"--{name} needs --env; name an environment.")
        return None
    if where is not None:
        raise click.UsageError("--env plays an environment and --ledger reads recorded steps; give one of them.")
    made = {"make": dict(map(parse_option, given.pop("make", ()))), **given.pop("budget", {})}
    return {"env": find_environment(env), **given, **made}


def _list_names(rewards: Sequence[str], everything: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(BUILT_IN if everything else ()), *rewards]))


@dataclass(frozen=True, slots=True)
class CheckJob:
    """The arguments and options of the command."""

    rewards: tuple[str, ...]
    only: tuple[str, ...]
    ignore: tuple[str, ...]
    timeout: float
    params: str | None
    settings: tuple[str, ...]
    outcomes: str | None
    ledger: str | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    task: str | None = None
    playing: Mapping[str, Any] | None = None
    """The options for an environment, or None."""


class Checked(NamedTuple):
    """A report, and the result of the check in an environment if one was named."""

    located: LocatedReport
    tried: "EnvironmentCheck | None" = None


def check_rewards(job: CheckJob) -> list[Checked]:
    """Return a report for each reward, up to one whose probe Ctrl-C ended.

    A reward that cannot be loaded is an error before any is checked.
    """
    episodes = None if job.outcomes is None else read_outcomes(job.outcomes)
    tuned = {text: tune(find_reward(text), job.params, job.settings) for text in job.rewards}
    loaded = {text: apply_task(reward, job.task) for text, reward in tuned.items()}
    done = []
    with _show_name(len(loaded)) as show:
        for text, reward in loaded.items():
            show(text)
            outcomes = None if episodes is None else arrange_outcomes(episodes, reward)
            tried = None if job.playing is None else _try(job, job.playing, text, reward, outcomes)
            report = _check(job, reward, outcomes) if tried is None else tried.report
            file = str(Path.cwd() / text) if Path(text).is_file() else None
            done.append(Checked(LocatedReport.of(report, reward, file=file), tried))
            if tried is not None and tried.interrupted:
                break
    for text in [*loaded][len(done) :]:
        click.echo(f"Interrupted: {text} was not checked.", err=True)
    return done


def _check(job: CheckJob, reward: Reward, outcomes: Episodes | None) -> Report:
    only = tuple(code for code in job.only if code in RULES)
    if job.only and not only:  # only rules about records were asked for
        report = Report(
            reward=reward.name, version=reward.version, fingerprint=reward.fingerprint, task=TaskLabel.of(reward.task)
        )
    else:
        ignore = tuple(code for code in job.ignore if code in RULES)
        report = check_reward(reward, only=only, ignore=ignore, outcomes=outcomes, timeout=job.timeout)
    if job.ledger is None:
        return report
    from plaudit.analysis import audit

    with open_ledger(job.ledger) as ledger, show_progress("reading") as progress:
        return audit(ledger, reward, checked=report, only=job.only, ignore=job.ignore, progress=progress, **job.query)


def _try(
    job: CheckJob, playing: Mapping[str, Any], text: str, reward: Reward, outcomes: Episodes | None
) -> "EnvironmentCheck":
    from plaudit.analysis import check_in_environment

    chosen = {**playing, "only": job.only, "ignore": job.ignore, "outcomes": outcomes, "timeout": job.timeout}
    chosen["features"] = find_features(playing.get("features"), text)
    with ExitStack() as stack:
        if "reference" in playing:
            chosen["reference"] = find_reference(playing["reference"], stack)
        chosen["progress"] = stack.enter_context(show_stages())
        return check_in_environment(reward, **chosen)


@contextmanager
def _show_name(count: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows which of several rewards is being checked, on a terminal."""
    if count == 1:
        yield lambda name: None
        return
    numbers = itertools.count(1)
    with show_status("") as update:
        yield lambda name: update(f"checking {name} ({next(numbers)} of {count})")
