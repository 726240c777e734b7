"""Reports as text, JSON, SARIF and workflow commands."""

import json
import math
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.checks.finding import BASES, SEVERITIES, Evidence, Failed, Finding, Ground, Step, Suppressed
from plaudit.checks.formats.github import format_command, format_github
from plaudit.checks.formats.json import format_json
from plaudit.checks.formats.plain import (
    capitalise,
    encode_number,
    format_finding,
    format_total,
    format_uri,
    format_value,
    relative_path,
    short_path,
)
from plaudit.checks.formats.sarif import format_sarif
from plaudit.checks.formats.text import format_witness, join_pieces
from plaudit.checks.report import LocatedReport, Report, format_reports, summarise_counts
from plaudit.checks.rules import RULES, list_all_rules
from plaudit.language.reading.context import Note
from plaudit.language.reading.source import SourceLine
from plaudit.reward.reward import Reward
from plaudit.terminal import escape_line
from support.examples import examples
from support.reports import CLEAN, FULL, HERE, REWARD, finding, report

ROOT = Path(HERE).parent
TEXTS = st.text(max_size=60)
FILES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20).map("/somewhere/{}.py".format)
VALUES = st.one_of(st.floats(allow_nan=False), st.booleans(), st.text(max_size=12))
STEPS = st.builds(
    Step,
    st.dictionaries(st.from_regex(r"(prev\.|curr\.)?[a-z]{1,25}(\[3\])?", fullmatch=True), VALUES, max_size=14),
    st.none() | st.floats(allow_nan=False),
    TEXTS,
)
FINDINGS = st.builds(
    Finding,
    code=st.sampled_from(list(RULES)),
    severity=st.sampled_from(SEVERITIES),
    term=st.sampled_from(["near", "total"]),
    message=TEXTS,
    advice=TEXTS,
    witness=st.lists(STEPS, max_size=15).map(tuple),
    place=st.none() | st.builds(SourceLine, FILES, st.integers(1, 9999)),
    facts=st.lists(TEXTS, max_size=2).map(tuple),
    grounds=st.lists(st.builds(Ground, TEXTS, st.sampled_from(BASES), TEXTS), max_size=3).map(tuple),
)
REPORTS = st.builds(
    Report,
    reward=st.just("reaching"),
    version=st.just("1"),
    fingerprint=st.just("f" * 64),
    findings=st.lists(FINDINGS, max_size=3).map(tuple),
    suppressed=st.lists(st.builds(Suppressed, FINDINGS, TEXTS), max_size=2).map(tuple),
    skipped=st.dictionaries(st.sampled_from(list(RULES)), TEXTS, max_size=2),
    notes=st.lists(st.builds(Note, st.just("near"), TEXTS, st.builds(SourceLine, FILES, st.integers(1, 9999)))).map(
        tuple
    ),
)


def text(given: Report, reward: Reward = REWARD, **options: int) -> str:
    return format_reports([LocatedReport.of(given, reward)], **options)


# -- text -------------------------------------------------------------------------------------------------------------


