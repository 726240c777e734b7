"""No `str`, `repr` or HTML of ours lets a string from a file or a caller steer a terminal or a notebook."""

import ast
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import plaudit
from plaudit import Field, Ledger, Reward, Seen, Signal, Task, errors, term
from plaudit.adapters.logs import ImportedLog
from plaudit.analysis import DefinitionChanges, Diff, Effect
from plaudit.analysis.compare.comparison import Comparison, Measure
from plaudit.analysis.compare.comparison import Estimate as Distance
from plaudit.analysis.compare.coverage import Coverage
from plaudit.analysis.diff.definitions import FunctionChange, ValueChange
from plaudit.analysis.diff.effect import StepChange, TermEffect
from plaudit.analysis.explain.attribution import Attribution, EpisodeBin, TermShare
from plaudit.analysis.explain.episode_gap import EpisodeGap, StepGap, TermGap
from plaudit.analysis.explain.step_branches import NearestBranch, StepBranches, TermBranches
from plaudit.analysis.explain.sweep import Sweep, Swept, SweptWitness
from plaudit.analysis.probe.result import PlayedEpisode, PolicyOutcome, Probe
from plaudit.checks.bounds import Bound, Bounds
from plaudit.checks.branches import Condition
from plaudit.checks.finding import Finding, Suppressed, Undecided
from plaudit.checks.model import Contradiction
from plaudit.checks.prove.proof import Difference, Proof
from plaudit.checks.report import Report, TaskLabel
from plaudit.checks.rules.units import Unit
from plaudit.language.reading.context import Note
from plaudit.language.reading.source import SourceLine
from plaudit.learn.off_policy.evaluate import Evaluation
from plaudit.learn.off_policy.intervals import Interval, PolicyEstimate
from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.rescore.changes import Changes
from plaudit.ledger.rescore.rescore import Lacking, Rescoring
from plaudit.ledger.rescore.rounding import Rounding
from plaudit.ledger.summary.episodes import Episode
from plaudit.ledger.summary.returns import Classes
from plaudit.ledger.summary.stats import Head, Stats, Totals
from plaudit.ledger.verify.result import Verification
from plaudit.llm import Feature, FeatureChange, GroupChanges, RolloutChanges, Sample, TermChange
from plaudit.llm.stress import AttackResult, StressReport
from plaudit.schedules import linear, piecewise
from plaudit.targets.python import ABSENT
from plaudit.testing import LawResult, TargetReport
from plaudit.testing.cases import Case

STEER = "\x1b]0;owned\x07\x1b[31m\r\x9b2J\u202e\x7f<script>'\"&]]>"
SOURCE = Path(plaudit.__file__).parent


def list_classes(*methods):
    """Return every class of the core that has one of these methods; systems are tested with their own."""
    return {
        f"{path.relative_to(SOURCE)}:{node.name}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "systems"
        if any(f"def {name}(" in path.read_text() for name in methods)  # parsing all of them takes seconds
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(each, ast.FunctionDef) and each.name in methods for each in node.body)
    }


@term
def gaze(light, word):
    """See."""
    return light if word == "\x1b[31m" else 0.0


