"""`check` runs every rule on one reward; `assert_reward_ok` does the same in one line of a test."""

import time
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, get_args

from plaudit.checks.finding import SEVERITIES, Failed, Finding, Incentive, Suppressed, Undecided
from plaudit.checks.model import Contradiction, Outcomes, RewardModel
from plaudit.checks.report import LocatedReport, Report, TaskLabel, format_reports
from plaudit.checks.solver.deadline import TIME_IS_UP, Deadline
from plaudit.checks.solver.solver import Solver, TimeIsUp
from plaudit.errors import DefinitionError, PlauditError, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task

if TYPE_CHECKING:
    from plaudit.checks.rules.registry import CheckContext, Needs, Rule
    from plaudit.checks.seen_steps import SeenSteps

FailOn = Literal["warning", "advice", "note", "never"]


def check(
    reward: Reward,
    *,
    task: Task | None = None,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    outcomes: Outcomes | None = None,
    steps: "SeenSteps | None" = None,
    timeout: float = 60.0,
    z3: bool = True,
) -> Report:
    """Check a reward for flaws, each shown by concrete inputs.

    The report also lists the behaviors that the reward pays most for.

    Args:
        reward: The reward to check.
        task: The task to check against. Statements that only the reward's own task has are kept.
        only: Code or codes of rules. Only these rules run, and the best-paid behaviors are left out.
        ignore: Code or codes of rules that do not run.
        outcomes: Whole episodes by name, from the worst to the best, each a list of rows as `reward.score` takes them.
        steps: Observed steps, from `plaudit.analysis.observe`. Findings that the steps show come first, and findings
            that they contradict are dropped.
        timeout: Approximate time limit in seconds for the whole reward. Questions that stay open are reported as
            undecided, and rules without time left as not run.
        z3: Whether the solver z3 may be used. Without it, fewer questions can be decided.

    Returns:
        The findings, the best-paid behaviors, and everything that was not decided or not run.

    Raises:
        DefinitionError: An argument is invalid, or the reward allows a rule that does not exist.
        InputError: A row of `outcomes` cannot be scored.

    >>> from plaudit import Field, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> [finding.code for finding in check(reaching)]
    ['jump']
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"check takes a Reward, not a {type(reward).__name__}")
    reward = reward._join_task(task)
    from plaudit.checks.incentives import summarise_incentives
    from plaudit.checks.rules import RULES  # `import plaudit` does not load them
    from plaudit.checks.rules.registry import CheckContext
    from plaudit.checks.rules.rivals import list_told_again

    started = time.perf_counter()
    chosen = _choose_rules(RULES, list_codes(only), list_codes(ignore))
    _validate_outcomes(outcomes)
    _validate_steps(steps)
    _validate_allowances(reward)
    solver = Solver(Deadline.after(timeout), z3)
    run = _Run(CheckContext(RewardModel(reward), solver, outcomes=outcomes or {}, steps=steps), chosen)
    if run.are_facts_contradictory():
        run.skip([code for code in chosen if code != "contradictory-facts"], "the facts contradict one another")
    elif not list_codes(only):
        run.find_incentives()
    run.find("reward")
    if outcomes is None:
        run.skip(
            [code for code, rule in run.rules.items() if rule.needs == "outcomes"], "no outcome episodes were given"
        )
    run.find("outcomes")
    _, suppressed = separate_allowed(reward, run.findings)
    run.find("findings", suppressed)
    found, contradicted = _judge(run)
    kept, suppressed = separate_allowed(reward, found)
    told_again = {id(each) for group in (found, contradicted) for each in list_told_again(run.context, group)}
    return Report(
        reward=reward.name,
        version=reward.version,
        fingerprint=reward.fingerprint,
        task=TaskLabel.of(reward.task),
        summary=summarise_incentives(run.incentives),
        incentives=tuple(run.incentives),
        findings=tuple(finding for finding in kept if id(finding) not in told_again),
        suppressed=suppressed,
        contradicted=tuple(finding for finding in contradicted if id(finding) not in told_again),
        undecided=tuple(dict.fromkeys(run.undecided)),
        failed=tuple(run.failed),
        skipped=run.skipped,
        notes=reward.notes,
        rest={name: field.at_rest for name, field in reward._bound.inputs.items()},
        seconds=time.perf_counter() - started,
    )


def assert_reward_ok(
    reward: Reward,
    *,
    fail_on: FailOn = "warning",
    task: Task | None = None,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    outcomes: Outcomes | None = None,
    steps: "SeenSteps | None" = None,
    timeout: float = 60.0,
    z3: bool = True,
) -> Report:
    """Check a reward in a test and fail on findings.

    It runs `check` and needs no pytest plugin.

    Args:
        reward: The reward to check.
        fail_on: Fail on findings at or above this severity: "warning", "advice" or "note". "never" only reports.
        task: The task to check against, as for `check`.
        only: Code or codes of the only rules that run.
        ignore: Code or codes of rules that do not run.
        outcomes: Whole episodes by name, from the worst to the best.
        steps: Observed steps, from `plaudit.analysis.observe`.
        timeout: Approximate time limit in seconds for the whole reward.
        z3: Whether the solver z3 may be used.

    Returns:
        The report, if nothing fails.

    Raises:
        AssertionError: A finding is at or above `fail_on`, or a rule failed. The message is the whole report.
        DefinitionError: An argument is invalid.

    >>> from plaudit import Field, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> assert_reward_ok(reaching).ok
    True
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not of this function
    _validate_fail_on(fail_on)
    report = check(reward, task=task, only=only, ignore=ignore, outcomes=outcomes, steps=steps, timeout=timeout, z3=z3)
    if list_failing(report, fail_on) or (report.failed and fail_on != "never"):
        raise AssertionError(format_reports([LocatedReport.of(report, reward)]).rstrip("\n"))
    return report


