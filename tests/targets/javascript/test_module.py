"""The module that a page imports: errors as in Python, typed arrays, knobs that are an argument, and hostile text."""

import json
import math
import pickle
import re
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pytest

from plaudit import DefinitionError, Field, InputError, Reward, State, TargetError, term
from plaudit.errors import (
    MissingField,
    NotFinite,
    OutOfRange,
    OutsideDomain,
    ShapeMismatch,
    UnknownCategory,
    UnknownInput,
    UnknownParameter,
    WrongType,
)
from plaudit.targets.javascript.writing import format_json
from support import pages
from support.node import to_scores
from support.strategies import load

ROW = {
    "distance": 1.0,
    "level": 1,
    "lit": True,
    "mood": "calm",
    "force": (1.0, 2.0),
    "prev": {"place": 0.0},
    "curr": {"place": 0.5},
}


def find_error(function, *arguments):
    """Return the error that a call raises, without the suggestion in it: a module makes none."""
    with pytest.raises(InputError) as caught:
        function(*arguments)
    return type(caught.value), re.sub(r" Did you mean [^?]*\?", "", str(caught.value))


BAD = {
    "distance below": ({"distance": -1.0}, OutOfRange),
    "distance infinite": ({"distance": math.inf}, NotFinite),
    "distance NaN": ({"distance": math.nan}, NotFinite),
    "distance beyond 2^53": ({"distance": 2**53 + 1}, OutOfRange),
    "level unlisted": ({"level": 7}, OutOfRange),
    "an entry out of range": ({"force": (1.0, 10.5)}, OutOfRange),
    "too many entries": ({"force": (1.0, 2.0, 3.0)}, ShapeMismatch),
    "not declared": ({"distnce": 1.0}, UnknownInput),
    "given twice": ({"prev.place": 1.0}, UnknownInput),
    "an end without its input": ({"terminal": True}, MissingField),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_the_error_that_python_raises_word_for_word(node, reward, case):
    changes, kind = BAD[case]
    python, javascript = reward.compile("python"), reward.compile("javascript")
    wanted = find_error(python, {**ROW, **changes})
    assert wanted[0] is kind
    assert find_error(node.run, javascript, "score", {**ROW, **changes}) == wanted


def test_what_only_the_types_of_a_language_say_is_the_same_kind_of_error(node, reward):
    compiled = reward.compile("javascript")
    for changes, kind in [
        ({"distance": "near"}, WrongType),
        ({"distance": True}, WrongType),
        ({"distance": None}, MissingField),
        ({"mood": 3}, WrongType),
        ({"lit": 2}, WrongType),
        ({"prev": 3}, WrongType),
    ]:
        with pytest.raises(kind, match="reward 'all'"):
            node.run(compiled, "score", {**ROW, **changes})
    row = {key: value for key, value in ROW.items() if key != "lit"}
    assert find_error(node.run, compiled, "score", row) == find_error(reward.compile("python"), row)


def test_a_masked_row_is_nan_and_a_wrong_name_is_still_an_error(node, reward):
    compiled = reward.compile("javascript", on_bad="mask")
    found = to_scores(node.run(compiled, "score", {**ROW, "distance": -1.0}))
    assert found.ok is False
    assert math.isnan(found.total)
    assert all(map(math.isnan, [*found.values.values(), *found.scores.values()]))
    with pytest.raises(UnknownInput):
        node.run(compiled, "score", {**ROW, "distnce": 1.0})
    with pytest.raises(OutOfRange):
        node.run(compiled, "score", {**ROW, "distance": -1.0}, {}, {"onBad": "raise"})
    with pytest.raises(TargetError, match="raise, mask"):
        node.run(compiled, "score", ROW, {}, {"onBad": "ignore"})


def test_an_operation_outside_its_domain_names_the_term_and_the_row(node):
    space = load("def share(a, b):\n    return a / b\n\n\ndef huge(a):\n    return a * 1e308 * 10\n")
    terms = [term(space["share"]), term(space["huge"])]
    reward = Reward("parts", version="1", terms=terms, fields=[Field("a"), Field("b")])
    python, javascript = reward.compile("python"), reward.compile("javascript")
    for row in ({"a": 1.0, "b": 0.0}, {"a": 2.0, "b": 1.0}):
        wanted = find_error(python, row)
        assert wanted[0] is OutsideDomain
        assert find_error(node.run, javascript, "score", row) == wanted
    columns = {"a": np.zeros(3), "b": np.array([1.0, 1.0, 0.0])}
    wanted = find_error(reward.compile("numpy"), columns)
    assert ", row 2" in wanted[1]
    assert find_error(node.run, javascript, "scoreBatch", columns) == wanted


def test_a_batch_scores_what_numpy_scores(node, reward, batch, totals):
    compiled = reward.compile("javascript")
    typed = {**batch, "level": batch["level"].astype(np.int32), "mood": batch["mood"].astype(np.uint8)}
    found = to_scores(node.run(compiled, "scoreBatch", typed))
    assert found.total.tolist() == pytest.approx(totals)
    wanted = reward.compile("numpy")(batch)
    for name in ("near", "pays", "effort"):
        np.testing.assert_array_equal(found.scores[name], wanted.scores[name])
    apart = {key: column for key, column in typed.items() if key != "force"}
    apart |= {f"force[{at}]": batch["force"][:, at].copy() for at in range(2)}
    np.testing.assert_array_equal(to_scores(node.run(compiled, "scoreBatch", apart)).total, found.total)
    same = {**typed, "lit": True, "prev.place": 0.5, "force": [1.0, 2.0]}
    wanted = reward.compile("numpy")({**batch, "lit": True, "prev.place": 0.5, "force": np.array([1.0, 2.0])})
    np.testing.assert_allclose(to_scores(node.run(compiled, "scoreBatch", same)).total, wanted.total)


def test_plain_arrays_are_encoded_first(node, reward, batch):
    compiled = reward.compile("javascript")
    plain = {key: column.tolist() for key, column in batch.items()} | {"mood": ["calm", "wild", "martian"]}
    with pytest.raises(WrongType, match=r"encode\(columns\)"):
        node.run(compiled, "scoreBatch", plain)
    encoded = node.run(compiled, "encode", plain)
    assert encoded["mood"].tolist() == [0, 1, 2]
    found = to_scores(node.run(compiled, "scoreBatch", encoded))
    assert found.total.tolist() == pytest.approx(reward.compile("numpy")(batch).total.tolist())


def test_bad_rows_of_a_batch_are_masked_or_the_first_is_named(node, reward, batch):
    compiled = reward.compile("javascript")
    typed = {**batch, "level": np.array([0, 1, 7], np.int32), "mood": np.array([0, 3, 0], np.int32)}
    found = to_scores(node.run(compiled, "scoreBatch", typed, {}, None, {"onBad": "mask"}))
    assert found.ok.tolist() == [True, False, False]
    assert np.isnan(found.total).tolist() == [False, True, True]
    with pytest.raises(UnknownCategory, match=r"field 'mood', row 1: 3\.0 is not one of its values"):
        node.run(compiled, "scoreBatch", typed)
    with pytest.raises(ShapeMismatch, match="the columns differ"):
        node.run(compiled, "scoreBatch", {**typed, "distance": np.zeros(2)})
    with pytest.raises(ShapeMismatch, match="2 values per row"):
        node.run(compiled, "scoreBatch", {**typed, "force": np.zeros(7)})


def test_integers_beyond_2_53_and_flags_that_are_none_spoil_their_row(node):
    space = load("def count(a, lit):\n    return a if lit else 0\n")
    fields = [Field("a"), Field("lit", flag=True)]
    compiled = Reward("counts", version="1", terms=[term(space["count"])], fields=fields).compile("javascript")
    columns = {"a": np.array([1, 2**53, 2**53 + 1], np.int64), "lit": np.array([1, 2, 1], np.uint8)}
    found = to_scores(node.run(compiled, "scoreBatch", columns, {}, None, {"onBad": "mask"}))
    assert found.ok.tolist() == [True, False, False]
    with pytest.raises(OutOfRange, match="field 'lit', row 1: the value is neither 0 nor 1"):
        node.run(compiled, "scoreBatch", columns)
    with pytest.raises(OutOfRange, match="field 'a', row 2: the value is an integer that the dtype cannot hold"):
        node.run(compiled, "scoreBatch", {**columns, "lit": True})


def test_a_batch_may_be_empty_or_bad_from_end_to_end(node):
    space = load("def lit(lamps):\n    return sum(1 if lamp else 0 for lamp in lamps)\n")
    fields = [Field("lamps", length=2, flag=True)]
    compiled = Reward("lamps", version="1", terms=[term(space["lit"])], fields=fields).compile("javascript")
    assert node.run(compiled, "scoreBatch", {"lamps": np.zeros(0)})["total"].tolist() == []
    bad = {f"lamps[{at}]": np.full(150_000, 2, np.uint8) for at in range(2)}
    found = to_scores(node.run(compiled, "scoreBatch", bad, {}, None, {"onBad": "mask"}))
    assert not found.ok.any()
    assert np.isnan(found.total).all()


def test_a_float32_that_is_a_rounded_bound_counts_as_the_bound(node):
    space = load("def push(torque):\n    return torque\n")
    fields = [Field("torque", low=-0.4, high=0.4)]
    compiled = Reward("pushes", version="1", terms=[term(space["push"])], fields=fields).compile("javascript")
    column = np.array([0.4, -0.4, 0.25], np.float32)
    assert node.run(compiled, "scoreBatch", {"torque": column})["total"].tolist() == [0.4, -0.4, 0.25]


def test_knobs_are_an_argument(node, reward, batch):
    python, javascript = reward.compile("python"), reward.compile("javascript")
    for knobs in ({}, {"near.reach": 0.5, "effort.weight": 3.0}, {"far": 10.0, "total.low": -1.0}):
        assert node.run(javascript, "score", ROW, knobs)["total"] == pytest.approx(python(ROW, knobs).total, rel=1e-15)
    assert node.run(javascript, "defaults") == dict(reward.program.params)
    with pytest.raises(UnknownParameter, match="has no parameter 'near.raech'"):
        node.run(javascript, "score", ROW, {"near.raech": 1.0})
    for value in (math.inf, "far", True, None):
        with pytest.raises(DefinitionError, match="near.reach=.*a finite number is needed"):
            node.run(javascript, "score", ROW, {"near.reach": value})


def test_a_knob_that_is_a_vector_is_given_whole_or_by_entry(node):
    space = load(
        "import numpy as np\n\n\ndef pose(angle, *, rest=np.array([0.5, 1.0])):\n    return sum(a * r for a, r in zip(angle, rest))\n"
    )
    reward = Reward("poses", version="1", terms=[term(space["pose"])], fields=[Field("angle", length=2)])
    compiled = reward.compile("javascript")
    row = {"angle": [1.0, 2.0]}
    calls = [("score", row, {"pose.rest": [2.0, 3.0]}), ("score", row, {"pose.rest[1]": 3.0})]
    assert [each["total"] for each in node.call(compiled, *calls)] == [8.0, 6.5]
    with pytest.raises(DefinitionError, match="pose.rest: 2 values are needed"):
        node.run(compiled, "score", row, {"pose.rest": [2.0]})


def test_arrays_of_an_earlier_call_are_written_over_also_under_other_knobs(node, reward, batch):
    compiled = reward.compile("javascript")
    typed = {**batch, "level": batch["level"].astype(np.int32), "mood": batch["mood"].astype(np.int32)}
    previous = {"$previous": 1}
    knobs = {"near.weight": 2.0, "pays.weight": 3.0}
    calls = [("scoreBatch", typed), ("scoreBatch", typed, knobs, previous), ("scoreBatch", typed, {}, previous)]
    first, second, third = map(to_scores, node.call(compiled, *calls))
    fresh = to_scores(node.run(compiled, "scoreBatch", typed, knobs))
    for name in fresh.values:
        np.testing.assert_array_equal(second.values[name], fresh.values[name])
        np.testing.assert_array_equal(second.scores[name], fresh.scores[name])
    np.testing.assert_array_equal(third.total, first.total)
    short = {key: column[:2] for key, column in typed.items()}
    *_, error = node.call(compiled, ("scoreBatch", typed), ("scoreBatch", short, {}, previous))
    assert isinstance(error, ShapeMismatch)


def test_a_module_without_ranges_keeps_the_domains_of_operations(node):
    space = load("def share(a):\n    return 1 / a\n")
    reward = Reward("shares", version="1", terms=[term(space["share"])], fields=[Field("a", low=0, high=1)])
    compiled = reward.compile("javascript", guard=False)
    assert node.run(compiled, "score", {"a": 4.0})["total"] == 0.25
    with pytest.raises(OutsideDomain):
        node.run(compiled, "score", {"a": 0.0})


def test_a_state_that_is_left_out_misspelt_or_out_of_range_is_named(node):
    space = load("def grow(push, prev):\n    return prev.level + push\n\n\ndef high(level):\n    return level\n")
    level = State("level", reset=0.0, low=0, high=2, update=space["grow"])
    fields = [Field("push", low=-5, high=5), level]
    reward = Reward("levels", version="1", terms=[term(space["high"])], fields=fields)
    python, javascript = reward.compile("python"), reward.compile("javascript")
    for row, state in [
        ({"push": 3.0}, {"level": 1.0}),
        ({"push": 1.0}, {"level": 7.0}),
        ({"push": 1.0}, {}),
        ({"push": 1.0}, {"level": 1.0, "levle": 1.0}),
    ]:
        assert find_error(node.run, javascript, "step", row, state) == find_error(python.step, row, state)
    assert find_error(node.run, javascript, "score", {"push": 1.0}) == find_error(python, {"push": 1.0})
    masked = reward.compile("javascript", on_bad="mask")
    assert node.run(masked, "step", {"push": 3.0}, {"level": 1.0})["state"] == {"level": 1.0}
    with pytest.raises(TargetError, match="of the module"):
        javascript.step({}, {})


HOSTILE = "*/ </script><!-- ]]> \\ ' \" ` ${x} \u2028 \u2029 \x00 \ud800 é \U0001d54a "


def build_odd(text):
    """Return a reward with a text in every place that holds one, and with names that JavaScript has a use for."""
    words = ("class", "default", "__proto__", "constructor", "await", "let", "name")
    space = load("".join(f"def {word}_term({word}_in):\n    return {word}_in\n\n\n" for word in words))
    fields = [Field(f"{word}_in", doc=text * 500, unit=text, low=0) for word in words]
    terms = [term(space[f"{word}_term"]) for word in words]
    calm = load(f'def calm(mood):\n    {json.dumps(text * 500)}\n    return mood == "calm"\n')["calm"]
    title = "".join(character for character in text if character.isprintable())
    fields.append(Field("mood", values=(text, "calm")))
    return Reward(title, version=title, terms=[*terms, term(calm)], fields=fields)


def strip_literals(text):
    """Return generated text without its literals, and without the part that is the same for every reward."""
    text = text.partition("// What every reward shares")[0]
    return re.sub(r"[0-9a-f]{64}", "", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text))


