"""The forms in which a reward can be named, and what is said where there is none."""

import json
import os
import sys

import pytest

from plaudit import PlauditError
from plaudit.plugins.arguments import find_reward, find_reward_or_function
from plaudit.systems import BUILT_IN, load, system

OWN = '''
from plaudit import Field, Reward, term

@term
def near(distance, *, reach=2.0):
    """Come near."""
    return 1 if distance < reach else 0

reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0)])
near_by = reaching.with_version("2")

class Holder:
    reward = reaching
'''


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    assert sys.path == path
    for name in set(sys.modules) - before:
        if name.startswith(("plaudit_file_", "own", "pkg", "beside", "broken")):
            del sys.modules[name]


def refused(text: str) -> str:
    with pytest.raises(PlauditError) as caught:
        find_reward(text)
    return str(caught.value)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_is_found_by_name_and_version(name):
    assert find_reward(name) == load(name) == system(name).reward
    for label in system(name).VERSIONS:
        assert find_reward(f"{name}@{label}").version == label


def test_a_file_and_a_name_in_it(here):
    (here / "own.py").write_text(OWN, encoding="utf-8")
    assert find_reward("own.py:reaching").score(distance=1.0).total == 1.0
    assert find_reward(f"{here / 'own.py'}:near_by").version == "2"
    assert find_reward("./own.py:Holder.reward").name == "reaching"


def test_a_file_with_one_reward_needs_no_name(here):
    (here / "own.py").write_text(OWN.replace('near_by = reaching.with_version("2")', "same = reaching"), "utf-8")
    assert find_reward("own.py").name == "reaching"
    assert find_reward_or_function("./own.py").name == "reaching"