def list_failing(report: Report, fail_on: FailOn) -> tuple[Finding, ...]:
    """Return the findings at or above the severity `fail_on`.

    >>> list_failing(Report(reward="r", version="1", fingerprint=""), "advice")
    ()
    """
    return () if fail_on == "never" else report.at_least(fail_on)


def list_codes(given: Iterable[str]) -> tuple[str, ...]:
    """Return rule codes as a tuple; a string is a single code.

    >>> list_codes("jump"), list_codes(["jump", "unbounded"])
    (('jump',), ('jump', 'unbounded'))
    """
    return (given,) if isinstance(given, str) else tuple(given)


class _Run:
    """The rules that still run, and what the others found."""

    def __init__(self, context: "CheckContext", rules: "Mapping[str, Rule]") -> None:
        self.context = context
        self.rules = dict(rules)
        self.incentives: list[Incentive] = []
        self.findings: list[Finding] = []
        self.undecided: list[Undecided] = []
        self.failed: list[Failed] = []
        self.skipped: dict[str, str] = {}

    def are_facts_contradictory(self) -> bool:
        """Return whether the facts are known to rule out every step."""
        try:
            return isinstance(self.context.find_contradiction(), Contradiction)
        except PlauditError:
            raise
        except Exception:  # the rule contradictory-facts asks again, and says then that it failed or had no time
            return False

    def find_incentives(self) -> None:
        """Find what pays most; a failure stops no rule."""
        from plaudit.checks.incentives import list_incentives

        try:
            within = self.context.limit_changes() or self.context  # larger steps than were seen cannot be repeated
            self.incentives += list_incentives(within.take_half())
        except PlauditError:
            raise
        except Exception as error:
            self.failed.append(Failed("incentives", describe_failure(error)))

    def skip(self, codes: Iterable[str], why: str) -> None:
        """Take rules out, and say why."""
        for code in codes:
            del self.rules[code]
            self.skipped[code] = why

    def find_within_reach(self, codes: Collection[str]) -> list[Finding]:
        """Return what these rules find in steps no larger than were seen, where larger ones were contradicted."""
        rules = {rule.find: rule for code, rule in self.rules.items() if code in codes}
        within = self.context.limit_changes() if rules else None
        found: list[Finding] = []
        if within is None:
            return found
        for rule in rules.values():
            try:
                found += [each for each in within.take_half().find(rule) if isinstance(each, Finding)]
            except PlauditError:
                raise
            except TimeIsUp:
                break
            except Exception as error:
                self.failed.append(Failed(rule.code, describe_failure(error)))
        return [each for each in found if each.code in codes]

    def find(self, needs: "Needs", suppressed: tuple[Suppressed, ...] = ()) -> None:
        """Run every rule that needs this, a function that two rules share only once; one that fails stops no other."""
        decided = frozenset(self.rules) - {each.code for each in self.undecided} - {each.code for each in self.failed}
        context = replace(self.context, decided=decided, suppressed=suppressed)
        functions: dict[object, list[Rule]] = {}
        for rule in self.rules.values():
            if rule.needs == needs:
                functions.setdefault(rule.find, []).append(rule)
        for sharing in functions.values():
            if self.context.solver.deadline.passed:
                self.skip([rule.code for rule in sharing], TIME_IS_UP)
                continue
            try:
                for each in context.take_half().find(sharing[0]):
                    if each.code in self.rules:
                        (self.findings if isinstance(each, Finding) else self.undecided).append(each)  # type: ignore[arg-type]
            except PlauditError:  # an outcome that cannot be scored, an extra that is not installed
                raise
            except TimeIsUp:
                self.undecided += [Undecided(rule.code, "total", TIME_IS_UP) for rule in sharing]
            except Exception as error:
                self.failed += [Failed(rule.code, describe_failure(error)) for rule in sharing]


