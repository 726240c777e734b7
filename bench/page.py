"""The dashboard on a large ledger: from the command to the first picture, later clicks, and the memory of the server.

`python bench/page.py [steps]`. Episodes have 1,000 steps. Documents are timed from the request to the last byte; where
Chromium and Playwright are installed, views are too, from the change of the address to the painted frame. Processor
time says what a machine takes that does nothing else; where there is no `/proc`, it and memory are left out.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from episodes import LENGTH, record
from timing import QUICK, size, table

from plaudit import Ledger

CLICKS = 2 if QUICK else 200
AHEAD = 0 if QUICK else 10
"""Seconds in which the server builds what is likely to be asked for next; later clicks are a tenth of that apart."""
Server = tuple[subprocess.Popen[str], str, float]
"""A dashboard, where it is, and when its command was given."""
SHOW = """async (hash) => {
  const start = performance.now(), main = document.getElementById("main"), before = main.firstElementChild;
  const frame = () => new Promise(requestAnimationFrame);
  location.hash = hash;
  while (main.firstElementChild === before) await frame();
  await frame();
  return performance.now() - start;
}"""


def main(steps: int) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        path = Path(folder) / "rewards.db"
        with Ledger(path) as ledger:
            record(ledger, steps, 1)
        episodes = max(1, steps // LENGTH)
        print(f"A ledger of {steps:,} steps in {episodes:,} episodes, {path.stat().st_size / 2**20:,.0f} MiB\n")
        with start(path) as server:
            measure_documents(server, episodes)
            if QUICK:  # another server takes as long as all else
                measure_views(nullcontext(server), episodes)
        if not QUICK:
            measure_views(start(path), episodes)


@contextmanager
def start(path: Path) -> Iterator[Server]:
    """Start a dashboard, and end it."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "plaudit", "dashboard", str(path), "--port", "0", "--no-token", "--no-browser"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        yield running, running.stdout.readline().split()[-1], begun
    finally:
        running.terminate()
        running.wait(60)
        running.communicate()


def measure_documents(server: Server, episodes: int) -> None:
    running, url, begun = server
    rows: list[tuple[str, ...]] = [("what the server sends", "s", "KiB", "again, ms")]
    ask(url)
    index, _ = ask(f"{url}documents/index")
    first = time.perf_counter() - begun
    source = json.loads(index)["sources"][0]
    run, reward = source["runs"][0]["run"], source["runs"][0]["rewards"][0]
    at_first, processor = read_memory(running), read_processor(running)
    middle = episodes // 2
    named = {
        "the run": f"documents/run/l0/{run}",
        "its episodes": f"documents/episodes/l0/{run}",
        "an episode": f"documents/episode/l0/{run}/{middle}",
        "a step": f"documents/step/l0/{run}/{middle}/{LENGTH // 2}",
        "its clamps and branches": f"documents/steps/l0/{run}",
        "what can be turned": f"documents/whatif/l0/{run}",
        "the reward and its findings": f"documents/reward/{reward}",
    }
    rows.append(("the page and its index, from the command on", f"{first:.2f}", f"{len(index) / 1024:.0f}", "-"))
    for what, address in named.items():
        body, seconds = ask(url + address)
        _, again = ask(url + address)
        rows.append((what, f"{seconds:.3f}", f"{len(body) / 1024:,.0f}", f"{1000 * again:.1f}"))
    _, seconds = ask(f"{url}rescore/l0/{run}?set=%7B%22comfort.weight%22:2%7D")
    rows.append(("the whole run, scored with another weight", f"{seconds:.2f}", "-", "-"))
    table(rows)
    if processor:
        print(f"\nProcessor time of the server up to its index: {processor:.2f} s")
    times = []
    before = read_memory(running)
    for click in range(CLICKS):
        times.append(ask(f"{url}documents/episode/l0/{run}/{click * 7919 % episodes}")[1])
    times.sort()
    print(f"{CLICKS} further episodes: median {1000 * times[len(times) // 2]:.0f} ms", end=", ")
    print(f"95 % within {1000 * times[int(0.95 * len(times))]:.0f} ms")
    if at_first:
        after = read_memory(running)
        print(f"Memory of the server: {at_first} MiB at first, {before} MiB after these, {after} MiB after the clicks")


def measure_views(starting: AbstractContextManager[Server], episodes: int) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not (chromium and find_spec("playwright")):
        return
    from playwright.sync_api import sync_playwright

    print()
    with sync_playwright() as playwright, closing(playwright.chromium.launch(executable_path=chromium)) as browser:
        page = browser.new_page()
        with starting as (_, url, begun):
            page.goto(url)
            page.wait_for_selector("main h1")
            page.evaluate("() => new Promise(requestAnimationFrame)")
            rows: list[tuple[str, ...]] = [("what is seen", "at once, ms", "later, ms")]
            rows.append(("the first view, from the command on", f"{1000 * (time.perf_counter() - begun):,.0f}", "-"))
            index = fetch(f"{url}documents/index")
            run, reward = index["sources"][0]["runs"][0]["run"], index["sources"][0]["rewards"][0]["id"]

            def show(episode: int, wait: float) -> dict[str, float]:
                addresses = {
                    "the run": f"run/l0/{run}",
                    "its episodes": f"episodes/l0/{run}",
                    "an episode": f"episode/l0/{run}/{episode}",
                    "another episode": f"episode/l0/{run}/{episode + 1}",
                    "a step": f"step/l0/{run}/{episode}/{LENGTH // 2}",
                    "another step": f"step/l0/{run}/{episode}/{LENGTH // 2 + 1}",
                    "what if": f"whatif/l0/{run}",
                    "the reward": f"reward/{reward}",
                }
                times = {}
                for what, address in addresses.items():
                    times[what] = page.evaluate(SHOW, f"#/{address}")
                    time.sleep(wait)
                return times

            at_once = show(episodes // 2, 0)
            time.sleep(AHEAD)
            later = at_once if QUICK else show(episodes // 3, AHEAD / 10)
            table([*rows, *((what, f"{at_once[what]:,.0f}", f"{later[what]:,.0f}") for what in at_once)])


def ask(url: str) -> tuple[bytes, float]:
    begun = time.perf_counter()
    with urllib.request.urlopen(url, timeout=600) as answer:
        body = answer.read()
    return body, time.perf_counter() - begun


def fetch(url: str) -> Any:
    return json.loads(ask(url)[0])


def read_memory(running: subprocess.Popen[str]) -> int | None:
    """Return how many MiB a process has in memory."""
    status = Path(f"/proc/{running.pid}/status")
    if not status.exists():
        return None
    return int(status.read_text().split("VmRSS:")[1].split()[0]) // 1024


def read_processor(running: subprocess.Popen[str]) -> float | None:
    """Return for how many seconds a process has had a processor."""
    status = Path(f"/proc/{running.pid}/stat")
    if not status.exists():
        return None
    user, system = status.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(size(10_000_000, quick=4_000))
