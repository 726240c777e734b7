"""The module beside a module: golden rows that find every mistake."""

import re
import subprocess

import pytest

from plaudit import Field, Reward, term
from plaudit.checks.parity.golden import list_golden_rows
from plaudit.targets.javascript.harness import write_harness
from support import carrying, composed
from support.braking import braking, braking_rows, flip_comparisons
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


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_comparison_that_is_off_by_its_end_is_found(tmp_path, every):
    compiled = braking().compile("javascript")
    # Infinity: the guard of a total that is finite whatever happens
    flips = flip_comparisons(compiled.module, "function runFixed", "const FIXED", without=["Infinity", "for ("])
    assert len(flips) >= 6
    for module, line in flips[::every]:
        done = run(tmp_path, compiled, braking_rows(), module=module)
        assert done.returncode == 1, f"nobody noticed: {line}"
        assert re.search(r"row \d+ \(distance = .*not ", done.stdout)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("new OutOfRange(`${start}${formatNumber(value)} is outside", "new NotFinite(`${start}"),
        ("(-100.0)", "(-99.0)"),
    ],
)
def test_an_error_of_another_name_and_a_number_that_is_off_are_found(before, after, tmp_path):
    compiled = braking().compile("javascript")
    assert before in compiled.module
    done = run(tmp_path, compiled, braking_rows(), module=compiled.module.replace(before, after))
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
