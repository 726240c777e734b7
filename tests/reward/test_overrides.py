"""Other numbers for the same formula: in code or in a TOML file, checked by name and kind."""

import math

import pytest

from plaudit import DefinitionError, Field, FileError, Reward, term
from plaudit.errors import UnknownParameter


@term(weight=2.0, low=-1.0)
def near(x, *, reach=2.0, strict=False, table=(1.0, 2.0), far):
    return (reach - x) * table[0] if x < far or strict else 0.0


@term
def same(x):
    return x


REWARD = Reward("tuned", version="1", terms=[near, same], fields=[Field("x")], shared={"far": 10.0}, high=50.0)


def test_overrides_come_by_term_by_dotted_name_and_for_shared_knobs():
    by_term = REWARD.with_params(near={"reach": 5.0, "strict": True}, far=1.0)
    by_name = REWARD.with_params({"near.reach": 5.0, "near.strict": True, "far": 1.0})
    assert by_term == by_name
    assert by_term.fingerprint == by_name.fingerprint != REWARD.fingerprint
    assert by_term.score(x=3.0).values == {"near": 4.0, "same": 3.0}
    assert REWARD.score(x=3.0).values == {"near": -2.0, "same": 3.0}  # the reward itself has not changed


def test_weights_and_clamps_are_parameters_like_any_other():
    assert REWARD.with_weights(near=0.0, same=-1).score(x=3.0).values == {"near": 0.0, "same": -3.0}
    assert REWARD.with_params(near={"weight": 3.0, "low": -0.25}).score(x=3.0).values["near"] == -0.75
    assert REWARD.with_params(total={"high": 1.0}).score(x=3.0).total == 1.0
    assert REWARD.with_weights(near=5.0).params["near.weight"] == 5.0


def test_what_compiles_has_the_new_numbers():
    changed = REWARD.with_params(near={"reach": 5.0})
    for target in ("python", "numpy"):
        assert changed.compile(target)({"x": 3.0}).total == 7.0


def test_no_override_gives_the_same_reward():
    assert REWARD.with_params() == REWARD
    assert REWARD.with_params({}) == REWARD
    assert REWARD.with_params(near={"reach": 2}) == REWARD


def test_overrides_can_be_put_on_top_of_each_other():
    twice = REWARD.with_params(near={"reach": 5.0}).with_params(near={"strict": True}).with_weights(same=0)
    assert (twice.params["near.reach"], twice.params["near.strict"], twice.params["same.weight"]) == (5.0, True, 0.0)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ({"naer": {"reach": 1}}, r"no parameter 'naer\.reach'. Did you mean 'near\.reach'"),
        ({"near": {"raech": 1}}, r"no parameter 'near\.raech'. Did you mean 'near\.reach'"),
        ({"near.raech": 1}, r"Did you mean 'near\.reach'"),
        ({"fra": 1}, "no parameter 'fra'. Did you mean 'far'"),
        ({"near": {"table": 1}}, "'table' is a constant of the term"),
        ({"near": {"high": 1}}, "Declare high= where the term is defined"),
        ({"total": {"low": 1}}, "Declare low= where the reward is defined"),
        ({"near": 5}, "no parameter 'near'"),
        ({"x": 5}, "no parameter 'x'"),
    ],
    ids=str,
)
def test_an_unknown_override_is_refused_with_a_hint(override, words):
    with pytest.raises(UnknownParameter, match=words) as caught:
        REWARD.with_params(override)
    assert "reward 'tuned'" in str(caught.value)


def test_an_unknown_weight_is_refused_with_a_hint():
    with pytest.raises(UnknownParameter, match=r"no parameter 'naer\.weight'. Did you mean 'near\.weight'"):
        REWARD.with_weights(naer=1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, "5", None, [1.0], 10**400, 1j, 2**53 + 1])
def test_an_override_is_a_finite_number(value):
    with pytest.raises(DefinitionError, match=r"near\.reach="):
        REWARD.with_params({"near.reach": value})
    with pytest.raises(DefinitionError, match=r"same\.weight="):
        REWARD.with_weights(same=value)


def test_a_flag_stays_a_flag_and_a_number_a_number():
    with pytest.raises(DefinitionError, match=r"near\.strict=1.*a bool is needed"):
        REWARD.with_params(near={"strict": 1})
    with pytest.raises(DefinitionError, match=r"near\.reach=True.*a number is needed"):
        REWARD.with_params(near={"reach": True})


def test_clamps_that_cross_are_refused():
    @term(low=0.0, high=1.0)
    def held(x):
        return x

    reward = Reward("held", version="1", terms=[held], fields=[Field("x")], low=-1.0, high=1.0)
    with pytest.raises(DefinitionError, match=r"low=2.0 is above high=1.0"):
        reward.with_params(held={"low": 2.0})
    with pytest.raises(DefinitionError, match=r"low=2.0 is above high=1.0"):
        reward.with_params(total={"low": 2.0})


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_toml_file_has_a_table_for_each_term_and_shared_knobs_above_them(tmp_path):
    path = tmp_path / "overrides.toml"
    path.write_text(
        "far = 1\n\n[near]\nreach = 5\nstrict = true\nweight = 0.5\n\n[total]\nhigh = 2.5\n", encoding="utf-8"
    )
    changed = REWARD.with_file(path)
    assert changed == REWARD.with_params(
        near={"reach": 5.0, "strict": True, "weight": 0.5}, far=1.0, total={"high": 2.5}
    )
    assert REWARD.with_file(str(path)) == changed


def test_an_empty_file_changes_nothing(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("# nothing\n")
    assert REWARD.with_file(path) == REWARD


@pytest.mark.parametrize(
    "text",
    ["[near", "far = ", "far = 1\nfar = 2", "\x00", "far = 1 2"],
    ids=["open", "no value", "twice", "nul", "two"],
)
def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path, text):
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(DefinitionError, match=r"broken\.toml is not a TOML file"):
        REWARD.with_file(path)


def test_a_file_that_is_not_text_is_refused_by_name(tmp_path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00far")
    with pytest.raises(DefinitionError, match=r"binary\.toml is not a TOML file"):
        REWARD.with_file(path)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("[near]\nraech = 1", UnknownParameter, r"near\.raech"),
        ("far = nan", DefinitionError, "far=nan"),
        ("far = inf", DefinitionError, "far=inf"),
        ('far = "1"', DefinitionError, "far='1'"),
        ("far = [1]", DefinitionError, r"far=\[1\]"),
        ("far = 1979-05-27", DefinitionError, "far="),
        ("far = true", DefinitionError, "a number is needed"),
        ("[near.reach]\ndeep = 1", DefinitionError, r"near\.reach"),
        ("[[near]]\nreach = 1", (DefinitionError, UnknownParameter), "near"),
    ],
    ids=str,
)
def test_a_file_is_checked_like_any_override(tmp_path, text, error, words):
    path = tmp_path / "overrides.toml"
    path.write_text(text)
    with pytest.raises(error, match=words):
        REWARD.with_file(path)


def test_a_file_that_is_not_there_or_a_folder_is_a_file_error(tmp_path):
    for path in (tmp_path / "nowhere.toml", tmp_path):
        with pytest.raises(FileError, match="cannot be read") as caught:
            REWARD.with_file(path)
        assert isinstance(caught.value, OSError)
        assert str(path) in str(caught.value)
