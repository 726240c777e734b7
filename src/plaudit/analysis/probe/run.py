"""One probe from beginning to end: baseline policies first, then searches; all are compared in the same episodes."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from plaudit.analysis.environments import Env
from plaudit.analysis.probe.episodes import ProbedEnvironment
from plaudit.analysis.probe.findings import Records, Speaker
from plaudit.analysis.probe.measures import GOAL, NATIVE, Measure, list_measures
from plaudit.analysis.probe.policies import (
    Constant,
    CycleFamily,
    FeatureReader,
    LinearFamily,
    Policy,
    can_be_seen,
    count_outputs,
    list_baseline_policies,
)
from plaudit.analysis.probe.reference import ReferencePolicy, read_reference
from plaudit.analysis.probe.result import PlayedEpisode, PolicyOutcome, Probe
from plaudit.analysis.probe.search import Family, Numbers, Search
from plaudit.analysis.probe.verdict import Judgement, Key, Standings, confirm
from plaudit.checks.check import separate_allowed
from plaudit.checks.report import LocatedReport, Report, TaskLabel
from plaudit.errors import DefinitionError, PlauditError, did_you_mean, shorten
from plaudit.ledger.history import History
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward

BASELINE_SHARE = 0.3
"""The share of the budget for baseline policies; if it is too small for all seeds, fewer are played."""
FEWEST_SEEDS = 4
"""Of fewer episodes, always and never are not beyond chance."""
REWARD, CYCLES, WANTED = 0.35, 0.05, 0.4
"""How much goes into the search for what earns most, for cycles that do, and for what is wanted; the rest into what is
both or, where nothing else than what is wanted earns most, into what earns even more."""
MOST_WISHES = 2
"""Maximum `better=` or `aim=` fields to search the best policy of, if no other objective is known."""
_TICKS = 1000
"""What a whole budget is in the eyes of `progress`."""

BY_REWARD, BY_REWARD_AGAIN = "best by the reward", "best by the reward (2)"
CYCLE_BY_REWARD = "best cycle by the reward"
BEST_BY = {NATIVE: "best by the native reward", GOAL: "best by the goal"}
PAID_BEST = "best paid that is wanted"


class _Budget:
    """How much may be spent, in seconds and steps, and how much is."""

    def __init__(
        self,
        env: ProbedEnvironment,
        seconds: float | None,
        steps: int | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._env, self._seconds, self._steps, self._progress = env, seconds, steps, progress
        self._began, self._ticks = time.perf_counter(), -1
        env.on_step = self._tick if progress is not None else lambda: None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def spent(self) -> float:
        """The share that is spent."""
        shares = [self.seconds / self._seconds] if self._seconds is not None else []
        shares += [self._env.steps / self._steps] if self._steps is not None else []
        return max(shares)

    def _tick(self) -> None:
        assert self._progress is not None
        if not self._env.steps % 64:
            self._progress(min(int(self.spent * _TICKS), _TICKS), _TICKS)


class ProbeRun:
    """What is known so far in a probe."""

    def __init__(
        self,
        env: Env,
        reward: Reward,
        features: Any,
        *,
        name: str,
        ledger: Ledger | None,
        run: str | None,
        max_steps: int,
        reference: Any = None,
    ) -> None:
        self._reward, self._ledger, self._name = reward, ledger, name
        self._run = None if ledger is None else _choose_run(ledger, run or f"probe {name}")
        self._first = list_baseline_policies(env.action_space)
        self._recorded: PolicyOutcome | None = None
        self._remarks: list[str] = []
        if isinstance(reference, History):
            self._recorded, remark = read_reference(reference, reward)
            self._remarks.append(remark)
        elif reference is not None:
            self._first.append(ReferencePolicy(reference, env.action_space))
        self._env = ProbedEnvironment(
            env, reward, features, ledger=ledger, run=self._run, max_steps=max_steps, name=name
        )
        self._played: dict[str, tuple[Policy, list[PlayedEpisode]]] = {}
        self._seeds: list[int] = []
        self._seen: list[Any] = []
        self._weights: dict[str, Numbers] = {}
        self._measures = {each.name: each for each in list_measures(reward)}
        self._unconfirmed: set[Key] = set()

    def run(
        self,
        *,
        seconds: float | None,
        steps: int | None,
        seeds: int,
        seed: int,
        against: Sequence[str] | None,
        progress: Callable[[int, int], None] | None,
    ) -> Probe:
        """Play until the budget is spent, or Ctrl-C, and tell what was found."""
        self._budget = _Budget(self._env, seconds, steps, progress)
        self._generator = np.random.default_rng([seed, 2])
        self._against = against
        interrupted = False
        try:
            self._play_first(range(seed, seed + seeds))
            self._search()
            self._confirm(seed + seeds)
        except KeyboardInterrupt:
            interrupted = True
        except PlauditError as error:
            kept = sum(len(played) for _, played in self._played.values())
            if self._ledger is not None and kept:
                error.add_note(f"The {kept} episodes played before are in {self._ledger.name}, run {self._run!r}.")
            raise
        finally:
            self._env.flush()
        return self._build_result(interrupted)

    # -- playing -------------------------------------------------------------------------------------------------------

    def _play_first(self, seeds: Iterable[int]) -> None:
        """Play every baseline policy and the reference with each seed, or with as many seeds as the budget allows."""
        for at, seed in enumerate(seeds):
            if at >= FEWEST_SEEDS and self._budget.spent > BASELINE_SHARE * (at + 1) / at:
                self._remarks.append(f"The budget was enough for only {at} seeds.")
                return
            for policy in self._first:
                self._play(policy, [seed], seen=self._seen if policy.kind == "random" else None)
            self._seeds.append(seed)

    def _play(self, policy: Policy, seeds: Sequence[int], *, seen: list[Any] | None = None) -> None:
        played = self._played.setdefault(policy.name, (policy, []))[1]
        for seed in seeds:
            played.append(self._env.play(policy, seed, env=self._env.record(policy.name), seen=seen))

    # -- searching -----------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        """Search for what earns most, then for the objective and, if these differ, for a policy that does both."""
        linear = self._build_linear_family()
        wanted = self._list_wanted()
        share = REWARD if wanted else REWARD + WANTED
        if linear is not None:
            self._find_best(BY_REWARD, linear, lambda played: _mean(played, "earned"), until=share)
        if isinstance(self._env.action_space, spaces.Discrete):
            cycles = CycleFamily(self._env.action_space, self._list_different_actions())
            self._find_best(CYCLE_BY_REWARD, cycles, lambda played: _mean(played, "earned"), until=share + CYCLES)
        if linear is None:
            return
        wanted = self._list_wanted()  # after more steps the environment's own reward may not be the same
        for at, measure in enumerate(wanted, 1):
            until = share + CYCLES + WANTED * at / len(wanted)
            led = linear.near(self._weights[BEST_BY[NATIVE]]) if measure.name == GOAL and at > 1 else linear
            name = BEST_BY.get(measure.name, f"best by {measure.name}")
            self._find_best(name, led, _build_objective(measure), until=until)
        if not self._search_for_paid_and_wanted(linear) and self._budget.spent < 1.0:
            near = linear.near(self._weights[BY_REWARD])
            self._find_best(BY_REWARD_AGAIN, near, lambda played: _mean(played, "earned"), until=1.0)

    def _list_wanted(self) -> list[Measure]:
        """Return what is searched for: the environment's own reward and the goal or, without these, a few wishes."""
        compared = {each.name: each for each in self._list_compared()}
        whole = [compared[name] for name in (NATIVE, GOAL) if name in compared]
        return whole or [each for each in compared.values() if each.kind == "wish" and each.rank][:MOST_WISHES]

    def _list_different_actions(self) -> list[int]:
        """Return constant actions that fared differently, best paid first; where a mask forbids many, most do not."""
        found: dict[tuple[float, ...], int] = {}
        for policy, played in self._played.values():
            if isinstance(policy, Constant):
                found.setdefault(tuple(each.earned for each in played), policy.action)
        return [found[earned] for earned in sorted(found, key=sum, reverse=True)]

    def _build_linear_family(self) -> LinearFamily | None:
        if not can_be_seen(self._env.observation_space):
            self._remarks.append(
                f"Linear policies cannot read these observations: {shorten(self._env.observation_space, 80)}."
            )
            return None
        outputs = count_outputs(self._env.action_space)
        reader = FeatureReader(self._env.observation_space, self._seen, self._generator)
        return LinearFamily(outputs, self._env.action_space, reader)

    def _find_best(
        self, name: str, family: Family, objective: Callable[[list[PlayedEpisode]], float], *, until: float
    ) -> None:
        """Search until so much of the budget is spent, then play the best in the episodes that all are compared in."""
        known = tuple(weights for weights in self._weights.values() if weights.shape == family.mean.shape)
        search = Search(family, self._env.play, objective, self._generator, known)
        for _ in search.run():
            if self._budget.spent >= until:
                break
        best = search.find_best(again=self._budget.spent < 1.0)
        if best is not None:
            self._weights[name] = best
            self._play(family.build(best, name), self._seeds)

    def _search_for_paid_and_wanted(self, linear: LinearFamily) -> bool:
        """Give the reward a chance: is there something that is wanted, and paid more than what is not?

        Returns whether there was anything to defend it against.
        """
        found = self._find_warning()
        if found is None or self._budget.spent >= 1.0:
            return False
        measure, least = found.measure, found.least

        def objective(played: list[PlayedEpisode]) -> float:
            short = least - measure.sign * _mean(played, measure.name)
            return _mean(played, "earned") if short <= 0 else -1e12 * (1.0 + short)

        assert found.wanted is not None
        near = self._weights.get(found.wanted.name)
        if near is None or near.shape != linear.mean.shape:  # a cycle, a constant, the reference
            near = self._find_constant(found.wanted.name, linear)
        self._find_best(PAID_BEST, linear if near is None else linear.near(near), objective, until=1.0)
        return True

    def _find_constant(self, name: str, linear: LinearFamily) -> Numbers | None:
        """Return the weights of a policy that always does the same, where the family knows them."""
        policy, _ = self._played.get(name, (None, []))
        space = self._env.action_space
        if isinstance(policy, Constant) and isinstance(space, spaces.Discrete) and linear.constants:
            return linear.constants[int(policy.action) - int(space.start)]
        return None

    # -- judging -------------------------------------------------------------------------------------------------------

    def _find_warning(self) -> Judgement | None:
        judged = Standings(self._list_outcomes(), self._list_compared()).judge(self._unconfirmed)
        return next((each for each in judged if each.answer == "worse" and each.severity == "warning"), None)

    def _confirm(self, first: int) -> None:
        """Play the two policies of a warning with other seeds: of many pairs, some look bad by chance."""
        self._fresh = range(first, first + len(self._seeds))
        fresh: dict[str, PolicyOutcome] = {}
        while (found := self._find_warning()) is not None:
            assert found.wanted is not None
            pair = [self._play_fresh(each, fresh) for each in (found.earns, found.wanted)]
            if confirm(found, *pair):
                return
            self._unconfirmed.add(found.key)

    def _play_fresh(self, outcome: PolicyOutcome, fresh: dict[str, PolicyOutcome]) -> PolicyOutcome:
        if outcome.is_recorded:
            return outcome
        if outcome.name not in fresh:
            policy = self._played[outcome.name][0]
            played = tuple(self._env.play(policy, seed) for seed in self._fresh)
            fresh[outcome.name] = PolicyOutcome(outcome.name, outcome.kind, played)
        return fresh[outcome.name]

    # -- telling -------------------------------------------------------------------------------------------------------

    def _list_compared(self) -> list[Measure]:
        """Return the measures that the verdict goes by: those asked for or, unless asked, all that say something."""
        return [self._measures[name] for name in self._name_compared()]

    def _name_compared(self) -> tuple[str, ...]:
        there = self._env.measures
        if self._against is None:
            says_nothing = self._env.same_as_native or self._env.pays_nothing
            return tuple(name for name in there if name != NATIVE or not says_nothing)
        for name in self._against:
            if name not in there:
                known = ", ".join(there)
                raise DefinitionError(f"there is no measure {name!r}.{did_you_mean(name, there)} Available: {known}.")
        return tuple(dict.fromkeys(self._against))

    def _list_outcomes(self) -> list[PolicyOutcome]:
        """Return the policies that were played with every seed, best paid first."""
        whole = [
            PolicyOutcome(name, policy.kind, tuple(played[: len(self._seeds)]))
            for name, (policy, played) in self._played.items()
            if self._seeds and len(played) >= len(self._seeds)
        ]
        recorded = [self._recorded] if self._recorded is not None and whole else []
        return sorted([*recorded, *whole], key=lambda each: -each.earned.value)

    def _build_result(self, interrupted: bool) -> Probe:
        reward, policies, compared = self._reward, self._list_outcomes(), self._name_compared()
        standings = Standings(policies, self._list_compared())
        speaker = Speaker(reward, standings, standings.judge(self._unconfirmed))
        verdict, undecided = speaker.conclude(self._env.lacking)
        kept, suppressed = separate_allowed(reward, list(speaker.list_findings(self._find_records())))
        report = Report(
            reward=reward.name,
            version=reward.version,
            fingerprint=reward.fingerprint,
            task=TaskLabel.of(reward.task),
            findings=kept,
            suppressed=suppressed,
            undecided=undecided,
            rest={name: each.at_rest for name, each in reward._bound.inputs.items()},
            seconds=self._budget.seconds,
        )
        return Probe(
            env=self._name,
            reward=f"{reward.name}@{reward.version}",
            discount=reward.task.discount or 1.0,
            measures=self._env.measures,
            compared=compared,
            policies=tuple(policies),
            report=report,
            verdict=verdict,
            steps=self._env.steps,
            seconds=self._budget.seconds,
            ledger=None if self._ledger is None else self._ledger.name,
            run=self._run,
            interrupted=interrupted,
            remarks=tuple(self._list_remarks(compared, interrupted)),
            located=LocatedReport.of(report, reward),
        )

    def _list_remarks(self, compared: Sequence[str], interrupted: bool) -> Iterable[str]:
        yield from self._remarks
        if NATIVE not in compared and self._env.same_as_native:
            yield "The environment's own reward is the same, so it is not used as a measure."
        elif self._env.pays_nothing:
            yield "The environment's own reward was always 0, so it is not used as a measure."
        if self._env.lacking:
            names = ", ".join(sorted(self._env.lacking))
            yield f"Not measured, because the features lack its inputs: {names}."
        if interrupted:
            yield "Interrupted: these results are partial and were not confirmed on other seeds."

    def _find_records(self) -> Records:
        """Return the first and the last record of each episode, by policy and seed; nothing without a ledger."""
        if self._ledger is None:
            return {}
        return {
            (each.actor or "", self._played[each.actor or ""][1][int(each.episode) - 1].seed): (
                each.first_record,
                each.last_record,
            )
            for each in self._ledger.episodes(run=self._run)
            if each.actor in self._played and int(each.episode) <= len(self._played[each.actor][1])
        }


def _mean(played: Sequence[PlayedEpisode], measure: str) -> float:
    if measure == "earned":
        return float(np.mean([each.earned for each in played]))
    return float(np.mean([each.measures[measure] for each in played]))


def _build_objective(measure: Measure) -> Callable[[list[PlayedEpisode]], float]:
    """Return how good episodes are by a measure; where the goal is out of reach, the native reward leads to it."""
    if measure.name == GOAL:
        return lambda played: 1e9 * _mean(played, GOAL) + _mean(played, NATIVE)
    return lambda played: measure.sign * _mean(played, measure.name)


def _choose_run(ledger: Ledger, run: str) -> str:
    taken = {each.run for each in ledger.runs()}
    names = (run, *(f"{run} ({at})" for at in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)