def _judge(run: _Run) -> tuple[list[Finding], list[Finding]]:
    """Return the findings with what steps that happened say of them, those that went otherwise apart.

    Where a witness was not seen, the rule is asked for one within what was: what is seen then, or takes the place of
    what went otherwise, is told instead.
    """
    steps = run.context.steps
    if steps is None:
        return run.findings, []
    from plaudit.checks.evidence import judge_findings  # with NumPy, which a check without steps does not need

    judged = judge_findings(steps, run.context.model, run.findings)
    missed = {each.code for each in judged if _is_unseen(each)}
    again = judge_findings(steps, run.context.model, run.find_within_reach(missed))
    instead = [each for each in again if not each.is_contradicted]
    seen = {each.code for each in instead if each.is_seen}
    dropped = [each for each in judged if each.is_contradicted]
    found = [each for each in judged if not each.is_contradicted and not (each.code in seen and _is_unseen(each))]
    found += [each for each in instead if each.code in seen | {other.code for other in dropped}]
    return found, [each for each in dropped if each.code not in {other.code for other in instead}]


def _is_unseen(finding: Finding) -> bool:
    """Return whether it is about going or staying somewhere, and nothing that happened shows it."""
    return finding.claims in ("cycle", "stay") and finding.evidence is not None and not finding.is_seen


def describe_failure(error: Exception) -> str:
    """Return what a rule raised, and where."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = traceback.format_exception_only(error)[-1].strip()
    return f"{what} ({PurePath(last.filename).name}, line {last.lineno})"


def _choose_rules(rules: "Mapping[str, Rule]", only: Collection[str], ignore: Collection[str]) -> "dict[str, Rule]":
    for code in (*only, *ignore):
        if code not in rules:
            raise DefinitionError(f"there is no rule {code!r}.{did_you_mean(code, rules)}")
    return {code: rule for code, rule in rules.items() if (not only or code in only) and code not in ignore}


def _validate_fail_on(fail_on: str) -> None:
    allowed = get_args(FailOn)
    if fail_on not in allowed:
        near = did_you_mean(str(fail_on), allowed)
        raise DefinitionError(f"fail_on={fail_on!r} is not one of {', '.join(allowed)}.{near}")


def _validate_outcomes(outcomes: object) -> None:
    if outcomes is None:
        return
    wanted = "outcomes= must be a mapping from at least two names to lists of rows, from the worst to the best"
    if not isinstance(outcomes, Mapping):
        raise DefinitionError(f"{wanted}, not a {type(outcomes).__name__}")
    if len(outcomes) < 2:
        raise DefinitionError(f"{wanted}, but it has {len(outcomes) or 'none'}")
    for name, rows in outcomes.items():
        if not isinstance(name, str) or isinstance(rows, str) or not isinstance(rows, Sequence):
            raise DefinitionError(f"{wanted}, but it maps {name!r} to a {type(rows).__name__}")


def _validate_steps(steps: object) -> None:
    if steps is None:
        return
    from plaudit.checks.seen_steps import SeenSteps

    if not isinstance(steps, SeenSteps):
        raise DefinitionError(
            f"steps= takes observed steps, not a {type(steps).__name__}; get them from "
            "`task, steps = plaudit.analysis.observe(env)`."
        )


def _validate_allowances(reward: Reward) -> None:
    """Refuse an allowed code that is not a rule: it would never allow anything."""
    from plaudit.checks.rules import RULES, list_all_rules

    for owner, allow in [("reward", reward.allow), *((f"term {term.name!r}", term.allow) for term in reward.terms)]:
        for code in allow:
            if code not in RULES and code not in list_all_rules():
                near = did_you_mean(code, list_all_rules())
                raise DefinitionError(f"reward {reward.name!r}: {owner} allows {code!r}, which is not a rule.{near}")


def separate_allowed(reward: Reward, found: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Suppressed, ...]]:
    """Return the findings, most severe first and seen ones before others, and separately those that are allowed."""
    allowed = {(term.name, code): reason for term in reward.terms for code, reason in term.allow.items()}
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in found:
        reason = allowed.get((finding.term, finding.code), reward.allow.get(finding.code))
        if reason is None:
            kept.append(finding)
        else:
            suppressed.append(Suppressed(finding, reason))
    kept.sort(key=lambda finding: (-SEVERITIES.index(finding.severity), not finding.is_seen))
    return tuple(kept), tuple(suppressed)
