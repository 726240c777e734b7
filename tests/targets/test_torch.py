"""The torch target alone: tensors in, tensors out, differentiable, and whole under torch.compile."""

import pickle
import shutil
import sys

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import NotFinite, OutOfRange, TargetError, WrongType
from plaudit.testing import check_target
from support import carrying
from support.running import need

torch = need("torch")


@term(weight=2.0, high=3.0)
def near(x, *, reach=2.0):
    return x / reach if x < 10 else 0.0


@term
def lit(on):
    return on


REWARD = Reward("small", version="1", terms=[near, lit], fields=[Field("x", low=0), Field("on", flag=True)])


def batch(*numbers, dtype=None):
    return {"x": torch.tensor(numbers, dtype=dtype), "on": torch.tensor([True] * len(numbers))}


def test_tensors_come_out_with_every_key():
    found = REWARD.compile("torch")(batch(1.0, 20.0))
    assert [*found.values] == [*found.scores] == ["near", "lit"]
    assert all(isinstance(t, torch.Tensor) for t in (found.total, found.ok, *found.values.values()))
    assert found.total.tolist() == [2.0, 1.0]
    assert found.total.device == torch.device("cpu")


def test_gradients_flow_to_inputs_and_parameters():
    x = torch.tensor([3.0, 8.0], requires_grad=True)
    reach = torch.tensor(2.0, requires_grad=True)
    found = REWARD.compile("torch")({"x": x, "on": torch.tensor([True, False])}, {"near.reach": reach})
    found.total.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]  # the second is clamped
    assert reach.grad == -1.5


def test_a_bad_row_is_raised_or_masked():
    with pytest.raises(NotFinite, match="row 1"):
        REWARD.compile("torch")(batch(1.0, float("nan")))
    found = REWARD.compile("torch", on_bad="mask")(batch(1.0, float("nan"), -1.0))
    assert found.ok.tolist() == [True, False, False]
    assert torch.isnan(found.values["lit"][1:]).all()


def test_a_bad_row_can_be_raised_while_gradients_are_recorded():
    with pytest.raises(NotFinite, match="row 0"):
        REWARD.compile("torch")({"x": torch.tensor([float("nan")], requires_grad=True), "on": torch.tensor([True])})


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"x": torch.ones(2), "on": torch.ones(2, dtype=torch.bool)}, torch.float32),
        ({"x": torch.ones(2, dtype=torch.float64), "on": True}, torch.float64),
        ({"x": torch.ones(2, dtype=torch.float16), "on": True}, torch.float16),
        ({"x": torch.ones(2, dtype=torch.bfloat16), "on": True}, torch.bfloat16),
        ({"x": torch.ones(2, dtype=torch.int32), "on": True}, torch.float32),
        ({"x": 1.0, "on": True}, torch.float32),
        ({"x": np.ones(2), "on": True}, torch.float64),
        ({"x": np.ones(2, np.float32), "on": True}, torch.float32),
    ],
    ids=str,
)
def test_the_dtype_is_that_of_the_floating_inputs(columns, dtype):
    found = REWARD.compile("torch")(columns)
    assert {t.dtype for t in (found.total, *found.values.values(), *found.scores.values())} == {dtype}
    assert found.total.reshape(-1)[0] == 2.0


def test_the_dtype_can_be_said():
    assert REWARD.compile("torch", dtype=torch.float64)(batch(1.0)).total.dtype == torch.float64


def test_constants_are_rounded_to_the_dtype():
    @term
    def edge(x, *, limit=0.1):
        return 1 if x == limit and x == 0.1 else 0

    reward = Reward("edge", version="1", terms=[edge], fields=[Field("x", low=0.1)])
    assert reward.compile("torch")({"x": torch.tensor(0.1)}).total == 1.0
    assert reward.compile("torch")({"x": torch.tensor(0.1)}, {"edge.limit": 0.1}).total == 1.0