def test_no_text_of_a_reward_stands_outside_a_literal(node):
    odd, tame = build_odd(HOSTILE), build_odd("tame")
    compiled, known = odd.compile("javascript"), tame.compile("javascript")
    for text, wanted in ((compiled.module, known.module), (compiled.declarations, known.declarations)):
        assert text.isascii()
        assert not re.search(r"</|<!--|\]\]>", text)
        assert strip_literals(text) == strip_literals(wanted)
    row = {name: 1.0 for name in odd.fields if name != "mood"}
    name, version, docs, *found = node.call(
        compiled,
        ("name",),
        ("version",),
        ("docs",),
        ("score", {**row, "mood": "x"}),
        ("score", {**row, "mood": HOSTILE}),
    )
    assert (name, version) == (odd.name, odd.version)
    assert len(docs["calm"]) > 10_000
    assert isinstance(found[0], UnknownCategory)
    assert found[1]["total"] == len(row)


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "default", "hasOwnProperty", "function"])
def test_terms_may_be_called_like_anything(node, name):
    space = load(f"def {name}(a, *, toString=1.0):\n    return a * toString\n")
    reward = Reward("odd", version="1", terms=[term(space[name])], fields=[Field("a")])
    compiled = reward.compile("javascript")
    found = node.call(
        compiled, ("score", {"a": 2.0}), ("scoreBatch", {"a": np.array([3.0])}), ("score", {"a": 2.0, "valueOf": 1})
    )
    assert found[0]["values"] == {name: 2.0}
    assert found[1]["values"][name].tolist() == [3.0]
    assert isinstance(found[2], UnknownInput)


