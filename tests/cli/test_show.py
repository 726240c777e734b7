"""`plaudit show`."""

import json

import pytest

from plaudit import Field, Reward, Task, fact, prefer, term
from plaudit.cli.show import format_allowed, format_range
from plaudit.systems import BUILT_IN
from support.command_line import built_in

EVERY = pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
"""Of how many versions one is shown."""


def versions_of(plaudit, name: str) -> list[str]:
    """Return every version of a built-in, as in `roadsense@R8`."""
    rows = json.loads(plaudit("list", "--json").stdout)
    return [f"{name}@{label}" for row in rows if row["name"] == name for label in row["versions"]]


@EVERY
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_reward_is_shown_whole(plaudit, name, every):
    for version in versions_of(plaudit, name)[::every]:
        reward = built_in(version)
        shown = plaudit("show", version).stdout
        assert shown.startswith(f"{version}\n")
        assert reward.fingerprint in shown
        words = " ".join(shown.split())
        for part in (*reward.fields, *reward.inputs, *(each.name for each in reward.terms)):
            assert part in words
        for knob in (name for name in reward.params if not name.endswith((".weight", ".low", ".high"))):
            assert knob in words
        assert "\x1b" not in shown


def test_weights_clamps_ranges_units_and_roles_are_shown(plaudit):
    shown = plaudit("show", "deepthinker").stdout
    assert "-0.1   0 … 0.3" in shown
    assert "total" in shown
    assert "-1 … 1; others clipped" in " ".join(shown.split())
    shown = plaudit("show", "roadsense").stdout
    assert "≥ 0 or inf" in shown
    assert "m/s^2" in shown
    assert "0, 1, 2, 3" in shown
    assert "action" in shown


@pytest.mark.parametrize("name", BUILT_IN)
def test_formula_and_source_are_those_of_the_reward(plaudit, tmp_path, name):
    (tmp_path / "spec.json").write_text(built_in(name).to_json(), encoding="utf-8")
    assert plaudit("show", "spec.json", "--formula").stdout.strip() == built_in(name).formula().strip()
    assert plaudit("show", "spec.json", "--source").stdout.strip() == built_in(name).source().strip()


@EVERY
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_specification_is_a_reward_like_any_other(plaudit, tmp_path, name, every):
    for version in versions_of(plaudit, name)[::every]:
        spec = plaudit("show", version, "--spec").stdout
        reward = Reward.from_json(spec)
        assert spec == reward.to_json() + "\n"
        assert spec.isascii()
        (tmp_path / "r.json").write_text(spec, encoding="utf-8")
        again = json.loads(plaudit("show", "r.json", "--json").stdout)
        assert again == json.loads(plaudit("show", version, "--json").stdout)
        assert again["fingerprint"] == reward.fingerprint


def test_a_definition_is_python_that_makes_the_reward_again(plaudit, tmp_path):
    module = "from plaudit import Field, Reward, term\n\n@term\ndef near(distance):\n    return 1 / (1 + distance)\n\n"
    made = 'reward = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0)], high=0.5)\n'
    (tmp_path / "mine.py").write_text(module + made, encoding="utf-8")
    text = plaudit("show", "mine.py:reward", "--python").stdout
    assert "from mine import near\n" in text
    (tmp_path / "kept.py").write_text(text, encoding="utf-8")
    again = [json.loads(plaudit("show", f"{name}.py:reward", "--json").stdout) for name in ("mine", "kept")]
    assert again[0] == again[1]


def test_a_reward_is_shown_as_a_query(plaudit):
    pytest.importorskip("sqlglot", reason="needs plaudit[data]")
    shown = plaudit("show", "roadsense", "--sql", "postgres").stdout
    assert shown == built_in("roadsense").compile("sql", dialect="postgres").select("steps") + "\n"
    result = plaudit("show", "roadsense", "--sql", "postgre")
    assert result.exit_code == 2
    assert "Did you mean 'postgres'?" in result.stderr


def test_json_is_for_scripts(plaudit):
    shown = json.loads(plaudit("show", "roadsense", "--json").stdout)
    reward = built_in("roadsense")
    assert shown["fingerprint"] == reward.fingerprint
    assert shown["params"] == dict(reward.params)
    assert shown["inputs"] == list(reward.inputs)
    assert shown["fields"][0]["name"] == "distance"
    assert shown["fields"][0]["kind"] == "number"
    assert shown["terms"][1]["knobs"]["harsh_brake_threshold"] == 4.5


