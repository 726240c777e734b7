"""Calls and indices of records: other arguments are other fields, whatever names the function has for them."""

import re
from types import SimpleNamespace

import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import DefinitionError, UnknownField
from support.strategies import load


def read(text, *fields, shared=None, **options):
    """Return the plain function `f` of a text, and its reward; a field is given by its name, or as it is."""
    function = load(text)["f"]
    declared = [Field(each) if isinstance(each, str) else each for each in fields]
    return function, Reward("r", version="1", terms=[term(**options)(function)], fields=declared, shared=shared)


GAUGE = "def level(tank, name): return tank.gauge(name).level\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(farm): return sum(farm.milk(cow) * w for cow, w in (('Ada', 1.0), ('Bo', -2.0)))", "milk_Ada milk_Bo"),
        (
            "def f(farm):\n    x = 0\n    for k in range(2):\n        x = 3 * x + farm.milk(k)\n    return x",
            "milk_0 milk_1",
        ),
        (f"{GAUGE}def f(tank): return level(tank, 'in') - 2 * level(tank, 'out')", "gauge_in_level gauge_out_level"),
        ("def f(farm): return farm.milk(-1) - farm.milk(1)", "milk_minus_1 milk_1"),
        ("def f(farm): return farm.milk(day='mon') - farm.milk(day='tue')", "milk_day_mon milk_day_tue"),
        ("def f(farm): return farm.milk('a', 2) - farm.milk('a', 3)", "milk_a_2 milk_a_3"),
        ("def f(farm): return farm.log['a'].kg - 2 * farm.log['b'].kg", "a_kg b_kg"),
        ("def f(farm): return farm.cows[0].age - 2 * farm.cows[1].age", "cows_0_age cows_1_age"),
        ("def f(farm, u, v): return sum(farm.cost(x) * w for x, w in ((u, 1.0), (v, 5.0)))", "cost_u cost_v"),
    ],
)
def test_other_arguments_are_other_fields(text, names):
    first, second = names.split()
    text += "\n"
    _, reward = read(text, first, second)
    one, other = reward.score(**{first: 1.0, second: 0.0}).total, reward.score(**{first: 0.0, second: 1.0}).total
    assert 0 != one != other != 0
    shortest = first.rpartition("_")[2] if first.split("_")[0] in ("gauge", "a", "cows") else first.split("_")[0]
    with pytest.raises(ReadError) as caught:
        read(text, shortest)
    assert f"would both be the field '{shortest}'" in str(caught.value)
    assert f"Declare one for each: Field({first!r}) and Field({second!r})." in str(caught.value)


def test_one_value_of_the_arguments_may_be_a_field_without_them():
    text = "def f(farm):\n    name = 'Ada'\n    return farm.milk('Ada') + 2 * farm.milk(name)"
    for field in ("milk", "milk_Ada", "farm_milk_Ada"):
        assert read(text, field)[1].score(**{field: 1.5}).total == 4.5


def test_arguments_that_depend_on_data_are_not_told_apart():
    text = "def f(farm, x): return sum(farm.milk(x + each) for each in (1.0, 2.0))"
    with pytest.raises(ReadError, match="called with different arguments, and each time it would be the field 'milk'"):
        read(text, "milk", "x")
    text = "def f(farm, x):\n    y = 2 * x\n    return farm.milk(y) + farm.milk({})"
    assert read(text.format("2 * x"), "milk", "x")[1].score(milk=1.5).total == 3.0
    with pytest.raises(ReadError, match=r"`farm.milk\(y\)` and `farm.milk\(3 \* x\)` would both"):
        read(text.format("3 * x"), "milk", "x")


