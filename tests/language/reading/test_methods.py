"""A method reads what else its class has, in place: methods, properties and constants, as the object would."""

import gc

import pytest

from plaudit import Field, PlauditError, ReadError, Reward, term
from plaudit.errors import UnknownField
from support.written import module

ROWS = [{"x": x, "speed": speed} for x in (-2.0, 0.0, 0.5, 3.0) for speed in (-1.0, 2.0)]
BODIES = {
    "a method": "def cost(self, a, k=3): return k * a + self.speed\ndef f(self, x): return self.cost(x) + self.cost(a=1, k=x)",
    "a method of another name for self": "def cost(this, a): return a * this.speed\ndef f(self, x): return self.cost(x)",
    "a property": "@property\ndef fast(self): return self.speed > 1\ndef f(self, x): return x if self.fast else -x",
    "a cached property": "@functools.cached_property\ndef twice(self): return 2 * self.speed\ndef f(self, x): return self.twice + x",
    "a static method": "@staticmethod\ndef half(a): return a / 2\ndef f(self, x): return self.half(x) + self.speed",
    "a class method": "K = 3\n@classmethod\ndef more(cls, a): return cls.K * a\ndef f(self, x): return self.more(x) - self.speed",
    "a decorated method": "@functools.lru_cache\ndef twice(self, a): return 2 * a\ndef f(self, x): return self.twice(x) + self.speed",
    "methods that call methods": "def a(self, y): return y + self.speed\ndef b(self, y): return self.a(y) * 2\ndef f(self, x): return self.b(x)",
    "a constant": "SCALE = 2.5\nON = True\ndef f(self, x): return self.SCALE * x + self.speed if self.ON else 0.0",
    "a table": "REST = (0.5, 1.0)\ndef f(self, x): return x * self.REST[1] + sum(self.REST) + self.speed",
    "a dict": "WEIGHTS = {'a': 2.0, 'b': 3.0}\ndef f(self, x): return x * self.WEIGHTS['a'] + sum(self.WEIGHTS.values()) * self.speed",
    "classes inside": "class cfg:\n    class rewards:\n        width = 4.0\ndef f(self, x): return x / self.cfg.rewards.width + self.speed",
    "an attribute by name": "SCALE = 2.0\ndef f(self, x): return getattr(self, 'SCALE', 7.0) * x + self.speed",
    "methods by name": "def cost_a(self, k): return k * self.speed\ndef cost_b(self, k=1): return k\ndef f(self, x): return sum(w * getattr(self, f'cost_{name}')(k=x) for name, w in (('a', 2.0), ('b', 3.0)))",
    "a private method": "def __cost(self, a): return a * self.speed\ndef f(self, x): return self.__cost(a=x)",
    "a private constant": "__SCALE = 2.5\n__on = True\ndef f(self, x): return self.__SCALE * x + self.speed if self.__on else 0.0",
    "a private value assigned before": "def f(self, x):\n    self.__gain = x + 1\n    __y = self.speed\n    return self.__gain * __y",
    "a private property": "@property\ndef __fast(self): return self.speed > 1\ndef f(self, x): return x if self.__fast else -x",
    "an attribute that is there": "SCALE = 2.0\ndef f(self, x): return self.speed + (x if hasattr(self, 'SCALE') else 0.0)",
    "a method that is there": "def cost(self, a): return a + self.speed\ndef f(self, x): return self.cost(x) if hasattr(self, 'cost') else 0.0",
    "methods that are there": "def r_a(self, x): return x\ndef r_b(self, x): return self.speed\ndef f(self, x): return sum(getattr(self, f'r_{n}')(x) for n in ('a', 'b') if hasattr(self, f'r_{n}'))",
    "a method that can be called": "def cost(self, a): return a + self.speed\ndef f(self, x): return self.cost(x) if callable(self.cost) and callable(getattr(self, 'cost', None)) else 0.0",
    "a method that is not None": "def cost(self, a): return a + self.speed\ndef f(self, x): return self.cost(x) if getattr(self, 'cost', None) is not None else 0.0",
    "a method with another name": "def cost(self, a): return a + self.speed\ndef f(self, x):\n    cost = getattr(self, 'cost', None)\n    return cost(x) if cost is not None and callable(cost) else 0.0",
    "a table of methods": "def a(self, x): return x\ndef b(self, x): return 2 * self.speed\ndef f(self, x): return sum(w * each(x) for w, each in zip((3.0, 5.0), (self.a, self.b)))",
    "a method that assigns": "def note(self, a):\n    self.seen = a + 1\n    return a\ndef f(self, x): return self.note(x) * 2 + self.again() + self.speed\ndef again(self): return self.seen",
    "a method that returns nothing": "def prepare(self, a):\n    self.seen = a * self.speed\ndef f(self, x):\n    self.prepare(x)\n    return self.seen + 1",
    "a value assigned before the call": "def cost(self): return self.gain * self.speed\ndef f(self, x):\n    self.gain = x + 1\n    return self.cost()",
    "a method called in one branch": "gain = 5.0\ndef up(self):\n    self.gain_now = 2.0\ndef f(self, x):\n    self.gain_now = 1.0\n    if x > 0:\n        self.up()\n    return self.gain_now * self.speed",
}