@pytest.fixture
def samples(tmp_path):
    """One of each class, with hostile strings wherever one fits."""
    fields = [Field("light", low=0, high=1), Field("word", values=("\x1b[31m", "plain"))]
    reward = Reward("gazing", version="1", terms=[gaze], fields=fields)
    signal = reward.score(light=0.5, word="\x1b[31m")
    read = Signal.from_dict({**signal.to_dict(), "reward": STEER, "version": STEER})
    path = tmp_path / f"led{STEER}ger.db"
    ledger = Ledger(path)
    number = ledger.record(signal, run=STEER, key=STEER, decision_class=STEER, actor=STEER, context={STEER: STEER})
    with ledger.writer() as writer:
        receipt = writer.record(signal, run=STEER)
    finding = Finding(code=STEER, severity="warning", term=STEER, message=STEER, advice=STEER, facts=(STEER,))
    verification = Verification(STEER)
    verification.add("edited", 1, STEER)
    changes = Changes()
    changes.add(np.ones(2), np.zeros(2), STEER)
    gain = Interval(1.0, 0.1, 0.5, 1.5)
    estimate = PolicyEstimate(1.0, 0.1, 0.5, 1.5, gain)
    head = Head(1, STEER, 2, datetime(2026, 1, 1, tzinfo=UTC), 3, "ab" * 32)
    changes.add(np.ones(2), np.zeros(2), episode=Classes([(STEER, STEER, STEER)], np.zeros(2, np.intp)), step=[1, 9])
    value = ValueChange(STEER, STEER, STEER)
    function = FunctionChange("term", "changed", STEER, STEER, STEER, STEER)
    definition = DefinitionChanges(
        functions=(function,), numbers=(value,), only_before=(STEER,), only_after=(STEER,), renamed={}
    )
    step = StepChange(1, (STEER, STEER, STEER), 1, (0.0, 1.0), signal, signal)
    effect = Effect({}, STEER, changes=changes, terms={STEER: TermEffect(STEER)}, remarks=(STEER,))
    effect._steps.append((1.0, -1, step))
    when = datetime(2026, 1, 1, tzinfo=UTC)
    paid = EpisodeBin(STEER, STEER, when, 1, 1.0, 1.0, (TermShare(STEER, 1.0, 1.0, 1.0, 1.0, 0.0),))
    episode = Episode(STEER, STEER, STEER, STEER, STEER, 1.0, 1, {STEER: 1.0}, None, 0, 0, when, when, 1, 1)
    branch = NearestBranch(STEER, STEER, STEER, STEER, STEER, 1.0, 1.0, (STEER,))
    played = PlayedEpisode(STEER, 0, 1.0, {"native": 1.0}, {STEER: 1.0}, 1, "terminated", signal, signal)
    shown = Measure("epic", *np.zeros((3, 2, 2)))
    task = Task("t", doc=STEER, source=STEER, idle={"word": STEER}, ends={"word": "bad"})
    yield {
        "checks/report.py:TaskLabel": [TaskLabel.of(task)],
        "analysis/explain/attribution.py:Attribution": [Attribution(STEER, paid, (paid, paid))],
        "analysis/compare/comparison.py:Comparison": [
            Comparison(
                rewards=(STEER, STEER),
                discount=0.9,
                coverage=Coverage(STEER, remarks=(STEER,)),
                measures={"epic": shown},
                left_out={"dard": STEER},
                remarks=(STEER,),
            )
        ],
        "analysis/compare/comparison.py:Estimate": [Distance(0.0, 0.0, 1.0)],
        "analysis/diff/definitions.py:ValueChange": [value],
        "analysis/diff/diff.py:Diff": [
            Diff(
                before=STEER,
                after=STEER,
                definition=definition,
                proof=None,
                unproved=STEER,
                left_out=(STEER,),
                effect=effect,
            )
        ],
        "analysis/explain/episode_gap.py:EpisodeGap": [
            EpisodeGap(
                episode,
                episode,
                (TermGap(STEER, 0.0, 1.0),),
                (StepGap(0, 0.0, None, 1.0, 1.0, STEER, 1.0, 1, None),),
                (STEER,),
            )
        ],
        "checks/branches.py:Condition": [Condition(STEER, STEER, True)],
        "analysis/explain/step_branches.py:NearestBranch": [branch],
        "analysis/explain/step_branches.py:StepBranches": [
            StepBranches(
                STEER,
                1.0,
                (
                    TermBranches(
                        STEER, 1.0, (), (SourceLine(STEER, 1, STEER),), (Condition(STEER, 1.0, False),), (branch,)
                    ),
                ),
            )
        ],
        "analysis/diff/definitions.py:DefinitionChanges": [definition],
        "analysis/explain/sweep.py:Sweep": [
            Sweep(
                reward=STEER,
                term=STEER,
                over=(Swept(STEER, Field("light"), np.zeros(1)),),
                values=np.zeros(1),
                at={STEER: STEER},
                cuts=(1.0,),
                witnesses=(SweptWitness(STEER, STEER, (0.0,), 0.0, False),),
            )
        ],
        "analysis/diff/effect.py:Effect": [effect],
        "analysis/probe/result.py:Probe": [
            Probe(
                env=STEER,
                reward=STEER,
                discount=0.9,
                measures=("native",),
                compared=("native",),
                policies=(PolicyOutcome(STEER, "search", (played, played)),),
                report=Report(reward=STEER, version=STEER, fingerprint=STEER, findings=(finding,)),
                steps=1,
                seconds=1.0,
                ledger=STEER,
                run=STEER,
                remarks=(STEER,),
            )
        ],
        "checks/bounds.py:Bound": [Bound(0.0, 1.0)],
        "checks/bounds.py:Bounds": [Bounds(Bound(0.0, 1.0), {STEER: Bound(0, 1)}, {STEER: Bound(0, 1)})],
        "checks/model.py:Contradiction": [Contradiction((STEER, STEER), (STEER,))],
        "checks/prove/proof.py:Proof": [
            Proof(
                left=STEER,
                right=STEER,
                verdict=verdict,
                differences=(Difference(STEER, {STEER: STEER}, 1.0, None),),
                missing=(STEER,),
                remarks=(STEER,),
            )
            for verdict in ("equal", "different", "undecided")
        ],
        "checks/report.py:Report": [
            Report(
                reward=STEER,
                version=STEER,
                fingerprint=STEER,
                findings=(finding,),
                suppressed=(Suppressed(finding, STEER),),
                undecided=(Undecided(STEER, STEER, STEER),),
                skipped={STEER: STEER},
            )
        ],
        "checks/rules/units.py:Unit": [Unit(((STEER, 2),))],
        "errors.py:PlauditError": [
            kind(f"a message about {STEER}")
            for kind in vars(errors).values()
            if isinstance(kind, type) and issubclass(kind, errors.PlauditError)
        ],
        "learn/off_policy/evaluate.py:Evaluation": [
            Evaluation(STEER, 9, (STEER,), {"dr": estimate}, estimate, 9.0, 1.0, 1.0, "normal", 0.95, notes=(STEER,))
        ],
        "adapters/logs/importing.py:ImportedLog": [
            ImportedLog(STEER, STEER, STEER, 1, 1, 1, {STEER: (1, 1.0)}, Counter({STEER: 1}))
        ],
        "language/schedule.py:Piecewise": [piecewise([1, 2], at=[3], counter="steps")],
        "language/schedule.py:Ramp": [linear(0, 1, over=9, counter="steps")],
        "language/schedule.py:Schedule": [linear(0, 1, over=9)],
        "language/reading/context.py:Note": [Note(STEER, STEER, SourceLine(STEER, 3, STEER))],
        "language/reading/source.py:SourceLine": [SourceLine(STEER, 3, STEER)],
        "ledger/rescore/changes.py:Changes": [changes],
        "ledger/dataset/files.py:FileScoring": [
            FileScoring(STEER, STEER, STEER, STEER, STEER, 9, bad=1, reasons={STEER: 1}, changes=changes)
        ],
        "ledger/summary/episodes.py:Episodes": [ledger.episodes()],
        "ledger/history.py:History": [ledger.history(), ledger.history(run=STEER)],
        "language/writing/mathml.py:FormulaText": [reward.formula()],
        "ledger/ledger.py:Ledger": [ledger],
        "ledger/record.py:Why": [ledger.why(number), ledger[number], signal.explain()],
        "ledger/rescore/rescore.py:Lacking": [Lacking(STEER, STEER, 1, (STEER,))],
        "ledger/rescore/rescore.py:Rescoring": [
            Rescoring(1, STEER, STEER, 1, (Lacking(STEER, STEER, 1, (STEER,)),), changes)
        ],
        "ledger/rescore/rounding.py:Rounding": [Rounding(2, 1, [STEER])],
        "ledger/summary/stats.py:Stats": [
            ledger.stats(),
            Stats(
                STEER,
                1,
                1,
                0,
                0,
                None,
                None,
                {STEER: Totals(1)},
                {STEER: Totals(1)},
                replace(ledger.head(), writers=(head,)),
            ),
        ],
        "ledger/storage/buffer.py:Receipt": [receipt],
        "ledger/verify/result.py:Verification": [verification, ledger.verify()],
        "llm/feature.py:Feature": [Feature(lambda text: 1, name=STEER, version=STEER)],
        "llm/groups.py:GroupChanges": [GroupChanges(1, 1)],
        "llm/groups.py:RolloutChanges": [
            RolloutChanges(
                1,
                rescoring=Rescoring(1, STEER, STEER, 1, (), changes),
                terms={STEER: TermChange(1, 1)},
                features={STEER: FeatureChange()},
                reasons=Counter({STEER: 1}),
            )
        ],
        "llm/sample.py:Sample": [Sample({STEER: STEER})],
        "llm/stress.py:StressReport": [
            StressReport(STEER, STEER, 1, 1.0, 1.0, [AttackResult(STEER, 1, 1, 1, 1.0)], {STEER: 1}, {STEER: 0})
        ],
        "reward/definition.py:FieldIndex": [reward.fields],
        "reward/reward.py:Reward": [reward],
        "reward/task/statements.py:Seen": [Seen(1, 2, "steps")],
        "reward/task/task.py:Task": [task],
        "reward/signal.py:Signal": [signal, read, read.explain()],
        "targets/c/reward.py:CReward": [repr(reward.compile("c"))],
        "targets/cuda/reward.py:CudaReward": [repr(reward.compile("cuda"))],
        "targets/javascript/reward.py:JavaScriptReward": [repr(reward.compile("javascript"))],
        "targets/polars/reward.py:PolarsReward": [repr(reward.compile("polars"))],
        "targets/python.py:Absent": [ABSENT],
        "targets/sql/reward.py:SqlReward": [reward.compile("sql", dialect="sqlite")],
        "testing/cases.py:Case": [Case(STEER, (Field("light", doc=STEER),), ())],
        "testing/contract.py:TargetReport": [TargetReport(STEER, (LawResult(STEER, "refused", STEER, Counter()),))],
    }
    ledger.close()


