"""The exported CUDA kernel on a GPU: held to NumPy on a million rows, and timed against a kernel by hand and compilers.

`python bench/cuda_kernel.py [rows] [--quick]`: needs PyTorch with CUDA, and NumPy; nvcc, CuPy and JAX are used if they
are there. It runs from a checkout without installing it. Without a GPU the headers are compiled as C++. Four parts:

- every reward, in doubles and in floats, against `compile("numpy")` on rows of which some are bad: which rows are
  scored, and how far scores and totals are apart. Headers are compiled by NVRTC (through PyTorch and CuPy) and by nvcc.
- every function of the language by itself: how far CUDA's is from NumPy's.
- a reward with state in a CUDA graph, 50 steps with resets, against `step` of NumPy.
- the time of a walking robot's sixteen terms (bench/vectors.py), in turns.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch needs memory too

import numpy as np
import torch
from timing import QUICK, size, table
from vectors import CONSTANTS, HEIGHT, SIGMA, STILL, TERMS, build_reward, by_hand, draw_columns

from plaudit import Field, Reward, State, term
from plaudit.language import nodes as n
from plaudit.systems import apex, deepthinker, hackmatrix, roadsense
from plaudit.targets.inputs import list_columns
from plaudit.testing.cases import load

REALS = {"double": "float64", "float": "float32"}
KINDS = {"double": torch.float64, "float": torch.float32, "bool": torch.bool, "int": torch.int32}
FEW = 4096
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NVRTC = "PyTorch" if DEVICE == "cuda" else "g++"
"""What compiles the headers that are compared and timed."""


# -- launching ---------------------------------------------------------------------------------------------------------


class Kernel:
    """The kernel of a header, compiled by NVRTC or by nvcc, with the arrays of a batch."""

    def __init__(self, made: Any, columns: dict[str, np.ndarray], outputs: list[str], *, by: str = NVRTC) -> None:
        self.made, self.rows = made, len(next(iter(columns.values())))
        kinds = {array.name: array.kind for array in made.arrays}
        self.arrays = {name: torch.tensor(c, dtype=KINDS[kinds[name]], device=DEVICE) for name, c in columns.items()}
        self.arrays = {name: tensor.contiguous() for name, tensor in self.arrays.items()}
        for name in outputs:
            self.arrays[name] = torch.zeros(self.rows, dtype=KINDS[kinds[name]], device=DEVICE)
        held = {name: tensor if tensor.is_cuda else tensor.numpy() for name, tensor in self.arrays.items()}
        self.numbers = made.describe_batch(held, rows=self.rows)
        self.batch = torch.tensor(self.numbers, device=DEVICE)
        ways = {"PyTorch": self._load_torch, "CuPy": self._load_cupy, "nvcc": self._load_nvcc, "g++": self._load_cpp}
        self._launch = ways[by]()

    def launch(self) -> None:
        """Score every row; whoever holds this method holds the arrays, too."""
        self._launch()

    def _load_torch(self) -> Callable[[], None]:
        kernel = torch.cuda._compile_kernel(self.made.header, f"{self.made.prefix}_kernel")
        grid, arguments = ((self.rows + 255) // 256, 1, 1), [self.batch]
        return lambda: kernel(grid, (256, 1, 1), arguments)

    def _load_cupy(self) -> Callable[[], None]:
        import cupy

        kernel = cupy.RawModule(code=self.made.header).get_function(f"{self.made.prefix}_kernel")
        grid, arguments = ((self.rows + 255) // 256,), (cupy.asarray(self.batch),)
        return lambda: kernel(grid, (256,), arguments)

    def _load_nvcc(self) -> Callable[[], None]:
        p = self.made.prefix
        major, minor = torch.cuda.get_device_capability()
        command = ["nvcc", "-std=c++17", "-O3", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC"]
        text = f'extern "C" int run(const {p}_batch *batch, void *stream) '
        text += f"{{ return {p}_launch(batch, (cudaStream_t)stream); }}\n"
        launch = load_library(self.made.header + text, command)
        batch = (ctypes.c_longlong * len(self.numbers))(*self.numbers)

        def run() -> None:
            assert launch(batch, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)) == 0

        return run

    def _load_cpp(self) -> Callable[[], None]:
        command = ["g++", "-std=c++17", "-O2", "-ffp-contract=off", "-x", "c++", "-shared", "-fPIC"]
        p = self.made.prefix
        text = f'extern "C" void run(const {p}_batch *batch) {{ {p}_score_rows(batch); }}\n'
        score = load_library(self.made.header + text, command)
        batch = (ctypes.c_longlong * len(self.numbers))(*self.numbers)
        return lambda: score(batch)


def load_library(text: str, command: list[str]) -> Callable[..., int]:
    """Return the function `run` of a text that a command compiles."""
    folder = tempfile.mkdtemp()
    source, library = Path(folder, "made.cu"), Path(folder, "made.so")
    source.write_text(text)
    subprocess.run([*command, str(source), "-o", str(library)], check=True, capture_output=True)
    return ctypes.CDLL(str(library)).run


def wait() -> None:
    """Wait for the GPU, where there is one."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def name_inputs(made: Any, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return columns by the names of a batch."""
    known = {array.name for array in made.arrays}
    names = {name: f"state.{name.removeprefix('prev.')}" for name in columns}
    return {names[name] if names[name] in known else f"in.{name}": column for name, column in columns.items()}