def load_class(body):
    text = "import functools\n" + "class Env:\n" + "\n".join(f"    {line}" for line in body.splitlines())
    return module(text)["Env"]


def reward_of_method(function, *fields, shared=None):
    named = {each.name for each in fields}
    others = [Field(name) for name in ("x", "speed") if name not in named]
    return Reward("tried", version="1", terms=[term(function)], fields=[*fields, *others], shared=shared)


def make(kind, **values):
    made = object.__new__(kind)
    vars(made).update(values)
    return made


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_the_class_has_is_read_as_the_object_would(body):
    kind = load_class(body)
    reward = reward_of_method(kind.f)
    taken_from_an_object = reward_of_method(make(kind).f)
    for row in ROWS:
        wanted = float(make(kind, speed=row["speed"]).f(row["x"]))
        assert reward.score(**row).total == pytest.approx(wanted, abs=1e-12), row
        assert taken_from_an_object.score(**row).total == reward.score(**row).total
    assert set(reward.terms[0].reads) == {"x", "speed"}


def test_what_is_inherited_is_read_and_what_is_overridden_is_not():
    text = """
    class Base:
        K = 3.0
        def cost(self): return self.K
        def other(self): return 1.0
    class Env(Base):
        def cost(self): return 2.0
        def f(self, x): return x + self.cost() + self.other() + self.K * self.speed
    """
    kind = module(text)["Env"]
    assert reward_of_method(kind.f).score(x=1.0, speed=5.0).total == make(kind, speed=5.0).f(1.0) == 19.0


SUPER = """
class Base:
    def cost(self, a): return a * self.speed
    @classmethod
    def twice(cls, a): return 2 * a
class Middle(Base):
    def cost(self, a): return super().cost(a) + 1
class Env(Middle):
    def cost(self, a): return 10 * super().cost(a=a) + super(Middle, self).cost(a) + super().twice(a)
    def f(self, x): return self.cost(x) + super().cost(x)
"""


def test_a_method_of_a_base_class_is_read_by_way_of_super():
    kind = module(SUPER)["Env"]
    for made in (kind.f, make(kind, speed=3.0).f):
        assert reward_of_method(made).score(x=2.0, speed=3.0).total == make(kind, speed=3.0).f(2.0)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("def f(self, x): return super().cost(x)", "no base class of 'Env' has a method 'cost'"),
        ("def f(self, x): return super().__init__()", "no base class of 'Env' has a method '__init__'"),
    ],
)
def test_what_no_base_class_has_is_refused(body, why):
    with pytest.raises(ReadError, match=why):
        reward_of_method(load_class(body).f)


def test_what_super_is_in_a_subclass_is_refused_of_a_class():
    text = """
    class Base:
        def cost(self): return 1.0
    class Env(Base):
        def f(self, x): return x + super().cost()
    class Other(Base):
        def cost(self): return 2.0
    class Both(Env, Other):
        pass
    """
    known = module(text)
    with pytest.raises(ReadError, match="something else in the subclass 'Both'"):
        Reward("tried", version="1", terms=[term(known["Env"].f)], fields=[Field("x")])
    for kind in (known["Env"], known["Both"]):
        reward = Reward("tried", version="1", terms=[term(make(kind).f)], fields=[Field("x")])
        assert reward.score(x=1.0).total == make(kind).f(1.0)