def test_a_field_called_like_the_prototype_is_read(node):
    space = load("def takes(__proto__, constructor):\n    return __proto__ - constructor\n")
    fields = [Field("__proto__"), Field("constructor")]
    reward = Reward("odd", version="1", terms=[term(space["takes"])], fields=fields)
    compiled = reward.compile("javascript")
    columns = {"__proto__": np.array([5.0]), "constructor": np.array([2.0])}
    found = node.call(
        compiled, ("score", {"__proto__": 5.0, "constructor": 2.0}), ("scoreBatch", columns), ("score", {})
    )
    assert found[0]["total"] == found[1]["total"][0] == 3.0
    assert isinstance(found[2], MissingField)


def test_a_module_says_which_reward_it_is_and_imports_nothing(node, reward):
    compiled = reward.compile("javascript")
    assert node.call(compiled, ("name",), ("version",), ("fingerprint",)) == ["all", "1", reward.fingerprint]
    assert not re.search(r"\b(import|require|eval|Function|globalThis|fetch|document)\b", compiled.module)
    assert node.run(compiled, "docs").keys() == set(reward.program.terms)
    assert pickle.loads(pickle.dumps(compiled)).module == compiled.module
    assert repr(compiled) == "JavaScriptReward(all@1)"


def test_declarations_have_every_field_knob_and_term(reward):
    text = reward.compile("javascript").declarations
    for name in (*reward.program.params, *reward.program.terms):
        assert format_json(name) in text
    assert 'readonly "distance": number | bigint;' in text
    assert 'readonly "mood": string;' in text
    assert 'readonly "success"?: boolean | 0 | 1;' in text
    assert 'readonly prev: { readonly "place": number | bigint; };' in text
    assert 'readonly "force": readonly (number | bigint)[] | Float64Array | Float32Array;' in text
    assert "initialState" not in text