def test_an_empty_batch_under_gradients_is_empty():
    found = REWARD.compile("torch")({"x": torch.ones(0, requires_grad=True), "on": torch.ones(0, dtype=torch.bool)})
    found.total.sum().backward()
    assert found.total.shape == (0,)


def test_columns_that_do_not_lie_in_order_score_the_same():
    column = np.arange(6.0)
    found = REWARD.compile("torch")({"x": column[::-1], "on": np.ones(6, bool)})
    assert found.total.tolist() == REWARD.compile("numpy")({"x": column[::-1], "on": np.ones(6, bool)}).total.tolist()


def test_vmap_maps_over_rows():
    compiled = REWARD.compile("torch", on_bad="mask")
    found = torch.vmap(lambda x: compiled({"x": x, "on": True}).total)(torch.tensor([1.0, 3.0, 20.0]))
    assert found.tolist() == [2.0, 4.0, 1.0]


# -- constants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["same", "mixed"])
def test_constants_are_made_once_for_a_device_and_not_for_every_call(monkeypatch, columns):
    compiled, made = REWARD.compile("torch", on_bad="mask"), []
    inputs = batch(1.0, 20.0)
    if columns == "mixed":  # a bound that float32 rounds is looked for in each such column
        reward = Reward("bound", version="1", terms=[far], fields=[Field("x", low=0.1), Field("y")])
        compiled, inputs = reward.compile("torch"), {"x": torch.tensor([0.1]), "y": torch.ones(1, dtype=torch.float64)}
    for name in ("tensor", "full", "scalar_tensor", "zeros", "ones"):
        monkeypatch.setattr(torch, name, count_calls(getattr(torch, name), made))
    compiled(inputs)
    assert made
    made.clear()
    for _ in range(3):
        compiled(inputs)
    assert made == []


@term
def far(x, y):
    return x + y


def count_calls(function, made):
    def counted(*arguments, **options):
        made.append(function.__name__)
        return function(*arguments, **options)

    return counted


# -- fused -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def compiler(monkeypatch):
    """Stand in for `torch.compile`: remember what it is asked for, and mask bad rows as it does."""
    asked = []

    def stand_in(function, **options):
        asked.append(options)

        def compiled(*arguments):
            with monkeypatch.context() as patch:
                patch.setattr(torch.compiler, "is_compiling", lambda: True)
                return function(*arguments)

        return compiled

    monkeypatch.setattr(torch, "compile", stand_in)
    return asked


@pytest.mark.parametrize(
    ("fused", "options"),
    [
        (True, {"fullgraph": True}),
        ({"mode": "max-autotune", "dynamic": True}, {"fullgraph": True, "mode": "max-autotune", "dynamic": True}),
        ({"fullgraph": False}, {"fullgraph": False}),
    ],
)
def test_a_fused_reward_hands_its_options_to_torch_compile_once(compiler, fused, options):
    compiled = REWARD.compile("torch", fused=fused)
    assert compiler == []  # nothing before it is called
    for _ in range(2):
        assert compiled(batch(1.0, 20.0)).total.tolist() == [2.0, 1.0]
    assert compiler == [options]
    assert pickle.loads(pickle.dumps(compiled))(batch(1.0)).total.tolist() == [2.0]


def test_a_fused_reward_raises_and_masks_as_it_is_told(compiler):
    with pytest.raises(NotFinite, match="row 1"):
        REWARD.compile("torch", fused=True)(batch(1.0, float("nan")))
    found = REWARD.compile("torch", fused=True, on_bad="mask")(batch(1.0, float("nan")))
    assert found.ok.tolist() == [True, False]
    assert len(compiler) == 2


