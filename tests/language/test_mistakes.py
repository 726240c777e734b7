"""What people paste and mistype: every message shows their own line, and says what to write instead."""

import linecache

import pytest

from plaudit import Field, PlauditError, Reward, term
from support.strategies import load

HEADER = """\
import copy
import datetime
import functools
import itertools
import json
import logging
import math
import operator
import os
import random
import statistics
import time
from random import gauss

import numpy as np

logger = logging.getLogger("rewards")
rng = np.random.default_rng(0)
WEIGHTS = [1.0, 2.0]
PRICES = {"a": 1.0}
KINDS = {1, 2}
count = 0


class Config:
    scale = 2.0

    def scaled(self, x):
        return x * self.scale


config = Config()
double = functools.partial(max, 1.0)


def again(x):
    return again(x - 1) if x > 0 else 0


def forever(*values):
    return values[0]


def each(values):
    for value in values:
        yield value


def silent(x):
    x + 1


"""

# The body of `def f(SIGNATURE)`, where « and » stand around the line that the message must show; then what the message
# must say is wrong, and what it must say to do.
MISTAKES = {
    # chance, time, and what is outside
    "np.random": ("x", "«return x + np.random.rand()»", "np.random.rand", "draw the number before scoring"),
    "np.random.normal": ("x", "«return x + np.random.normal(0, 1)»", "np.random.normal", "draw the number before"),
    "a generator of numbers": ("x", "«return x + rng.normal()»", "rng.normal", "draw the number before"),
    "random": ("x", "«return x + random.random()»", "random.random", "draw the number before scoring"),
    "gauss": ("x", "«return x + gauss(0, 1)»", "gauss", "draw the number before scoring"),
    "time": ("x", "«return x + time.time()»", "time.time", "pass the time in as a field"),
    "datetime": ("x", "«return x + datetime.datetime.now()»", "now", "pass the time in as a field"),
    "an environment variable": ("x", "«return x + os.getenv('SCALE')»", "os.getenv", "pass them in as knobs"),
    "a file": ("x", "«data = open('x')»\n    return x", "open", "cannot have side effects"),
    "global": ("x", "«global count»\n    count += 1\n    return x", "cannot have side effects", "Return the value"),
    "json": ("x", "«return json.loads(x)»", "json.loads", "cannot process text"),
    # libraries
    "np.linalg.inv": ("v", "«return np.linalg.inv(v)»", "np.linalg.inv", "before scoring"),
    "np.median": ("v", "«return np.median(v)»", "np.median", "before scoring"),
    "statistics.stdev": ("v", "«return statistics.stdev(v)»", "statistics.stdev", "before scoring"),
    "functools.reduce": ("v", "«return functools.reduce(max, v)»", "functools.reduce", "Loop instead"),
    "functools.partial": ("x", "«return double(x)»", "double", "def g(x)"),
    "a partial made inside": ("x", "«g = functools.partial(max, 1)»\n    return g(x)", "functools.partial", "def g(x)"),
    "itertools": ("v", "«return sum(a for a in itertools.chain(v, v))»", "itertools.chain", "`for` loops"),
    "operator": ("x", "«return operator.add(x, 1)»", "operator.add", "the operator itself"),
    "copy": ("v", "w = copy.copy(v)\n    «w[0]» = 2.0\n    return w[0]", "changed in place", "Make a new one"),
    "a name that the module has not": ("x", "«return math.absolute(x)»", "'math.absolute' does not exist", "spelling"),
    # state and rows
    "the whole of prev": ("prev", "«return prev»\n", "the whole of `prev`", "Use a number"),
    "is": ("x", "«return 1 if x is True else 0»", "`is` compares identity", "=="),
    "isinstance": ("x", "«return x if isinstance(x, float) else 0»", "an instance of float", "as its field declares"),
    "a string method": ("mood", "«return mood.lower() == 'calm'»", "`.lower()`", "Compare a category"),
    "an f-string": ("mood", "«return mood == f'{mood}'»", "build strings", "Compare a category"),
    "a string from a number": ("x", "«return str(x) == '1'»", "str", "Compare a category"),
    "a dict returned": ("x", "«return {'speed': x, 'rest': 0.0}»", "this returns a dict of 2", "@term(part='speed')"),
    "a key that is not there": ("x", "«return PRICES['b'] * x»", "'b' is not a key of the dict", "Its keys: 'a'"),
    "a key of nothing": ("x, past={}", "«return x - past['last']»", "'last' is not a key", 'declare State("past"'),
    "the last of a list for other steps": ("x, past=[]", "«return x - past[-1]»", "into 0 entries", 'declare State("past"'),
    "NaN for no score": ("x", "«return np.where(x > 0, x, np.nan)»", "NaN is no score", "Write 0.0"),
    "`&` without parentheses": ("v", "«return np.sum(v > 0 & v < 1)»", "bind more tightly", "`(v > 0) & (v < 1)`"),
    "`|` without parentheses": ("x", "«return np.where(x < 0.5 | 1 < x <= 2, 1.0, 0.0)»", "bind more", "`(x < 0.5) | (1 < x <= 2)`"),
    "the positions of a mask": ("v", "«return np.where(v > 0)[0].sum()»", "lists positions", "np.where(v > 0, v, 0.0)"),
    "a key that is data": ("x", "d = {}\n    «d[x] = 1.0»\n    return x", "the keys of a dict must be constants", "`elif`"),
    "a method of a dict": ("x", "«return PRICES.pop('a') * x»", "`.pop()` of a dict", "d.get(key, 0)"),
    "None as a number": ("x", "y = None\n    «return x + y»", "this is None", "missing="),
    "an assertion that never holds": ("v", "«assert v.shape == (4,)»\n    return v[0]", "always fails", "Check the shapes"),
    "a raise that every row gets to": ("x", "«raise ValueError('no')»", "cannot raise exceptions", "range of the field"),
    "a module that is not there": ("x", "«import nowhere_at_all»\n    return x", "No module named", "Install it"),
    "an axis of a batch": ("v", "«return np.sum(np.square(v), axis=1)»", "there is no axis 1", "@term(batched=True)"),
    "a value that no case names": ("mood", "match mood:\n        case 'calm':\n            return 1\n        case 'wild' if False:\n            return 2", "ends without `return`", "`case _:`"),
    "an alias changed in place": ("v", "w = v * 2\n    u = w\n    w += 1\n    «return sum(u)»", "changed in place", "its own name"),
    "a view changed in place": ("v", "w = v * 2\n    u = w[:2]\n    w[0] = 1.0\n    «return sum(u)»", "changed in place", "its own name"),
    "an index that is data": ("v, x", "w = v * 2\n    «w[round(x)] = 1.0»\n    return sum(w)", "at a constant index", "np.where"),
    "a list that a branch makes longer": ("x", "a = [x]\n    «if x > 0:»\n        a.append(x)\n    return sum(a)", "a list of 2 on one path", "the same number of entries"),
    "a list of data as an index": ("x", "a = [x, 2.0, 3.0]\n    «return sum(a[[0, 2]])»", "a list or tuple of Python cannot be indexed by a list of 2", "np.array(v)[[0, 2]]"),
    "a coordinate of a vector": ("v", "w = v * 2\n    «return w.y + v[0]»", "`w.y`", "write its position: `w[1]`"),
    "a coordinate of a difference": ("v", "«return (v - 1.0).z»", "`(v - 1.0).z`", "write its position: `(v - 1.0)[2]`"),
    "a set of data": ("v", "«return len(set(v))»", "`set`", "all(a != b for b in v[:i])"),
    "a set of data written out": ("x", "«return len({x, 1.0})»", "a set has no order", "Of data, `x in v`"),
    "an array turned round": ("v", "«return np.flip(v)[0]»", "`np.flip` of numpy", "v[::-1]"),
    "an array picked from": ("v", "«return np.take(v, [0, 2])[0]»", "`np.take` of numpy", "v[[0, 2]]"),
    "an outer product": ("v", "«return np.outer(v, v)[0, 1]»", "`np.outer` of numpy", "v[:, None] * w[None, :]"),
    "append to a tuple outside": ("x", "«KINDS.append(x)»\n    return x", "no effect", "total += x"),
    "an object as a number": ("x", "«return x * config»", "an object of the class Config", "one of its attributes"),
    "an attribute that an object has not": ("x", "«return x * config.scal»", "'config.scal' does not exist", "spelling"),
    # statements
    "while": ("x", "«while x > 1:»\n        x /= 2\n    return x", "no known number of iterations", "for i in range"),
    "try": ("x", "«try:»\n        return 1 / x\n    except ZeroDivisionError:\n        return 0", "exceptions", "`if`"),
    "with": ("x", "«with open('x') as file:»\n        return x", "`with`", "keep its body"),
    "a power as elsewhere": ("x", "«return -x ^ 2»", "`^` is exclusive or", "Write `x ** 2`"),
    "a list that lasts": ("x, history=[]", "«history.append(x)»\n    return sum(history)", "no effect", 'State("history", reset=0.0'),
    "a list that lasts, augmented": ("x, history=[]", "«history += [x]»\n    return sum(history)", "shares with other names", 'State("history", reset=0.0'),
    "a dict that lasts": ("x, cache={}", "«cache['x'] = x»\n    return x", "`cache` was not made here", 'State("cache", reset=0.0'),
    "a table of the module": ("x", "«PRICES['x'] = x»\n    return x", "`PRICES` was not made here", "Make a new one"),
    "a counter of a class": ("self, x", "self.seen.append(x)\n    return x + «len(self.seen)»", "is changed by `self.seen.append(x)`", 'State("seen", reset=0.0'),
    "an object that is made": ("x", "made = «Config()»\n    return made.scaled(x)", "`Config` is a class, and a term cannot make an object", "in a dict"),
    "the class of an object": ("x, world", "«return x if isinstance(world, Config) else 1.0»", "whether `world` is an instance of Config is not known", "Drop the test"),
    "an object that depends on the row": ("x, world", "found = None\n    for each in world.landmarks:\n        if each.reach > x:\n            found = each\n    «return found.reach»", "`found.reach` is a part of an object, and which object", "Field('agents_0_reach')"),
    "items that are not known": ("self, x", "«return sum(w * x for w in self.cfg.scales.values())»", "lists what is not known", "shared={'scales': {...}}"),
    "a method of short name": ("v", "«return (v * 2).half()[0]»", "the method `.half()` cannot be read.", "docs/reference/language.md"),
    "an object that may change": ("x, world", "«world.step(x)»\n    return x", "has no effect on the score", "drop this line"),
    "a name that was deleted": ("x", "y = x\n    del y\n    return «y»", "`y` is deleted above", "drop the `del`"),
    "append": ("x", "y = (1, 2)\n    «y.append(x)»\n    return x", "no effect", "total += x"),
    "an entry assigned": ("v", "«v[0] = 1»\n    return v[0]", "changed in place", "its own name"),
    "an attribute assigned": ("x, curr", "«curr.x = 1»\n    return x", "side effects", "`x = ...`"),
    "a class": ("x", "«class A:»\n        pass\n    return x", "a class inside", "above the term"),
    "a range of data": ("x", "«for i in range(round(x)):»\n        x += i\n    return x", "a constant integer is needed", "if i >= n: break"),
    "a set": ("x", "«return x in {1, 2}»", "a set has no order", "tuple"),
    "a dict comprehension": ("v", "«d = {a: 1 for a in v}»\n    return len(d)", "the keys of a dict must be constants", "`elif`"),
    "a set comprehension": ("v", "«return len({a for a in v})»", "a set", "x in v"),
    "await": ("x", "«return (yield x)»", "returns once", "Return the value"),
    # functions
    "recursion": ("x", "return again(x)", "'again' calls itself", "Recursion"),
    "any number of arguments": ("x", "return forever(x)", "`*args`", "Name each field"),
    "a generator function": ("v", "return sum(each(v))", "returns once", "Return the value"),
    "a function without return": ("x", "return silent(x)", "no effect", "return the value"),
    "a key": ("v", "«return max(v, key=lambda a: -a)»", "plain arguments", "without `key`"),
    "sorted with a key": ("v", "«return sorted(v, key=abs)[0]»", "sorted", "before scoring"),
    "map": ("v", "«return sum(map(abs, v))»", "map", "sum(g(x) for x in v)"),
    "digits": ("x", "«return round(x, 2)»", "takes one argument", "round(x * 100) / 100"),
    "a field called": ("x", "«return x(1)»", "`x` is a value here", "x * (...)"),
    "a name that hides a function": ("x", "max = 3\n    «return max(x, 1)»", "`max` is 3 here", "rename it"),
    # names, kinds and results
    "an unknown name": ("x", "«return x * WEIGHT»", "'WEIGHT' is not known. Did you mean 'WEIGHTS'?", "above the term"),
    "a library that is not imported": ("x", "«return jnp.exp(x)»", "'jnp' is not known", "above the term"),
    "a name before it has a value": ("x", "«total += x»\n    return total", "before it is assigned", "above this line"),
    "a name that a branch leaves out": ("x", "if x > 1:\n        y = 1\n    «return y»", "has no value on some paths", "before the `if`"),
    "a path without return": ("x", "if x > 1:\n        return 1", "ends without `return`", "on every path"),
    "a case left out": ("mood", "match mood:\n        case 'calm':\n            return 1", "ends without", "`case _:`"),
    "return alone": ("x", "if x > 1:\n        «return»\n    return x", "without a value", "on every path"),
    "return None": ("x", "if x > 1:\n        «return None»\n    return x", "without a value", "on every path"),
    "a tuple returned": ("x", "«return x, {'speed': x}»", "this returns a tuple of 2", "@term(part=0)"),
    "a vector returned": ("v", "w = v * 2\n    «return w»", "a vector of 3", "sum(v)"),
    "a string returned": ("x", "«return 'good'»", "the string 'good'", "Use a number"),
    "a category returned": ("mood", "«return mood»", "a category mood", "phase == 'coding'"),
    "a misspelt category": ("mood", "«return mood == 'clam'»", "Did you mean 'calm'?", "Its values: calm, wild"),
    "a category as a number": ("mood", "«return mood * 2»", "a category mood", "phase == 'coding'"),
    "a category as a condition": ("mood", "«return 1 if mood else 0»", "a condition is needed", "phase == 'coding'"),
    "a number for a category": ("mood", "«return mood == 1»", "compared with 1", "one of its values"),
    "or for a default": ("x", "«return x or 1.0»", "join conditions", "a if condition else b"),
    "an index too far": ("v", "«return v[3]»", "3 is not an index into 3", "from 0 to the length minus 1"),
    "too few names": ("v", "«a, b = v»\n    return a", "3 values here", "*rest"),
}  # fmt: skip

FIELDS = {
    "x": Field("x"),
    "v": Field("v", length=3),
    "mood": Field("mood", values=("calm", "wild")),
}


def read(signature, body):
    """Return the error that making a reward ends in, and the file of the function."""
    plain = f"{HEADER}def f({signature}):\n    {body}\n".replace("«", "").replace("»", "")
    function = load(plain)["f"]
    with pytest.raises(PlauditError) as caught:
        Reward("r", version="1", terms=[term(function)], fields=[FIELDS[name] for name in FIELDS if name in signature])
    return str(caught.value), function.__code__.co_filename


@pytest.mark.parametrize(("signature", "body", "what", "advice"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_shown_where_it_stands_with_what_to_write_instead(signature, body, what, advice):
    message, file = read(signature, body)
    first, where, line, caret, *rest = message.splitlines()
    assert what in first
    assert where.startswith(f"  {file}, line ")
    assert linecache.getline(file, int(where.rpartition(" ")[2])).strip() == line.strip()
    assert set(caret.strip()) == {"^"}
    assert advice in "\n".join(rest)
    shown = body.partition("«")[2].partition("»")[0]
    assert not shown or shown in line


def test_there_are_many_mistakes_in_the_table():
    assert len(MISTAKES) >= 90
