"""Draw the curves of training runs: `python scripts/training_curves.py LABEL=LOG … > docs/pictures/training.svg`.

A LOG is the `log.jsonl` of a run. The mean return and the final stage of finished episodes are drawn over steps,
averaged over neighboring updates.
"""

import json
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, POINTS = 360, 220, 50, 30, 120
COLORS = ("#2563eb", "#ea580c", "#16a34a", "#9333ea")
PANELS = (("return", "mean return of an episode"), ("stage", "mean final stage"))


def curve(log: Path, name: str) -> list[tuple[float, float]]:
    """Return steps in millions and a figure, in at most `POINTS` means of neighboring updates."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    rows = [row for row in rows if row[name] is not None]
    size = -(-len(rows) // POINTS)
    groups = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [(group[-1]["steps"] / 1e6, sum(row[name] for row in group) / len(group)) for group in groups]


def panel(runs: dict[str, Path], name: str, title: str, offset: int) -> list[str]:
    """Return one set of axes with a line per run."""
    curves = {label: curve(log, name) for label, log in runs.items()}
    steps = max(x for points in curves.values() for x, _ in points)
    values = [y for points in curves.values() for _, y in points]
    low, high = min(0.0, *values), max(values)

    def x(value: float) -> float:
        return offset + LEFT + value / steps * WIDTH

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * HEIGHT

    parts = [f'<text x="{offset + LEFT}" y="18" font-weight="bold">{title}</text>']
    for number in range(5):
        at = low + (high - low) * number / 4
        parts.append(f'<path d="M{x(0):.1f} {y(at):.1f}H{x(steps):.1f}" stroke="#8884"/>')
        parts.append(f'<text x="{offset + LEFT - 6}" y="{y(at) + 4:.1f}" text-anchor="end">{at:.1f}</text>')
        step = steps * number / 4
        parts.append(f'<text x="{x(step):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{step:.0f} M</text>')
    for color, (label, points) in zip(COLORS, curves.items(), strict=False):
        line = "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in points)
        parts.append(f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="2"><title>{label}</title></path>')
    return parts


def main(arguments: list[str]) -> None:
    """Print the picture."""
    runs = {label: Path(log) for label, _, log in (argument.partition("=") for argument in arguments)}
    if not runs or not all(log.is_file() for log in runs.values()):
        sys.exit(__doc__)
    width, height = 2 * (LEFT + WIDTH + 20), TOP + HEIGHT + 56
    parts = [part for at, (name, title) in enumerate(PANELS) for part in panel(runs, name, title, at * width // 2)]
    for at, (color, label) in enumerate(zip(COLORS, runs, strict=False)):
        left = LEFT + 200 * at
        parts.append(f'<path d="M{left} {height - 14}h24" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{left + 30}" y="{height - 10}">{label}</text>')
    style = 'font-family="sans-serif" font-size="12" fill="#888"'
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>')
    print(*parts, "</svg>", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
