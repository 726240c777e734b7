"""What features may return and read, how they fail, and what runs of them leave behind."""

import asyncio
import re

import pytest

from plaudit import DefinitionError, Field, InputError, Reward, term
from plaudit.errors import FeatureTimeout, WrongType
from plaudit.llm import Answer, Scoring, feature


@term
def paid(points):
    return points


REWARD = Reward("points", version="1", terms=[paid], fields=[Field("points", low=-100, high=100)])


def samples(count, **parts):
    return [{"prompt": f"{at // 2}", "completion": f"word {at}", **parts} for at in range(count)]


@pytest.mark.parametrize("scope", ["batch", "group"])
@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_has_no_order_and_so_is_no_list_of_results(scope, kind):
    points = feature(name="points", **{scope: True})(lambda text: kind(map(float, range(len(text)))))
    with pytest.raises(WrongType, match="feature 'points' returned a set, whose order is random; return a list"):
        Scoring(REWARD, points).score(samples(2))


@pytest.mark.parametrize("scope", ["batch", "group"])
def test_a_part_that_some_samples_lack_has_its_default_in_lists(scope):
    seen = []

    @feature(name="points", **{scope: True})
    def points(text, hint="none"):
        seen.append(hint)
        return [0.0] * len(text)

    scoring = Scoring(REWARD, points)
    for first, second in (({}, {"hint": "b"}), ({"hint": "a"}, {})):
        scoring.score([{**sample, **more} for sample, more in zip(samples(2), (first, second), strict=True)])
    scoring.score(samples(2))
    assert seen == [["none", "b"], ["a", "none"], "none"]


def test_a_batch_feature_with_all_parts_gets_those_that_only_some_samples_have():
    seen = {}

    @feature(name="points", batch=True)
    def points(**parts):
        seen.update(parts)
        return [0.0, 0.0]

    Scoring(REWARD, points).score([{"prompt": "?", "completion": "a"}, {"prompt": "?", "completion": "b", "more": 1}])
    assert seen["more"] == [None, 1]


@pytest.mark.parametrize("scope", ["batch", "group"])
def test_the_error_of_a_feature_that_gets_lists_names_it(scope):
    points = feature(name="points", **{scope: True})(lambda text: 1 / 0)
    with pytest.raises(ZeroDivisionError) as raised:
        Scoring(REWARD, points).score(samples(4))
    assert raised.value.__notes__ == [f"in feature 'points' of the {scope} of sample 0"]
    found = Scoring(REWARD, points, on_bad="mask", max_masked=1).score(samples(4))
    assert found.reasons[3].count(f"in feature 'points' of the {scope} of sample") == 1


def _first_number(text):
    return float(next(word for word in text.split() if word.isdecimal()))


@feature(name="points", judge=True)
async def _awaited(text):
    return _first_number(text)


@pytest.mark.parametrize(
    "points",
    [
        feature(name="points")(_first_number),
        feature(name="points", judge=True)(_first_number),
        feature(name="points", batch=True)(lambda text: [_first_number(each) for each in text]),
        _awaited,
    ],
    ids=["plain", "blocking", "batch", "async"],
)
def test_a_parser_that_finds_nothing_says_so(points):
    bad = {"prompt": "?", "completion": "no number"}
    with pytest.raises(InputError, match=re.escape("next() found nothing; give it a default")) as raised:
        Scoring(REWARD, points).score([bad])
    assert "in feature 'points'" in raised.value.__notes__[0]
    found = Scoring(REWARD, points, on_bad="mask", max_masked=1).score([bad])
    assert "next() found nothing" in found.reasons[0]


def test_a_condition_that_finds_nothing_says_so_inside_a_loop():
    scoring = Scoring(REWARD, feature(name="points")(lambda text: 1.0), applies=lambda text: _first_number(text) > 0)
    with pytest.raises(InputError, match=re.escape("next() found nothing")):
        asyncio.run(scoring.score_async(samples(1, completion="none")))


def test_the_words_of_a_judge_are_a_string():
    assert Answer(1.0, None).text == ""
    with pytest.raises(WrongType, match="the text of an Answer is a string, not {'clear'"):
        Answer(1.0, {"clear": 7})
    judge = feature(name="points", judge=True)(lambda text: Answer(1.0, {text}))
    found = Scoring(REWARD, judge, on_bad="mask", max_masked=1).score(samples(1))
    assert "the text of an Answer is a string" in found.reasons[0]


def test_a_setting_has_a_default():
    with pytest.raises(DefinitionError, match="feature 'near': the setting 'answer' has no default"):

        @feature
        def near(text, *, answer):
            return text == answer


@pytest.mark.parametrize("given", [5, None, "features", {"words": len}])
def test_features_that_are_none_are_refused(given):
    with pytest.raises(DefinitionError, match="features are functions, or a list of them, not"):
        Scoring(REWARD, given)


def test_a_function_without_a_signature_is_refused():
    with pytest.raises(DefinitionError, match="the parameters of .* cannot be read"):
        Scoring(REWARD, [iter])


def test_a_timeout_in_lists_names_the_feature():
    @feature(name="points", group=True)
    def points(text):
        while True:
            pass

    with pytest.raises(FeatureTimeout, match=r"no result within 0.1 s") as raised:
        Scoring(REWARD, points, timeout=0.05).score(samples(2))
    assert "in feature 'points' of the group" in raised.value.__notes__[0]
