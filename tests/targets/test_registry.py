"""Targets of other packages: found by their entry points, imported when asked for, explained where they are broken."""

import sys

import pytest

from plaudit import Field, Reward, term
from plaudit.errors import TargetError
from plaudit.targets import registry

MODULE = """\
from plaudit.targets import Scores


class Constant:
    def __init__(self, program, *, on_bad="raise", number=7.0):
        self.program, self.number = program, number

    def __call__(self, inputs, params=None):
        return Scores(self.number, {}, {}, True)


def describe(program, *, about=None, **options):
    return f"{about.name}@{about.version} {sorted(options)}"


def forgetful(program):
    return None


NUMBER = 3
"""


@term
def near(distance):
    return distance


REWARD = Reward("reaching", version="4", terms=[near], fields=[Field("distance")])


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Give a function that installs a package with targets; what was read of packages is forgotten afterwards."""
    (tmp_path / "made_targets.py").write_text(MODULE)
    (tmp_path / "raising_target.py").write_text("raise ValueError('not today')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def write(package, **targets):
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        lines = [f"{name} = {target}" for name, target in targets.items()]
        (info / "entry_points.txt").write_text("\n".join(["[plaudit.targets]", *lines]))
        registry.list_registered.cache_clear()

    yield write
    registry.list_registered.cache_clear()


def test_a_target_of_another_package_compiles_by_its_name_with_options_of_its_own(install):
    install("made", constant="made_targets:Constant", text="made_targets:describe")
    assert "made_targets" not in sys.modules
    assert REWARD.compile("constant", number=2.5)({"distance": 1.0}).total == 2.5
    assert REWARD.compile("text", guard=False) == "reaching@4 ['guard', 'on_bad']"
    with pytest.raises(TargetError, match="'constant' has no option 'numbr'. Did you mean 'number'.*: on_bad, number"):
        REWARD.compile("constant", numbr=2.5)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("nowhere:Reward", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raising_target:Reward", "ValueError: not today"),
        ("made_targets:Missing", "AttributeError: module 'made_targets' has no attribute 'Missing'"),
        ("made_targets:NUMBER", "TypeError: made_targets:NUMBER is a int, not a class or a function"),
        ("made_targets:forgetful", "TypeError: made_targets:forgetful has no keyword on_bad="),
    ],
)
def test_a_target_that_cannot_be_used_is_explained_with_its_package(install, target, reason):
    install("made", mine=target)
    with pytest.raises(TargetError, match=f"the target 'mine' of made 1.2 cannot be used. {reason}"):
        REWARD.compile("mine")


def test_two_packages_with_one_name_are_an_error_that_names_both(install):
    install("made", constant="made_targets:Constant")
    install("other", constant="made_targets:Constant")
    with pytest.raises(TargetError, match="'constant' is registered by made 1.2 and other 1.2. Uninstall all but one"):
        REWARD.compile("constant")


def test_a_name_of_ours_stays_ours_and_an_unknown_one_lists_all_there_are(install):
    install("made", numpy="made_targets:Constant", constant="made_targets:Constant")
    assert type(REWARD.compile("numpy")).__name__ == "NumpyReward"
    with pytest.raises(TargetError) as caught:
        REWARD.compile("constnt")
    assert "Did you mean 'constant'? Targets: python, " in str(caught.value)
    assert str(caught.value).endswith(
        "constant. Left out: made 1.2 registers the target 'numpy', a name that plaudit already uses."
    )
