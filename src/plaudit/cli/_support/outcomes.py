"""Read outcomes, named episodes ordered from worst to best, from a JSON file or ledgers."""

import json
from functools import partial
from pathlib import Path

from plaudit.errors import DefinitionError, FileError, InputError, NotInLedger, did_you_mean, explain_unreadable
from plaudit.language.codec import build_object
from plaudit.language.field import RECORDS
from plaudit.plugins.arguments import open_ledger
from plaudit.reward.reward import Reward
from plaudit.rows.row import Row, convert_infinities, flatten_records

Episodes = dict[str, list[Row]]
_ENTRIES = tuple(f"{record}." for record in RECORDS)


def read_outcomes(text: str) -> Episodes:
    """Return the episodes that `--outcomes` names, from a JSON file or from ledgers, in order."""
    return _read_recorded(text) if "#" in text and "=" in text and not Path(text).exists() else _read_file(Path(text))


def _read_recorded(text: str) -> Episodes:
    """Return episodes of ledgers: `rewards.db#night-3/7=parked,rewards.db#night-3/9=landed`."""
    found: Episodes = {}
    for part in text.split(","):
        place, _, name = part.rpartition("=")
        where, _, episode = place.rpartition("#")
        if not (where and episode and name.strip()):
            raise DefinitionError(f"--outcomes {part}: write an episode as LEDGER#run/episode=name, worst first.")
        if name in found:
            raise DefinitionError(f"--outcomes {text}: {name!r} is given twice.")
        found[name] = _read_episode(where, episode)
    return found


def _read_episode(where: str, wanted: str) -> list[Row]:
    """Return the rows of an episode that is called `run/episode`, or `run/actor/episode`, in a ledger."""
    from plaudit.ledger.summary.returns import name_episode

    with open_ledger(where) as ledger:
        known = {name_episode((each.run, each.actor, each.episode)): each for each in reversed(ledger.episodes())}
        if wanted not in known:
            near = did_you_mean(wanted, known)
            raise NotInLedger(f"{ledger.name} has no episode {wanted!r}.{near} `plaudit ledger episodes` lists them.")
        each = known[wanted]
        query = {name: getattr(each, name) for name in ("run", "actor", "episode", "reward", "version")}
        rows: list[Row] = []
        for record in ledger.history(**{name: value for name, value in query.items() if value is not None}):
            if record.signal.frame.part == "final" and rows:  # the end belongs to the last step
                rows[-1] = {**rows[-1], **record.signal.inputs, "terminal": True}
            else:
                rows.append(dict(record.signal.inputs))
        return rows


def _read_file(path: Path) -> Episodes:
    try:
        found = json.loads(
            path.read_text(encoding="utf-8-sig"), object_pairs_hook=partial(build_object, refuse=_refuse_doubled)
        )
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise explain_unreadable(path, error) from None
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict) or not found:
        raise FileError(f"{path}: outcomes must be a JSON object from names to lists of rows, worst first.")
    for name, rows in found.items():
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise FileError(f"{path}: the outcome {name!r} must be a list of rows, each a JSON object.")
    return found


def arrange_outcomes(outcomes: Episodes, reward: Reward) -> Episodes:
    """Return the rows as `reward.score` takes them: `prev` and `curr` as records, "inf" as a number.

    >>> from plaudit.systems import load
    >>> arrange_outcomes({"lost": [{"distance": "inf", "action": 0}]}, load("roadsense"))
    {'lost': [{'distance': inf, 'action': 0}]}
    """
    try:
        return {name: [_arrange_row(row, reward) for row in rows] for name, rows in outcomes.items()}
    except InputError as error:
        raise FileError(str(error)) from None


def _arrange_row(row: Row, reward: Reward) -> Row:
    nested: Row = {}
    for key, value in flatten_records(row).items():
        record, _, name = key.rpartition(".") if key.startswith(_ENTRIES) else ("", "", key)
        field = reward.fields.get(name)
        number = convert_infinities(value) if field is not None and field.kind == "number" else value
        (nested.setdefault(record, {}) if record else nested)[name] = number
    return nested


def _refuse_doubled(name: str) -> FileError:
    return FileError(f"{name!r} is given twice.")
