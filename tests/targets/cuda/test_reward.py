"""A reward as CUDA: no warning from any compiler, nothing that NVRTC lacks, no fusing, names that are still free."""

import pickle
import re
import subprocess

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.checks.parity.golden import list_golden_rows
from plaudit.errors import TargetError
from plaudit.targets.c.harness import write_harness
from support.c_compilers import CFunction, compile_text, need_compiler
from support.cuda_batches import CudaFunction
from support.strategies import load

STRICTER = ("-Wshadow", "-Wdouble-promotion", "-Wcast-qual", "-Wundef", "-Wsign-conversion", "-Wfloat-conversion")


@pytest.mark.parametrize(
    ("knobs", "language"),
    [
        ("constant", "g++"),
        ("struct", "clang++"),
        pytest.param("constant", "clang++", marks=pytest.mark.slow),
        pytest.param("struct", "g++", marks=pytest.mark.slow),
    ],
)
def test_no_compiler_has_a_warning_and_the_numbers_are_those_worked_out_by_hand(reward, batch, totals, language, knobs):
    made = CudaFunction(reward.compile("cuda", knobs=knobs), language=language, flags=("-O2", *STRICTER))
    found = made.score(batch)
    assert found.ok.all()
    np.testing.assert_allclose(found.total, totals, rtol=1e-15)


def test_in_floats_nothing_is_computed_in_doubles(reward, batch, totals):
    compiled = reward.compile("cuda", real="float")
    assert not re.search(r"\bdouble\b(?! HUGE_VAL)", re.sub(r"__builtin_bit_cast\(double, \w+\)", "", compiled.header))
    np.testing.assert_allclose(CudaFunction(compiled).score(batch).total, totals, rtol=1e-6)


USE = """\
#include "reward.cuh"
int {name}(const {prefix}_batch *batch);
int {name}(const {prefix}_batch *batch)
{{
    {prefix}_kernel<<<1, 1>>>(batch);
    return (int){prefix}_launch(batch, 0);
}}
"""


def run_nvcc(folder, *arguments):
    """Run nvcc in a folder; a warning is an error."""
    command = [need_compiler("nvcc"), "-std=c++17", "-Werror", "all-warnings", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr


def compile_by_nvcc(made, folder):
    """Return the assembly of the kernels of a header."""
    (folder / "reward.cuh").write_text(made.header)
    (folder / "one.cu").write_text(USE.format(name="one", prefix=made.prefix))
    run_nvcc(folder, "-ptx", "one.cu")
    return (folder / "one.ptx").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
def test_nvcc_makes_two_kernels_of_it_and_two_files_may_include_it(reward, tmp_path, real):
    compiled = reward.compile("cuda", real=real, knobs="struct")
    assert compile_by_nvcc(compiled, tmp_path).count(".entry") == 2
    (tmp_path / "two.cu").write_text(USE.format(name="two", prefix="all") + "int main(void) { return 0; }\n")
    run_nvcc(tmp_path, "one.cu", "two.cu", "-o", "linked")


FUSED = "def fused(x, y):\n    return x * y + y * y - x\n"


@pytest.mark.parametrize(("real", "letter"), [("double", "d"), ("float", "f")])
def test_a_product_is_never_fused_with_a_sum(tmp_path, real, letter):
    reward = Reward("fused", version="1", terms=[term(load(FUSED)["fused"])], fields=[Field("x"), Field("y")])
    compiled = reward.compile("cuda", real=real)
    score = compiled.header.partition("fused_score(const")[2].partition("fused_explain")[0]
    assert score.count("fused_times_(") == 2
    assert " * " not in re.sub(r"/\*.*\*/|const fused_\w+ \*", "", score)
    assert f"__{letter}mul_rn" in compiled.header
    assert "_KERNEL static __global__" in compiled.header  # so two files may include it
    made = compile_by_nvcc(compiled, tmp_path)
    assert made.count(".entry") == 2
    assert "mul.rn.f" in made
    assert "fma." not in made


def test_nvrtc_meets_no_include(reward):
    header = reward.compile("cuda").header
    without = re.sub(r"#if defined\(__CUDACC_RTC__\).*?\n#else\n(.*?)\n#endif\n#endif", "", header, flags=re.DOTALL)
    assert len(without) < len(header)
    assert "#include" in header
    assert "#include" not in without
    launch = header.partition("#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)")[2]
    assert "cudaStream_t" not in header.replace(launch, "")


def test_a_table_with_an_infinity_is_a_constant_under_nvrtc():
    space = load("import math\n\nTABLE = (1.0, math.inf)\n\n\ndef f(i, x):\n    return 1.0 if TABLE[i] > x else 0.0\n")
    reward = Reward("table", version="1", terms=[term(space["f"])], fields=[Field("i", low=0, high=1), Field("x")])
    header = reward.compile("cuda").header
    assert "HUGE_VAL}" in header
    named = re.search(r"#define HUGE_VAL (.*)", header)[1]
    compile_text(f"static_assert({named} == __builtin_huge_val());\nint main(void) {{}}\n", language="g++")


def test_a_category_that_is_called_like_a_function_gets_another_name():
    names = ("batch", "kernel", "kernel_by_value", "launch", "score", "times_")
    space = load("\n\n".join(f"def {name}s({name}):\n    return 1 if {name} == 'row' else 0\n" for name in names))
    fields = [Field(name, values=("row", "rows", "by_value", "")) for name in names]
    reward = Reward("all", version="1", terms=[term(space[f"{name}s"]) for name in names], fields=fields)
    found = CudaFunction(reward.compile("cuda")).score(dict.fromkeys(names, np.arange(4)))
    for scores in found.scores.values():
        assert scores.tolist() == [1, 0, 0, 0]


def test_the_function_of_a_row_is_that_of_c(reward, batch):
    columns = {**batch, "distance": np.array([1.0, np.nan, -3.0])}
    ours = CudaFunction(reward.compile("cuda")).score(columns)
    theirs = CFunction(reward.compile("c")).score(columns)
    assert ours.ok.tolist() == theirs.ok.tolist() == [True, False, False]
    np.testing.assert_array_equal(ours.total, theirs.total)
    assert np.isnan(ours.total[1:]).all()


def test_golden_rows_are_held_by_the_program_beside_it(reward):
    rows = list_golden_rows(reward)
    made = reward.compile("cuda")
    program = compile_text(write_harness(made, "reward.h", rows), header=made.header, language="g++")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"all@1: {len(rows)} rows, 0 differ\n")


def test_it_is_text_and_runs_nothing(reward):
    made = reward.compile("cuda")
    with pytest.raises(TargetError, match="launch all_kernel"):
        made({"distance": 1.0})
    with pytest.raises(TargetError, match="updates the state"):
        made.step({}, {})


def test_it_survives_pickling(reward):
    made = reward.compile("cuda", real="float", knobs="struct")
    assert pickle.loads(pickle.dumps(made)).header == made.header