def test_why_a_method_is_not_read_is_kept_where_its_dict_is_listed():
    kind = load_class(
        "def parts(self, a): return {k: sorted(v)[0] for k, v in self.lost.items()}\ndef f(self, x): return sum(self.parts(x).values())"
    )
    with pytest.raises(ReadError, match=r"(?s)`self.lost.items\(\)` lists what is not known.*'parts' is read because"):
        reward_of_method(kind.f)
    kind = load_class("def f(self, x): return sum(self.parts(x).values())")
    with pytest.raises(ReadError, match="Make the dict in the function") as caught:
        reward_of_method(kind.f)
    assert "shared=" not in str(caught.value)


def test_a_private_name_is_that_of_the_class_that_has_it():
    text = """
    class Base:
        __K = 3.0
        def cost(self): return self.__K * self.__level
    class Env(Base):
        __K = 5.0
        def f(self, x): return x + self.cost() + self.__K * self.__level
    """
    kind = module(text)["Env"]
    fields = [Field("x"), Field("_Base__level"), Field("_Env__level")]
    reward = Reward("tried", version="1", terms=[term(kind.f)], fields=fields)
    env = make(kind, _Base__level=7.0, _Env__level=11.0)
    assert reward.score(x=1.0, _Base__level=7.0, _Env__level=11.0).total == env.f(1.0) == 77.0
    with pytest.raises(UnknownField, match=r"reads 'self\._Env__level'.*\n.*__K \* self\.__level"):
        Reward("tried", version="1", terms=[term(kind.f)], fields=fields[:2])


def test_a_method_whose_name_is_shared_is_read():
    kind = load_class(
        "def _reward_near(self): return self.x\ndef _reward_fast(self): return self.speed\n"
        "def f(self):\n    total = 0.0\n    for name, scale in self.scales.items():\n"
        "        total += scale * getattr(self, f'_reward_{name}')()\n    return total"
    )
    shared = {"scales": {"near": 2.0, "fast": -1.0}}
    reward = reward_of_method(kind.f, shared=shared)
    assert reward.score(x=3.0, speed=1.5).total == make(kind, x=3.0, speed=1.5, **shared).f() == 4.5


def test_a_term_in_the_body_of_a_class_is_a_method_of_it():
    text = """
    from plaudit import term
    def make():
        class Env:
            SCALE = 2.0
            @term(weight=3.0)
            def f(self, x, *, k=4.0): return k * self.cost(x)
            def cost(self, x): return self.SCALE * x + self.speed
        return Env
    """
    kind = module(text)["make"]()
    assert kind.f.reads == ("x", "speed")
    reward = Reward("tried", version="1", terms=[kind.f], fields=[Field("x"), Field("speed")])
    assert reward.score(x=1.5, speed=2.0).total == 3.0 * 4.0 * 5.0


def test_before_and_after_a_step_are_read_in_a_method_too():
    kind = load_class(
        "def gained(self, prev, curr): return curr.speed - prev.speed\ndef f(self, prev, curr): return self.gained(prev, curr)"
    )
    reward = Reward("tried", version="1", terms=[term(kind.f)], fields=[Field("speed")])
    assert reward.score(prev={"speed": 1.0}, curr={"speed": 4.0}).total == 3.0


def test_a_declared_field_comes_first_and_a_note_says_so():
    kind = load_class(
        "def cost(self): return 5.0\n@property\ndef yaw(self): return 7.0\nSCALE = 9.0\ndef f(self): return self.cost() + self.yaw + self.SCALE"
    )
    reward = Reward(
        "tried", version="1", terms=[term(kind.f)], fields=[Field("cost"), Field("yaw")], shared={"SCALE": 1.0}
    )
    assert reward.score(cost=1.0, yaw=2.0).total == 4.0
    assert [each.what for each in reward.notes] == [
        "`self.cost` is the field 'cost', and not what Env computes.",
        "`self.yaw` is the field 'yaw', and not what Env computes.",
    ]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("SCALE = 2.0\ndef __init__(self): self.SCALE = 3.0\ndef f(self, x): return self.SCALE * x", "SCALE"),
        (
            "SCALE = 2.0\ndef reset(self, options): setattr(self, *options)\ndef f(self, x): return self.SCALE * x",
            "SCALE",
        ),
        (
            "SCALE = 2.0\n@property\ndef y(self): return 1\n@y.setter\ndef y(self, v): self.SCALE = v\ndef f(self, x): return self.SCALE * x",
            "SCALE",
        ),
    ],
)
def test_what_an_object_may_have_for_itself_is_no_constant(body, text):
    with pytest.raises(UnknownField, match=f"reads 'self.{text}', which the reward does not declare"):
        reward_of_method(load_class(body).f, *[])