# -- agreement ---------------------------------------------------------------------------------------------------------


def draw_rows(reward: Reward, rows: int, dtype: str) -> dict[str, np.ndarray]:
    """Return columns in the ranges of a reward, mostly of whole numbers, and 2 % of the rows of something bad."""
    rng = np.random.default_rng(0)
    whole = rng.random(rows) < 0.7
    found = {}
    for column in list_columns(reward.program):
        field = column.slots[0].field
        shape = (rows, *field.shape)
        over = (slice(None), *(None for _ in field.shape))
        if field.kind == "category":
            found[column.name] = rng.integers(0, len(field.labels), shape).astype(np.int32)
        elif field.kind == "flag":
            found[column.name] = rng.random(shape) < 0.2
        else:
            low, high = (-100.0 if field.low is None else field.low), (100.0 if field.high is None else field.high)
            values = rng.choice(np.array(field.numbers), shape) if field.numbers else rng.uniform(low, high, shape)
            values = np.where(whole[over], np.clip(np.rint(values), low, high), values)
            bad = rng.choice([np.nan, low - 1, high + 1], shape)
            rate = 0.02 / len(list_columns(reward.program))
            found[column.name] = np.where((rng.random(rows) < rate)[over], bad, values).astype(dtype)
    return found


def count_ulps(found: np.ndarray, wanted: np.ndarray) -> int:
    """Return how many floats lie between two arrays at most; both zeros are one, and NaN is only equal to NaN."""
    integer = np.int64 if found.dtype == np.float64 else np.int32
    lowest = np.iinfo(integer).min

    def order(array: np.ndarray) -> np.ndarray:
        bits = array.view(integer)
        return np.where(bits < 0, lowest - bits, bits)

    good = ~np.isnan(found)
    assert (good == ~np.isnan(wanted)).all(), "NaN in different rows"
    ours, theirs = order(found[good]), order(wanted[good])
    apart = np.maximum(ours, theirs).astype(np.uint64) - np.minimum(ours, theirs).astype(np.uint64)
    return int(apart.max(initial=0))