def test_every_export_of_the_module_is_declared(reward):
    compiled = reward.compile("javascript")
    pattern = r"export (?:const|function|class) (\w+)"
    assert set(re.findall(pattern, compiled.module)) == set(re.findall(pattern, compiled.declarations))


def test_an_option_of_another_target_is_refused(reward):
    with pytest.raises(TargetError, match="no option 'chunk'"):
        reward.compile("javascript", chunk=3)


def test_the_page_of_docs_shows_what_runs(node, tmp_path, monkeypatch):
    text = Path(__file__).parents[3].joinpath("docs/how-to/export-to-javascript.md").read_text(encoding="utf-8")
    python, script = (next(b.text for b in pages.blocks(text) if b.language == name) for name in ("python", "js"))
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("page.py").write_text(python, encoding="utf-8")
    runpy.run_path("page.py")
    shown = "console.log(JSON.stringify([score({ distance: 0.5, torque: 2 }), scores.total[0]]));\n"
    tmp_path.joinpath("page.mjs").write_text(script + shown, encoding="utf-8")
    done = subprocess.run(["node", "page.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    one, total = json.loads(done.stdout)
    values, scores = {"near": 1.5, "effort": -0.4}, {"near": 1.5, "effort": 4}
    assert one == {"total": 1.1, "values": values, "scores": scores, "ok": True}
    assert total == 2.1


def test_the_module_parses_where_a_page_holds_it(node, reward, tmp_path):
    path = tmp_path / "reward.mjs"
    path.write_text(reward.compile("javascript").module, encoding="utf-8")
    done = subprocess.run(["node", "--check", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def build_zones(count):
    """Return a reward with one term: a number for each zone of a distance."""
    zones = " ".join(f"{at}.5 if a < {at} else" for at in range(count))
    space = load(f"def zone(a):\n    return {zones} -0.0\n")
    return Reward("zones", version="1", terms=[term(space["zone"])], fields=[Field("a")])


@pytest.mark.parametrize(("zones", "branches"), [(1, 0), (4, 0), (7, 3)])
def test_the_last_four_choices_between_constants_are_looked_up(node, zones, branches):
    reward = build_zones(zones)
    compiled = reward.compile("javascript")
    kernel = compiled.module.partition("function runFixed")[2].partition("const FIXED")[0]
    assert (kernel.count("Float64Array.of("), kernel.count(" ? ")) == (1, branches)
    column = np.array([-1.0, 0.0, 0.5, 1.0, 2.5, 3.5, 4.5, 9.0])
    found = node.run(compiled, "scoreBatch", {"a": column})["total"]
    wanted = reward.compile("numpy")({"a": column}).total
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