def test_what_a_dataclass_or_the_object_itself_sets_is_no_constant():
    text = """
    from dataclasses import dataclass
    @dataclass(frozen=True)
    class Env:
        SCALE: float = 2.0
        def f(self, x): return self.SCALE * x
    class Plain:
        SCALE = 2.0
        def f(self, x): return self.SCALE * x
    """
    space = module(text)
    own = make(space["Plain"], SCALE=3.0)
    for function in (space["Env"].f, own.f):
        with pytest.raises(UnknownField, match=r"reads 'self\.SCALE'"):
            Reward("tried", version="1", terms=[term(function)], fields=[Field("x")])
    reward = Reward("tried", version="1", terms=[term(own.f)], fields=[Field("x")], shared={"SCALE": 3.0})
    assert reward.score(x=2.0).total == own.f(2.0) == reward.terms[0](2.0) == 6.0


OVERRIDDEN = """
class Base:
    SCALE = 2.0
    def cost(self): return 1.0
    @property
    def yaw(self): return 1.0
    def f(self, x): return x + {used}
class Env(Base):
    SCALE = 3.0
    def cost(self): return 4.0
    def extra(self): return 6.0
    @property
    def yaw(self): return 5.0
"""


@pytest.mark.parametrize("used", ["self.cost()", "self.yaw", "self.SCALE", "self.extra()"])
def test_what_a_subclass_overrides_is_read_of_an_object_and_refused_of_a_class(used):
    kind = module(OVERRIDDEN.format(used=used))["Env"]
    name = used.removeprefix("self.").removesuffix("()")
    with pytest.raises(PlauditError, match=f"subclass 'Env'|reads 'self.{name}"):
        Reward("tried", version="1", terms=[term(kind.f)], fields=[Field("x")])
    env = make(kind)
    assert Reward("tried", version="1", terms=[term(env.f)], fields=[Field("x")]).score(x=1.0).total == env.f(1.0)
    declared = Reward("tried", version="1", terms=[term(kind.f)], fields=[Field("x"), Field(name)])
    assert declared.score(**{"x": 1.0, name: 10.0}).total == 11.0


def test_a_method_that_cannot_be_read_says_where_and_who_uses_it():
    kind = load_class(
        "def cost(self, a):\n    return self.model.predict(a).sum(axis=object)\ndef f(self, x): return self.cost(x)"
    )
    with pytest.raises(PlauditError) as caught:
        reward_of_method(kind.f)
    text = str(caught.value)
    assert "return self.model.predict(a)" in text
    assert "'cost' is read because 'f' uses it:" in text
    assert "def f(self, x): return self.cost(x)" in text
    assert text.endswith("To pass its value in instead, declare Field('cost').")


def test_a_method_of_which_only_declared_parts_are_read_need_not_be_readable():
    kind = load_class(
        "def robot(self): return self.scene.find(object())\ndef f(self, x): return x + self.robot().speed"
    )
    assert reward_of_method(kind.f).score(x=1.0, speed=2.0).total == 3.0


@pytest.mark.parametrize(
    "body",
    [
        "def f(self, x): return self.cost(x)\ndef cost(self, x): return self.f(x)",
        "def f(self, x): return self.cost(x)\ndef cost(self, x): return self.cost(x - 1)",
    ],
)
def test_methods_that_call_themselves_are_refused(body):
    with pytest.raises(PlauditError, match="calls itself"):
        reward_of_method(load_class(body).f, Field("speed"))


