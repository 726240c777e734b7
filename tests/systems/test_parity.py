"""The built-in rewards against other implementations of them: themselves, versions of them, a program in C."""

import shutil
import subprocess
from pathlib import Path

import pytest

from plaudit.checks.parity import Command, parity
from plaudit.systems import BUILT_IN, load

SOURCE = Path(__file__).parents[2] / "examples" / "parity" / "roadsense.c"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compile the reference program in C, perhaps with a mistake in it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")

    def build(*options: str) -> Command:
        target = tmp_path_factory.mktemp("parity") / "roadsense"
        strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
        subprocess.run([compiler, *strict, *options, "-o", target, SOURCE], check=True)
        return Command([str(target)])

    return build


@pytest.mark.parametrize("examples", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_program_in_c_agrees(compiled, examples):
    report = parity(load("roadsense"), compiled(), examples=examples)
    assert report.ok
    assert report.tested == examples
    assert (report.refused, report.aside, report.differing) == (0, 0, 0)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_a_wrong_boundary_in_c_is_found_and_told_exactly(compiled, seed):
    report = parity(load("roadsense"), compiled("-DBUG_BOUNDARY"), seed=seed)
    mismatch = report.mismatch
    assert not report.ok
    assert mismatch.inputs == {"distance": 15.0, "deceleration": 0.0, "action": 0}
    assert mismatch.terms == ("safety",)
    assert (mismatch.expected.total, mismatch.got.total) == (0.0, -5.0)
    assert mismatch.expected.values == {"safety": 0.0, "comfort": 0.0, "appropriateness": 0.0}
    assert mismatch.got.values == {"safety": -5.0, "comfort": 0.0, "appropriateness": 0.0}
    assert mismatch.row == '{"distance": 15.0, "deceleration": 0.0, "action": 0}'
    assert mismatch.note == mismatch.failure == ""


def test_a_wrong_sign_in_c_is_found(compiled):
    mismatch = parity(load("roadsense"), compiled("-DBUG_SIGN")).mismatch
    assert mismatch.terms == ("comfort",)
    assert mismatch.inputs == {"distance": 0.0, "deceleration": -15.0, "action": 0}
    assert mismatch.breaks == ("brakes",)  # nobody accelerates by choosing to maintain


def test_the_program_in_c_refuses_what_is_no_row(compiled):
    program = compiled()
    for line in ("[]", '{"distance": 1}', '{"distance": nan, "deceleration": 0, "action": 0}', "{", "{}", ""):
        done = subprocess.run(program.command, input=f"{line}\n", capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("roadsense: ")


@pytest.mark.parametrize("examples", [40, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_reward_agrees_with_itself(name, examples):
    reward = load(name)
    report = parity(reward, reward.score, examples=examples)
    assert report.ok
    assert (report.tested, report.aside) == (examples, 0)
    assert report.fingerprint == reward.fingerprint


@pytest.mark.parametrize("every", [32, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_changed_number_of_a_built_in_reward_is_found(name, every):
    reward = load(name)
    numbers = {k: v for k, v in reward.params.items() if not isinstance(v, bool) and not k.endswith((".low", ".high"))}
    numbers.pop("cost.max_latency_ms", None)  # latency has no share by default
    for knob in list(numbers)[::every]:  # each takes a second
        other = reward.with_params({knob: 1.25 * numbers[knob] or 0.25})
        assert not parity(reward, other.score).ok, knob