def agree(reward: Reward, rows: int, real: str, by: str) -> tuple[str, ...]:
    """Return the row of a table: how a reward's kernel agrees with NumPy."""
    dtype = REALS[real]
    columns = draw_rows(reward, rows, dtype)
    made = reward.compile("cuda", real=real)
    outputs = [
        "out.ok",
        "out.total",
        *(f"out.{part}.{each}" for part in ("values", "scores") for each in made.program.terms),
    ]
    kernel = Kernel(made, name_inputs(made, columns), outputs, by=by)
    kernel.launch()
    found = {name: kernel.arrays[name].cpu().numpy() for name in outputs}
    wanted = reward.compile("numpy", on_bad="mask", dtype=dtype)(columns)
    assert (found["out.ok"] == wanted.ok).all(), f"{reward.name}: other rows are scored"
    scores = max(
        count_ulps(found[f"out.scores.{each}"], wanted.scores[each].astype(dtype)) for each in made.program.terms
    )
    values = max(
        count_ulps(found[f"out.values.{each}"], wanted.values[each].astype(dtype)) for each in made.program.terms
    )
    total = wanted.total.astype(dtype)
    largest = np.maximum(np.max(np.abs(np.stack(list(wanted.values.values()))), axis=0), np.abs(total))[wanted.ok]
    off = np.abs(found["out.total"] - total)[wanted.ok] / np.spacing(
        np.maximum(largest, np.finfo(dtype).tiny).astype(dtype)
    )
    return (
        f"{reward.name}, {real}",
        by,
        f"{wanted.ok.mean():.1%}",
        "yes" if made.exact else "no",
        str(scores),
        str(values),
        f"{off.max(initial=0):.1f}",
    )


def build_functions() -> Reward:
    """Return a reward with a term for every function of the language."""
    texts = ["import math\n\nimport plaudit"]
    for at, kind in enumerate(n.FUNCTIONS):
        arguments = "x, y" if issubclass(kind, n.Binary) else "x"
        texts.append(f"def {kind.__name__.lower()}_{at}({arguments}):\n    return {kind.function}({arguments})")
    texts.append("def mod(x, y):\n    return x % y\n\n\ndef floor_div(x, y):\n    return x // y")
    texts.append("def ratio(x, y):\n    return x / y")
    texts.append("def fused(x, y):\n    return x * y + y * y - x")
    space = load("\n\n\n".join(texts))
    terms = [term(each) for name, each in space.items() if callable(each)]
    return Reward(
        "functions", version="1", terms=terms, fields=[Field("x", low=0.01, high=1), Field("y", low=0.5, high=4)]
    )


def compare_functions(rows: int) -> list[tuple[str, ...]]:
    """Return a table of how far each function is from NumPy's, in doubles and in floats."""
    reward, found = build_functions(), []
    for real, dtype in REALS.items():
        made = reward.compile("cuda", real=real)
        columns = draw_rows(reward, rows, dtype)
        kernel = Kernel(made, name_inputs(made, columns), [f"out.scores.{each}" for each in made.program.terms])
        kernel.launch()
        wanted = reward.compile("numpy", on_bad="mask", dtype=dtype)(columns)
        found.append(
            {
                each: count_ulps(kernel.arrays[f"out.scores.{each}"].cpu().numpy(), wanted.scores[each].astype(dtype))
                for each in made.program.terms
            }
        )
    worst = [(name.rpartition("_")[0] or name, *(str(each[name]) for each in found)) for name in found[0]]
    apart = [row for row in worst if set(row[1:]) != {"0"}]
    equal = [row[0] for row in worst if row not in apart]
    print(f"equal to the bit: {', '.join(equal)}")
    return [("others, ulps at most", *REALS), *apart]


# -- states in a graph -------------------------------------------------------------------------------------------------


def count_air(contact, prev, *, dt=0.02):
    return np.where(contact, 0.0, prev.air_time + dt)


@term
def feet_air_time(contact, speed, prev, *, dt=0.02, least=0.5):
    landed = contact & (prev.air_time > 0)
    return np.sum((prev.air_time + dt - least) * landed) if speed > 0.1 else 0.0


WALKING = Reward(
    "walking",
    version="1",
    terms=[feet_air_time],
    fields=[
        Field("contact", flag=True, shape=(4,)),
        Field("speed", low=0, high=10),
        State("air_time", shape=(4,), reset=0.0, low=0, high=100, update=count_air),
    ],
)