REFUSED = {
    "some rows alone call what assigns": (
        "def up(self):\n    self.gain = 2.0\n    return 1.0\ndef f(self, x):\n    self.gain = 1.0\n    return (self.up() if x > 0 else 0.0) + self.gain",
        "only some rows call it here",
    ),
    "what assigns has two ends": (
        "def up(self, x):\n    self.gain = 2.0\n    if x > 0:\n        return 1.0\n    self.gain = 3.0\n    return 2.0\ndef f(self, x): return self.up(x) + self.gain",
        "has more than one `return`",
    ),
    "a list of another length on each path": (
        "def up(self, x):\n    if x > 0:\n        self.gains = [1.0, 2.0, 3.0]\n    else:\n        self.gains = [1.0]\ndef f(self, x):\n    self.up(x)\n    return sum(self.gains)",
        "a list of 3 on one path, a list of 1 on the other",
    ),
    "a setter runs": (
        "@property\ndef gain(self): return self._gain\n@gain.setter\ndef gain(self, v): self._gain = 2 * v\ndef f(self, x):\n    self.gain = x\n    return self.gain",
        "is a property",
    ),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED)
def test_what_may_run_otherwise_is_refused(body, why):
    with pytest.raises(PlauditError, match=why):
        reward_of_method(load_class(body).f)


def test_an_attribute_that_no_method_assigns_is_not_there_and_a_note_says_so():
    kind = load_class("def f(self, x): return x + 10.0 * hasattr(self, 'bonus') + self.speed")
    for function in (kind.f, make(kind).f):
        reward = reward_of_method(function)
        assert reward.score(x=1.0, speed=2.0).total == make(kind, speed=2.0).f(1.0) == 3.0
        assert (
            reward.notes[0].what
            == "`self.bonus` is taken not to be there: Env does not have it, and it is not declared."
        )


def test_methods_that_are_not_there_are_left_out():
    kind = load_class(
        "def r_a(self, x): return x + self.speed\n"
        "def f(self, x): return sum(getattr(self, f'r_{n}')(x) for n in ('a', 'b') if hasattr(self, f'r_{n}'))"
    )
    reward = reward_of_method(kind.f)
    assert reward.score(x=1.0, speed=2.0).total == make(kind, speed=2.0).f(1.0) == 3.0
    assert reward.notes[0].what.startswith("`self.r_b` is taken not to be there")


def test_what_an_object_has_is_there():
    kind = load_class("def f(self, x): return x + 10.0 * hasattr(self, 'bonus') + self.speed")
    assert reward_of_method(make(kind, bonus=None).f).score(x=1.0, speed=2.0).total == 13.0


UNCERTAIN = {
    "set in __init__": "def __init__(self): self.w = 3.0\ndef f(self, x): return x if hasattr(self, 'w') else self.speed",
    "set in a loop": "def reset(self): setattr(self, self.name, 1.0)\ndef f(self, x): return x if hasattr(self, 'w') else self.speed",
    "read further on": "def f(self, x): return x + (self.w if hasattr(self, 'w') else self.speed)",
    "an annotation": "w: float\ndef f(self, x): return x if hasattr(self, 'w') else self.speed",
    "a slot": "__slots__ = ('w',)\ndef f(self, x): return x if hasattr(self, 'w') else self.speed",
    "whatever is asked for": "def __getattr__(self, name): return 1.0\ndef f(self, x): return x if hasattr(self, 'w') else self.speed",
    "an attribute that may be called": "def __init__(self): self.w = 3.0\ndef f(self, x): return x if callable(self.w) else self.speed",
    "a method that is replaced": "def __init__(self): self.w = min\ndef w(self, x): return x\ndef f(self, x): return self.w(x) + self.speed",
}


@pytest.mark.parametrize("body", UNCERTAIN.values(), ids=UNCERTAIN)
def test_what_objects_may_have_is_not_guessed(body):
    with pytest.raises(PlauditError, match=r"not known|reads 'self\.w'|asks whether 'self\.w'|may be something else"):
        reward_of_method(load_class(body).f)


