"""The verdict of a probe: is what earns most also what is wanted?

What earns most is compared with everything that was played. Where another policy is clearly better by a measure and
clearly earns less, the reward pays for something else than what is wanted. Differences are taken seed by seed, must be
beyond chance, and large: a third of the way to the best that was played. Doubt counts for the reward:

- a near tie in pay is not an inversion;
- where episodes that do well by the measure are paid more than what earns most, the task is only hard;
- where what earns most is better by another measure that counts as much, the two are a matter of taste.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from plaudit.analysis.probe.measures import GOAL, Measure, Numbers, is_clearly_above, is_clearly_more_often
from plaudit.analysis.probe.result import PlayedEpisode, PolicyOutcome
from plaudit.checks.finding import Severity

SHARE = 1 / 3
"""How much better a policy must be, of the way from what earns most (or chance, if that is worse) to the best."""
NEAR = 0.02
"""What differs by less than this part of its size is about the same."""
GOOD_EPISODES, AS_WELL = 3, 0.75
"""This many better-paid episodes show that doing well pays, if they do at least three quarters as well as the best."""

FLAT_OUT = 0.9
"""A policy at this share of the range of a measure that should be low (or the reverse) does not meet the objective."""

Answer = Literal["best", "worse", "unreached", "same", "chance", "unclear", "tie", "taste", "paid", "unconfirmed"]
"""What earns most by one measure: as good as anything played; clearly worse than something that earns less; not known,
as nothing reaches the goal, nothing differs, chance earns most, something may be better, something better earns about
as much, is worse by another measure, is paid more where it succeeds, or was so only in the seeds it was seen in."""
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What earns most, by one measure."""

    measure: Measure
    answer: Answer
    earns: PolicyOutcome
    wanted: PolicyOutcome | None = None
    """The policy that it is compared with."""
    severity: Severity = "warning"
    least: float = 0.0
    """From where on, higher being better, a policy is clearly better by the measure than what earns most."""

    @property
    def key(self) -> Key:
        """What tells one pair of policies from another."""
        return self.measure.name, self.earns.name, "" if self.wanted is None else self.wanted.name