def test_facts_discount_and_preferences_are_shown(plaudit, tmp_path):
    @term(allow={"jump": "meant"})
    def near(distance, lit):
        return -distance if lit else 0

    @fact
    def dark(distance, lit):
        """Far away it is dark."""
        return not lit or distance < 100

    reward = Reward(
        "r",
        version="1",
        terms=[near],
        fields=[Field("distance", low=0, infinite=True), Field("lit", flag=True)],
        task=Task(
            facts=[dark],
            discount=0.95,
            prefer=[
                prefer([{"distance": 1, "lit": True}, {}], over={"distance": float("inf")}, because="\x1b[31mnear")
            ],
        ),
        allow={"unbounded": "rare"},
    )
    (tmp_path / "r.json").write_text(reward.to_json(), encoding="utf-8")
    words = " ".join(plaudit("show", "r.json").stdout.split())
    assert "facts dark Far away it is dark. declared" in words
    assert "distance=1, lit=true; then any step over distance=inf: \\x1b[31mnear declared" in words
    assert "discount 0.95 declared" in words
    found = json.loads(plaudit("show", "r.json", "--json").stdout)
    assert found["task"] == reward.task.to_dict()
    assert found["task"]["prefer"] == [
        {"better": [{"distance": 1, "lit": True}, {}], "over": [{"distance": "inf"}], "because": "\x1b[31mnear"}
    ]
    assert (found["allow"], found["terms"][0]["allow"]) == ({"unbounded": "rare"}, {"jump": "meant"})


def test_what_a_reward_does_not_declare_is_not_shown(plaudit):
    assert "\nTask deepthinker@1\n" in (shown := plaudit("show", "deepthinker").stdout)
    assert not any(word in shown for word in ("facts", "discount", "prefer"))


def test_only_one_view_at_a_time(plaudit):
    result = plaudit("show", "roadsense", "--json", "--spec")
    assert result.exit_code == 2
    assert "choose one" in result.stderr


@pytest.mark.parametrize("width", ["8", "20", "40", "300"])
def test_any_width_will_do(plaudit, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    assert plaudit("show", "apex").exit_code == 0


def test_texts_from_a_file_cannot_steer_the_terminal(plaudit, tmp_path):
    @term
    def near(distance):
        """Come [bold]near[/bold] :smile:."""
        return distance

    field = Field("distance", unit="\x1b[31m", doc="\x07\x1b]0;title\x07")
    reward = Reward("r", version="1", terms=[near], fields=[field], doc="\x1b[2J gone")
    (tmp_path / "r.json").write_text(reward.to_json(), encoding="utf-8")
    shown = plaudit("show", "r.json").stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "Come [bold]near[/bold] :smile:." in shown


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (Field("x"), "any number"),
        (Field("x", high=3), "≤ 3"),
        (Field("x", infinite=True), "any number or inf"),
        (Field("x", low=0, high=9, outside="allow"), "0 … 9; others allowed"),
        (Field("x", values=range(28)), "0, 1, 2, 3, 4, 5, …, 27"),
        (Field("x", flag=True, missing=False), "true, false; missing: false"),
        (Field("x", values=("a", "b"), other="b", missing="a"), "a, b; others: b; missing: a"),
    ],
)
def test_what_a_field_allows_is_said_in_words(field, text):
    assert format_allowed(field) == text


def test_a_range_is_written_as_people_write_it():
    assert [format_range(None, 1.5), format_range(-1.0, 1.0), format_range(0.0, None), format_range(None, None)] == [
        "≤ 1.5",
        "-1 … 1",
        "≥ 0",
        "",
    ]


@pytest.mark.parametrize("columns", [None, "40", "80"])
def test_the_formula_can_be_copied_out_and_compiled(plaudit, monkeypatch, columns):
    monkeypatch.delenv("COLUMNS")
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    for name in BUILT_IN:
        printed = plaudit("show", name).stdout
        formula = printed.partition("\nFormula\n\n")[2].partition("\n\nFields\n")[0]
        assert formula == plaudit("show", name, "--source").stdout.rstrip("\n")
        compile(formula, name, "exec")


LOCALS = """
from plaudit import Field, Reward, term

@term
def comfort(deceleration):
    force = abs(deceleration)
    return -2.0 if force > 3 else -force

driving = Reward("driving", version="1", terms=[comfort], fields=[Field("deceleration")])
"""


def test_locals_are_called_what_their_author_calls_them(plaudit, write):
    write("rewards.py", LOCALS)
    for printed in (
        plaudit("show", "rewards.py:driving").stdout,
        plaudit("show", "rewards.py:driving", "--source").stdout,
    ):
        assert "    force = abs(deceleration)\n" in printed
    assert r"\text{force} &=" in plaudit("show", "rewards.py:driving", "--formula").stdout


def test_how_often_something_was_seen_stays_on_its_line(plaudit, write, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code = "def norm_of_both(left, right): return abs(left * left + right * right - 1) <= 1e-06"
    seen = "10,000 of 10,000 steps"
    data = {"task": 1, "states": {"left": {"seen": seen}}, "facts": {"norm_of_both": {"when": code, "seen": seen}}}
    write("task.json", json.dumps(data))
    lines = [line.rstrip() for line in plaudit("show", "task.json").stdout.splitlines()]
    assert sum(line.endswith(f"seen in {seen}") for line in lines) == 2
    assert max(map(len, lines)) <= 80