def test_what_a_subclass_has_is_not_guessed():
    text = """
    class Env:
        def f(self, x): return x + self.speed if hasattr(self, "bonus") else 0.0
    class Other(Env):
        bonus = 2.0
    """
    found = module(text)
    with pytest.raises(UnknownField, match=r"asks whether 'self\.bonus' is there"):
        reward_of_method(found["Env"].f)
    assert reward_of_method(found["Other"]().f).score(x=1.0, speed=2.0).total == 3.0


MADE = """
    def make(k):
        class Env:
            K = k
            def cost(self, x): return self.K * x
            @staticmethod
            def half(x): return x / 2
            def f(self, x): return self.cost(x) + self.speed + self.half(x)
        return Env
    def keep(): return make(3.0).f
    """


@pytest.mark.parametrize("taken", ["of the class", "of an object"])
def test_a_class_that_a_function_makes_is_read(taken):
    kinds = [module(MADE)["make"](k) for k in (3.0, 5.0)]
    for kind, wanted in zip(kinds, (9.0, 13.0), strict=True):
        function = kind.f if taken == "of the class" else make(kind).f
        assert reward_of_method(function).score(x=2.0, speed=2.0).total == wanted
    reward = reward_of_method(kinds[0].f, Field("cost"))
    assert reward.score(x=2.0, speed=2.0, cost=7.0).total == 10.0
    assert reward.notes[0].what == "`self.cost` is the field 'cost', and not what Env computes."
    half = Reward("tried", version="1", terms=[term(kinds[0].half)], fields=[Field("x")])
    assert half.score(x=2.0).total == 1.0


def test_a_method_whose_class_is_gone_does_not_call_others():
    function = module(MADE)["keep"]()
    gc.collect()
    with pytest.raises(
        PlauditError, match=r"the class 'Env', which is not found\.(.|\n)*Take .*: term\(Env\(\)\.f\)\."
    ):
        reward_of_method(function, Field("cost"))


OWN_OPERATIONS = {
    "an entry": "def __getitem__(self, key): return 4.0\ndef f(self, x): return self['speed'] * x",
    "a membership": "def __contains__(self, key): return False\ndef f(self, x): return x if 'speed' in self else self.speed",
    "an equality": "def __eq__(self, other): return True\ndef f(self, x): return x if self == None else self.speed",
    "an item": "def __setitem__(self, key, value): self.k = value\ndef f(self, x):\n    self['a'] = 1.0\n    return x * self.speed",
    "a deletion": "def __delitem__(self, key): self.k = 1.0\ndef f(self, x):\n    del self['a']\n    return x * self.speed",
    "an assignment": "def __setattr__(self, name, value): pass\ndef f(self, x):\n    self.a = x\n    return self.a * self.speed",
    "any attribute": "K = 2.0\ndef __getattribute__(self, name): return 3.0\ndef f(self, x): return self.K * x + self.speed",
}


@pytest.mark.parametrize("body", OWN_OPERATIONS.values(), ids=OWN_OPERATIONS)
def test_what_a_class_does_in_its_own_way_is_refused(body):
    with pytest.raises(PlauditError):
        reward_of_method(load_class(body).f)


CACHED = {
    "a property that reads it": "@functools.cached_property\ndef p(self): return self.a * self.speed\ndef f(self, x):\n    self.a = x\n    q = self.p\n    self.a = 1.0\n    return q + self.p",
    "a method that reads it": "@functools.lru_cache\ndef p(self, k): return self.q(k)\ndef q(self, k): return self.a * self.speed * k\ndef f(self, x):\n    self.a = x\n    return self.p(2.0)",
    "a property that assigns": "@functools.cached_property\ndef p(self):\n    self.a = 1.0\n    return self.speed\ndef f(self, x): return x + self.p",
}


@pytest.mark.parametrize("body", CACHED.values(), ids=CACHED)
def test_what_is_cached_does_not_see_what_is_assigned(body):
    with pytest.raises(PlauditError, match=r"`self\.p` is cached"):
        reward_of_method(load_class(body).f)


def test_a_table_of_the_class_that_a_dropped_line_changes_is_not_read():
    kind = load_class("W = {'a': 1.0}\ndef f(self, x):\n    self.W['a'] += x\n    return self.W['a'] * self.speed")
    with pytest.raises(PlauditError, match=r"is changed by `self\.W\['a'\] \+= x`"):
        reward_of_method(kind.f)
