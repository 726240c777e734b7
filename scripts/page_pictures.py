"""Take screenshots of the page: `python scripts/page_pictures.py [FOLDER]`; the default folder is docs/pictures.

The runs are of a simulated driver that learns to follow a convoy, rewarded by R0 of roadsense. The report is opened in
the system's Chromium, and every view is captured. An episode of hackmatrix shows fifteen terms.
"""

import random
import shutil
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from plaudit import Ledger, Reward
from plaudit.page.library import Library
from plaudit.page.report import build_report
from plaudit.systems import system
from plaudit.systems.roadsense.fields import BRAKE

WIDTH = 1280
EPISODES = 80
SEED = 3
BEGAN = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
LEDGER, VERSION, GAME = "convoy.db", "roadsense@following", "board.db"

Inputs = Mapping[str, float]


def main(folder: Path) -> None:
    """Record runs, write reports and take screenshots."""
    with TemporaryDirectory() as name:
        room = Path(name)
        record_drives(room / LEDGER)
        record_game(room / GAME)
        for file, sources in (("convoy.html", (str(room / LEDGER), VERSION)), ("board.html", (str(room / GAME),))):
            write_report(room / file, *sources)
        with sync_playwright() as playwright:
            path = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            for view in list_views():
                photograph(browser, view, (room / view.file).as_uri(), folder / f"page-{view.name}.png")
            browser.close()


class View(NamedTuple):
    """A screenshot: an address in a report, and the element to start from."""

    name: str
    file: str
    place: str
    height: int = 860
    start: str = "body"
    mode: Literal["light", "dark"] = "light"


def list_views() -> list[View]:
    """Return a view for each picture."""
    first, second = (system("roadsense").version(name).fingerprint for name in ("R0", "following"))
    run = "l0/learning"
    changed = "%7B%22safety.reward_unsafe%22%3A-8%7D"
    return [
        View("overview", "convoy.html", "index", height=480),
        View("reward", "convoy.html", f"reward/{first}", height=980),
        View("terms", "convoy.html", f"reward/{first}", start="section:has(.term)", height=900),
        View("run", "convoy.html", f"run/{run}", height=1080),
        View("episodes", "convoy.html", f"episodes/{run}"),
        View("episode", "convoy.html", f"episode/{run}/9?step=26", height=920),
        View("episode-dark", "board.html", "episode/l0/game/0?step=3", mode="dark"),
        View("step", "convoy.html", f"step/{run}/9/26", height=1180),
        View("what-if", "convoy.html", f"whatif/{run}?set={changed}", height=920),
        View("compare", "convoy.html", f"compare/{run}/{first}/{second}"),
    ]


# -- what is recorded --------------------------------------------------------------------------------------------------


def record_drives(path: Path) -> None:
    """Record episodes of a driver that brakes better the longer it has learned."""
    rng = random.Random(SEED)
    reward = system("roadsense").version("R0")
    with Ledger(path) as ledger:
        for episode in range(EPISODES):
            rows = list(drive(rng, skill=0.15 + 0.85 * episode / EPISODES))
            at = BEGAN + timedelta(minutes=episode)
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            ends = {"terminated": rows[-1]["distance"] < 5, "truncated": rows[-1]["distance"] >= 5}
            contexts = [{}] * (len(rows) - 1) + [ends]
            numbers = range(len(rows))
            ledger.record_batch(
                reward, columns, run="learning", episode=str(episode), step=numbers, context=contexts, at=at
            )


def drive(rng: random.Random, skill: float) -> Iterator[Inputs]:
    """Yield the inputs of an episode: the car ahead speeds up and slows down, and the driver reacts."""
    gap, closing = 28.0 + rng.gauss(0, 5), 0.0
    for _ in range(rng.randint(45, 60)):
        wanted = (30 - gap) * 0.25 * skill + closing * 0.8 * skill + rng.gauss(0, 3.2 * (1.05 - skill))
        action = sum(wanted > limit for limit in (0.3, 1.5, 3.5))
        closing = 0.85 * closing + rng.gauss(0.25, 0.9) - 0.45 * BRAKE[action] * 0.5
        gap = max(0.0, gap - closing)
        yield {"distance": gap, "deceleration": BRAKE[action], "action": action}
        if gap < 5:
            return


def record_game(path: Path) -> None:
    """Record the example episode of hackmatrix."""
    game = system("hackmatrix")
    reward: Reward = game.version("1.0.0")
    with Ledger(path) as ledger:
        for step, row in enumerate(game.episode()):
            ledger.record(reward.score(**row), run="game", episode="0", step=step, at=BEGAN)


def write_report(path: Path, *sources: str) -> None:
    """Write the report of some sources."""
    library = Library(sources)
    path.write_text(build_report(library).html, encoding="utf-8")
    library.close()


# -- pictures ----------------------------------------------------------------------------------------------------------


def photograph(browser: Browser, view: View, report: str, path: Path) -> None:
    """Save what a browser shows."""
    page = browser.new_page(viewport={"width": WIDTH, "height": view.height}, color_scheme=view.mode)
    page.goto(f"{report}#/{view.place}")
    page.wait_for_selector("main[data-shown] h1")
    page.wait_for_timeout(800)  # charts, and the worker of what if
    page.locator(view.start).evaluate("element => window.scrollBy(0, element.getBoundingClientRect().top - 16)")
    page.wait_for_timeout(100)
    page.screenshot(path=path)
    page.close()
    Image.open(path).convert("RGB").quantize(256, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path} ({path.stat().st_size // 1000} KB)")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent.parent / "docs" / "pictures")