def test_an_argument_that_cannot_be_read_is_told_by_the_values_of_its_names():
    helper = "import random\ndef of(farm, name): return farm.milk(random.choice([name]))\n"
    _, reward = read(f"{helper}def f(farm): return of(farm, 'a') + of(farm, 'a')", "milk")
    assert reward.score(milk=2.0).total == 4.0
    with pytest.raises(ReadError, match="called with different arguments"):
        read(f"{helper}def f(farm): return of(farm, 'a') + of(farm, 'b')", "milk")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(farm, x): return farm.milk(x + 1) - farm.milk(x + 2)", "milk_x_1 milk_x_2"),
        ("def f(farm, x): return farm.milk(day=x + 1) - farm.milk(day=x + 2)", "milk_day_x_1 milk_day_x_2"),
        ("def f(farm, x): return farm.milk(*x) - farm.milk(x, 2)", "milk_x milk_x_2"),
        ("def f(farm, x): return farm.milk(lambda: x.a) - farm.milk(lambda: x.b)", "milk_lambda_x_a milk_lambda_x_b"),
        ("def f(farm): return farm.milk(farm.d[farm.now]) - farm.milk(farm.d[farm.last])", "milk_farm_d_farm_now"),
        ("def f(farm): return farm.cow(farm.i + 1).milk - farm.cow(farm.i + 2).milk", "cow_farm_i_1_milk"),
        (
            "def a(o, y): return o.milk(y + 1)\ndef b(o, y): return o.milk(y + 2)\n"
            "def f(farm, x): return a(farm, x) - b(farm, x)",
            "milk_y_1 milk_y_2",
        ),
    ],
)
def test_arguments_that_cannot_be_read_are_told_apart_by_their_text(text, names):
    with pytest.raises(ReadError, match="would both be the field 'milk'") as caught:
        read(text, "milk")
    advised = re.findall(r"Field\('(\w+)'\)", str(caught.value))
    assert names.split() == advised[: len(names.split())]
    _, reward = read(text, *advised)
    assert reward.score(**dict(zip(advised, (3.0, 10.0), strict=True))).total == -7.0
    assert list(Reward.from_functions({load(text)["f"]: 1.0}, example=dict.fromkeys(advised, 0.0)).fields) == advised


@pytest.mark.parametrize("between", ["x = 2 * x", "k = 2", "farm.k = 5", "farm.cows.append(1)"])
def test_the_same_text_is_one_field_until_something_is_assigned(between):
    call = "farm.milk(x + k, near.k + 1, len(near.cows))"
    text = f"def f(farm, x):\n    k, near = 1, farm\n    first = {call}\n    {{}}\n    return first - 3 * {call}"
    assert read(text.format("print(first)"), "milk")[1].score(milk=2.0).total == -4.0
    with pytest.raises(ReadError, match=r"called with different arguments|would both be the field 'milk'"):
        read(text.format(between), "milk")


HERD = "def total(farm, of): return farm.milk({})\ndef f(farm, x):\n    k = 1\n    def late(y): return y.z + k\n"


@pytest.mark.parametrize("passed", ["of", "of(farm)"])
def test_a_function_that_is_passed_sees_what_is_around_it(passed):
    text = HERD.format(passed) + "    return total(farm, late) + total(farm, late)"
    assert read(text, "milk")[1].score(milk=2.0).total == 4.0
    text = HERD.format(passed) + "    first = total(farm, late)\n    k = 2\n    return first + total(farm, late)"
    with pytest.raises(ReadError, match="called with different arguments"):
        read(text, "milk")


def test_two_terms_pass_what_cannot_be_read():
    made = [term(name=name)(load(f"def f(farm, y): return farm.milk(y + {name!r})")["f"]) for name in "ab"]
    with pytest.raises(DefinitionError, match=r"`farm.milk\(y \+ 'a'\)` and `farm.milk\(y \+ 'b'\)` would both be"):
        Reward("r", version="1", terms=made, fields=[Field("milk")])
    twice = [made[0], made[0].with_(name="c")]
    assert Reward("r", version="1", terms=twice, fields=[Field("milk")]).score(milk=1.0).total == 2.0


