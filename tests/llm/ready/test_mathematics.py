"""Mathematics: equal however it is written, in any thread, with an end."""

import importlib.util
import multiprocessing
import os
import threading

import pytest

from plaudit import DefinitionError, Field, InputError, MissingExtra, Reward, term
from plaudit.errors import FeatureTimeout
from plaudit.llm import Sample, Scoring, ready
from plaudit.llm.deadline import Deadline
from plaudit.llm.ready import mathematics

needs_library = pytest.mark.skipif(not importlib.util.find_spec("math_verify"), reason="math-verify is not installed")
HALF = r"\boxed{\frac{1}{2}}"


@pytest.fixture(scope="module", autouse=True)
def worker():
    """Let tests share the process that compares, which takes seconds to start."""
    yield
    mathematics._WORKER.close()


@pytest.fixture
def equal():
    return ready.equal_mathematics()


@needs_library
@pytest.mark.parametrize(
    ("text", "answer", "same"),
    [
        (HALF, "0.5", True),
        (r"\boxed{x + 1}", "1 + x", True),
        (r"\boxed{2\sqrt{3}}", r"$\sqrt{12}$", True),
        (r"\boxed{\{2, 1\}}", r"\{1, 2\}", True),
        (r"\boxed{x = 5}", 5, True),
        ("So the answer is 1/2.", "0.5", True),
        (r"so $\frac{\sqrt{2}}{2}$", r"\frac{1}{\sqrt{2}}", True),
        (rf"{HALF} or \boxed{{0.5}}", "1/2", True),
        (rf"\boxed{{}} {HALF}", "1/2", True),
        ("", "5", False),
        ("I do not know", "5", False),
        (r"\boxed{(2, 1)}", "(1, 2)", False),
        (r"\boxed{3.14}", r"\pi", False),
        (r"\boxed{x - 1}", "1 - x", False),
        (rf"{HALF} \boxed{{5}}", "1/2", False),
        (rf"\boxed{{5}} {HALF}", "1/2", False),
        (rf"{HALF}, but perhaps \boxed{{5}}", "5", False),
        ("".join(rf"\boxed{{{number}}}" for number in range(100)), "5", False),
        (r"\boxed{4, 5, 6}", "5", False),
        ("\\boxed{\x00\ud800}", "5", False),
        ("\\boxed{" * 1000, "5", False),
        ("\\boxed{" + "1+" * 1000 + "1}", "1001", False),
    ],
)
def test_answers_are_compared_as_mathematics(text, answer, same):
    assert ready.equal_mathematics()(text, answer) is same


@needs_library
def test_the_answer_in_the_thinking_alone_does_not_count(equal):
    assert equal(**equal.collect(Sample(completion=f"<think>{HALF}</think>No idea.", answer="1/2"))) is False
    assert equal(**equal.collect(Sample(completion=f"<think>5</think>{HALF}", answer="1/2"))) is True


@needs_library
def test_it_works_in_threads(equal):
    found = []
    threads = [threading.Thread(target=lambda: found.append(equal(HALF, "0.5"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


@needs_library
def test_it_works_in_a_scoring_in_a_thread(equal):
    @term
    def right(equal_mathematics):
        return 1 if equal_mathematics else 0

    reward = Reward("sums", version="1", terms=[right], fields=[Field("equal_mathematics", flag=True)])
    scoring, totals = Scoring(reward, [equal]), []
    samples = [{"prompt": "?", "completion": text, "answer": "0.5"} for text in (HALF, r"\boxed{2}")]
    thread = threading.Thread(target=lambda: totals.extend(scoring.score(samples).totals))
    thread.start()
    thread.join()
    assert totals == [1.0, 0.0]


@needs_library
def test_what_takes_too_long_has_no_result_and_the_next_one_has(equal):
    with pytest.raises(FeatureTimeout, match=r"within 0\.5 s"):
        equal.with_(seconds=0.5)(r"\boxed{9^{9^{9^9}}}", "5")
    assert equal(HALF, "0.5") is True


@needs_library
@pytest.mark.parametrize("in_thread", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_scoring_that_gives_up_earlier_says_so(equal, in_thread):
    assert equal(HALF, "0.5") is True
    errors = []

    def call():
        try:
            with Deadline(0.5) as deadline:
                deadline.call(equal.with_(seconds=9.0), (), {"text": r"\boxed{9^{9^{9^9}}}", "answer": "5"})
        except FeatureTimeout as error:
            errors.append(str(error))

    thread = threading.Thread(target=call)
    if in_thread:
        thread.start()
        thread.join()
    else:
        call()
    assert errors == ["no result within 0.5 s"]
    assert equal(HALF, "0.5") is True


@needs_library
def test_a_process_that_was_killed_is_an_error_and_is_started_again(equal):
    assert equal(HALF, "0.5") is True
    mathematics._WORKER._child._process.kill()
    mathematics._WORKER._child._process.wait()
    with pytest.raises(InputError, match="could not compare"):
        equal(HALF, "0.5")
    assert equal(HALF, "0.5") is True


@needs_library
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_starts_its_own(equal):
    assert equal(HALF, "0.5") is True
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_compare_and_close) is True
    assert equal(HALF, "0.5") is True


def _compare_and_close():
    try:
        return ready.equal_mathematics()(HALF, "0.5")
    finally:
        mathematics._WORKER.close()


@needs_library
@pytest.mark.parametrize("answer", ["", " ", None, True, ["5"]])
def test_a_column_without_mathematics_is_an_error(equal, answer):
    with pytest.raises(InputError, match="column"):
        equal(HALF, answer)


@needs_library
@pytest.mark.parametrize("seconds", [0, -1, "5", True, float("inf")])
def test_seconds_are_a_positive_number(seconds):
    with pytest.raises(DefinitionError, match="seconds"):
        ready.equal_mathematics(seconds=seconds)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install 'plaudit\\[llm\\]'"):
        ready.equal_mathematics()