def test_nothing_that_is_printed_steers_a_terminal(samples):
    classes = list_classes("__str__", "__repr__")
    assert classes <= set(samples), "a class says how it is printed and is not tried here"
    for name in classes:
        for sample in samples[name]:
            for text in (str(sample), repr(sample)) if not isinstance(sample, str) else (sample,):
                steering = sorted({c for c in text if not c.isprintable() and c != "\n"})
                assert not steering, f"{name}: {steering} in {text!r:.300}"


PLAIN = {"div", "p", "b", "bdi", "code", "pre", "section", "details", "summary", "ul", "li"}
TABLES = {"table", "thead", "tbody", "tfoot", "tr", "th", "td"}
MATHS = {"math", "mtable", "mtr", "mtd", "mrow", "mi", "mn", "mo", "mtext", "msub"}


def test_nothing_that_is_shown_in_a_notebook_becomes_markup(samples):
    classes = list_classes("_repr_html_")
    assert classes <= set(samples), "a class says how notebooks show it and is not tried here"
    for name in classes:
        shown = [sample for sample in samples[name] if hasattr(sample, "_repr_html_")]
        assert shown, name
        for text in (sample._repr_html_() for sample in shown):
            steering = sorted({c for c in text if not c.isprintable() and c != "\n"})
            assert not steering, f"{name}: {steering} in {text!r:.300}"
            elements = list(ElementTree.fromstring(f"<body>{text}</body>").iter())[1:]  # every element is closed
            assert {element.tag for element in elements} <= PLAIN | TABLES | MATHS, name
            assert all(set(element.attrib) <= {"style", "form", "stretchy", "displaystyle"} for element in elements)
            assert not any("owned" in style for element in elements for style in element.attrib.values())


def test_a_message_keeps_its_lines_and_letters():
    assert str(errors.FileError("žluť.db:\n  “no” → 5 m²")) == "žluť.db:\n  “no” → 5 m²"
    assert str(errors.LedgerError("a\tb\x1b[0m")) == "a\\tb\\x1b[0m"
