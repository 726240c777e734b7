"""Writes the kept files again: `python tests/golden/make.py`. Only for what no released plaudit has written yet.

`python tests/golden/make.py systems` adds the built-in rewards that are not kept yet; what is kept stays.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from golden.rewards import REWARDS, ROWS  # noqa: E402
from golden.vectors import VECTOR_REWARDS  # noqa: E402
from plaudit import Ledger, learn  # noqa: E402
from plaudit.systems import BUILT_IN, load, system  # noqa: E402
from support.bandits import LEARNERS, context_of, run_steps  # noqa: E402 - after the path

STEPS = [((1.0, 0.5, 0.2), 0.3), ((-1.0, 0.1, 2.0), -0.7), ((0.3, 0.3, 0.3), 0.1), ((0.0, 2.0, -1.0), 0.9)]
CONTEXT = (0.4, -0.2, 1.5)


def identity(reward) -> dict[str, str]:
    fingerprints = {"domain": reward.domain_fingerprint, "task": reward.task.fingerprint}
    return {"fingerprint": reward.fingerprint, **fingerprints, "spec": reward.to_json()}


def write(name: str, data: object) -> None:
    (HERE / name).write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def records(ledger) -> list[dict[str, object]]:
    return [json.loads(json.dumps(record.to_dict())) for record in (*ledger.history(), *ledger.history(job=1))]


def write_systems(kept: dict[str, dict[str, str]]) -> None:
    found = {f"{name}@{label}": identity(load(name, label)) for name in BUILT_IN for label in system(name).VERSIONS}
    write("systems.json", found | kept)


def main() -> None:
    write("rewards.json", {name: identity(reward) for name, reward in REWARDS.items()})
    write("vectors.json", {name: identity(reward) for name, reward in VECTOR_REWARDS.items()})
    write_systems({})
    path = HERE / "rewards.db"
    path.unlink(missing_ok=True)
    with Ledger(path) as ledger:
        for name, reward in REWARDS.items():
            for step, row in enumerate(ROWS[name]):
                context = {"note": f"row {step}", "nested": {"a": [1, 2.5, None]}}
                ledger.record(reward.score(**row), run="night", episode="1", step=step, key=f"{name}-{step}",
                              phase="early", decision_class="go", actor="one", context=context)  # fmt: skip
        ledger.rescore(REWARDS["maze"].with_params(solved={"bonus": 6.5}).with_version("2.2"), version="2.1")
        ledger.export(HERE / "ledger.jsonl", overwrite=True)
        write("records.json", records(ledger))
        ledger.compact()
    decisions = {}
    for name, learner in LEARNERS.items():
        state = run_steps(learner, STEPS)
        learn.save(HERE / f"learner-{name.replace(' ', '-')}.json", learner, state, note="kept")
        decision = learner.choose(state, 3, context_of(learner, CONTEXT))
        decisions[name] = {"action": decision.action, "probability": decision.probability}
    write("decisions.json", decisions)


if __name__ == "__main__":
    if sys.argv[1:] == ["systems"]:
        write_systems(json.loads((HERE / "systems.json").read_text(encoding="utf-8")))
    else:
        main()
