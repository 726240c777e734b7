"""Logs of TRL, verifiers and Inspect as rollouts of a ledger: with what the tool paid, once each, and never a guess.

`recorded/logs` was written by the packages themselves: see `real_logs.py`.
"""

import json
import math
import shutil
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import Field, FileError, Ledger, Reward, term
from plaudit.adapters.logs import import_log, logged_inputs
from plaudit.adapters.trl import reward_func
from plaudit.errors import LedgerError, MissingExtra, UnknownInput
from plaudit.llm import Scoring, feature, read_rollouts, rescore_rollouts

LOGS = Path(__file__).parent / "recorded" / "logs"
TEXTS, CONVERSATIONS = LOGS / "trl" / "texts", LOGS / "trl" / "conversations"
TRACES, RESULTS = LOGS / "verifiers-0.4", LOGS / "verifiers-0.3"
EVAL, JSON = LOGS / "inspect" / "sums.eval", LOGS / "inspect" / "sums.json"
WEIGHTS = {"digits": 1.0, "brief": 0.5}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as made:
        yield made


def read(ledger, **query):
    return list(read_rollouts(ledger, ledger.history(**query)))


def list_totals(rollouts):
    return [None if rollout.record.masked else rollout.record.total for rollout in rollouts]


# -- what is read -----------------------------------------------------------------------------------------------------


def test_trl_rows_have_their_prompts_columns_steps_and_groups(ledger):
    found = import_log(ledger, TEXTS, scores=WEIGHTS)
    rollouts = read(ledger)
    tables = [pq.read_table(file).to_pylist() for file in sorted((TEXTS / "completions").iterdir())]
    rows = [*tables[0], *tables[2]]
    assert [row | {"step": 1} for row in tables[1]] == tables[0], "TRL logs a batch at every step that it is used"
    assert (found.rollouts, found.run, found.tool) == (len(rows), "texts", "trl")
    for rollout, row in zip(rollouts, rows, strict=True):
        assert rollout.sample["prompt"] == row["prompt"]
        assert rollout.sample["completion"] == row["completion"]
        assert rollout.sample["answer"] == row["answer"]
        assert rollout.record.step == row["step"]
        paid = [weight * row[name] for name, weight in WEIGHTS.items() if row[name] is not None]
        assert rollout.record.total == pytest.approx(sum(paid))
        assert rollout.record.run == "texts"
    assert len({rollout.group for rollout in rollouts}) == len(rows) / 4
    assert ledger.verify().ok


def test_a_function_that_gave_nothing_is_no_term_and_no_zero(ledger, tmp_path):
    rows = [{"step": 1, "prompt": "?", "completion": text, "one": one, "two": two, "advantage": 0.0}
            for text, one, two in (("a", 1.0, 2.0), ("b", None, 2.0), ("c", math.nan, None))]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "completions_00001.parquet")
    found = import_log(ledger, tmp_path, scores={"one": 1, "two": 1})
    assert list_totals(read(ledger)) == [3.0, 2.0, None]
    assert found.means == {"trl@one + two": (1, 3.0), "trl@two": (1, 2.0)}
    assert sum(found.unscored.values()) == 1


def test_a_verifiers_trace_has_its_weights_its_messages_and_its_error(ledger):
    found = import_log(ledger, TRACES)
    rollouts = read(ledger)
    assert list_totals(rollouts) == [1.5, 0.5, pytest.approx(1 + 0.5 / 3), None]
    assert list(found.means) == ["verifiers@0.5 brief + right"]
    assert "ZeroDivisionError" in rollouts[3].record.masked
    assert [rollout.sample.text for rollout in rollouts] == ["2", "3", "It is 5", ""]
    assert rollouts[0].sample.reasoning == "Well."
    assert rollouts[2].sample.tool_calls[0]["function"] == {"name": "add", "arguments": '{"of": [2, 3]}'}
    assert [rollout.sample["answer"] for rollout in rollouts] == ["2", "2", "5", "5"]
    assert [rollout.group == rollouts[0].group for rollout in rollouts] == [True, True, False, False]


def test_a_verifiers_result_has_its_total_and_its_columns(ledger):
    import_log(ledger, RESULTS)
    rollouts = read(ledger)
    lines = [json.loads(line) for line in (RESULTS / "results.jsonl").read_text().splitlines()]
    assert list_totals(rollouts) == [line["reward"] for line in lines]
    assert [rollout.sample["completion"] for rollout in rollouts] == [line["completion"] for line in lines]
    assert dict(rollouts[0].sample) == {
        **{name: lines[0][name] for name in ("prompt", "completion", "answer", "info", "metrics")}
    }


