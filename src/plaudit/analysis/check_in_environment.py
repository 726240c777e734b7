"""`check_in_environment`: observe an environment, check a reward against it, probe it, and report it all."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plaudit.analysis.observe.observe import Observation, observe
from plaudit.analysis.probe.probe import probe
from plaudit.checks.check import check
from plaudit.checks.finding import SEVERITIES, Evidence, Finding
from plaudit.checks.formats.plain import capitalise
from plaudit.checks.model import Outcomes
from plaudit.checks.report import Report
from plaudit.errors import DefinitionError, InputError, shorten
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.reward.task.statements import Seen
from plaudit.reward.task.task import Task
from plaudit.terminal import format_count

if TYPE_CHECKING:
    import gymnasium

    from plaudit.analysis.probe.result import Probe

Progress = Callable[[str, int, int], None]
"""Called with the stage ("observing", "checking", "probing"), how much of it is done, and of how much."""
PLAYED_CODES = ("outcome-order", "goal-not-best")
"""The rules that a probe answers by playing."""


class EnvironmentCheck(NamedTuple):
    """The result of checking a reward in an environment.

    Example:
        ```python
        found = check_in_environment(reward, "CartPole-v1", seconds=30)
        print(found.report)              # one report of the definition and of what was played
        print(found.probe["random"].earned)
        ```
    """

    report: Report
    """One report of the definition and of what was played; its `summary` says what an agent will do."""
    observation: Observation
    probe: "Probe"

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the probe."""
        return self.probe.interrupted

    @property
    def is_undecided(self) -> bool:
        """Whether the probe is undecided."""
        return self.probe.verdict.answer == "undecided"


