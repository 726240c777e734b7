"""Reports made by hand, for tests of everything that comes after checking."""

from collections.abc import Callable
from pathlib import Path

from plaudit import Field, Reward, term
from plaudit.checks.finding import Finding, Step, Suppressed, Undecided
from plaudit.checks.report import Report
from plaudit.language.reading.source import SourceLine

HERE = str(Path(__file__))


@term
def near(distance):
    """Be near."""
    return 1.0 if distance < 2.0 else 0.0


REWARD = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])


REST = {name: field.at_rest for name, field in REWARD.program.inputs.items()}


def finding(code: str = "jump", **parts: object) -> Finding:
    """Return a finding with a place and a witness, unless other parts are given."""
    usual = {
        "severity": "advice",
        "term": "near",
        "message": "It falls by 1 at distance = 2.",
        "advice": "Let it fall over a stretch.",
        "witness": (Step({"distance": 1.9999999999999998}, 1.0, "just before"), Step({"distance": 2.0}, 0.0, "at it")),
        "place": SourceLine(HERE, 17, "return 1.0 if distance < 2.0 else 0.0"),
    }
    return Finding(code=code, **(usual | parts))


def report(*findings: Finding, **parts: object) -> Report:
    """Return a report of the reward above."""
    who = {"reward": REWARD.name, "version": REWARD.version, "fingerprint": REWARD.fingerprint, "rest": REST}
    return Report(findings=findings, **(who | parts))


FULL = report(
    finding("loop-that-pays", severity="warning", term="total", place=None, facts=("steps", "distance rises")),
    finding(),
    suppressed=(Suppressed(finding("unbounded", severity="warning"), "it is meant: 100 %"),),
    undecided=(Undecided("dominated-action", "total", "no answer within 3 s"),),
    skipped={"zone-gap": "z3 is not installed", "zone-overlap": "z3 is not installed"},
)
CLEAN = report()


def instead_of_check(monkeypatch, answer: Callable[..., Report]) -> None:
    """Let `answer` be asked in place of `plaudit.check`."""
    monkeypatch.setattr("plaudit.checks.check.check", answer)
