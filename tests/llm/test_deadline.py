"""Functions that take too long are ended, whatever they catch."""

import threading
import time

import pytest

from plaudit.errors import FeatureTimeout
from plaudit.llm import deadline
from plaudit.llm.deadline import Deadline


@pytest.fixture(params=["main thread", "thread"])
def run(request):
    """Return what calls a function in the main thread or in another, and returns its result or its error."""

    def call(function):
        found = []

        def inside():
            try:
                found.append(function())
            except Exception as error:
                found.append(error)

        if request.param == "main thread":
            inside()
        else:
            thread = threading.Thread(target=inside)
            thread.start()
            thread.join(20)
        (only,) = found
        return only

    return call


def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_a_function_that_catches_exceptions_and_goes_on_is_ended(run):
    def stubborn():
        for _ in range(100):
            try:
                wait(0.2)
            except Exception:
                continue
        return "done"

    def timed():
        with Deadline(0.3) as within:
            return within.call(stubborn, (), {})

    started = time.monotonic()
    assert isinstance(run(timed), FeatureTimeout)
    assert time.monotonic() - started < 10


def test_one_that_catches_everything_is_interrupted_again_and_its_result_does_not_count(run, monkeypatch):
    monkeypatch.setattr(deadline, "AGAIN", 0.2)
    caught = []

    def stubborn():
        while len(caught) < 3:
            try:
                wait(20)
            except BaseException as error:
                caught.append(error)
        return "done"

    def timed():
        with Deadline(0.2) as within:
            return within.call(stubborn, (), {})

    assert isinstance(run(timed), FeatureTimeout)
    assert len(caught) == 3


def test_an_error_made_of_the_interruption_is_a_timeout(run):
    def wrapping():
        try:
            wait(20)
        except BaseException as error:
            raise ValueError("broken") from error

    def timed():
        with Deadline(0.2) as within:
            return within.call(wrapping, (), {})

    assert isinstance(run(timed), FeatureTimeout)


def test_calls_after_one_that_took_too_long_have_their_own_time(run):
    def timed():
        found = []
        with Deadline(0.3) as within:
            for seconds in (5, 0.1, 5, 0.1):
                try:
                    found.append(within.call(lambda seconds: wait(seconds) or "done", (seconds,), {}))
                except FeatureTimeout:
                    found.append("late")
        wait(0.5)
        return found

    assert run(timed) == ["late", "done", "late", "done"]


def test_the_errors_of_a_function_are_its_own(run):
    def timed():
        with Deadline(5) as within:
            return within.call(lambda: {}["a"], (), {})

    assert isinstance(run(timed), KeyError)
