"""A million transitions with breakdown: the `javascript` target in Node against the `numpy` target on one thread.

`python bench/javascript.py [rows]`. Both score the same columns, in turns: with arrays of their own for each call, and
over those of the call before.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from peers import draw_roadsense
from timing import compare, size, table

from plaudit.systems import roadsense

TIMER = """\
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { defaults, score, scoreBatch } from "./reward.mjs";

const names = JSON.parse(process.argv[2]), rows = Number(process.argv[3]);
const read = (at) => Float64Array.from(new Float64Array(readFileSync(`${at}.bin`).buffer, 0, rows));
const columns = Object.fromEntries(names.map((name, at) => [name, read(at)]));
const knobs = { "safety.weight": 2 };
const kept = scoreBatch(columns);
const tasks = {
  fresh: () => scoreBatch(columns),
  kept: () => scoreBatch(columns, defaults, kept),
  knobs: () => scoreBatch(columns, knobs),
};
for await (const line of createInterface({ input: process.stdin })) {
  const found = tasks[line]();
  console.log(found.total[0] + found.total[rows - 1]);
}
"""


def main(count: int) -> None:
    if shutil.which("node") is None:
        print("javascript: 0 rows, as there is no Node.js here")
        return
    columns = draw_roadsense(count)
    compiled = roadsense.reward.compile("numpy")
    kept = compiled(columns)
    knobs = {"safety.weight": 2.0}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "reward.mjs").write_text(roadsense.reward.compile("javascript").module, encoding="utf-8")
        Path(folder, "timer.mjs").write_text(TIMER, encoding="utf-8")
        for at, column in enumerate(columns.values()):
            column.tofile(Path(folder, f"{at}.bin"))
        command = ["node", "timer.mjs", json.dumps(list(columns)), str(count)]
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:

            def ask(task: str) -> float:
                assert node.stdin is not None
                assert node.stdout is not None
                node.stdin.write(f"{task}\n")
                node.stdin.flush()
                return float(node.stdout.readline())

            assert ask("fresh") == kept.total[0] + kept.total[-1]
            result = compare(
                {
                    "numpy": lambda: compiled(columns),
                    "javascript": lambda: ask("fresh"),
                    "numpy, arrays kept": lambda: compiled(columns, out=kept),
                    "javascript, arrays kept": lambda: ask("kept"),
                    "numpy, other knobs": lambda: compiled(columns, knobs),
                    "javascript, other knobs": lambda: ask("knobs"),
                },
                calls=1,
                rounds=30,
            )
            assert node.stdin is not None
            node.stdin.close()
    print(f"{count:,} transitions of roadsense, 3 columns in, every term out, float64, one thread")
    rows: list[tuple[str, ...]] = [("what", "rows/s", "against numpy")]
    for name, best in result.best.items():
        peer = name.replace("javascript", "numpy")
        rows.append((name, f"{count / best:,.0f}", f"{result.ratio(name, peer):.2f}x"))
    table(rows)


if __name__ == "__main__":
    main(size(1_000_000, 20_000))
