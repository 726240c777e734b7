"""`check`: every rule, asked of one reward."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from plaudit.checks.ask import Solver
from plaudit.checks.examination import Examination
from plaudit.checks.finding import SEVERITIES, Finding, Report, Suppressed, Undecided
from plaudit.checks.rules import RULES
from plaudit.checks.subject import Subject
from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward

Outcomes = Mapping[str, Sequence[Mapping[str, Any]]]
"""Episodes by name, from the worst to the best; each a sequence of rows as `reward.score` takes them."""


def check(
    reward: Reward,
    *,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    outcomes: Outcomes | None = None,
    timeout: float = 3.0,
    z3: bool = True,
) -> Report:
    """Return what is wrong with `reward`, each flaw with inputs that show it.

    `only` and `ignore` name rules. `outcomes` are whole episodes by name, from the worst to the best: rows as
    `reward.score` takes them. A query of the solver takes no longer than `timeout` seconds, and what it leaves
    undecided is said; without `z3` the rules find what they can and prove less.

    >>> from plaudit.systems import load
    >>> [finding.code for finding in check(load("hackmatrix"), only=["loop-that-pays"])]
    ['loop-that-pays']
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"check takes a Reward, and this is a {type(reward).__name__}")
    from plaudit.checks.lint.asked import ABOUT_EPISODES, ASKED  # they need NumPy, and `import plaudit` does not

    started = time.perf_counter()
    chosen = _chosen(only, ignore)
    _check_allowed(reward)
    examination = Examination(Subject(reward), Solver(timeout, z3))
    found: list[Finding] = []
    undecided: list[Undecided] = []
    for codes, rule in ASKED.items():
        if chosen.isdisjoint(codes):
            continue
        for each in rule(examination):
            if each.code in chosen:
                (found if isinstance(each, Finding) else undecided).append(each)  # type: ignore[arg-type]
    skipped = {}
    for code, about in ABOUT_EPISODES.items():
        if code in chosen and outcomes is not None:
            found += [each for each in about(examination, outcomes) if isinstance(each, Finding)]
        elif code in chosen:
            skipped[code] = "no outcome episodes were given"
    kept, suppressed = _sorted_out(reward, found)
    return Report(
        reward=reward.name,
        version=reward.version,
        fingerprint=reward.fingerprint,
        findings=kept,
        suppressed=suppressed,
        undecided=tuple(dict.fromkeys(undecided)),
        skipped=skipped,
        rest={name: field.at_rest for name, field in reward.program.inputs.items()},
        seconds=time.perf_counter() - started,
    )


def _chosen(only: Collection[str], ignore: Collection[str]) -> set[str]:
    for code in (*only, *ignore):
        if code not in RULES:
            raise DefinitionError(f"there is no rule {code!r}.{did_you_mean(code, RULES)}")
    return {code for code in RULES if (not only or code in only) and code not in ignore}


def _check_allowed(reward: Reward) -> None:
    """Refuse a code that a reward or a term allows and that is no rule: nothing would ever be allowed by it."""
    for owner, allow in [("reward", reward.allow), *((f"term {term.name!r}", term.allow) for term in reward.terms)]:
        for code in allow:
            if code not in RULES:
                raise DefinitionError(
                    f"reward {reward.name!r}: {owner} allows {code!r}, which is no rule.{did_you_mean(code, RULES)}"
                )


def _sorted_out(reward: Reward, found: list[Finding]) -> tuple[tuple[Finding, ...], tuple[Suppressed, ...]]:
    """Return the findings, gravest first, and apart from them those that the reward or the term allows."""
    allowed = {("total", code): reason for code, reason in reward.allow.items()}
    allowed |= {(term.name, code): reason for term in reward.terms for code, reason in term.allow.items()}
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in found:
        reason = allowed.get((finding.term, finding.code), reward.allow.get(finding.code))
        if reason is None:
            kept.append(finding)
        else:
            suppressed.append(Suppressed(finding, reason))
    kept.sort(key=lambda finding: -SEVERITIES.index(finding.severity))
    return tuple(kept), tuple(suppressed)