def test_a_loop_that_changes_what_a_call_is_passed_calls_it_anew():
    text = "def f(farm):\n    x = 0\n    for i in range(2):\n        {}\n        x += farm.milk(len(farm.cows))\n    return x"
    assert read(text.format("x *= 3"), "milk")[1].score(milk=1.0).total == 4.0
    with pytest.raises(ReadError, match="called with different arguments"):
        read(text.format("farm.cows.append(i)"), "milk")


@pytest.mark.parametrize("calls", ["farm.milk(x + 1) - farm.milk(x - 1)", "farm.milk('x') - farm.milk(x)"])
def test_calls_whose_names_are_the_same_need_other_names(calls):
    with pytest.raises(ReadError, match="Their longest names are the same. Give what they are passed a name"):
        read(f"def f(farm, x): return {calls}", "milk")
    text = "def f(farm, x):\n    more, less = x + 1, x - 1\n    return farm.milk(more) - farm.milk(less)"
    _, reward = read(text, "x", "milk_more", "milk_less")
    assert reward.score(x=0.0, milk_more=3.0, milk_less=10.0).total == -7.0


def test_an_object_called_torch_is_no_tensor():
    text = "def f(lab): return lab.price - 2 * lab.torch.price"
    with pytest.raises(ReadError, match=r"`lab.price` and `lab.torch.price` would both be the field 'price'"):
        read(text, "price")
    assert read(text, "lab_price", "torch_price")[1].score(lab_price=3.0, torch_price=1.0).total == 1.0


def test_what_is_shared_is_not_one_number_for_two_calls():
    text = "def f(farm): return farm.x * farm.price('milk') - farm.price('hay')"
    with pytest.raises(ReadError, match=r"Pass one for each in shared=: 'price_milk' and 'price_hay'\."):
        read(text, "x", shared={"price": 2.0})
    _, reward = read(text, "x", shared={"price_milk": 2.0, "price_hay": 1.0})
    assert reward.score(x=3.0).total == 5.0


@pytest.mark.parametrize(
    "terms",
    [
        ("def f(farm): return farm.milk('a')", "def f(farm): return farm.milk('b')"),
        ("def f(farm): return farm.milk('a')", "def f(self): return self.farm.milk('b')"),
        ("def f(farm): return farm.cows[0].milk", "def f(farm): return farm.cows[1].milk"),
        ("def f(farm): return farm.cow.milk", "def f(farm): return farm.goat.milk"),
        ("def f(farm, x): return farm.milk(x)", "def f(farm, x): return farm.milk(2 * x)"),
    ],
)
def test_two_terms_do_not_read_two_parts_as_one_field(terms):
    made = [term(name=name)(load(text)["f"]) for name, text in zip("ab", terms, strict=True)]
    data = [Field("x")] if "x" in terms[0] else []
    with pytest.raises(DefinitionError, match="'a' and 'b' cannot be read together: .* would .* be the field 'milk'"):
        Reward("r", version="1", terms=made, fields=[Field("milk"), *data])
    again = [term(name=name)(load(terms[0])["f"]) for name in "ab"]
    assert Reward("r", version="1", terms=again, fields=[Field("milk")]).score(milk=1.0).total == 2.0


@pytest.mark.parametrize(
    ("expression", "shown", "name"),
    [
        ("env.place('a').pos", "env.place('a').pos", "place_a_pos"),
        ("env.speed('a b')", "env.speed('a b')", "speed_a_b"),
        ("env.cars[2].speed", "env.cars[2].speed", "cars_2_speed"),
        ("env.car.lanes[-1]", "env.car.lanes", "lanes"),
        ("env.car.pos.copy()[0]", "env.car.pos.copy()", "pos"),
        ("env.car.pos.norm()", "env.car.pos", "pos"),
        ("env.data.pos.torch[0]", "env.data.pos.torch", "pos"),
        ("env.data._1", "env.data._1", "data__1"),
        ("env.lanes[0].copy()", "env.lanes[0].copy()", "lanes"),
    ],
)
def test_what_is_not_declared_is_called_by_a_name_that_can_be_declared(expression, shown, name):
    text = f"def f(env, x): return x + {expression}"
    with pytest.raises(UnknownField) as caught:
        read(text, "x")
    assert f"reads {shown!r}" in str(caught.value)
    assert f"Declare Field({name!r})" in str(caught.value)
    read(text, "x", Field(name, length=2) if name in ("pos", "lanes") else name) if "norm" not in text else None


