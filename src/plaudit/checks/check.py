"""`check`: every rule, asked of one reward."""

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from plaudit.checks.ask import Solver
from plaudit.checks.examination import Examination
from plaudit.checks.finding import SEVERITIES, Finding, Report, Suppressed, Undecided
from plaudit.checks.rules import RULES
from plaudit.checks.subject import Subject
from plaudit.errors import DefinitionError, did_you_mean
from plaudit.language.numbers import constant_number
from plaudit.reward.reward import Reward

Outcomes = Mapping[str, Sequence[Mapping[str, Any]]]
"""Episodes by name, from the worst to the best; each a sequence of rows as `reward.score` takes them."""


def check(
    reward: Reward,
    *,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    outcomes: Outcomes | None = None,
    timeout: float = 3.0,
    limit: float = 60.0,
    z3: bool = True,
) -> Report:
    """Return what is wrong with `reward`, each flaw with inputs that show it.

    `only` and `ignore` name one rule or several. `outcomes` are whole episodes by name, from the worst to the best:
    rows as `reward.score` takes them. A query of the solver takes no longer than `timeout` seconds, and what it leaves
    undecided is said; so is what is left after `limit` seconds, from when on questions are only glanced at. Without
    `z3` the rules find what they can and prove less.

    >>> from plaudit.systems import load
    >>> [finding.code for finding in check(load("hackmatrix"), only=["loop-that-pays"])]
    ['loop-that-pays']
    """
    if not isinstance(reward, Reward):
        raise DefinitionError(f"check takes a Reward, and this is a {type(reward).__name__}")
    from plaudit.checks.lint.allowed import unused_allow
    from plaudit.checks.lint.asked import ABOUT_EPISODES, ASKED  # they need NumPy, and `import plaudit` does not
    from plaudit.checks.lint.facts import WHY_NOT, contradicted

    started = time.perf_counter()
    chosen = _chosen(as_codes(only), as_codes(ignore))
    _check_options(outcomes, timeout=timeout, limit=limit)
    _check_allowed(reward)
    examination = Examination(Subject(reward), Solver(timeout, z3, until=time.monotonic() + limit))
    found: list[Finding] = []
    undecided: list[Undecided] = []
    skipped: dict[str, str] = {}
    if contradicted(examination):
        skipped |= {code: WHY_NOT for code in RULES if code in chosen and code != "contradictory-facts"}
    asked = chosen - skipped.keys()
    for codes, rule in ASKED.items():
        if asked.isdisjoint(codes):
            continue
        for each in rule(examination):
            if each.code in asked:
                (found if isinstance(each, Finding) else undecided).append(each)  # type: ignore[arg-type]
    for code, about in ABOUT_EPISODES.items():
        if code in asked and outcomes is not None:
            found += [each for each in about(examination, outcomes) if isinstance(each, Finding)]
        elif code in asked:
            skipped[code] = "no outcome episodes were given"
    kept, suppressed = _sorted_out(reward, found)
    if "unused-allow" in asked and not examination.solver.late:
        decided = asked - skipped.keys() - {each.code for each in undecided}
        kept, suppressed = _sorted_out(reward, [*found, *unused_allow(examination, decided, suppressed)])
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


def as_codes(given: Iterable[str]) -> tuple[str, ...]:
    """Return the codes of rules that were given; a text is one of them.

    >>> as_codes("jump"), as_codes(["jump", "unbounded"])
    (('jump',), ('jump', 'unbounded'))
    """
    return (given,) if isinstance(given, str) else tuple(given)


def _chosen(only: Collection[str], ignore: Collection[str]) -> set[str]:
    for code in (*only, *ignore):
        if code not in RULES:
            raise DefinitionError(f"there is no rule {code!r}.{did_you_mean(code, RULES)}")
    return {code for code in RULES if (not only or code in only) and code not in ignore}


def _check_options(outcomes: object, **times: object) -> None:
    """Refuse outcomes that cannot be compared, and times that never come or never end."""
    for name, given in times.items():
        seconds = constant_number(given)
        if seconds is None or isinstance(seconds, bool) or not 0 < seconds < math.inf:
            raise DefinitionError(f"{name}={given!r} must be a positive, finite number of seconds")
    if outcomes is None:
        return
    wanted = "outcomes= must be a mapping from at least two names to lists of rows, from the worst to the best"
    if not isinstance(outcomes, Mapping):
        raise DefinitionError(f"{wanted}, and this is a {type(outcomes).__name__}")
    if len(outcomes) < 2:
        raise DefinitionError(f"{wanted}, and it holds {len(outcomes) or 'none'}")
    for name, rows in outcomes.items():
        if not isinstance(name, str) or isinstance(rows, str) or not isinstance(rows, Sequence):
            raise DefinitionError(f"{wanted}, and it maps {name!r} to a {type(rows).__name__}")


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
    allowed = {(term.name, code): reason for term in reward.terms for code, reason in term.allow.items()}
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
