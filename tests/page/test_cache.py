"""Documents that are kept: as many as fit, until they change, and what takes long for a while longer."""

import asyncio
import gzip
import json
import os
import time

import pytest

from plaudit.page import cache as caching
from plaudit.page.cache import DocumentCache


class Builder:
    """Counts what it builds."""

    def __init__(self, seconds=0.0, size=0):
        self.built = []
        self.seconds = seconds
        self.size = size

    def __call__(self, address):
        self.built.append(address)
        number = len(self.built)
        time.sleep(self.seconds)
        return {"build": number, "filling": os.urandom(self.size // 2).hex()}


async def read(cache, address):
    return json.loads(gzip.decompress((await cache.get(address)).body))["build"]


def test_as_many_are_kept_as_fit_those_asked_for_last(monkeypatch):
    build = Builder(size=10_000)

    async def go():
        cache = DocumentCache(build, lambda changed: None, most_bytes=20_000)
        for address in ("a", "b", "a", "c", "a", "d", "a", "b"):
            await cache.get(address)
        assert cache._bytes <= 20_000

    asyncio.run(go())
    assert build.built == ["a", "b", "c", "d", "b"]


def test_what_changed_is_built_anew_with_all_that_tells_of_the_same_run():
    build = Builder()

    async def go():
        cache = DocumentCache(build, lambda changed: None)
        addresses = ["index", "run/l0/a", "episode/l0/a/7", "run/l0/b", "run/l1/a", "reward/a"]
        for _ in range(2):
            for address in addresses:
                await cache.get(address)
        assert build.built == addresses
        build.built.clear()
        cache.forget(["index", "run/l0/a"])
        for address in addresses:
            await cache.get(address)
        assert build.built == ["index", "run/l0/a", "episode/l0/a/7"]

    asyncio.run(go())


def test_what_changes_while_it_is_built_is_not_given_to_who_asks_later():
    build = Builder(seconds=0.05)

    async def go():
        cache = DocumentCache(build, lambda changed: None)
        first = asyncio.ensure_future(read(cache, "run/l0/a"))
        await asyncio.sleep(0.01)
        cache.forget(["run/l0/a"])
        assert await asyncio.gather(first, read(cache, "run/l0/a"), read(cache, "run/l0/a")) == [1, 2, 2]
        assert await read(cache, "run/l0/a") == 2

    asyncio.run(go())


@pytest.mark.parametrize("when", ["before", "while"])
@pytest.mark.parametrize("share", [0, 1000])
def test_what_takes_long_stays_for_a_while_and_is_announced_when_it_goes(monkeypatch, when, share):
    monkeypatch.setattr(caching, "_QUICK", 0.01)
    build, announced = Builder(seconds=0.05), asyncio.Queue()

    async def go():
        cache = DocumentCache(build, announced.put_nowait, share=share)
        asked = asyncio.ensure_future(read(cache, "audit/l0/a"))
        await asyncio.sleep(0.02 if when == "while" else 0.06)
        cache.forget(["run/l0/a"])
        assert await asked == 1
        if share:
            cache.forget(["run/l0/a"])
            assert await read(cache, "audit/l0/a") == 1
            assert announced.empty()
        else:
            assert await asyncio.wait_for(announced.get(), 20) == ["audit/l0/a"]
            assert await read(cache, "audit/l0/a") == 2

    asyncio.run(go())


def test_an_error_is_told_and_not_kept():
    def build(address):
        raise ValueError(address)

    async def go():
        cache = DocumentCache(build, lambda changed: None)
        for _ in range(2):
            with pytest.raises(ValueError, match="x"):
                await cache.get("x")
        cache.forget(["x"])

    asyncio.run(go())