def test_a_copy_of_a_part_is_that_part():
    text = "def f(env): return env.body.state.copy()['x'] - 3 * env.body.state['x']"
    function, reward = read(text, "state_x")
    assert reward.score(state_x=2.0).total == function(SimpleNamespace(body=SimpleNamespace(state={"x": 2.0}))) == -4.0


def test_the_tensor_and_the_flat_entries_of_an_array_are_its_numbers():
    text = "def f(env): return (env.data.pos.torch[:, 0] * env.data.pos[:, 1]).sum() + env.data.pos.flat[3]"
    _, reward = read(text, Field("pos", shape=(2, 2)))
    assert reward.score(pos=[[1.0, 2.0], [3.0, 4.0]]).total == 18.0


def test_what_is_read_in_vain_leaves_no_trace():
    """An argument is read to tell calls apart: a field that only it mentions is not an input."""
    _, reward = read("def f(env, x): return env.cost(1 / x) + env.y", "cost", "y")
    assert set(reward.inputs) == {"cost", "y"}
    function, both = read("def f(env, x): return env.cost(x) + x", "cost", "x")
    assert set(both.inputs) == {"cost", "x"}
    assert both.score(cost=1.0, x=2.0).total == function(SimpleNamespace(cost=lambda _: 1.0), 2.0)


SAME = (
    "copy()",
    "clone()",
    "detach().cpu().numpy()",
    "float()",
    "squeeze()",
    "torch",
    "data",
    "detach().clone().torch",
)


@pytest.mark.parametrize("part", SAME)
def test_what_only_converts_is_the_number_or_the_array_itself(part):
    _, reward = read(
        f"def f(env, x): return env.pos.{part}[1] - x.{part} * env.y.{part}", Field("pos", length=2), "x", "y"
    )
    assert reward.score(pos=[1.0, 5.0], x=2.0, y=3.0).total == -1.0
    with pytest.raises(UnknownField, match=r"Declare Field\('pos'\)"):
        read(f"def f(env, x): return env.pos.{part} - x", "x")


def test_what_is_unpacked_is_a_field_to_declare():
    with pytest.raises(UnknownField, match=r"reads 'env.get\(\)'(?s:.*)Declare Field\('get'\)"):
        read("def f(env, x):\n    a, b = env.get()\n    return a + x", "x")


def test_what_is_shared_is_not_one_number_for_two_parts():
    text = "def f(self, x): return x * self.cfg.rewards.sigma + self.cfg.other.sigma"
    with pytest.raises(ReadError, match=r"Pass one for each in shared=: 'rewards_sigma' and 'other_sigma'\."):
        read(text, "x", shared={"sigma": 2.0})
    _, reward = read(text, "x", shared={"rewards_sigma": 2.0, "other_sigma": 1.0})
    assert reward.score(x=3.0).total == 7.0


def test_what_is_shared_is_not_one_number_for_parts_in_two_terms():
    one = load("def one(self, x): return x * self.cfg.rewards.sigma")["one"]
    two = load("def two(self, x): return x * self.cfg.other.sigma")["two"]
    with pytest.raises(ReadError, match=r"'one' and 'two' cannot be read together: .*\n.*'rewards_sigma' and"):
        Reward("r", version="1", terms=[term(one), term(two)], fields=[Field("x")], shared={"sigma": 2.0})
    reward = Reward(
        "r",
        version="1",
        terms=[term(one), term(two)],
        fields=[Field("x")],
        shared={"rewards_sigma": 2.0, "other_sigma": 1.0},
    )
    assert reward.score(x=3.0).total == 9.0