def test_numbers_of_python_become_tensors_so_that_another_number_is_not_compiled_anew(compiler, monkeypatch):
    seen, compiled_to = [], []

    def stand_in(function, **options):
        compiled_to.append(function)
        return lambda *given: seen.append(given) or function(*given)

    monkeypatch.setattr(torch, "compile", stand_in)
    compiled = REWARD.compile("torch", fused=True)
    x = np.array([3.0])
    assert compiled({"x": x, "on": True}, {"near.reach": 3.0}).total.tolist() == [3.0]
    assert compiled({"x": 3.0, "on": True}, {"near.reach": 1.5}).total.tolist() == 5.0
    assert len(compiled_to) == 1
    assert [len(given) for given in seen] == [2, 2]  # the column and the knob
    assert all(isinstance(each, torch.Tensor) for given in seen for each in given)


@pytest.mark.parametrize(
    "x", [[3.0, 20.0], np.array([3, 20]), np.array([20.0, 3.0])[::-1], np.array([3, 20], np.uint64)]
)
def test_columns_of_any_kind_are_scored_as_eagerly(compiler, x):
    plain, fused = (REWARD.compile("torch", fused=each)({"x": x, "on": True}) for each in (False, True))
    assert fused.total.tolist() == plain.total.tolist() == [4.0, 1.0]
    assert fused.total.dtype == plain.total.dtype


@pytest.mark.parametrize("x", [np.float64(3.0), 3, 3.0])
def test_single_numbers_are_scored_as_eagerly(compiler, x):
    assert REWARD.compile("torch", fused=True)({"x": x, "on": True}).total.tolist() == 4.0


def test_what_is_no_number_is_refused_in_our_words(compiler):
    with pytest.raises(WrongType, match="'x'"):
        REWARD.compile("torch", fused=True)({"x": np.array(["a", "b"]), "on": True})


def test_a_fused_step_gives_what_a_step_gives(compiler):
    reward = carrying.walking()
    contact = torch.tensor(carrying.draw("walking", 1, 5)["contact"][0])
    plain, fused = (reward.compile("torch", fused=each) for each in (False, True))
    state = {name: torch.tensor(each) for name, each in reward.initial_state(5).items()}
    (wanted, after), (found, then) = (each.step({"contact": contact}, state) for each in (plain, fused))
    torch.testing.assert_close(found.total, wanted.total)
    torch.testing.assert_close(then["air_time"], after["air_time"])
    assert len(compiler) == 1


def test_batches_of_any_length_are_compiled_twice_at_most():
    """For the first length, and for any: then another one costs nothing."""
    graphs = []

    def backend(graph, examples):
        graphs.append(graph)
        return graph.forward

    compiled = REWARD.compile("torch", fused={"backend": backend})
    for length in (3, 5, 7, 9):
        assert compiled(batch(*[1.0] * length)).total.tolist() == [2.0] * length
    assert 1 <= len(graphs) <= 2


def test_fused_rewards_do_not_share_the_number_of_versions_that_pytorch_makes():
    with torch._dynamo.config.patch(recompile_limit=2):
        for _ in range(3):
            assert REWARD.compile("torch", fused={"backend": "eager"})(batch(1.0, 3.0)).total.tolist() == [2.0, 4.0]


PRICES = (1.0, 2.0, 4.0)


def test_a_fused_reward_takes_a_knob_for_the_position_in_a_table():
    @term
    def priced(x, *, step=1.0):
        return PRICES[round(step)] * x

    compiled = Reward("r", version="1", terms=[priced], fields=[Field("x")]).compile(
        "torch", fused={"backend": "eager"}
    )
    assert compiled({"x": torch.tensor([1.0, 3.0])}, {"priced.step": 2.0}).total.tolist() == [4.0, 12.0]


@pytest.mark.parametrize("cause", [True, False])
def test_without_a_compiler_the_error_says_what_to_install(monkeypatch, cause):
    class InvalidCxxCompiler(RuntimeError):
        pass

    def fail(*arguments):
        if cause:
            raise RuntimeError("backend failed") from InvalidCxxCompiler("no working C++ compiler")
        raise RuntimeError("InductorError: InvalidCxxCompiler: no working C++ compiler")

    monkeypatch.setattr(torch, "compile", lambda function, **options: fail)
    with pytest.raises(
        TargetError, match="'small': on a CPU torch.compile needs a C\\+\\+ compiler.*or compile without"
    ):
        REWARD.compile("torch", fused=True)(batch(1.0))