@pytest.mark.parametrize(
    "command",
    [
        ("check", "own.py"),
        ("show", "own.py"),
        ("score", "own.py", "rows.csv"),
        ("prove", "own.py", "own.py"),
        ("parity", "own.py", "--against", "own.py:near"),
        ("rescore", "own.py", "rewards.db"),
        ("evaluate", "rewards.db", "--decision-class", "x", "--policy", "uniform", "--reward", "own.py"),
        ("train", "roadsense", "--reward", "own.py"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_says_which_rewards_a_file_has(plaudit, here, command):
    (here / "own.py").write_text(OWN, encoding="utf-8")
    (here / "rows.csv").write_text("distance\n1\n", encoding="utf-8")
    done = plaudit(*command)
    assert done.exit_code == 2
    assert "Its rewards: own.py:near_by, own.py:reaching\n" in done.stderr


def test_a_module_in_this_folder(here):
    (here / "own_module.py").write_text(OWN, encoding="utf-8")
    (here / "pkg_own").mkdir()
    (here / "pkg_own" / "__init__.py").write_text("from pkg_own.inside import reaching\n", encoding="utf-8")
    (here / "pkg_own" / "inside.py").write_text(OWN, encoding="utf-8")
    assert find_reward("own_module:reaching").name == "reaching"
    assert find_reward("pkg_own.inside:near_by").version == "2"
    assert find_reward("pkg_own:reaching").version == "1"
    assert find_reward("plaudit.systems.apex:reward") == load("apex")


def test_a_file_can_import_what_lies_beside_it(here):
    (here / "deep").mkdir()
    (here / "deep" / "beside_it.py").write_text("REACH = 3.0\n", encoding="utf-8")
    (here / "deep" / "own.py").write_text(
        "from beside_it import REACH\n" + OWN.replace("reach=2.0", "reach=REACH"), encoding="utf-8"
    )
    assert find_reward("deep/own.py:reaching").params["near.reach"] == 3.0


def test_a_file_is_run_as_it_stands_however_fast_it_was_changed(here, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for moment, reach in ((0.0, 2.0), (0.5, 3.0)):  # of one second and one size, which is all a compiled copy knows
        (here / "own.py").write_text(OWN.replace("reach=2.0", f"reach={reach}"), encoding="utf-8")
        os.utime(here / "own.py", (1e9 + moment, 1e9 + moment))
        assert find_reward("own.py:reaching").params["near.reach"] == reach
    assert [path.name for path in here.iterdir()] == ["own.py"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_specification(here, mark):
    (here / "r.json").write_bytes(mark + load("roadsense", "R8").to_json().encode())
    (here / "no-ending").write_bytes(mark + load("roadsense", "R8").to_json().encode())
    assert find_reward("r.json") == find_reward("./no-ending") == find_reward("no-ending") == load("roadsense", "R8")


@pytest.mark.parametrize("name", ["own_loud.py:reaching", "own_loud:reaching", "pkg_loud.inside:reaching"])
def test_what_a_file_prints_does_not_mix_with_the_output(plaudit, here, name):
    (here / "own_loud.py").write_text("print('hello')\n" + OWN, encoding="utf-8")
    (here / "pkg_loud").mkdir()
    (here / "pkg_loud" / "__init__.py").write_text("print('hello')\n", encoding="utf-8")
    (here / "pkg_loud" / "inside.py").write_text(OWN, encoding="utf-8")
    result = plaudit("show", name, "--json")
    assert json.loads(result.stdout)["name"] == "reaching"
    assert result.stderr == "hello\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rodsense", "there is no reward 'rodsense'. Did you mean 'roadsense'?"),
        ("", "there is no reward ''."),
        (":", "there is no reward ':'."),
        ("roadsense@R88", "Did you mean 'R8'?"),
        ("roadsense@", "has no version"),
        ("rodsense@R8", "Did you mean 'roadsense'?"),
        ("nothing.json", "nothing.json does not exist."),
        ("folder/nothing.json", "does not exist."),
        ("empty", "there is no reward 'empty'."),
        ("./empty", "empty is a directory; name a file in it."),
        ("own.py", "own.py has several rewards; name one.\nIts rewards: own.py:near_by, own.py:reaching"),
        ("none.py", "none.py has no reward.\nThere is no Reward at the top level of none.py."),
        ("nothing.py", "nothing.py does not exist."),
        ("nothing.py:reward", "nothing.py does not exist."),
        ("ow.py:reaching", "ow.py does not exist. Did you mean 'own.py'?"),
        ("folder.py:reward", "folder.py is a directory; name a file in it."),
        ("own.py:not a name", "'not a name' cannot be a name in own.py"),
        (
            "own.py:reachin",
            "own.py has no 'reachin'. Did you mean 'reaching'?\nIts rewards: own.py:near_by, own.py:reaching",
        ),
        ("own.py:Holder.reard", "own.py has no 'Holder.reard'. Did you mean 'reward'?"),
        ("own.py:near", "own.py:near is a Term, not a Reward.\nIts rewards: own.py:near_by, own.py:reaching"),
        ("own.py:Holder", "is a type, not a Reward."),
        ("none.py:x", "none.py:x is a int, not a Reward.\nThere is no Reward at the top level of none.py."),
        ("text.txt:x", "is not a Python file"),
        ("no.such.module:x", "there is no module 'no.such.module'"),
        ("plaudit.nothing:x", "there is no module 'plaudit.nothing'"),
        ("a b:x", "'a b' is neither a file nor the name of a module."),
        ("text.txt", "text.txt: this is not JSON"),
        ("latin.json", "latin.json is not a reward: it is not UTF-8 text."),
        ("deep.json", "deep.json: the JSON is nested too deeply"),
        ("list.json", "list.json: this is not a reward"),
        ("empty.json", "empty.json: this is not JSON"),
    ],
)
def test_what_cannot_be_found_is_told(here, text, told):
    (here / "own.py").write_text(OWN, encoding="utf-8")
    (here / "none.py").write_text("x = 1\n", encoding="utf-8")
    (here / "text.txt").write_text("hello", encoding="utf-8")
    (here / "latin.json").write_bytes(b'{"a": "\xe9"}')
    (here / "deep.json").write_text("[" * 10_000 + "]" * 10_000, encoding="utf-8")
    (here / "list.json").write_text("[1]", encoding="utf-8")
    (here / "empty.json").write_text("", encoding="utf-8")
    (here / "empty").mkdir()
    (here / "folder.py").mkdir()
    assert told in refused(text)


@pytest.mark.parametrize(
    ("content", "told", "line"),
    [
        ("import no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing'", 1),
        ("x = 1\ndef f(:\n", "SyntaxError: invalid syntax", 2),
        ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError: division by zero", 2),
        ("raise ValueError('one\\ntwo')\n", "it raised ValueError: one\n", 1),
        ("import sys\n\nsys.exit('no')\n", "SystemExit: no", 3),
        ("raise SystemExit\n", "SystemExit", 1),
        ("import json\njson.loads('{')\n", "JSONDecodeError", 2),
        ("def f(): f()\nf()\n", "RecursionError", 1),
    ],
)
@pytest.mark.parametrize("name", ["broken.py:reward", "broken:reward"])
def test_what_a_file_raises_is_told_with_its_line(here, content, told, line, name):
    (here / "broken.py").write_text(content, encoding="utf-8")
    text = refused(name)
    assert told in text
    assert f"broken.py, line {line}:" in text
    assert "Traceback" not in text


def test_a_term_that_cannot_be_read_is_told_once(here):
    content = OWN.replace("return 1 if distance < reach else 0", "while True: pass")
    (here / "own.py").write_text(content, encoding="utf-8")
    text = refused("own.py:reaching")
    assert "own.py cannot be loaded. ReadError" in text
    assert text.count(", line ") == 1


def test_ctrl_c_while_a_file_is_read_is_no_fault_of_the_file(plaudit, here):
    (here / "own.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    assert plaudit("show", "own.py:reward").exit_code == 130


def test_a_file_without_permission_is_told(here, monkeypatch):
    (here / "r.json").write_text("{}", encoding="utf-8")

    def denied(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert refused("r.json") == "r.json cannot be read: Permission denied"
    assert refused("./own.py:x") == "own.py cannot be read: Permission denied"