def replay(environments: int, steps: int) -> None:
    """Step a reward with state by a CUDA graph, with resets and bad rows, and hold it to NumPy's."""
    rng = np.random.default_rng(1)
    made, numpy = WALKING.compile("cuda"), WALKING.compile("numpy", on_bad="mask")
    state = WALKING.initial_state(environments)
    columns = {"in.contact": np.zeros((environments, 4), bool), "in.speed": np.zeros(environments)}
    columns |= {"reset": np.zeros(environments, bool), "state.air_time": state["air_time"]}
    kernel = Kernel(made, columns, ["out.total", "out.ok"])
    step = capture(kernel.launch) if DEVICE == "cuda" else kernel.launch
    kernel.arrays["state.air_time"].copy_(torch.as_tensor(state["air_time"]))  # a launch before it loaded the module
    for _ in range(steps):
        contact, reset = rng.random((environments, 4)) < 0.3, rng.random(environments) < 0.02
        speed = np.where(rng.random(environments) < 0.01, np.nan, rng.uniform(0, 10, environments))
        for name, column in (("in.contact", contact), ("in.speed", speed), ("reset", reset)):
            kernel.arrays[name].copy_(torch.as_tensor(column))
        step()
        scores, state = numpy.step({"contact": contact, "speed": speed}, state, reset=reset)
        found = {name: tensor.cpu().numpy() for name, tensor in kernel.arrays.items()}
        assert (found["out.ok"] == scores.ok).all()
        assert np.array_equal(found["out.total"], scores.total, equal_nan=True)
        assert np.array_equal(found["state.air_time"], state["air_time"])
    what = "replays of a CUDA graph" if DEVICE == "cuda" else "steps"
    print(f"{steps} {what} over {environments:,} environments with state: equal to NumPy to the bit")


# -- time --------------------------------------------------------------------------------------------------------------

BY_HAND = """
__device__ __forceinline__ float square(float x) { return x * x; }

extern "C" __global__ void hand(const float *joint, const float *joint_speed, const float *torque, const float *action,
    const float *last_action, const float *command, const float *velocity, const float *turn_rate, const float *up,
    const float *foot_height, const float *swing_peak, const bool *first_contact, const bool *contact,
    const float *air_time, const float *foot_velocity, const bool *fallen, float *total, float *const *values, int rows)
{
    const float pose[3] = {0.1f, 0.9f, -1.8f}, lower[3] = {-0.863f, -0.686f, -2.818f};
    const float upper[3] = {0.863f, 4.501f, -0.888f}, stiffness[3] = {1.0f, 1.0f, 0.1f};
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    const float cx = command[i * 3], cy = command[i * 3 + 1], cz = command[i * 3 + 2];
    const float strength = sqrtf(cx * cx + cy * cy + cz * cz);
    float limits = 0, apart = 0, weighed = 0, norm = 0, sum = 0, rate = 0, energy = 0;
#pragma unroll
    for (int j = 0; j < 12; j++) {
        const float q = joint[i * 12 + j], t = torque[i * 12 + j], off = q - pose[j % 3];
        limits += fmaxf(lower[j % 3] - q, 0.0f) + fmaxf(q - upper[j % 3], 0.0f);
        apart += fabsf(off);
        weighed += off * off * stiffness[j % 3];
        norm += t * t;
        sum += fabsf(t);
        rate += square(action[i * 12 + j] - last_action[i * 12 + j]);
        energy += fabsf(joint_speed[i * 12 + j]) * fabsf(t);
    }
    float clearance = 0, height = 0, slipping = 0, air = 0;
#pragma unroll
    for (int f = 0; f < 4; f++) {
        const float slip = square(foot_velocity[i * 12 + f * 3]) + square(foot_velocity[i * 12 + f * 3 + 1]);
        const float landed = first_contact[i * 4 + f];
        clearance += fabsf(foot_height[i * 4 + f] - HEIGHT) * sqrtf(sqrtf(slip));
        height += square(swing_peak[i * 4 + f] / HEIGHT - 1.0f) * landed;
        slipping += contact[i * 4 + f] ? slip : 0.0f;
        air += (air_time[i * 4 + f] - 0.1f) * landed;
    }
    const float walks = strength > STILL ? 1.0f : 0.0f, stands = strength < STILL ? 1.0f : 0.0f;
    const float scores[16] = {
        expf(-(square(cx - velocity[i * 3]) + square(cy - velocity[i * 3 + 1])) / SIGMA),
        expf(-square(cz - turn_rate[i * 3 + 2]) / SIGMA), square(velocity[i * 3 + 2]),
        square(turn_rate[i * 3]) + square(turn_rate[i * 3 + 1]), square(up[i * 3]) + square(up[i * 3 + 1]), limits,
        expf(-weighed), fallen[i] ? 1.0f : 0.0f, apart * stands, sqrtf(norm) + sum, rate, energy, clearance,
        height * walks, slipping * walks, air * walks};
    const float weights[16] = {WEIGHTS};
    float all = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) {
        const float value = scores[k] * weights[k];
        values[k][i] = value;
        all += value;
    }
    total[i] = all;
}
"""


