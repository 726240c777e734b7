"""The rule about what is allowed: a reason for something that is not there is out of date."""

from collections.abc import Collection, Iterator

from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Suppressed


def unused_allow(
    examination: Examination, decided: Collection[str], suppressed: Collection[Suppressed]
) -> Iterator[Finding]:
    """Find an `allow=` of a rule that was `decided` and found nothing that it allows."""
    reward = examination.reward
    own = {(term.name, code): reason for term in reward.terms for code, reason in term.allow.items()}
    asked = own | {("total", code): reason for code, reason in reward.allow.items()}
    found = {(each.finding.term, each.finding.code) for each in suppressed}
    used = {(term if (term, code) in own else "total", code) for term, code in found}
    for (term, code), reason in asked.items():
        if (term, code) in used or code not in decided or code == "unused-allow":
            continue
        owner = "the reward" if term == "total" else repr(term)
        yield examination.finding(
            "unused-allow",
            term,
            f"{owner} allows {code} ({reason!r}), and there is nothing to allow.",
            "Take the allow= away: if the flaw comes back, it should be seen.",
        )