def test_a_report_tells_everything_there_is(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert text(FULL) == (
        f"reaching@1  {REWARD.fingerprint[:12]}\n"
        """
warning  loop-that-pays  total
  It falls by 1 at distance = 2.

              distance   total
    1.9999999999999998       1   just before
                     2       0   at it

  → Let it fall over a stretch.
  Facts used: steps, distance rises

advice  jump  near  reports.py:17
  It falls by 1 at distance = 2.

              distance   total
    1.9999999999999998       1   just before
                     2       0   at it

  → Let it fall over a stretch.

undecided  dominated-action  total: no answer within 3 s
not run    zone-gap, zone-overlap: z3 is not installed
allowed    unbounded  near: it is meant: 100 %

1 warning, 1 piece of advice; 1 undecided, 2 rules not run, 1 allowed
"""
    )


NOTED = report(finding(), finding("dominated-term", severity="note", message="It is\nfaint.", facts=("steps",)))


def test_a_note_is_one_line_among_what_is_said_beside_the_findings():
    shown = text(NOTED)
    assert "advice  jump  near" in shown
    assert "\nnote       dominated-term  near: It is\\nfaint.\n\n1 piece of advice, 1 note\n" in shown
    assert shown.count("Let it fall over a stretch.") == 1
    assert "steps" not in shown
    assert text(report(NOTED.findings[1])).endswith("\nnote       dominated-term  near: It is\\nfaint.\n\n1 note\n")


def test_a_note_is_a_line_of_a_notebook_and_no_table():
    shown = NOTED._repr_html_()
    assert "1 piece of advice, 1 note" in shown
    assert shown.count("<table") == 1
    assert "note       dominated-term  near: It is" in shown


def test_a_note_is_whole_in_json_and_a_note_for_code_scanning():
    (one,) = strict(format_json([LocatedReport(NOTED)], root=ROOT))["rewards"]
    assert [each["severity"] for each in one["findings"]] == ["advice", "note"]
    assert one["counts"]["note"] == 1
    assert len(one["findings"][1]["witness"]) == 2
    results = format_sarif([LocatedReport(NOTED)], root=ROOT)["runs"][0]["results"]
    assert [(each["level"], each["properties"]["severity"]) for each in results] == [
        ("note", "advice"),
        ("note", "note"),
    ]
    assert [line.partition(" ")[0] for line in format_github([LocatedReport(NOTED)], root=ROOT).splitlines()] == [
        "::notice",
        "::notice",
    ]


def test_a_clean_reward_is_one_line():
    assert text(CLEAN) == f"reaching@1  {REWARD.fingerprint[:12]}  no findings\n"


def test_rules_that_did_not_run_are_said_of_a_clean_reward_too():
    shown = text(report(skipped={"jump": "z3 is not installed"}))
    assert shown.endswith("  no findings\nnot run    jump: z3 is not installed\n")


NOTES = tuple(Note("near", f"`print({at})` is dropped.", SourceLine("cars.py", at, f"print({at})")) for at in range(8))


@pytest.mark.parametrize("more", [{}, {"undecided": FULL.undecided}], ids=["clean", "open"])
def test_the_first_notes_on_functions_are_shown(more):
    shown = text(report(notes=NOTES, **more))
    assert "\nas read    near: `print(0)` is dropped. (cars.py, line 0)\n" in shown
    assert "print(5)" not in shown
    assert "\nas read    3 more notes (--json shows them)\n" in shown


def test_json_has_all_notes_on_functions():
    (one,) = format_json([LocatedReport(report(notes=NOTES))])["rewards"]
    assert [note["line"] for note in one["notes"]] == list(range(8))
    assert one["notes"][7] == {
        "term": "near", "what": "`print(7)` is dropped.", "file": "cars.py", "line": 7, "text": "print(7)",
    }  # fmt: skip


def test_a_reward_with_open_questions_is_not_called_clean():
    shown = text(report(undecided=FULL.undecided))
    assert "complain" not in shown
    assert shown.endswith("undecided  dominated-action  total: no answer within 3 s\n\nno findings; 1 undecided\n")


def test_a_message_begins_as_a_sentence_does():
    assert "\n  It jumps.\n" in text(report(finding(message="it jumps.")))


def test_several_reports_end_in_one_count():
    shown = format_reports([LocatedReport(CLEAN), LocatedReport(CLEAN), LocatedReport(FULL), LocatedReport(CLEAN)])
    assert shown.endswith("4 rewards: 1 warning, 1 piece of advice; 1 undecided, 2 rules not run, 1 allowed\n")
    lines = shown.splitlines()
    assert lines[0] == lines[1]  # clean ones stand together
    assert lines[2] == ""
    assert "\n\n\n" not in shown


def test_counts_have_their_plural():
    two = report(finding(), finding(), finding(severity="warning"), finding(severity="warning"))
    assert summarise_counts([two]) == "2 warnings, 2 pieces of advice"
    assert summarise_counts([CLEAN]) == "no findings"


def test_a_place_that_does_not_fit_has_its_own_line():
    shown = text(report(finding(place=SourceLine("/a" * 38 + ".py", 3))))
    assert f"advice  jump  near\n  {'/a' * 38}.py:3\n  It falls" in shown


@examples(0.1)
@given(REPORTS, st.sampled_from([10, 40, 80]))
def test_any_report_becomes_text_without_control_characters(given, width):
    shown = text(given, width=width)
    assert all(line.isprintable() for line in shown.split("\n"))


@examples(0.3)
@given(st.lists(STEPS, min_size=1, max_size=15))
def test_a_witness_fits_eighty_columns(steps):
    for step in steps:
        if any(len(str(value)) + len(name) > 60 for name, value in step.inputs.items()):
            return
        if any(len(word) > 30 for word in escape_line(step.note).split()):
            return  # a word stays whole
    lines = [join_pieces(line) for line in format_witness(steps, rest={}, indent=4)]
    assert max(map(len, lines), default=0) <= 80


# -- the witness ------------------------------------------------------------------------------------------------------


def table(*steps: Step, width: int = 80, **rest: object) -> str:
    return "\n".join(join_pieces(line) for line in format_witness(steps, rest=rest, width=width))


def test_of_many_inputs_those_that_say_something_are_shown():
    others = {f"field_{at}": 0.0 for at in range(20)}
    rest = {"stage": 1.0, **others, "prev.exit_distance": 0.0, "curr.exit_distance": 0.0}
    lap = (
        Step({**rest, "prev.exit_distance": 3.0, "curr.exit_distance": 2.0, "stage": 4.0}, 0.04, "a step closer"),
        Step({**rest, "prev.exit_distance": 2.0, "curr.exit_distance": 3.0, "stage": 4.0}, -0.01, "a step away"),
    )
    assert len(rest) >= 20
    shown = "\n".join(join_pieces(line) for line in format_witness(lap, rest=rest))
    assert shown == (
        "stage   prev.exit_distance   curr.exit_distance   total\n"
        "    4                    3                    2    0.04   a step closer\n"
        "    4                    2                    3   -0.01   a step away\n"
        "(other inputs at rest)"
    )


def test_what_is_the_same_in_every_row_is_said_once_where_there_is_no_room():
    many = {f"a_rather_long_name_{i}": 1.5 for i in range(6)}
    shown = table(Step({"x": 0.0, **many}, 1.0), Step({"x": 1.0, **many}, 2.0))
    assert shown.splitlines()[:3] == ["x   total", "0       1", "1       2"]
    assert shown.replace("\n ", "").startswith("x   total")
    assert "in every row a_rather_long_name_0 1.5, a_rather_long_name_1 1.5," in shown


def test_one_row_of_many_inputs_stands_upright():
    shown = table(Step({f"input_{i}": float(i) for i in range(20)}, 1.0, "such a step"))
    assert shown.splitlines()[0] == "input_0     0"
    assert shown.splitlines()[-2:] == ["total       1", "such a step"]


def test_where_no_table_fits_it_is_said_in_words():
    steps = [Step({f"input_{i}": i + at / 7 for i in range(8)}, float(at), "so") for at in range(9)]
    shown = table(*steps)
    assert shown.startswith("1. so: input_0 0, input_1 1, input_2 2,")
    assert "; total 8" in shown


def test_the_middle_of_a_long_witness_is_left_out():
    steps = [Step({"x": float(at)}, float(at)) for at in range(40)]
    lines = table(*steps).splitlines()
    assert lines[-3:] == ["38      38", "39      39", "(29 rows omitted before the last two)"]
    words = table(*(Step({f"i{n}": n + at / 7 for n in range(30)}, 0.0) for at in range(40)))
    assert "\n39. i0" in words
    assert "\n10. i0" not in words


def test_texts_stand_left_and_numbers_right():
    shown = table(Step({"phase": "coding", "n": 1.0, "done": True}, 0.5), Step({"phase": "testing", "n": 20.0}, None))
    assert shown == "phase      n   done   total\ncoding     1   true     0.5\ntesting   20           none"


def test_a_long_note_is_wrapped_beside_its_row():
    shown = table(Step({"x": 1.0}, 1.0, "word " * 30)).splitlines()
    assert len(shown) > 2
    assert all(line.startswith(" " * 12) for line in shown[2:])


def test_inputs_keep_all_their_digits_and_totals_six():
    assert format_value(math.nextafter(4.5, 5)) == "4.500000000000001"
    assert format_value(1e300) == "1e+300"
    assert format_value(math.inf) == "inf"
    assert format_total(0.1 + 0.2) == "0.3"
    assert format_total(-0.0) == "0"


@given(st.floats(allow_nan=False))
def test_a_written_number_reads_back_as_itself(number):
    assert float(format_value(number)) == number


# -- JSON -------------------------------------------------------------------------------------------------------------


def strict(data: object) -> object:
    """Return data after a trip through JSON as the standard has it."""
    return json.loads(json.dumps(data, allow_nan=False))


def test_json_holds_everything_there_is():
    (one,) = strict(format_json([LocatedReport(FULL)], root=ROOT))["rewards"]
    assert {name: one[name] for name in ("reward", "version", "fingerprint")} == {
        "reward": "reaching",
        "version": "1",
        "fingerprint": REWARD.fingerprint,
    }
    assert one["findings"][1] == {
        "code": "jump",
        "severity": "advice",
        "term": "near",
        "file": "reports.py",
        "line": 17,
        "message": "It falls by 1 at distance = 2.",
        "witness": [
            {"inputs": {"distance": 1.9999999999999998}, "total": 1.0, "note": "just before"},
            {"inputs": {"distance": 2.0}, "total": 0.0, "note": "at it"},
        ],
        "advice": "Let it fall over a stretch.",
        "why": RULES["jump"].why,
        "facts": [],
        "evidence": None,
        "basis": "declared",
        "grounds": [],
    }
    assert one["findings"][0]["file"] is None
    assert one["findings"][0]["line"] is None
    assert one["findings"][0]["facts"] == ["steps", "distance rises"]
    assert one["suppressed"][0]["reason"] == "it is meant: 100 %"
    assert one["suppressed"][0]["code"] == "unbounded"
    assert one["undecided"] == [{"code": "dominated-action", "term": "total", "why": "no answer within 3 s"}]
    assert one["skipped"] == {"zone-gap": "z3 is not installed", "zone-overlap": "z3 is not installed"}
    found = {"warning": 1, "advice": 1, "note": 0, "suppressed": 1, "contradicted": 0}
    assert one["counts"] == {**found, "undecided": 1, "failed": 0, "skipped": 2}


GROUNDS = (
    Ground("the horizon", "declared"),
    Ground("the range of x", "seen", "9,975 of 9,975 steps"),
    Ground("that x happens in single steps", "default"),
)
WEAK = (
    "Seen, not declared: the range of x (9,975 of 9,975 steps).",
    "Assumed by default: that x happens in single steps.",
)


def test_what_a_finding_rests_on_that_nobody_declared_is_said():
    found = finding(grounds=GROUNDS)
    assert "\n  {}\n  {}\n".format(*WEAK) in text(report(found))
    assert format_finding(found, {}).endswith("\n{}\n{}".format(*WEAK))
    (one,) = strict(format_json([LocatedReport(report(found))]))["rewards"][0]["findings"]
    assert one["basis"] == "default"
    assert [each["basis"] for each in one["grounds"]] == ["declared", "seen", "default"]
    assert one["grounds"][1]["seen"] == "9,975 of 9,975 steps"
    assert [finding(grounds=GROUNDS[:count]).basis for count in range(3)] == ["declared", "declared", "seen"]


def test_what_steps_that_happened_say_of_a_finding_is_told_in_every_format():
    says = "Seen: 214 of 10,000 steps were like this."
    played = "Observed: Corridor, 10,000 steps."
    given = report(finding(evidence=Evidence("seen", says)), summary="An agent will wait.", remarks=(played,))
    located = LocatedReport.of(given, REWARD)
    first = text(given).splitlines()[1]
    assert first == "An agent will wait."
    assert f"  {says}" in text(given).splitlines()
    assert says in given._repr_html_()
    assert "An agent will wait." in given._repr_html_()
    assert played in given._repr_html_()
    assert f"<p>{capitalise(given.findings[0].message)}" in given._repr_html_()
    assert says in format_github([located], root=ROOT)
    [one] = format_json([located])["rewards"]
    assert (one["summary"], one["findings"][0]["evidence"]) == (first, {"verdict": "seen", "says": says})
    [result] = results(located)
    assert says in result["message"]["text"]
    assert result["properties"]["evidence"] == "seen"


def test_findings_that_play_contradicts_are_counted_and_listed_in_json_only():
    dropped = finding("loop-that-pays", evidence=Evidence("contradicted", "Contradicted: none stayed."))
    given = report(contradicted=(dropped, dropped))
    assert "dropped    2 findings contradicted by the observed steps (--json shows them)" in text(given)
    assert "none stayed" not in text(given)
    [one] = format_json([LocatedReport.of(given, REWARD)])["rewards"]
    assert [each["code"] for each in one["contradicted"]] == ["loop-that-pays"] * 2
    assert one["counts"]["contradicted"] == 2


@examples(0.15)
@given(REPORTS)
def test_any_report_becomes_json_and_sarif(given):
    strict(format_json([LocatedReport(given)]))
    log = strict(format_sarif([LocatedReport.of(given, REWARD)], root="/somewhere"))
    check_sarif(log)


def test_numbers_that_json_has_not_are_texts():
    assert [encode_number(value) for value in (math.inf, -math.inf, math.nan)] == ["inf", "-inf", "nan"]
    assert [encode_number(value) for value in (None, True, "inf", 1.5)] == [None, True, "inf", 1.5]


# -- SARIF ------------------------------------------------------------------------------------------------------------

LEVELS = {"none", "note", "warning", "error"}
URI_REFERENCE = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?#]|%[0-9A-F]{2})*")


def check_message(message: dict) -> None:
    assert message["text"].strip()
    assert all(isinstance(part, str) for part in message.values())


def check_sarif(log: dict) -> None:
    """Hold a log against what the schema of SARIF 2.1.0 requires of the parts that we use."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"] == "plaudit"
        rules = driver["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules)
        for rule in rules:
            assert rule["defaultConfiguration"]["level"] in LEVELS
            for part in ("shortDescription", "fullDescription", "help"):
                check_message(rule[part])
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
            for notification in invocation["toolExecutionNotifications"]:
                check_message(notification["message"])
                assert notification["level"] in LEVELS
                assert rules[notification["associatedRule"]["index"]]["id"] == notification["associatedRule"]["id"]
        for result in run["results"]:
            check_result(result, rules)


def check_result(result: dict, rules: list[dict]) -> None:
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in LEVELS
    check_message(result["message"])
    assert all(isinstance(value, str) and value for value in result["partialFingerprints"].values())
    for location in result.get("locations", []):
        physical = location["physicalLocation"]
        assert URI_REFERENCE.fullmatch(physical["artifactLocation"]["uri"])
        assert physical["artifactLocation"]["uri"]
        assert physical["region"]["startLine"] >= 1
    for suppression in result.get("suppressions", []):
        assert suppression["kind"] in {"inSource", "external"}
        assert isinstance(suppression["justification"], str)


def results(*checked: LocatedReport, root: object = ROOT) -> list[dict]:
    log = strict(format_sarif(checked, root=root, version="0.1.0"))
    check_sarif(log)
    return log["runs"][0]["results"]


def test_sarif_has_every_rule_and_every_finding():
    log = format_sarif([LocatedReport(FULL)], root=ROOT, version="0.1.0")
    check_sarif(log)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(list_all_rules())
    assert [result["ruleId"] for result in run["results"]] == ["loop-that-pays", "jump", "unbounded"]
    assert [result["level"] for result in run["results"]] == ["warning", "note", "warning"]
    assert (
        "docs/reference/check-rules/jump.md"
        in run["tool"]["driver"]["rules"][list(RULES).index("jump")]["help"]["text"]
    )
    said = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert said == [
        "reaching@1, total: undecided: no answer within 3 s",
        "reaching@1: not run: z3 is not installed",
        "reaching@1: not run: z3 is not installed",
    ]


def test_a_suppressed_finding_keeps_its_reason_in_sarif():
    assert [result.get("suppressions") for result in results(LocatedReport(FULL))] == [
        None,
        None,
        [{"kind": "inSource", "justification": "it is meant: 100 %"}],
    ]
    assert [
        result["message"]["text"].endswith("\nAllowed: it is meant: 100 %") for result in results(LocatedReport(FULL))
    ] == [
        False,
        False,
        True,
    ]


def test_sarif_names_files_from_the_root():
    _, jump, _ = results(LocatedReport(FULL))
    physical = jump["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "reports.py"}
    assert physical["region"] == {"startLine": 17, "snippet": {"text": "return 1.0 if distance < 2.0 else 0.0"}}
    assert jump["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "reaching.near"


def test_a_finding_without_a_place_stands_where_its_reward_does():
    bare = report(finding(place=None))
    assert "locations" not in results(LocatedReport(bare))[0]
    (at_home,) = results(LocatedReport.of(bare, REWARD))
    assert at_home["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "reports.py"
    rebuilt = Reward.from_json(REWARD.to_json())
    (in_spec,) = results(LocatedReport.of(bare, rebuilt, file=str(ROOT / "r.json")))
    assert in_spec["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "r.json"},
        "region": {"startLine": 1},
    }


def test_fingerprints_stay_while_lines_numbers_and_versions_change():
    def fingerprints(*checked: LocatedReport) -> list[str]:
        return [result["partialFingerprints"]["plaudit/v1"] for result in results(*checked)]

    moved = finding(place=SourceLine(HERE, 99), message="It falls by 2 at distance = 3.")
    assert fingerprints(LocatedReport(report(finding()))) == fingerprints(LocatedReport(report(moved, version="2")))
    several = fingerprints(LocatedReport(FULL), LocatedReport(FULL), LocatedReport(report(finding(term="total"))))
    assert len(set(several)) == len(several) == 7


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("/project/car/rewards.py", "car/rewards.py"),
        ("/project/my car/ä#?%.py", "my%20car/%C3%A4%23%3F%25.py"),
        ("/project/a:b.py", "a%3Ab.py"),
        ("/project/\udcff.py", "%FF.py"),
        ("/else/where.py", "file:///else/where.py"),
        ("<ipython-input-3>", "%3Cipython-input-3%3E"),
    ],
)
def test_addresses_are_relative_and_encoded(file, address):
    assert format_uri(file, "/project") == address
    assert unquote(address, errors="surrogateescape").removeprefix("file://") in file


# -- workflow commands ------------------------------------------------------------------------------------------------


def test_workflow_commands_of_a_report():
    lines = format_github([LocatedReport.of(FULL, REWARD)], root=ROOT).splitlines()
    assert lines == [
        "::warning title=reaching@1%3A loop-that-pays::total: It falls by 1 at distance = 2."
        "%0Ajust before: distance 1.9999999999999998; total 1%0Aat it: distance 2; total 0"
        "%0ALet it fall over a stretch.%0AFacts used: steps, distance rises.",
        "::notice file=reports.py,line=17,title=reaching@1%3A jump::near: It falls by 1 at distance = 2."
        "%0Ajust before: distance 1.9999999999999998; total 1%0Aat it: distance 2; total 0"
        "%0ALet it fall over a stretch.",
        "::notice title=reaching@1%3A dominated-action is undecided::total: no answer within 3 s",
        "::notice title=reaching@1%3A rules that did not run::zone-gap: z3 is not installed"
        "%0Azone-overlap: z3 is not installed",
    ]


def test_a_clean_report_gives_no_commands():
    assert format_github([LocatedReport(CLEAN)], root=ROOT) == ""


@given(TEXTS, TEXTS)
def test_no_text_can_end_a_command_or_begin_another(message, title):
    made = format_command("warning", message, title=title)
    assert "\n" not in made
    assert "\r" not in made
    properties, _, told = made.removeprefix("::warning ").partition("::")
    assert unquote(told) == unquote(message.replace("%", "%25"))
    assert properties.count("=") - title.count("=") == 1
    assert not set(properties.removeprefix("title=")) & set(":,")


def test_long_witnesses_are_short_in_sentences():
    lap = tuple(Step({"x": float(at), "y": 0.0}, 1.0) for at in range(9))
    said = format_finding(finding(witness=lap), {"x": 0.0, "y": 0.0}).splitlines()
    assert said[1] == "x 0, other inputs at rest; total 1"
    assert said[-2] == "… 3 more rows"
    resting = format_finding(finding(witness=(Step({"x": 0.0}, 1.0),)), {"x": 0.0})
    assert "\nall inputs at rest; total 1\n" in resting


# -- places -----------------------------------------------------------------------------------------------------------


def test_paths_are_named_from_the_root_from_where_they_are_imported_or_whole(tmp_path, monkeypatch):
    file = str(tmp_path / "car" / "rewards.py")
    assert relative_path(file, tmp_path) == "car/rewards.py"
    assert relative_path(file, tmp_path / "other") is None
    assert short_path(file, tmp_path) == "car/rewards.py"
    assert short_path(file, "/nowhere") == Path(file).as_posix()
    monkeypatch.syspath_prepend(tmp_path / "car")
    assert short_path(file, "/nowhere") == "rewards.py"


def test_a_link_to_the_root_is_the_root(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert relative_path(str(tmp_path / "real" / "a.py"), tmp_path / "link") == "a.py"


# -- rules that failed ------------------------------------------------------------------------------------------------

FAILED = report(failed=(Failed("jump", "ValueError: 100 % odd (z3.py, line 3)"),))


def test_a_failed_rule_is_told_in_every_format():
    text = format_reports([LocatedReport(FAILED)])
    assert "  no findings" not in text
    assert "failed     jump: ValueError: 100 % odd (z3.py, line 3). This is a bug in\n" in text
    assert text.endswith("no findings; 1 failed\n")
    (one,) = format_json([LocatedReport(FAILED)])["rewards"]
    assert one["failed"] == [{"code": "jump", "error": "ValueError: 100 % odd (z3.py, line 3)"}]
    assert one["counts"]["failed"] == 1
    (invocation,) = format_sarif([LocatedReport(FAILED)], root="")["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert (notification["level"], notification["associatedRule"]["id"]) == ("error", "jump")
    assert format_github([LocatedReport(FAILED)], root="").startswith(
        "::error title=reaching@1%3A jump failed::ValueError"
    )
