"""The module beside a module: golden rows that find every mistake."""

import re
import subprocess

import pytest

from plaudit import Field, Reward, term
from plaudit.checks.parity.golden import list_golden_rows
from plaudit.targets.javascript.harness import write_harness
from support import carrying, composed
from support.node import need_node
from support.strategies import load


def run(folder, compiled, rows, *, module=None):
    """Return how the test module of a module ended."""
    (folder / "reward.mjs").write_text(module or compiled.module)
    (folder / "reward_test.mjs").write_text(write_harness(compiled, "reward.mjs", rows))
    command = [need_node(), str(folder / "reward_test.mjs")]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")


def test_golden_rows_agree_and_hold_what_is_refused(reward, tmp_path):
    rows = list_golden_rows(reward)
    assert {row.refused.__name__ for row in rows if row.refused} == {"NotFinite", "OutOfRange", "UnknownCategory"}
    done = run(tmp_path, reward.compile("javascript"), rows)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"all@1: {len(rows)} rows, 0 differ\n", "")


@pytest.mark.parametrize("build", [carrying.walking, carrying.touching, carrying.driving, composed.training])
def test_states_after_a_step_and_schedules_agree(build, tmp_path):
    reward = build()
    done = run(tmp_path, reward.compile("javascript", on_bad="mask"), list_golden_rows(reward))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


BRAKING = """\
def safety(distance, *, near=5.0):
    if distance < near:
        return -100
    return -5 if distance <= 15 else 1.0


def comfort(force, action):
    return -10 if force > 4.5 and action == "brake" else -2 * (force >= 3)
"""


@pytest.fixture(scope="module")
def braking():
    space = load(BRAKING)
    fields = [
        Field("distance", low=0, high=100),
        Field("force", low=-9, high=9),
        Field("action", values=("go", "brake")),
    ]
    return Reward("braking", version="1", terms=[term(space[name]) for name in ("safety", "comfort")], fields=fields)


def test_a_comparison_that_is_off_by_its_end_is_found(braking, tmp_path):
    compiled, rows = braking.compile("javascript"), list_golden_rows(braking)
    start, end = compiled.module.index("function runFixed"), compiled.module.index("const FIXED")
    places = [each.span() for each in re.finditer(r" (<=|>=|<|>) ", compiled.module) if start < each.start() < end]
    found = 0
    for first, last in places:
        line = compiled.module[compiled.module.rindex("\n", 0, first) : compiled.module.index("\n", last)]
        if "Infinity" in line or "for (" in line:
            continue  # the guard of a total that is finite whatever happens; the loop itself
        other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[compiled.module[first:last].strip()]
        done = run(tmp_path, compiled, rows, module=f"{compiled.module[:first]} {other} {compiled.module[last:]}")
        assert done.returncode == 1, f"nobody noticed: {compiled.module[first - 40 : last + 40]}"
        assert re.search(r"row \d+ \(distance = .*not ", done.stdout)
        found += 1
    assert found >= 6


def test_an_error_of_another_name_and_a_number_that_is_off_are_found(braking, tmp_path):
    compiled, rows = braking.compile("javascript"), list_golden_rows(braking)
    for before, after in (
        ("new OutOfRange(`${start}${formatNumber(value)} is outside", "new NotFinite(`${start}"),
        ("(-100.0)", "(-99.0)"),
    ):
        assert before in compiled.module
        done = run(tmp_path, compiled, rows, module=compiled.module.replace(before, after))
        assert done.returncode == 1
        assert "differ" in done.stdout


def test_texts_that_look_like_code_stay_texts(tmp_path):
    labels = ('a"b', "größe", "\U0001f600", "", "${x}`\\", "</script>", "\u2028")
    space = load(f"def rank(mood):\n    return {labels!r}.index(mood)\n")
    field = Field("mood", values=labels, other="")
    reward = Reward('*/ "%s" `${0}` \\', version="1", terms=[term(space["rank"])], fields=[field])
    compiled = reward.compile("javascript")
    done = run(tmp_path, compiled, list_golden_rows(reward))
    assert (done.returncode, done.stdout) == (0, '*/ "%s" `${0}` \\@1: 9 rows, 0 differ\n')
    assert "</script>" not in (tmp_path / "reward_test.mjs").read_text()