def test_an_inspect_archive_has_its_epochs_its_total_and_why_there_is_none(ledger):
    found = import_log(ledger, EVAL)
    rollouts = read(ledger)
    assert [rollout.sample["epoch"] for rollout in rollouts] == [1, 2] * 3, "epochs of a sample are a group"
    assert list(found.means) == ["inspect@sums"]
    assert list_totals(rollouts)[:2] == [0.875, -0.125]
    assert [rollout.record.masked is not None for rollout in rollouts] == [False] * 4 + [True] * 2
    assert "the reward does not apply" in rollouts[4].record.masked
    assert (rollouts[0].sample.text, rollouts[0].sample.reasoning) == ("2", "Well.")
    assert [rollouts[0].sample[name] for name in ("prompt", "answer", "kind")] == ["1 + 1", "2", "sum"]


def test_of_several_scores_inspect_reports_one_first_and_others_can_be_chosen(ledger):
    found = import_log(ledger, JSON)
    assert list(found.means) == ["inspect@match"]
    import_log(ledger, JSON, run="both", scores={"match": 1, "includes": 0.5})
    samples = {sample["uuid"]: sample["scores"] for sample in json.loads(JSON.read_text())["samples"]}
    grades = {"C": 1, "I": 0}
    for rollout in read(ledger, run="both"):
        scores = samples[rollout.record.episode]
        assert rollout.record.total == grades[scores["match"]["value"]] + 0.5 * grades[scores["includes"]["value"]]


# -- scored again -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [TEXTS, CONVERSATIONS, TRACES, RESULTS, EVAL, JSON], ids=lambda path: path.name)
def test_rollouts_of_every_tool_are_scored_again_beside_what_it_paid(ledger, path):
    asked = []

    @feature
    def right(text, answer):
        return text.endswith(answer) and answer != ""

    @feature(group=True)
    def size(text):
        asked.append(len(text))
        return [len(text)] * len(text)

    @term
    def correct(right):
        return 1 if right else 0

    @term(weight=0.1)
    def company(size):
        return size

    reward = Reward("sums", version="1", terms=[correct, company], fields=[Field("right", flag=True), Field("size")])
    found = import_log(ledger, path, scores=WEIGHTS if "trl" in path.parts else None)
    done = rescore_rollouts(ledger, reward, [right, size], run=found.run)
    assert done.rescoring.records == found.rollouts
    assert done.rescoring.changes.records == found.rollouts - sum(found.unscored.values())
    assert set(asked) == {4 if "trl" in path.parts else 2}, "groups are whole"
    totals = [record.total for record in ledger.history(job=done.rescoring.job)]
    ends = [rollout.sample.text.endswith(rollout.sample["answer"] or "never") for rollout in read(ledger)]
    assert totals == [pytest.approx(0.1 * asked[0] + end) for end in ends]


# -- inputs in a log of TRL -------------------------------------------------------------------------------------------


@feature
def right(text, answer):
    return answer in text


@feature(judge=True)
def clear(text):
    asked.append(text)
    return 0.5


asked = []


@term
def correct(right):
    return 1 if right else 0


@term(weight=0.5)
def clarity(clear):
    return clear


@term
def length(size):
    return -size


JUDGED = Reward(
    "sums", version="1", terms=[correct, clarity], fields=[Field("right", flag=True), Field("clear", low=0, high=1)]
)


def train(folder, **others):
    """Write the log of a step of TRL, in which `sums` gave the last completion no reward."""
    texts, inputs, terms = ["5", "It is 5", "6", "7"], {}, {}

    def log_extra(name, column):
        (inputs if "/inputs/" in name else terms)[name] = column

    old = Scoring(
        JUDGED,
        [feature(lambda text, answer: text == answer, name="right"), feature(lambda text: 1.0, name="clear")],
        applies=lambda text: text != "7",
    )
    paid = reward_func(old)(prompts=["2 + 3"] * 4, completions=texts, answer=["5"] * 4, log_extra=log_extra)
    columns = {"step": [1] * 4, "prompt": ["2 + 3"] * 4, "completion": texts, "sums": paid, "answer": ["5"] * 4}
    pq.write_table(pa.table({**columns, **inputs, **terms, **others}), folder / "completions_00001.parquet")
    assert list(inputs) == ["sums/inputs/right", "sums/inputs/clear"]


