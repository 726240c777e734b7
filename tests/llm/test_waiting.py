"""Calls that take too long have no result and a reason, whatever they do; others go on, and nothing piles up."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from plaudit import Field, Reward, term
from plaudit.llm import Scoring, feature, waiting


@term
def paid(points):
    return points


REWARD = Reward("points", version="1", terms=[paid], fields=[Field("points", low=-100, high=100)])


def samples(count):
    return [{"prompt": f"{at // 2}", "completion": f"word {at}"} for at in range(count)]


def scoring_of(points, **options):
    return Scoring(REWARD, points, **{"on_bad": "mask", "max_masked": 1, **options})


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def list_threads():
    return [each for each in threading.enumerate() if each.name.startswith("plaudit")]


@pytest.fixture(params=["main thread", "thread"])
def where(request):
    """Return what calls a function in the main thread or in another."""

    def call(function):
        if request.param == "main thread":
            return function()
        found = []
        thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
        thread.start()
        thread.join(30)
        return found[0]

    return call


# -- coroutines ------------------------------------------------------------------------------------------------------


def test_a_coroutine_that_keeps_the_loop_is_interrupted_and_others_go_on(where):
    @feature
    async def points(text):
        while text == "word 2":
            pass
        await asyncio.sleep(0.01)  # its time is not what word 2 takes
        return 1.0

    found = where(lambda: scoring_of(points, timeout=0.5).score(samples(6)))
    assert found.totals == [1.0, 1.0, None, 1.0, 1.0, 1.0]
    assert found.reasons == {2: "FeatureTimeout: no result within 0.5 s in feature 'points' of sample 2"}


def test_what_catches_the_interruption_is_left():
    @feature
    async def points(text):
        while text == "word 1":
            try:
                while True:
                    pass
            except BaseException:
                await asyncio.sleep(60)
        return 1.0

    assert scoring_of(points, timeout=0.2).score(samples(3)).totals == [1.0, None, 1.0]


def test_a_result_that_comes_too_late_does_not_count_in_a_loop_of_somebody_else_either():
    @feature
    async def points(text):
        if text == "word 1":
            time.sleep(1.5)  # which nothing can interrupt there
        await asyncio.sleep(0.01)
        return 1.0

    found = asyncio.run(scoring_of(points, timeout=0.5).score_async(samples(4)))
    assert found.totals == [1.0, None, 1.0, 1.0]
    assert "FeatureTimeout: no result within 0.5 s" in found.reasons[1]


@pytest.mark.parametrize("own_loop", [True, False])
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_coroutine_that_goes_on_when_it_is_cancelled_is_given_up(own_loop, stubborn, monkeypatch):
    monkeypatch.setattr(waiting, "_GRACE", 0.3)
    caught = BaseException if stubborn else asyncio.CancelledError

    @feature
    async def points(text):
        while text == "word 1":
            try:
                await asyncio.sleep(60)
            except caught:
                continue
        return 1.0

    async def main():
        found = await scoring_of(points, timeout=0.2).score_async(samples(3))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return found

    found = scoring_of(points, timeout=0.2).score(samples(3)) if own_loop else asyncio.run(main())
    gc.collect()  # does not tell it to end once more, which outside a loop it might never stop to catch
    assert found.totals == [1.0, None, 1.0]
    assert "given up, as it catches asyncio.CancelledError and goes on: raise that again" in found.reasons[1]


def test_a_result_after_the_cancellation_is_too_late_and_cleaning_up_is_waited_for():
    cleaned = []

    @feature
    async def points(text):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
            cleaned.append(text)
        return 1.0

    found = scoring_of(points, timeout=0.2).score(samples(2))
    assert found.totals == [None, None]
    assert found.reasons[0] == "FeatureTimeout: no result within 0.2 s in feature 'points' of sample 0"
    assert sorted(cleaned) == ["word 0", "word 1"]


def test_a_coroutine_may_have_timeouts_and_tasks_of_its_own():
    @feature
    async def points(text):
        first = asyncio.create_task(asyncio.sleep(0.01, 0.25))
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            return 0.5 + await first
        return 0.0

    assert scoring_of(points).score(samples(3)).totals == [0.75] * 3


def test_the_own_timeout_of_a_coroutine_is_its_own_error():
    @feature
    async def points(text):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)

    assert scoring_of(points).score(samples(1)).reasons[0].startswith("TimeoutError")


def test_scoring_does_not_wait_for_threads_of_a_coroutine_that_hang():
    ended = threading.Event()

    @feature
    async def points(text):
        return await asyncio.to_thread(lambda: text != "word 1" or ended.wait(60)) + 0.0

    try:
        found = scoring_of(points, timeout=0.3).score(samples(3))
        assert not ended.is_set()
        assert found.totals == [1.0, None, 1.0]
    finally:
        ended.set()


def test_a_group_that_keeps_the_loop_is_interrupted():
    @feature(group=True)
    async def points(text):
        while "word 1" in text:
            pass
        return [1.0] * len(text)

    assert scoring_of(points, timeout=0.2).score(samples(4)).totals == [None, None, 1.0, 1.0]


# -- threads ---------------------------------------------------------------------------------------------------------


def test_judges_that_hang_are_interrupted_and_others_asked():
    @feature(judge=True)
    def points(text):
        while text in ("word 0", "word 1"):
            time.sleep(0.01)
        return 1.0

    scoring = scoring_of(points, timeout=0.3, concurrency=2)
    for _ in range(3):
        assert scoring.score(samples(6)).totals == [None, None, 1.0, 1.0, 1.0, 1.0]
    assert wait_until(lambda: list_threads() == [])


def test_judges_that_cannot_be_interrupted_keep_their_place_until_they_end(monkeypatch):
    monkeypatch.setattr(waiting, "_GRACE", 0.1)
    before = len(list_threads())
    ended = threading.Event()
    asked = []

    @feature(judge=True)
    def points(text):
        asked.append(text)
        if text in ("word 0", "word 1"):
            ended.wait()
        return 1.0

    scoring = scoring_of(points, timeout=0.3, concurrency=3)
    try:
        assert scoring.score(samples(6)).totals == [None, None, 1.0, 1.0, 1.0, 1.0]
        found = scoring.score(samples(6))
        assert found.totals == [None] * 6
        assert "it cannot be interrupted: give what it waits for a timeout of its own" in found.reasons[0]
        assert "FeatureTimeout: not called: 3 calls from before have not ended" in found.reasons[5]
        assert len(asked) == 7
        assert len(list_threads()) - before <= 3
    finally:
        ended.set()
    assert wait_until(lambda: len(list_threads()) == before)
    assert scoring.score(samples(6)).totals == [1.0] * 6


def test_whoever_is_cancelled_leaves_no_judge_in_a_thread():
    begun = []

    @feature(judge=True)
    def points(text):
        begun.append(text)
        while True:
            time.sleep(0.01)

    async def main():
        task = asyncio.ensure_future(scoring_of(points).score_async(samples(4)))
        while len(begun) < 4:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert wait_until(lambda: list_threads() == [])


def test_the_context_of_the_caller_reaches_judges():
    key = contextvars.ContextVar("key", default=0.0)
    key.set(0.5)

    @feature(judge=True, name="points")
    def blocking(text):
        return key.get()

    @feature(name="points")
    async def awaited(text):
        return key.get()

    for points in (blocking, awaited):
        assert scoring_of(points).score(samples(2)).totals == [0.5, 0.5]


HANGING = """
    import threading
    from plaudit import Field, Reward, term
    from plaudit.llm import Scoring, feature, waiting

    waiting._GRACE = 0.1

    @term
    def paid(points):
        return points

    @feature(judge=True)
    def points(text):
        threading.Event().wait()

    reward = Reward("points", version="1", terms=[paid], fields=[Field("points")])
    scoring = Scoring(reward, points, on_bad="mask", max_masked=1, timeout=0.2)
    print(scoring.score([{"prompt": "?", "completion": "a"}]).reasons[0])
"""


def test_a_process_ends_while_a_judge_hangs(tmp_path):
    program = tmp_path / "hanging.py"
    program.write_text(textwrap.dedent(HANGING))
    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "FeatureTimeout: no result within 0.2 s; it was given up, as it cannot be interrupted" in done.stdout
