"""Re-scoring a data set from the command line: here, or on an engine beyond one process."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from plaudit.cli.errors import SOME_BAD, terminable
from plaudit.cli.ledger.watching import bar, sentence
from plaudit.cli.rewards import find_reward
from plaudit.cli.texts import printable
from plaudit.errors import DefinitionError
from plaudit.ledger.dataset import FileRescoring, rescore_file
from plaudit.reward.reward import Reward
from plaudit.systems import BUILT_IN


def rescore_dataset(source: str, reward: Reward, engine: str, options: Mapping[str, Any], as_json: bool) -> None:
    """Re-score a data set, and print what came of it."""
    for name in ("against", "decision_class", "decision") if engine != "local" else ():
        if options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs the local engine; {engine} only writes.")
    if (options["decision_class"] or options["decision"]) and not options["against"]:
        raise click.UsageError("--decision-class and --decision tell what flips --against something; name that too.")
    output = options["out"] or _beside(source)
    common: dict[str, Any] = {
        "keep": options["keep"] or None,
        "columns": _renamed(options["columns"]),
        "on_bad": options["on_bad"] or "mask",
        "scores": options["scores"],
        "prefix": options["prefix"] or "",
        "overwrite": options["force"],
    }
    with terminable():
        done = (
            _here(source, reward, output, options, common)
            if engine == "local"
            else _there(engine, source, reward, output, common)
        )
    click.echo(json.dumps(done.to_dict(), indent=2, default=str) if as_json else printable(str(done)))
    if done.bad or done.unreadable:
        raise click.exceptions.Exit(SOME_BAD)


def _here(
    source: str, reward: Reward, output: str, options: Mapping[str, Any], common: Mapping[str, Any]
) -> FileRescoring:
    against = _old(options["against"])
    with bar(Path(source).name) as progress:
        return rescore_file(
            reward,
            source,
            output,
            against=against,
            decision_class=options["decision_class"],
            decision=options["decision"],
            progress=progress,
            **common,
        )


def _there(engine: str, source: str, reward: Reward, output: str, common: Mapping[str, Any]) -> FileRescoring:
    with sentence(f"{engine} is at work"):
        if engine == "ray":
            from plaudit.adapters.ray import rescore_with_ray

            return rescore_with_ray(reward, source, output, **common)
        from plaudit.adapters.spark import rescore_with_spark

        return rescore_with_spark(reward, source, output, **common)


def _old(text: str | None) -> Reward | str | None:
    """Return the reward that `text` names, or the column."""
    if text is None or not (text.partition("@")[0] in BUILT_IN or ":" in text or text.endswith(".json")):
        return text
    return find_reward(text)


def _renamed(given: Sequence[str]) -> dict[str, str]:
    """Return where inputs lie, from texts like `distance=gap_m`."""
    pairs = [text.partition("=") for text in given]
    for text, (name, _, column) in zip(given, pairs, strict=True):
        if not name or not column:
            raise DefinitionError(f"--column {text}: write an input and the column it lies in, as in distance=gap_m.")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _beside(source: str) -> str:
    """Return the name of the output that nobody named.

    >>> _beside("runs/rows.parquet"), _beside("runs/")
    ('runs/rows.rescored.parquet', 'runs.rescored')
    """
    path = Path(source)
    return str(path.with_name(f"{path.stem}.rescored{path.suffix}"))