def test_inputs_that_trl_logged_are_known_from_before_and_no_judge_is_asked_again(ledger, tmp_path):
    train(tmp_path)
    found = import_log(ledger, tmp_path)
    assert found.inputs == ("clear", "right")
    assert "of features whose version it does not say: clear, right" in str(found)
    assert [rollout.found for rollout in read(ledger)] == [
        {"right": True, "clear": 1.0},
        *[{"right": False, "clear": 1.0}] * 2,
        {},
    ]
    assert not any("/inputs/" in name for name in read(ledger)[0].sample)
    asked.clear()
    done = rescore_rollouts(ledger, JUDGED.with_version("2"), [right, clear])
    assert asked == ["7"], "which had no reward, and of which the log has no answer"
    features = {name: (each.ran, each.changed, each.before, each.after) for name, each in done.features.items()}
    assert features == {"right": (4, 1, pytest.approx(1 / 3), pytest.approx(2 / 3)), "clear": (1, 0, 1.0, 1.0)}
    assert [record.total for record in ledger.history(job=done.rescoring.job)] == [1.5, 1.5, 0.5, 0.25]
    versions = [rollout.features for rollout in read(ledger, job=done.rescoring.job)]
    assert [sorted(each) for each in versions] == [["right"]] * 3 + [["clear", "right"]], "no version is made up"
    asked.clear()
    assert rescore_rollouts(ledger, JUDGED.with_version("2"), [right, clear], ask=True).features["clear"].ran == 4
    assert len(asked) == 4
    assert ledger.verify().ok


@pytest.mark.parametrize("texts", ["keep", "hash", str.upper])
def test_inputs_that_trl_logged_suffice_without_features(ledger, tmp_path, texts):
    train(tmp_path)
    found = import_log(ledger, tmp_path, texts=texts)
    done = rescore_rollouts(ledger, JUDGED, logged_inputs(found, JUDGED), run=found.run)
    assert [record.total for record in ledger.history(job=done.rescoring.job)] == [1.5, 0.5, 0.5]
    assert list(done.reasons) == ["Abstained: the log has no 'right' of it in feature 'right'"] or texts == "hash"
    assert done.features["clear"].rollouts == 3


def test_an_input_that_a_log_lacks_or_of_which_it_has_two_is_not_made_up(ledger, tmp_path):
    other = [
        {"none": None, "same": 1.0, "other": 0.25, "nan": math.nan}[kind] for kind in ("same", "other", "nan", "none")
    ]
    train(tmp_path, **{"strict/inputs/clear": other})
    found = import_log(ledger, tmp_path)
    assert [rollout.found.get("clear") for rollout in read(ledger)] == [1.0, None, 1.0, None]
    brief = Reward("brief", version="1", terms=[length], fields=[Field("size")])
    with pytest.raises(UnknownInput, match=r"does not have the input 'size' of brief@1.*It has clear, right.*--feat"):
        logged_inputs(found, brief)


# -- what was not answered ---------------------------------------------------------------------------------------------


def cancel_inspect(tmp_path):
    log = json.loads(JSON.read_text())
    sample = log["samples"][0]
    sample |= {"scores": None, "messages": sample["messages"][:1], "output": {"choices": []}}
    sample["error"] = {"message": "CancelledError()"}
    (tmp_path / "a.json").write_text(json.dumps(log))
    return tmp_path / "a.json"


def cancel_trace(tmp_path):
    def change(line):
        episode = json.loads(line)
        (trace,) = episode["traces"]
        trace |= {"nodes": trace["nodes"][:1], "rewards": {}, "ok": False, "errors": []}
        return json.dumps(episode)

    return copy_lines(tmp_path, change)


def cancel_result(tmp_path, said=None):
    rows = [{"example_id": at, "prompt": "2 + 3", "completion": text, "answer": "5", "reward": 0.0}
            for at, text in enumerate(["5", said])]  # fmt: skip
    rows[1] |= {"error": "cancelled"} if said is not None else {}
    (tmp_path / "results.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.mark.parametrize(
    ("cancel", "why"),
    [
        (cancel_inspect, "Inspect: CancelledError()"),
        (cancel_trace, "verifiers marked the rollout as failed"),
        (cancel_result, "the model wrote nothing"),
        (lambda tmp_path: cancel_result(tmp_path, []), "cancelled"),
    ],
)
def test_a_rollout_without_an_answer_has_no_reward_when_it_is_scored_again(ledger, tmp_path, cancel, why):
    found = import_log(ledger, cancel(tmp_path), scores={"match": 1} if cancel is cancel_inspect else None)
    assert why in found.unscored
    brief = Reward("brief", version="1", terms=[length], fields=[Field("size")])
    done = rescore_rollouts(ledger, brief, [feature(lambda text: len(text), name="size")])
    assert done.rescoring.records == found.rollouts - 1
    (reason,) = done.reasons
    assert f"the model wrote nothing: {why}" in reason
    assert not any(math.isnan(record.total) for record in ledger.history(job=done.rescoring.job))
    assert done.features["size"].ran == found.rollouts - 1


