"""What a probe reports: the verdict in a sentence, findings with episodes as evidence, and open questions."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import numpy as np

from plaudit.analysis.probe.measures import GOAL, Measure
from plaudit.analysis.probe.result import PolicyOutcome, Verdict, format_estimate
from plaudit.analysis.probe.verdict import Judgement, Standings, count_agreeing_seeds
from plaudit.checks.finding import Finding, Severity, Step, Undecided
from plaudit.checks.formats.plain import capitalise, format_number
from plaudit.language.reading.source import SourceLine
from plaudit.reward.reward import Reward

Records = dict[tuple[str, int | None], tuple[int, int]]
"""The first and last record of an episode, by policy and seed."""
NOTHING_WANTED = "no objective is known; give a task with goal=, better= or aim=, or a reference (--reference)"


class Speaker:
    """Describes what was found about the policies."""

    def __init__(self, reward: Reward, standings: Standings, judgements: Sequence[Judgement]) -> None:
        self._reward, self._standings, self._judgements = reward, standings, judgements
        self._worse = [each for each in judgements if each.answer == "worse"]

    # -- the verdict ---------------------------------------------------------------------------------------------------

    def conclude(self, lacking: Collection[str]) -> tuple[Verdict, tuple[Undecided, ...]]:
        """Return the verdict, and the questions that stay open."""
        goal_lacks = self._reward._bound.goal is not None and GOAL in lacking
        matter = [each for each in self._judgements if each.measure.name == GOAL] or list(self._judgements)
        settled = [each for each in matter if each.answer == "best"]
        open_ones = [each for each in matter if each not in settled and each not in self._worse[:1]]
        reasons = [Undecided(_find_code(each.measure), "total", self._explain(each)) for each in open_ones]
        if goal_lacks:
            goal = self._name_goal()
            why = f"cannot tell whether the goal {goal} is reached: the features do not return what it reads"
            reasons = [Undecided("goal-not-best", "total", why)]
        warned = next((each for each in self._worse if each.severity == "warning"), None)
        if warned is not None:
            return Verdict("unwanted", _end(capitalise(self.describe(warned)))), _keep_goal(reasons)
        if not self._standings.policies:
            reasons = [Undecided("outcome-order", "total", "no policy was played to the end")]
        elif self._is_reference_best(matter):
            return Verdict("wanted", self._describe_reference()), ()
        elif settled and not goal_lacks:
            return Verdict("wanted", self._describe_best(settled[0])), ()
        elif not self._judgements and not goal_lacks:
            reasons = [Undecided("outcome-order", "total", NOTHING_WANTED)]
        reasons = reasons or [
            Undecided(_find_code(each.measure), "total", f"{self.describe(each)}; this alone is not conclusive")
            for each in self._worse[:1]
        ]
        return Verdict("undecided", _end("Undecided: " + "; ".join(each.why for each in reasons[:2]))), tuple(reasons)

    def _is_reference_best(self, matter: Sequence[Judgement]) -> bool:
        reference, policies = self._standings.reference, self._standings.policies
        if reference is None or any(each.answer in ("tie", "unconfirmed") for each in matter):
            return False
        return not self._standings.earns_less(reference, policies[0])

    def _describe_reference(self) -> str:
        reference, top = self._standings.reference, self._standings.policies[0]
        assert reference is not None
        paid = format_estimate(reference.earned)
        if top is reference:
            return f"The best-paid policy also meets the objective: nothing earns more than the reference ({paid})."
        more = f"'{top.name}' ({format_estimate(top.earned)})"
        return f"Nothing earns clearly more than the reference ({paid}); the closest is {more}."

    def _describe_best(self, best: Judgement) -> str:
        top, measure = best.earns, best.measure
        known = f"The best-paid policy also meets the objective: '{top.name}' earns {format_estimate(top.earned)}"
        if measure.name == GOAL:
            hits, count = _count(top, GOAL)
            known += f", reaches the goal {self._name_goal()} in {hits} of {count} episodes, "
            known += "and no other policy does clearly better"
        else:
            known += f", and no other policy is clearly better by {self._name(measure)} ({_format(top, measure)})"
        tastes = [each for each in self._judgements if each.answer == "taste" and each.measure.rank]
        if tastes and tastes[0].wanted is not None:
            other = tastes[0]
            known += (
                f". '{tastes[0].wanted.name}' is better by {self._name(other.measure)} but worse by another measure"
            )
        return _end(known)

    # -- one measure ---------------------------------------------------------------------------------------------------

    def describe(self, found: Judgement) -> str:
        """Return what an agent will do instead of the objective, and in how many seeds."""
        earns, wanted = found.earns, found.wanted
        assert wanted is not None
        agreeing = count_agreeing_seeds(found)
        sure = "" if agreeing is None else f" (in {agreeing[0]} of {agreeing[1]} seeds)"
        is_plan = found.severity == "warning" and earns.kind != "random"
        who = f"an agent will behave like '{earns.name}': it" if is_plan else f"'{earns.name}'"
        return (
            f"{who} earns {format_estimate(earns.earned)}, more than "
            f"'{wanted.name}' ({format_estimate(wanted.earned)}), but {self._describe_worse(found)}{sure}"
        )

    def _describe_worse(self, found: Judgement) -> str:
        assert found.wanted is not None
        measure, (hits, count) = found.measure, _count(found.earns, found.measure.name)
        other = _count(found.wanted, measure.name)
        rest = f"in {hits} of {count} episodes instead of {other[0]}{'' if other[1] == count else f' of {other[1]}'}"
        if measure.kind == "goal":
            return f"reaches the goal {self._name_goal()} {rest}"
        if measure.kind == "end":
            return f"ends with {measure.name!r} {rest}"
        numbers = f"{_format(found.earns, measure)} vs. {_format(found.wanted, measure)}"
        return f"is worse by {self._name(measure)}: {numbers}"

    def _name(self, measure: Measure) -> str:
        if measure.kind == "native":
            return "the environment's own reward"
        if measure.kind == "goal":
            return f"the goal {self._name_goal()}"
        if measure.kind == "end":
            return f"{measure.name!r}"
        declared = self._reward._bound.fields[measure.name]
        aim = declared.aim
        return (
            f"the distance of {measure.name} from {aim:g}"
            if aim is not None
            else f"{measure.name}, better {declared.better}"
        )

    def _name_goal(self) -> str:
        assert self._reward._bound.goal is not None
        return repr(self._reward._bound.goal.name)

    def _explain(self, found: Judgement) -> str:
        """Return why a measure does not decide."""
        top, name = found.earns, self._name(found.measure)
        if found.answer == "unreached":
            best = max(_count(each, GOAL) for each in self._standings.policies if GOAL in each.episodes[0].measures)
            often = f" (at best in {best[0]} of {best[1]} episodes)" if best[0] else ""
            return (
                f"no policy reaches {name} beyond chance{often}; "
                "try a --reference that does, a larger --budget or more --seeds"
            )
        if found.answer == "same":
            return f"by {name}, no two policies differ beyond chance"
        if found.answer == "chance":
            paid = format_estimate(top.earned)
            if any(each.kind == "search" for each in self._standings.policies):
                return f"no search found a policy that earns more than chance ({paid}); try a larger --budget"
            return f"no search finished, and random actions earn most ({paid}); try a larger --budget"
        assert found.wanted is not None
        other, pay = found.wanted, f"{format_estimate(top.earned)} and {format_estimate(found.wanted.earned)}"
        values = f"{_format(top, found.measure)} vs. {_format(other, found.measure)}"
        match found.answer:
            case "unclear":
                why = f"'{top.name}' earns most, and '{other.name}' may be better by {name} ({values})"
                return f"{why}, but not beyond chance; try a larger --budget or more --seeds"
            case "tie":
                why = f"'{top.name}' and '{other.name}' earn about the same ({pay}) but differ by {name}: {values}"
                return f"{why}; more --seeds may separate them"
            case "paid":
                return (
                    f"'{top.name}' earns most, and '{other.name}' is better by {name} ({values}), but episodes that do "
                    "well by it are paid at least as much: the task may just be hard; try a larger --budget or a "
                    "--reference"
                )
            case "unconfirmed":
                why = f"'{top.name}' earned more than '{other.name}' ({pay}) and was worse by {name}: {values}"
                return f"{why}; other seeds do not confirm this; try more --seeds"
            case "taste":
                return (
                    f"'{top.name}' earns most, and '{other.name}' is better by {name} ({values}) but worse by another "
                    "measure: a matter of preference"
                )
        return f"{self.describe(found)}; this alone is not conclusive"

    # -- findings ------------------------------------------------------------------------------------------------------

    def list_findings(self, records: Records) -> Iterator[Finding]:
        """Yield what is wrong by the most severe measure, which names the others that agree."""
        if self._worse:
            first, *others = self._worse
            same = [self._name(each.measure) for each in others if each.severity == first.severity]
            more = f" The same holds by {' and '.join(same)}." if same else ""
            yield self._build(first, self.describe(first) + "." + more, first.severity, records)
        yield from self._compare_with_reference(records)

    def _compare_with_reference(self, records: Records) -> Iterator[Finding]:
        """Yield advice if a policy earns more than the reference, and no measure separates the two."""
        reference, standings = self._standings.reference, self._standings
        if reference is None or any(each.severity == "warning" for each in self._worse):
            return
        top = standings.policies[0]
        pairs = ((top, reference), (reference, top))
        if standings.earns_less(reference, top) and not any(
            standings.is_better(one, other, each) for one, other in pairs for each in standings.measures
        ):
            message = (
                f"'{top.name}' earns {format_estimate(top.earned)}, more than the reference "
                f"({format_estimate(reference.earned)}), and no measure separates the two."
            )
            any_measure = Measure("earned", "wish")
            yield self._build(Judgement(any_measure, "worse", top, reference), message, "advice", records)

    def _build(self, found: Judgement, message: str, severity: Severity, records: Records) -> Finding:
        assert found.wanted is not None
        term, paid, instead = _find_paying_term(found.earns, found.wanted)
        source = next((each.source for each in self._reward.terms if each.name == term), None)
        return Finding(
            code=_find_code(found.measure),
            severity=severity,
            term=term,
            message=message,
            advice=f"Per episode, {term} pays {format_number(paid)} in the first and {format_number(instead)} in the "
            "other. Lower this term, pay it only once, or pay more for the objective.",
            witness=tuple(_list_steps(found, records)),
            place=None if source is None else SourceLine(source.file, source.first),
        )


def _find_code(measure: Measure) -> Literal["goal-not-best", "outcome-order"]:
    """Return the rule that a measure is about."""
    return "goal-not-best" if measure.name == GOAL else "outcome-order"


def _keep_goal(reasons: Sequence[Undecided]) -> tuple[Undecided, ...]:
    """Return what stays open beside a warning: the goal, if that is."""
    return tuple(each for each in reasons if each.code == "goal-not-best")


def _end(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _count(policy: PolicyOutcome, measure: str) -> tuple[int, int]:
    return round(float(policy.column(measure).sum())), len(policy.episodes)


def _format(policy: PolicyOutcome, measure: Measure) -> str:
    if measure.is_share:
        return "{} of {}".format(*_count(policy, measure.name))
    return format_estimate(policy.measures[measure.name])


def _find_paying_term(earns: PolicyOutcome, wanted: PolicyOutcome) -> tuple[str, float, float]:
    """Return the term that pays one policy most beyond the other, and what it pays each in an episode."""

    def mean(policy: PolicyOutcome, term: str) -> float:
        return float(np.mean([each.terms.get(term, 0.0) for each in policy.episodes]))

    terms = earns.episodes[0].terms
    best = max(terms, key=lambda term: mean(earns, term) - mean(wanted, term))
    return best, mean(earns, best), mean(wanted, best)


def _list_steps(found: Judgement, records: Records) -> Iterator[Step]:
    """Yield the first and the last step of an episode of each: the one that shows it best."""
    earns, wanted, at = found.earns, found.wanted, 0
    assert wanted is not None
    if not (earns.is_recorded or wanted.is_recorded):
        name = found.measure.name
        worse = found.measure.sign * (wanted.column(name) - earns.column(name)) > 0
        apart = earns.column("earned") - wanted.column("earned")
        at = int(np.where(worse, apart, -np.inf if worse.any() else apart).argmax())
    for policy in (earns, wanted):
        episode = policy.episodes[at]
        known = episode.records or records.get((policy.name, episode.seed))
        numbers: tuple[int | None, int | None] = (None, None) if known is None else known
        seed = "" if episode.seed is None else f", seed {episode.seed}"
        for signal, step, number in zip((episode.first, episode.last), (1, episode.length), numbers, strict=True):
            record = "" if number is None else f", record {number}"
            note = f"{policy.name}{seed}, step {step} of {episode.length}{record}"
            yield Step(dict(signal.inputs), signal.total, note)
            if episode.length == 1:
                break
