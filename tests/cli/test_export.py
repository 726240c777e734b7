"""`plaudit export`: what is written where, and what is refused."""

import re
import subprocess

import pytest

from support.c_compilers import CPP, C, need_compiler
from support.node import need_node

REWARD = """\
from plaudit import Field, Reward, term

@term
def near(metres, *, reach=0.25):
    return 1.0 if metres < reach else 0.0

reward = Reward("parking", version="1", terms=[near], fields=[Field("metres", low=0, high=9)])
"""


@pytest.fixture
def parking(tmp_path):
    path = tmp_path / "parking.py"
    path.write_text(REWARD)
    return f"{path}:reward"


def test_a_header_and_its_tests_are_written_and_pass(plaudit, parking, tmp_path):
    done = plaudit("export", parking, "--to", "c", "-o", str(tmp_path / "reward.h"), "--with-tests")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert "parking@1 as C with doubles, at most 6 operations per row." in done.stderr
    program = tmp_path / "tests"
    command = [need_compiler("gcc"), *C, str(tmp_path / "reward_test.c"), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    asked = plaudit("parity", parking, "--against", f"{program} --parity", "--tolerance", "0", "--examples", "50")
    assert asked.exit_code == 0, asked.stdout


def test_a_cuda_header_and_its_tests_are_written_and_pass(plaudit, parking, tmp_path):
    path = tmp_path / "reward.cuh"
    done = plaudit("export", parking, "--to", "cuda", "--real", "float", "-o", str(path), "--with-tests")
    assert done.exit_code == 0, done.stderr
    assert "parking@1 as CUDA with floats, at most 6 operations per row." in done.stderr
    assert "void parking_kernel(const parking_batch *batch)" in path.read_text()
    program = tmp_path / "tests"
    command = [need_compiler("g++"), *CPP, str(tmp_path / "reward_test.cu"), "-o", str(program)]
    subprocess.run(command, check=True)
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_a_module_and_its_tests_are_written_and_pass(plaudit, parking, tmp_path):
    done = plaudit("export", parking, "--to", "js", "-o", str(tmp_path / "my reward#1.mjs"), "--with-tests")
    assert done.exit_code == 0, done.stderr
    ran = subprocess.run(
        [need_node(), "my reward#1_test.mjs"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.fullmatch(r"parking@1: \d+ rows, 0 differ\n", ran.stdout)


def test_without_a_file_the_header_is_printed(plaudit, parking):
    done = plaudit("export", parking, "--to", "c", "--real", "float", "--knobs", "struct", "--prefix", "park")
    assert done.exit_code == 0, done.stderr
    assert "static inline park_status park_score(const park_inputs *in, const park_knobs *knobs" in done.stdout
    assert "float metres;" in done.stdout
    assert done.stdout.endswith("#endif /* PLAUDIT_PARK_H */\n")


def test_a_knob_can_be_set(plaudit, parking):
    done = plaudit("export", parking, "--to", "c", "--set", "near.reach=0.75")
    assert "x0 < 0.75" in done.stdout


@pytest.mark.parametrize(("name", "types"), [("reward.mjs", "reward.d.mts"), ("reward.js", "reward.d.ts")])
def test_a_module_is_written_with_its_types_beside_it(plaudit, parking, tmp_path, name, types):
    done = plaudit("export", parking, "--to", "js", "-o", str(tmp_path / name), "--set", "near.reach=0.75")
    assert done.exit_code == 0, done.stderr
    assert "parking@1 as an ES module" in done.stderr
    assert '["near.reach"]: 0.75' in (tmp_path / name).read_text()
    assert 'readonly "metres": number | bigint;' in (tmp_path / types).read_text()
    printed = plaudit("export", parking, "--to", "js")
    assert 'export const name = "parking";' in printed.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--to", "js", "--with-tests"), "name the first with -o FILE"),
        (("--to", "js", "--real", "float"), "not an option of --to js"),
        (("--to", "c", "--with-tests"), "name the first with -o FILE"),
        (("--to", "cobol"), "'cobol' is not"),
        ((), "Missing option '--to'"),
        (("--to", "c", "-o", ""), "is not a file name"),
        (("--to", "c", "--prefix", "9"), "plain C identifier"),
        (("--to", "c", "-o", "nowhere/reward.h"), "nowhere"),
    ],
)
def test_wrong_usage_is_told_and_writes_nothing(plaudit, parking, tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    done = plaudit("export", parking, *options)
    assert done.exit_code == 2
    assert told in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"parking.py"}


def test_where_the_second_file_cannot_be_written_neither_is(plaudit, parking, tmp_path):
    (tmp_path / "reward_test.c").mkdir()
    done = plaudit("export", parking, "--to", "c", "-o", str(tmp_path / "reward.h"), "--with-tests")
    assert done.exit_code == 2
    assert "is a directory" in done.stderr
    assert not (tmp_path / "reward.h").exists()