# -- which run --------------------------------------------------------------------------------------------------------


def test_a_run_holds_one_log(ledger, tmp_path):
    for at, name in enumerate(("one", "two")):
        (tmp_path / name / "out").mkdir(parents=True)
        row = {"example_id": 0, "prompt": "2 + 3", "completion": str(at), "reward": 0.0}
        (tmp_path / name / "out" / "results.jsonl").write_text(json.dumps(row))
    one, two = tmp_path / "one" / "out", tmp_path / "two" / "out"
    assert import_log(ledger, one).run == "out"
    for run in (None, "out"):
        with pytest.raises(LedgerError, match=rf"run 'out' holds .*{one}.*another run for {two}.*--run NAME"):
            import_log(ledger, two, run=run)
    assert import_log(ledger, two, run="two").rollouts == 1
    ledger.record(JUDGED.score(right=True, clear=1.0), run="own")
    with pytest.raises(LedgerError, match="run 'own' holds other records, such as 3"):
        import_log(ledger, two, run="own")
    assert ledger.history().count() == 3


def test_a_log_that_was_moved_or_that_has_lost_old_files_is_still_the_same(ledger, tmp_path):
    shutil.copytree(TEXTS, tmp_path / "texts")
    for name in ("completions_00001.parquet", "completions_00003.parquet"):
        import_log(ledger, tmp_path / "texts" / "completions" / name, scores=WEIGHTS)
    count = ledger.history().count()
    (tmp_path / "texts").rename(tmp_path / "moved")
    assert import_log(ledger, tmp_path / "moved", run="texts", scores=WEIGHTS).known == count
    (tmp_path / "moved").rename(tmp_path / "texts")
    for name in ("completions_00001.parquet", "completions_00002.parquet"):
        (tmp_path / "texts" / "completions" / name).unlink()
    assert import_log(ledger, tmp_path / "texts", scores=WEIGHTS).rollouts == 0


# -- imported again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [TEXTS, TRACES, RESULTS, EVAL, JSON], ids=lambda path: path.name)
def test_a_log_is_imported_once(ledger, path):
    scores = WEIGHTS if "trl" in path.parts else None
    found = import_log(ledger, path, scores=scores)
    again = import_log(ledger, path, scores=scores)
    assert (again.rollouts, again.known) == (0, found.rollouts)
    assert "already there" in str(again)
    assert ledger.history().count() == found.rollouts