def check_in_environment(
    reward: Reward,
    env: "gymnasium.Env[Any, Any] | Callable[..., gymnasium.Env[Any, Any]] | str",
    features: Callable[..., Mapping[str, Any]] | None = None,
    *,
    task: Task | None = None,
    make: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    outcomes: Outcomes | None = None,
    timeout: float = 60.0,
    observed_steps: int = 10_000,
    seed: int = 0,
    max_steps: int = 1000,
    progress: Progress | None = None,
    **probing: Any,
) -> EnvironmentCheck:
    """Observe an environment, check a reward against it, probe it, and return one report.

    Findings about the definition are compared with the observed steps. A finding that the probe confirms is reported
    once, with the episodes. Ctrl-C during the probe ends it with the results so far.

    Example:
        ```python
        found = check_in_environment(reward, "CartPole-v1", seconds=30)
        print(found.report)
        ```

    Args:
        reward: The reward to check.
        env: An environment, a function that makes one, or an environment id: "CartPole-v1".
        features: A function of (obs, action, next_obs, info) to the reward's inputs by name, as for `probe`.
        task: The task to add to the reward's own; what was observed is merged into it.
        make: Options for making the environment.
        only: Report only the findings of these rules.
        ignore: Skip the findings of these rules.
        outcomes: Named episodes, from worst to best, as for `check`.
        timeout: Approximate time limit in seconds for checking the definition.
        observed_steps: Number of steps to observe.
        seed: Random seed of everything that is played.
        max_steps: Time limit of an episode if the environment sets none.
        progress: Called with the stage, how much of it is done, and its total.
        probing: More arguments of `probe`, such as `seconds=`, `steps=`, `seeds=`, `reference=` or `ledger=`.

    Returns:
        The report, the observation and the probe.

    Raises:
        DefinitionError: There is no such environment, the features fail, or the task is for another environment.
        EnvironmentFailed: The environment raised an error.
        InputError: A step cannot be scored, or the features lack an input of the reward.
        MissingExtra: Gymnasium is not installed.
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"check_in_environment takes a Reward, but got {shorten(reward)}.")
    import plaudit.adapters.gymnasium  # noqa: F401  # which says what to install where Gymnasium is not
    from plaudit.analysis.observe.disagreement import refuse_disagreement
    from plaudit.analysis.probe.episodes import FeaturesByName

    reward = reward._join_task(task)
    tell = progress or (lambda stage, done, total: None)
    common: dict[str, Any] = {"make": make, "seed": seed, "max_steps": max_steps}
    seen = observe(
        env,
        features or FeaturesByName(reward),
        steps=observed_steps,
        progress=lambda done, total: tell("observing", done, total),
        **common,
    )
    tell("observing", observed_steps, observed_steps)
    name = seen.steps.source.partition(", ")[0]
    _refuse_lacking(reward, seen, name)
    refuse_disagreement(reward.task, seen.steps, name)
    tell("checking", 0, 1)
    learnt = _learn_own_reward(seen) if "original_reward" in reward.fields else seen.task
    informed = learnt if reward.task.is_empty else reward.task.merge(learnt)
    report = check(
        reward, task=informed, only=only, ignore=ignore, outcomes=outcomes, steps=seen.steps, timeout=timeout
    )
    tell("checking", 1, 1)
    played = probe(
        env, reward, features, progress=lambda done, total: tell("probing", done, total), **common, **probing
    )
    codes = {each.code for each in played.findings} - {*ignore}
    shown = [each for each in played.findings if each.code in (codes & {*only} if only else codes)]
    return EnvironmentCheck(join_reports(reward, report, played, shown, seen.steps.source), seen, played)


def _learn_own_reward(seen: Observation) -> Task:
    """Return the learned task with the range of what the environment itself paid, which the reward reads."""
    paid, task = seen.steps.paid, seen.task
    if paid is None or not np.isfinite(paid).all() or "original_reward" in task.fields:
        return task
    own = Field("original_reward", low=float(paid.min()), high=float(paid.max()))
    counts = {**task.seen, "fields.original_reward": Seen(len(paid), len(paid))}
    return task.evolve(fields=[*task.fields.values(), own], seen=counts)


def _refuse_lacking(reward: Reward, seen: Observation, env: str) -> None:
    """Refuse steps that lack something that the reward reads, before checking them."""
    given = {*seen.steps.after, *seen.steps.before, "terminal", "terminated", "truncated", "original_reward"}
    program = reward.program
    for name, field in program.inputs.items():
        carried = field.name in reward.states or name in program.counters
        if field.name not in given and field.missing is None and not carried:
            listed = ", ".join(sorted(seen.steps.after))
            raise InputError(
                f"reward {reward.name!r} reads {field.name!r}, which not every step of {env} provides: the features "
                f"return {listed}. Make them return {field.name!r} as well."
            )


# -- one report ------------------------------------------------------------------------------------------------------


def join_reports(reward: Reward, checked: Report, played: "Probe", shown: Sequence[Finding], observed: str) -> Report:
    """Return what the definition shows and what was played as one report; what both show is reported once."""
    findings = list(checked.findings)
    for each in shown:
        same = next((at for at, other in enumerate(findings) if _is_same_flaw(reward, other, each)), None)
        if same is None:
            findings.append(replace(each, evidence=Evidence("seen", _describe_episodes(played))))
        else:
            findings[same] = _attach(findings[same], each)
    findings.sort(key=lambda each: (-SEVERITIES.index(each.severity), not each.is_seen))
    settled = {code for code in PLAYED_CODES if code in checked.skipped}
    return replace(
        checked,
        findings=tuple(findings),
        suppressed=(*checked.suppressed, *played.report.suppressed),
        undecided=(*checked.undecided, *played.report.undecided),
        skipped={code: why for code, why in checked.skipped.items() if code not in settled},
        summary=_summarise(checked, findings, played),
        remarks=(f"Observed: {observed}.", f"Probed: {format_count(played.steps, 'step')}.", *played.remarks),
        seconds=checked.seconds + played.seconds,
    )


def _is_same_flaw(reward: Reward, found: Finding, shown: Finding) -> bool:
    """Return whether a probe shows what a finding of the definition says: by its rule, or by the term that pays."""
    if found.code == shown.code or found.claims is None or found.severity == "note":
        return found.code == shown.code
    if found.term != "total":
        return found.term == shown.term
    return found.claims != "step" and _find_paying_term(reward, found) == shown.term


def _find_paying_term(reward: Reward, found: Finding) -> str | None:
    """Return the term that pays most in the steps of a witness."""
    paid: Counter[str] = Counter()
    for step in found.witness:
        with suppress(InputError):  # a row that cannot be scored may be what is wrong
            paid.update({name: float(value) for name, value in reward._compiled(step.inputs).values.items()})
    return max(paid, key=lambda name: paid[name], default=None)


def _attach(found: Finding, shown: Finding) -> Finding:
    """Return a finding of the definition with the episodes that show it and the higher severity of the two."""
    severity = max(found.severity, shown.severity, key=SEVERITIES.index)
    evidence = Evidence("seen", f"Shown: {capitalise(shown.message)}")
    return replace(found, severity=severity, witness=(*found.witness, *shown.witness), evidence=evidence)


def _describe_episodes(played: "Probe") -> str:
    count = len(played.policies[0].episodes) if played.policies else 0
    return f"Seen: each of the two policies was played for {format_count(count, 'episode')}."


def _summarise(checked: Report, findings: Sequence[Finding], played: "Probe") -> str:
    """Return what an agent will do, and how certain this is, in two or three sentences."""
    verdict = played.verdict
    first = next((each for each in findings if each.severity == "warning" and each.claims is not None), None)
    if verdict.answer == "unwanted":
        return f"{verdict.text} The episodes played show this. {checked.summary}".rstrip()
    if first is None:
        return f"{verdict.text} {checked.summary}".rstrip()
    shown = [step.inputs for step in first.witness]
    same = checked.incentives and [step.inputs for step in checked.incentives[0].witness] == shown[:1]
    told = checked.summary if same else capitalise(first.message)
    how = "This was seen in play" if first.is_seen else "No step played shows this"
    probed = "the probe found no policy that exploits it" if verdict.answer == "wanted" else "the probe is undecided"
    return f"{told} {how}; {probed}."