def compile_by_hand(given: dict[str, torch.Tensor], rows: int) -> tuple[Callable[[], None], torch.Tensor]:
    """Return the launch of the kernel by hand, and its total."""
    text = BY_HAND.replace("WEIGHTS", ", ".join(f"{each.weight}f" for each in TERMS))
    for name, number in (("HEIGHT", HEIGHT), ("SIGMA", SIGMA), ("STILL", STILL)):
        text = text.replace(name, f"{number}f")
    kernel = torch.cuda._compile_kernel(text, "hand")
    total = torch.zeros(rows, device=DEVICE)
    values = [torch.zeros(rows, device=DEVICE) for _ in TERMS]
    pointers = torch.tensor([each.data_ptr() for each in values], device=DEVICE)
    order = "joint joint_speed torque action last_action command velocity turn_rate up foot_height swing_peak"
    names = [*order.split(), "first_contact", "contact", "air_time", "foot_velocity", "fallen"]
    arguments = [*(given[name] for name in names), total, pointers, rows]
    grid = ((rows + 255) // 256, 1, 1)

    def run(kept: list[torch.Tensor] = values) -> None:
        kernel(grid, (256, 1, 1), arguments)

    return run, total


def timed(contenders: dict[str, Callable[[], Any]], calls: int, rounds: int) -> dict[str, float]:
    """Return the best time of a call of each, queued one after another as in training, in turns."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            wait()
            start = time.perf_counter()
            for _ in range(calls):
                out = work()
            wait_for_jax(out) if name.startswith("jax") else wait()
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    return best


def capture(work: Callable[[], Any]) -> Callable[[], None]:
    """Return the replay of a CUDA graph of a launch."""
    work()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def replay(kept: Any = work) -> None:
        graph.replay()

    return replay


def compare_times(rows: int) -> list[tuple[str, ...]]:
    """Return a table of the time of a step of `rows` environments."""
    columns = draw_columns(rows)
    reward = build_reward()
    given = {name: torch.as_tensor(c, device=DEVICE) for name, c in columns.items()}
    given = {name: c if c.dtype == torch.bool else c.float() for name, c in given.items()}
    constants = {name: torch.as_tensor(c, device=DEVICE).float() for name, c in CONSTANTS.items()}
    host = {name: c.cpu().numpy() for name, c in given.items()}
    values = ["out.total", *(f"out.values.{each.name}" for each in TERMS)]
    everything = [*values, "out.ok", *(f"out.scores.{each.name}" for each in TERMS)]

    def ours(outputs: list[str], *, by: str = NVRTC, **options: Any) -> Kernel:
        made = reward.compile("cuda", **({"real": "float"} | options))
        return Kernel(made, name_inputs(made, host), outputs, by=by)

    plain, guarded = ours(values, guard=False), ours(values)
    contenders: dict[str, Callable[[], Any]] = {
        "exported, guard=False: total, values": plain.launch,
        "exported: total, values": guarded.launch,
        "exported: total, values, scores, ok": ours(everything).launch,
        "exported: total": ours(["out.total"]).launch,
        "exported, double: total, values": ours(values, real="double").launch,
    }
    plain.launch()
    total = plain.arrays["out.total"]
    if DEVICE == "cuda":
        hand, by_hands = compile_by_hand(given, rows)
        hand()
        torch.testing.assert_close(by_hands, total, rtol=1e-3, atol=1e-3)
        contenders = {"kernel by hand: total, values": hand, **contenders}
        if shutil.which("nvcc"):
            contenders["exported, by nvcc: total, values"] = ours(values, by="nvcc").launch
        if rows <= FEW:
            contenders["kernel by hand, in a CUDA graph"] = capture(hand)
            contenders["exported, in a CUDA graph: total, values"] = capture(guarded.launch)
    if not QUICK:
        torch.compiler.reset()
        compiled = torch.compile(lambda s: by_hand(torch, s, constants), fullgraph=True)
        torch.testing.assert_close(compiled(given)[0], total, rtol=1e-3, atol=1e-3)
        target = reward.compile("torch", on_bad="mask", guard=False, fused=True)
        contenders["torch.compile by hand: total, values"] = lambda: compiled(given)
        contenders['compile("torch", fused=True), guard=False'] = lambda: target(given)
        contenders |= build_jax(reward, host)
    for work in contenders.values():
        work()
    best = timed(contenders, *((1, 1) if QUICK else (50, 10)))
    base = next(iter(best))
    moved = sum(c.nbytes for c in host.values()) + rows * 4 * len(values)
    print(f"\n{rows:,} environments, float32: {moved / 1e6:,.0f} MB in and out (total, values)")
    return [
        ("a step", "time", "GB/s", f"against {base.partition(':')[0]}"),
        *(
            (name, f"{seconds * 1e6:,.1f} µs", f"{moved / seconds / 1e9:,.0f}", f"{seconds / best[base]:.2f}")
            for name, seconds in best.items()
        ),
    ]


def build_jax(reward: Reward, host: dict[str, np.ndarray]) -> dict[str, Callable[[], Any]]:
    """Return the calls of JAX; none where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ModuleNotFoundError:
        return {}
    arrays = {name: jnp.asarray(c) for name, c in host.items()}
    fixed = {name: jnp.asarray(c, jnp.float32) for name, c in CONSTANTS.items()}
    theirs, own = jax.jit(lambda s: by_hand(jnp, s, fixed)), reward.compile("jax", guard=False)
    jitted = jax.jit(lambda s: own(s)[:2])
    return {
        "jax.jit by hand: total, values": lambda: theirs(arrays),
        'jax.jit of compile("jax"), guard=False': lambda: jitted(arrays),
    }


def wait_for_jax(out: Any) -> None:
    import jax

    jax.block_until_ready(out)


def main(rows: int) -> None:
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "no GPU: compiled as C++"
    print(f"{name}, torch {torch.__version__}, {rows:,} rows")
    rewards = [build_reward(), roadsense.reward, hackmatrix.reward, apex.reward, deepthinker.reward]
    rewards = rewards[1:3] if QUICK else rewards
    found = [("reward", "compiled by", "scored", "exact", "scores", "values", "total")]
    for reward in rewards:
        found += [agree(reward, rows, real, NVRTC) for real in REALS]
    if DEVICE == "cuda":
        for by in ("nvcc", "CuPy"):
            found += [agree(rewards[0], rows, real, by) for real in REALS]
    print("\nAgainst NumPy: ulps of scores and values; of the total, in ulps of the largest value")
    table(found)
    print()
    table(compare_functions(rows))
    print()
    replay(16 if QUICK else 65_536, 2 if QUICK else 50)
    for count in (FEW,) if QUICK else (FEW, rows):
        table(compare_times(count))


if __name__ == "__main__":
    main(size(1_048_576, quick=FEW))