def test_what_a_log_has_gained_is_added(ledger, tmp_path):
    lines = (TRACES / "traces.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "traces.jsonl").write_text("".join(lines[:2]))
    assert import_log(ledger, tmp_path).rollouts == 2
    (tmp_path / "traces.jsonl").write_text("".join(lines))
    assert (import_log(ledger, tmp_path).rollouts, len(read(ledger))) == (2, 4)


def test_an_import_that_was_stopped_is_finished_by_the_next(ledger, monkeypatch):
    monkeypatch.setattr("plaudit.adapters.logs.importing._TOGETHER", 2)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_log(ledger, JSON, progress=stop)
    assert ledger.history().count() == 2
    assert (import_log(ledger, JSON).rollouts, ledger.history().count()) == (4, 6)


def test_texts_can_be_left_out(ledger):
    import_log(ledger, RESULTS, texts="hash")
    assert [rollout.sample for rollout in read(ledger)] == [None] * 4


# -- what cannot be read ----------------------------------------------------------------------------------------------


def copy_lines(tmp_path, change):
    """Return a folder with the traces, the third line changed."""
    lines = (TRACES / "traces.jsonl").read_text().splitlines()
    lines[2] = change(lines[2])
    (tmp_path / "traces.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def without(name):
    def change(line):
        episode = json.loads(line)
        del episode["traces"][0][name]
        return json.dumps(episode)

    return change


BROKEN = {
    "half a line": (lambda line: line[:-200], "it is not whole JSON"),
    "a list": (lambda line: "[1]", "it is not an object"),
    "no nodes": (without("nodes"), "it has no 'nodes'"),
    "a newer trace": (lambda line: line.replace('"version":1', '"version":7', 1), "version 7"),
    "a score that is a text": (lambda line: line.replace('"score":1.0', '"score":"one"', 1), "not a number"),
    "an infinite score": (lambda line: line.replace('"score":1.0', '"score":Infinity', 1), "is inf"),
    "nested deeply": (lambda line: "[" * 100_000, "recursion"),
}


@pytest.mark.parametrize(("change", "reason"), BROKEN.values(), ids=list(BROKEN))
def test_a_line_that_cannot_be_read_is_named_and_can_be_quarantined(ledger, tmp_path, change, reason):
    folder = copy_lines(tmp_path, change)
    with pytest.raises(LedgerError, match=r"traces\.jsonl, line 3: .*Nothing was imported"):
        import_log(ledger, folder)
    assert (ledger.history().count(), list(ledger.quarantined())) == (0, [])
    found = import_log(ledger, folder, quarantine=True)
    assert (found.rollouts, found.quarantined) == (3, 1)
    (apart,) = ledger.quarantined()
    assert (Path(apart.file).name, apart.line) == ("traces.jsonl", 3)
    assert reason in apart.reason
    assert import_log(ledger, folder, quarantine=True).quarantined == 0, "it is kept once"
    assert ledger.verify().ok


def test_two_rollouts_with_one_id_are_refused_unless_they_are_the_same(ledger, tmp_path):
    line = (TRACES / "traces.jsonl").read_text().splitlines()[0]
    (tmp_path / "traces.jsonl").write_text("\n".join([line, line]))
    assert import_log(ledger, tmp_path).rollouts == 1
    (tmp_path / "traces.jsonl").write_text("\n".join([line, line.replace('"score":1.0', '"score":0.0', 1)]))
    with pytest.raises(LedgerError, match="line 2: another rollout has its id"):
        import_log(ledger, tmp_path, run="other")


def test_json_that_ends_too_early_gives_the_samples_before_its_end(ledger, tmp_path):
    whole, path = JSON.read_text(), tmp_path / "cut.json"
    ends = [whole.index(f'"uuid": "{sample["uuid"]}"') for sample in json.loads(whole)["samples"]]
    path.write_text(whole[: ends[3]])
    with pytest.raises(LedgerError, match=r"cut\.json, line 4: the file ends too early"):
        import_log(ledger, path)
    assert import_log(ledger, path, quarantine=True).rollouts == 3
    path.write_text(whole[: whole.index('"samples"')])
    with pytest.raises(FileError, match="is not whole JSON: the file ends too early"):
        import_log(ledger, path)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_large_object_is_read_in_parts(ledger, monkeypatch, size):
    monkeypatch.setattr("plaudit.adapters.logs.json_stream._FIRST", size)
    assert import_log(ledger, JSON).rollouts == 6


def test_an_archive_that_is_cut_off_or_changed_is_refused(ledger, tmp_path):
    path = tmp_path / "sums.eval"
    whole = EVAL.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="is not a whole log of Inspect"):
        import_log(ledger, path)
    with zipfile.ZipFile(EVAL) as archive:
        place = archive.infolist()[1].header_offset + 200
    path.write_bytes(whole[:place] + bytes(20) + whole[place + 20 :])
    with pytest.raises(LedgerError, match=r"sums\.eval/samples/.*\.json, line 1: .*Nothing was imported"):
        import_log(ledger, path)
    assert import_log(ledger, path, quarantine=True).rollouts == 5


def test_an_archive_that_python_decompresses_is_read_without_pyarrow(ledger, tmp_path, monkeypatch):
    from plaudit.adapters.logs.inspect_ai import _extract

    with zipfile.ZipFile(EVAL) as archive, EVAL.open("rb") as file, zipfile.ZipFile(tmp_path / "a.eval", "w", 8) as new:
        for info in archive.infolist():
            new.writestr(info.filename, _extract(archive, file, info))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert import_log(ledger, tmp_path / "a.eval").rollouts == 6
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        with pytest.raises(MissingExtra, match="pyarrow"):
            import_log(ledger, EVAL)


def test_other_versions_and_other_files_are_refused(ledger, tmp_path):
    newer = tmp_path / "newer.json"
    newer.write_text(JSON.read_text().replace('"version": 2', '"version": 3', 1))
    for path, content, message in (
        (newer, None, "its version is 3"),
        (tmp_path / "other.json", '{"a": 1}', "has no 'version'"),
        (tmp_path / "list.json", "[1]", "there is '\\[' where '{' should be"),
        (tmp_path / "half.json", b'{"version": 2, "a": "\xff', "is not UTF-8"),
        (tmp_path / "other.txt", "", "is not a log of rollouts"),
        (tmp_path / "rows.jsonl", '{"x": 1}\n', "is not a log of rollouts"),
        (tmp_path / "none.eval", None, "does not exist"),
    ):
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(FileError, match=message):
            import_log(ledger, path)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "rows.parquet")
    with pytest.raises(FileError, match="is not a log of TRL: it has no column 'step'"):
        import_log(ledger, tmp_path / "rows.parquet")