def test_what_is_no_option_of_fused_is_told():
    with pytest.raises(TargetError, match="fused='yes' is not True, False or a mapping"):
        REWARD.compile("torch", fused="yes")


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("cc") is None and shutil.which("gcc") is None and sys.platform != "win32",
    reason="torch.compile needs a C compiler",
)
def test_compiled_whole_it_gives_what_it_gives_plainly():
    inductor = pytest.importorskip("torch._inductor", reason="needs torch.compile")
    compiled = REWARD.compile("torch", on_bad="mask")
    whole = torch.compile(compiled, fullgraph=True)
    inputs = batch(1.0, 3.0, float("nan"), 20.0)
    with inductor.config.patch({"cpp.vec_isa_ok": False}):  # else it first compiles a dozen trials of the processor
        found, plainly = whole(inputs), compiled(inputs)
    assert [*found.values] == ["near", "lit"]
    torch.testing.assert_close(found.total, plainly.total, equal_nan=True)
    assert found.ok.tolist() == [True, True, False, True]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_fused_reward_keeps_laws_and_says_where_there_is_no_compiler():
    inductor = pytest.importorskip("torch._inductor", reason="needs torch.compile")
    with inductor.config.patch({"cpp.vec_isa_ok": False}):
        report = check_target(
            "torch", options={"fused": True}, laws=["comparisons", "raised_errors", "knobs_at_run_time"]
        )
    assert {each.outcome for each in report.laws} == {"kept"}
    with inductor.config.patch({"cpp.cxx": (None, "no-such-compiler")}), pytest.raises(TargetError, match="C\\+\\+"):
        carrying.driving().compile("torch", fused=True)(
            {name: torch.tensor(each[0]) for name, each in carrying.draw("driving", 1, 3).items()}
            | {f"prev.{name}": torch.tensor(each) for name, each in carrying.driving().initial_state(3).items()}
        )


def test_traced_whole_without_a_compiler_it_gives_what_it_gives_plainly():
    compiled = REWARD.compile("torch")
    whole = torch.compile(compiled, fullgraph=True, backend="eager")
    found = whole(batch(1.0, 3.0, float("nan")))  # a bad row is masked: nothing can be raised in there
    assert found.ok.tolist() == [True, True, False]
    assert found.total[:2].tolist() == [2.0, 4.0]
    x = torch.tensor([3.0], requires_grad=True)
    whole({"x": x, "on": torch.tensor([True])}).total.sum().backward()
    assert x.grad.tolist() == [1.0]


@pytest.mark.filterwarnings("ignore:`torch.jit.trace` is deprecated")
def test_where_nobody_can_look_bad_rows_are_masked():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    compiled = REWARD.compile("torch")

    def score(x, on):
        return compiled({"x": x, "on": on})

    columns = batch(1.0, -1.0, 20.0).values()
    wanted = REWARD.compile("torch", on_bad="mask")(batch(1.0, -1.0, 20.0))
    with FakeTensorMode() as mode:
        assert score(*map(mode.from_tensor, columns)).ok.shape == (3,)
    ways = [torch.vmap(score), *(make_fx(score, tracing_mode=mode)(*columns) for mode in ("real", "fake", "symbolic"))]
    for way in ways:
        found = way(*columns)
        assert found.ok.tolist() == wanted.ok.tolist() == [True, False, True]
        assert torch.equal(found.total.nan_to_num(-7), wanted.total.nan_to_num(-7))
    with pytest.raises(TargetError, match="torch.jit.trace would keep the shapes and checks"):
        torch.jit.trace(lambda x, on: score(x, on).total, tuple(columns))
    with pytest.raises(OutOfRange, match="field 'x'"):
        score(*columns)