class Standings:
    """Policies as they were played, best paid first, and the measures that they are compared by."""

    def __init__(self, policies: Sequence[PolicyOutcome], measures: Sequence[Measure]) -> None:
        self.policies, self.measures = policies, sorted(measures, key=lambda each: -each.rank)
        self.reference = next((each for each in policies if each.kind == "reference"), None)
        self._worst = {
            measure.name: min((float(self._column(each, measure).min()) for each in self._having(measure)), default=0.0)
            for measure in self.measures
        }

    def judge(self, unconfirmed: Collection[Key] = ()) -> list[Judgement]:
        """Return the judgement of the best-paid policy by each measure, the most severe first."""
        if not self.policies:
            return []
        found = [self._judge(measure, unconfirmed) for measure in self.measures if self._having(measure)]
        return sorted(found, key=lambda each: (each.answer != "worse", each.severity != "warning", -each.measure.rank))

    # -- pairs of policies ---------------------------------------------------------------------------------------------

    def earns_less(self, one: PolicyOutcome, other: PolicyOutcome) -> bool:
        """Return whether a policy is clearly paid less than another, and by more than a near tie."""
        more, less = other.column("earned"), one.column("earned")
        middle = float(np.median([each.earned.value for each in self.policies]))
        size = max(abs(more.mean()), abs(less.mean()), abs(float(more.mean()) - middle))
        gain = float(more.mean() - less.mean())
        return gain > NEAR * size and is_clearly_above(more, less, paired=_are_paired(one, other))

    def is_better(
        self,
        one: PolicyOutcome,
        other: PolicyOutcome,
        measure: Measure,
        least: float | None = None,
        *,
        doubted: bool = True,
    ) -> bool:
        """Return whether a policy is clearly better by a measure, by `least`; unless given, by more than a near tie.

        Of an episode of it that ended early, without anything said of that, the worse is assumed if it is `doubted`.
        """
        if measure.name not in one.episodes[0].measures or measure.name not in other.episodes[0].measures:
            return False
        least = self._find_floor(measure) if least is None else least
        paired = _are_paired(one, other)
        return self._find_gain(one, other, measure, doubted=doubted) >= max(least, 1e-12) and all(
            _is_clear(measure, *columns, paired=paired) for columns in self._compare(one, other, measure, doubted)
        )

    def _find_gain(self, one: PolicyOutcome, other: PolicyOutcome, measure: Measure, *, doubted: bool = True) -> float:
        """Return by how much a policy is better at least."""
        columns = self._compare(one, other, measure, doubted)
        return min(float(better.mean() - worse.mean()) for better, worse in columns)

    def _compare(
        self, one: PolicyOutcome, other: PolicyOutcome, measure: Measure, doubted: bool
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield a measure of both as it was and, of a wish, over as many steps as the longer episode has."""
        yield self._column(one, measure), self._column(other, measure)
        if measure.kind == "wish":
            yield self._fill(one, other, measure, doubted=doubted)

    def find_gap(self, measure: Measure, top: PolicyOutcome) -> float:
        """Return by how much a policy must be better than `top` to count."""
        means = {each.name: self._mean(each, measure) for each in self._having(measure)}
        chance = [means[each.name] for each in self._having(measure) if each.kind == "random"]
        return max(SHARE * (max(means.values()) - min([means[top.name], *chance])), self._find_floor(measure))

    def _find_floor(self, measure: Measure) -> float:
        if measure.is_share:
            return NEAR
        means = [abs(self._mean(each, measure)) for each in self._having(measure)]
        return NEAR * (measure.width if measure.width is not None else max(means))

    def _fill(
        self, one: PolicyOutcome, other: PolicyOutcome, measure: Measure, *, doubted: bool = True
    ) -> tuple[Numbers, Numbers]:
        """Return a wish of both, over as many steps as the longer episode has.

        An episode that ended well stays as it ended, and one that ended badly is as bad as can be from then on; one of
        `one` that did is not better than the other: a crash after five steps is no way to drive fast on average. One
        that ended without anything said stays as it ended too, but for those of `one` if it is `doubted`.
        """
        if _are_paired(one, other):
            pairs = zip(one.episodes, other.episodes, strict=True)
            longest = [max(each.length, rest.length) for each, rest in pairs]
            lengths = longest, longest
        else:
            lengths = [round(other.length)] * len(one.episodes), [round(one.length)] * len(other.episodes)
        worst = self._worst[measure.name]
        rest = _fill_column(other.episodes, lengths[1], measure, worst, doubted=False)
        least = rest if _are_paired(one, other) else float(rest.mean())
        filled = _fill_column(one.episodes, lengths[0], measure, -np.inf, doubted=doubted)
        return np.where(np.isinf(filled), np.minimum(worst, least), filled), rest

    def _having(self, measure: Measure) -> list[PolicyOutcome]:
        return [each for each in self.policies if measure.name in each.episodes[0].measures]

    def _column(self, policy: PolicyOutcome, measure: Measure) -> Numbers:
        return measure.sign * policy.column(measure.name)

    def _mean(self, policy: PolicyOutcome, measure: Measure) -> float:
        return float(self._column(policy, measure).mean())

    # -- one measure ---------------------------------------------------------------------------------------------------

    def _judge(self, measure: Measure, unconfirmed: Collection[Key]) -> Judgement:
        having = self._having(measure)
        top = having[0]
        if top.kind == "reference":
            return Judgement(measure, "best", top)  # what is wanted is what earns most
        best = max(having, key=lambda each: self._mean(each, measure))
        if measure.name == GOAL and not is_clearly_more_often(best.column(GOAL), np.zeros(len(best.episodes))):
            return Judgement(measure, "unreached", top)
        worst = min(having, key=lambda each: self._mean(each, measure))
        differs = any(self.is_better(each, worst, measure) for each in having)
        if not differs and not (measure.name == GOAL and self._mean(top, measure) == 1.0):
            return Judgement(measure, "same", top)
        gap = self.find_gap(measure, top)
        rivals = [each for each in having if self.is_better(each, top, measure, gap)]
        tied = [each for each in having if each is not top and not self.earns_less(each, top)]
        if not rivals:
            if top.kind == "random":
                return Judgement(measure, "chance", top)
            other = max(having, key=lambda each: self._find_gain(each, top, measure))
            if self._find_gain(other, top, measure) >= gap:
                return Judgement(measure, "unclear", top, other)
            behind = next((each for each in tied if self.is_better(top, each, measure, gap)), None)
            return Judgement(measure, "best" if behind is None else "tie", top, behind)
        less = [each for each in rivals if each not in tied]
        for each in rivals:
            if each in tied and not any(
                self.is_better(rival, each, measure, gap) and self.earns_less(rival, each) for rival in less
            ):
                return Judgement(measure, "tie", top, each)
        less.sort(key=lambda each: (each.kind != "reference", -self._mean(each, measure), -each.earned.value))
        return self._choose_wanted(measure, top, less, tied, gap, unconfirmed)

    def _choose_wanted(
        self,
        measure: Measure,
        top: PolicyOutcome,
        rivals: Sequence[PolicyOutcome],
        tied: Sequence[PolicyOutcome],
        gap: float,
        unconfirmed: Collection[Key],
    ) -> Judgement:
        """Return the verdict against the first rival that `top` is not better than by another measure."""
        least = self._mean(top, measure) + gap
        doubts: list[Judgement] = []
        for rival in rivals:
            answer, severity = self._weigh(measure, top, rival, gap)
            if answer == "worse":
                plain = self._find_plainest(measure, top, rival, tied, gap)
                found = Judgement(measure, answer, plain, rival, severity, least)
                if found.key not in unconfirmed:
                    return found
                answer = "unconfirmed"
            doubts.append(Judgement(measure, answer, top, rival))
        return doubts[0]

    def _weigh(self, measure: Measure, top: PolicyOutcome, rival: PolicyOutcome, gap: float) -> tuple[Answer, Severity]:
        """Return whether `top` is worse than a policy that is better by the measure, and how severe that is."""
        if rival.kind == "reference" and not self._is_preferred(top, rival):
            return "worse", "warning"
        if self._has_excuse(measure, top, rival):
            return "taste", "advice"
        well = max(gap, AS_WELL * (self._mean(rival, measure) - self._mean(top, measure)))
        if any(self._is_paid_for(measure, top, each, well) for each in self.policies):
            return "paid", "advice"
        goal = next((each for each in self.measures if each.name == GOAL), None)
        if measure.kind in ("native", "goal") or goal is None:
            return "worse", "advice" if measure.rank == 0 else "warning"
        if self.is_better(rival, top, goal):
            return "worse", "warning"
        if not self._both_reach(goal, top, rival):
            return "worse", "advice"
        if measure.kind == "end":
            return "worse", "warning"
        if is_clearly_above(_lengths(rival), _lengths(top), paired=_are_paired(rival, top)):
            return "taste", "advice"  # it is there sooner
        return "worse", "advice" if measure.rank == 0 else "warning"

    def _has_excuse(self, measure: Measure, top: PolicyOutcome, rival: PolicyOutcome) -> bool:
        """Return whether what earns most is better by another measure of equal priority, none higher deciding."""
        others = [each for each in self.measures if each is not measure]
        if any(each.rank > measure.rank and self.is_better(rival, top, each) for each in others):
            return False
        if any(each.rank >= measure.rank and self.is_better(top, rival, each, doubted=False) for each in others):
            return True
        chosen = [each for each in others if each.kind == measure.kind == "wish" and each.width is not None]
        return any(self._find_gain(top, rival, each) >= FLAT_OUT * (each.width or 0.0) > 0 for each in chosen)

    def _is_preferred(self, top: PolicyOutcome, reference: PolicyOutcome) -> bool:
        """Return whether what earns most does the task better than the reference, by the most important measure."""
        gravest = [each for each in self.measures if each.rank == self.measures[0].rank]
        return any(self.is_better(top, reference, each) for each in gravest if each.kind in ("goal", "native"))

    def _is_paid_for(self, measure: Measure, top: PolicyOutcome, policy: PolicyOutcome, well: float) -> bool:
        """Return whether a policy earns at least as much as `top` in the episodes in which it does so much better."""
        if policy is top or not _are_paired(policy, top) or policy not in self._having(measure):
            return False
        better = self._fill(policy, top, measure) if measure.kind == "wish" else None
        one, other = better or (self._column(policy, measure), self._column(top, measure))
        good = one - other >= well
        more = top.column("earned")[good] - policy.column("earned")[good]
        return len(more) >= min(GOOD_EPISODES, len(good)) and bool(
            more.mean() <= NEAR * abs(top.column("earned")[good].mean())
        )

    def _both_reach(self, goal: Measure, top: PolicyOutcome, rival: PolicyOutcome) -> bool:
        if not all(GOAL in each.episodes[0].measures for each in (top, rival)):
            return False
        reached = [each.column(GOAL) for each in (top, rival)]
        return not self.is_better(top, rival, goal) and all(
            is_clearly_more_often(each, np.zeros(len(each))) for each in reached
        )

    def _find_plainest(
        self, measure: Measure, top: PolicyOutcome, rival: PolicyOutcome, tied: Sequence[PolicyOutcome], gap: float
    ) -> PolicyOutcome:
        """Return a baseline policy that earns as much, if there is one: it shows the problem most plainly."""
        if top.is_baseline:
            return top
        for each in tied:
            near = top.earned.value - each.earned.value <= NEAR * abs(top.earned.value)
            if each.is_baseline and near and self.earns_less(rival, each) and self.is_better(rival, each, measure, gap):
                return each
        return top


def confirm(found: Judgement, earns: PolicyOutcome, wanted: PolicyOutcome) -> bool:
    """Return whether what was found of two policies holds in other episodes of theirs, in which nothing was chosen."""
    paired, measure = _are_paired(earns, wanted), found.measure
    paid = is_clearly_above(earns.column("earned"), wanted.column("earned"), paired=paired)
    columns = (measure.sign * each.column(measure.name) for each in (wanted, earns))
    return paid and _is_clear(measure, *columns, paired=paired)


def count_agreeing_seeds(found: Judgement) -> tuple[int, int] | None:
    """Return in how many seeds what earns most earned more and was worse, of how many; None where seeds differ."""
    earns, wanted, measure = found.earns, found.wanted, found.measure
    if wanted is None or not _are_paired(earns, wanted):
        return None
    more = earns.column("earned") > wanted.column("earned")
    worse = measure.sign * (wanted.column(measure.name) - earns.column(measure.name)) > 0
    return int((more & worse).sum()), len(more)


def _is_clear(measure: Measure, one: Numbers, other: Numbers, *, paired: bool) -> bool:
    if measure.is_share:
        ones, others = (one, other) if measure.sign > 0 else (1.0 + one, 1.0 + other)
        return is_clearly_more_often(ones, others)
    return is_clearly_above(one, other, paired=paired)


def _are_paired(one: PolicyOutcome, other: PolicyOutcome) -> bool:
    return not (one.is_recorded or other.is_recorded)


def _lengths(policy: PolicyOutcome) -> Numbers:
    return np.array([float(each.length) for each in policy.episodes])


def _fill_column(
    episodes: Sequence[PlayedEpisode], lengths: Sequence[int], measure: Measure, worst: float, *, doubted: bool
) -> Numbers:
    """Return a wish of each episode as if it had gone on to a length, higher being better."""

    def fill(episode: PlayedEpisode, length: int) -> float:
        value, left = measure.sign * episode.measures[measure.name], length - episode.length
        if left <= 0:
            return value
        well = episode.sign == "good" or (episode.sign is None and not doubted)
        if measure.is_count:
            return value if well or measure.sign > 0 else worst
        after = measure.sign * episode.finals.get(measure.name, episode.measures[measure.name]) if well else worst
        return (value * episode.length + after * left) / length

    return np.array([fill(*each) for each in zip(episodes, lengths, strict=True)])