def test_a_file_of_trl_that_is_half_written_is_named(ledger, tmp_path):
    shutil.copytree(TEXTS / "completions", tmp_path / "completions")
    last = tmp_path / "completions" / "completions_00003.parquet"
    last.write_bytes(last.read_bytes()[:1000])
    with pytest.raises(LedgerError, match=r"completions_00003\.parquet, line 1: it cannot be read as Parquet"):
        import_log(ledger, tmp_path, scores=WEIGHTS)
    assert import_log(ledger, tmp_path, scores=WEIGHTS, quarantine=True).rollouts == 8


# -- which scores make the total --------------------------------------------------------------------------------------


def write_trl(folder, weights, columns):
    """Write a log in which advantages follow from columns with these weights."""
    rows = []
    for at in range(len(next(iter(columns.values())))):
        rows.append({"step": 1, "prompt": f"p{at // 4}", "completion": f"{at}"})
        rows[-1] |= {name: column[at] for name, column in columns.items()}
    totals = [sum(weight * row[name] for name, weight in weights.items()) for row in rows]
    for at, row in enumerate(rows):
        group = totals[at - at % 4 : at - at % 4 + 4]
        row["advantage"] = (totals[at] - sum(group) / 4) / (math.dist(group, [sum(group) / 4] * 4) + 1e-4)
    pq.write_table(pa.Table.from_pylist(rows), folder / "completions_00001.parquet")


ONE, TWO = [1.0, 0.0, 0.5, 0.25, 1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.75, 0.0, 1.0, 0.5, 0.0, 0.0]
FLAT = [3.0] * 4 + [5.0] * 4


def test_trl_columns_are_rewards_where_the_advantages_follow_from_them(ledger, tmp_path):
    write_trl(tmp_path, {"one": 1.0, "two": 1.0}, {"one": ONE, "two": TWO, "reward/term": FLAT})
    assert list(import_log(ledger, tmp_path).means) == ["trl@one + two"]


@pytest.mark.parametrize(
    ("weights", "columns", "message"),
    [
        ({"one": 1.0, "two": 0.5}, {"one": ONE, "two": TWO}, "the advantages do not follow from their sum"),
        ({"one": 1.0, "two": 1.0}, {"one": ONE, "two": TWO, "answer": FLAT}, "answer is the same for all completions"),
        ({"one": 1.0}, {"one": ONE, "size": TWO}, "the advantages do not follow from their sum"),
    ],
)
def test_trl_columns_are_not_guessed(ledger, tmp_path, weights, columns, message):
    write_trl(tmp_path, weights, columns)
    with pytest.raises(LedgerError, match=message):
        import_log(ledger, tmp_path)
    assert ledger.history().count() == 0
    assert import_log(ledger, tmp_path, scores=weights).rollouts == 8


def test_a_score_that_a_log_does_not_have_is_refused(ledger):
    with pytest.raises(UnknownInput, match=r"has no score 'mach'.*Did you mean 'match'"):
        import_log(ledger, JSON, scores={"mach": 1})


def test_inspect_scores_without_a_first_one_are_not_guessed(ledger, tmp_path):
    log = json.loads(JSON.read_text())
    del log["results"]["headline"]
    (tmp_path / "a.json").write_text(json.dumps(log))
    with pytest.raises(LedgerError, match="several scores and does not say which is the reward: includes, match"):
        import_log(ledger, tmp_path / "a.json")


def test_a_grade_that_is_no_number_is_refused(ledger, tmp_path):
    log = json.loads(JSON.read_text())
    log["samples"][1]["scores"]["match"]["value"] = "B"
    (tmp_path / "a.json").write_text(json.dumps(log))
    with pytest.raises(LedgerError, match=r"a\.json, line 2: the score 'match' is not a number but 'B'"):
        import_log(ledger, tmp_path / "a.json")
