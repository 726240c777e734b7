"""Logs of Inspect: `.eval`, an archive with a file a sample, and `.json`, all samples in one object."""

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from plaudit.adapters.logs.json_stream import read_members
from plaudit.adapters.logs.log import BadRow, Logged, read_number, refuse, require
from plaudit.adapters.rollouts import build_call
from plaudit.errors import FileError, LedgerError
from plaudit.rows.files import explain_missing_arrow

_VERSION = 2
"""Of the logs that can be read."""
_ZSTANDARD = 93
"""How Inspect compresses since 0.3.2xx, which Python can from 3.14 on."""
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What Inspect's own metrics make of a grade."""
_TOTAL = "total"
"""What a scorer that plaudit made calls its total."""
_ATTACHMENT = "attachment://"


class InspectLog:
    """An `.eval` archive or a `.json` file."""

    tool = "inspect"

    def __init__(self, path: Path) -> None:
        """Keep the path."""
        self.path = path
        self._headline: str | None = None

    def read(self) -> Iterator[Logged | BadRow]:
        """Yield its samples: every epoch of each is a rollout."""
        with self.path.open("rb") as file:
            is_archive = file.read(2) == b"PK"
        yield from self._read_archive() if is_archive else self._read_object()

    def choose(self, names: Set[str]) -> Sequence[str]:
        """Return the only score, or the one that the log reports first."""
        if len(names) < 2:
            return sorted(names)
        if self._headline is not None and self._headline in names:
            return [self._headline]
        raise LedgerError(
            f"{self.path} has several scores and does not say which is the reward: {', '.join(sorted(names))}. Choose: "
            f"--score {min(names)} (scores= in Python); several are added up."
        )

    # -- files ------------------------------------------------------------------------------------------------------

    def _read_archive(self) -> Iterator[Logged | BadRow]:
        try:
            with zipfile.ZipFile(self.path) as archive, self.path.open("rb") as file:
                infos = {info.filename: info for info in archive.infolist()}  # of one that was written again, the last
                head = infos.get("header.json") or infos.get("_journal/start.json")
                if head is None:
                    raise FileError(f"{self.path} is not a log of Inspect: it has no header.json.")
                self._check_head(json.loads(_extract(archive, file, head)))
                samples = [info for name, info in infos.items() if name.startswith("samples/")]
                for number, info in enumerate(samples, start=1):
                    place = f"{self.path}/{info.filename}"
                    try:
                        text = _extract(archive, file, info)
                    except zipfile.BadZipFile as error:
                        yield refuse(place, number, error, "")
                    else:
                        yield _read_sample(place, number, text)
        except (zipfile.BadZipFile, json.JSONDecodeError) as error:
            raise FileError(f"{self.path} is not a whole log of Inspect: {str(error).rstrip('.')}.") from None

    def _read_object(self) -> Iterator[Logged | BadRow]:
        number, path = 0, str(self.path)
        seen = set()
        for name, value in read_members(self.path, "samples"):
            seen.add(name)
            if name == "samples":
                number += 1
                yield value if isinstance(value, BadRow) else _read_sample(path, number, value)
            elif name == "version":
                self._check_head({"version": value})
            elif name == "results":
                self._check_head({"version": _VERSION, "results": value})
        if not {"version", "eval"} <= seen:
            raise FileError(f"{path} is not a log of Inspect: it has no 'version' or no 'eval'.")

    def _check_head(self, head: Any) -> None:
        version = head.get("version") if isinstance(head, dict) else None
        if version != _VERSION:
            raise FileError(
                f"{self.path} is not a log of Inspect of version {_VERSION}, which this plaudit reads: its version is "
                f"{version!r:.60}."
            )
        self._headline = ((head.get("results") or {}).get("headline") or {}).get("score")


def _extract(archive: zipfile.ZipFile, file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """Return a file of an archive, also if Python cannot decompress it."""
    if info.compress_type != _ZSTANDARD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return archive.read(info)
    with explain_missing_arrow("an .eval log"):
        import pyarrow as pa
    file.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, 1)
    try:
        with pa.CompressedInputStream(pa.BufferReader(file.read(info.compress_size)), "zstd") as stream:
            found: bytes = stream.read()
    except (OSError, struct.error) as error:
        raise zipfile.BadZipFile(f"{info.filename} cannot be decompressed: {error}") from None
    if zipfile.crc32(found) != info.CRC:  # type: ignore[attr-defined]
        raise zipfile.BadZipFile(f"{info.filename} is not intact: its checksum does not match")
    return found


# -- samples -----------------------------------------------------------------------------------------------------------


def _read_sample(file: str, number: int, given: Any) -> Logged | BadRow:
    try:
        return _build(file, number, json.loads(given) if isinstance(given, bytes) else given)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return refuse(file, number, error, given.decode("utf-8", "replace") if isinstance(given, bytes) else given)


def _build(file: str, number: int, sample: Any) -> Logged:
    given = require(sample, "input", (str, list))
    group, epoch = str(require(sample, "id", (str, int))), require(sample, "epoch", int)
    target = require(sample, "target", (str, list))
    target = target if isinstance(target, str) else "".join(target)
    texts = sample.get("attachments") or {}
    parts = {"answer": target, **(sample.get("metadata") or {}), "target": target, "epoch": epoch}
    parts["prompt"] = given if isinstance(given, str) else [_read_message(each, texts) for each in given]
    parts["completion"] = _list_replies(sample, texts)
    if sample.get("choices"):
        parts["choices"] = sample["choices"]
    scores, why = _read_scores(sample.get("scores") or {})
    error = sample.get("error")
    started = sample.get("started_at")
    return Logged(
        id=sample.get("uuid") or f"{group} epoch {epoch}",
        group=group,
        file=file,
        line=number,
        parts=parts,
        scores=scores,
        failed=why if error is None else f"Inspect: {error['message']}",
        at=None if started is None else round(1e6 * datetime.fromisoformat(started).timestamp()),
    )


def _read_scores(given: Mapping[str, Any]) -> tuple[dict[str, float], str | None]:
    """Return the scores by name, and why there is none."""
    found: dict[str, float] = {}
    why = None
    for scorer, score in given.items():
        value = require(score, "value", (str, int, float, dict, list, type(None)))
        values = (
            {f"{scorer}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {scorer: value}
        )
        if isinstance(value, dict) and "reward_fingerprint" in (score.get("metadata") or {}):
            values = {scorer: value[_TOTAL]}  # plaudit's own: the other entries are its terms
        for name, each in values.items():
            number = _to_number(name, each)
            if number == number:
                found[name] = number
            else:
                reason, said = score.get("reason"), score.get("explanation")
                why = why or ": ".join(filter(None, (f"{name} gave no score", reason, said)))
    return found, None if found else why


def _to_number(name: str, value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, str):
        grade = _LETTERS.get(value, _LETTERS.get(value.lower()))
        try:
            return float(value) if grade is None else grade
        except ValueError:
            raise TypeError(f"the score {name!r} is not a number but {value!r:.60}") from None
    return read_number(name, value)


def _list_replies(sample: Mapping[str, Any], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what the model wrote, and what tools answered; messages of the input, such as examples, are left out."""
    messages = sample.get("messages") or []
    written = [require(each, "role", str) != "" and each.get("source") == "generate" for each in messages]
    if not any(written):
        choices = (sample.get("output") or {}).get("choices") or []
        return [_read_message(each["message"], texts) for each in choices]
    return [_read_message(each, texts) for each in messages[written.index(True) :]]


def _read_message(message: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a message as trainers have it: reasoning apart, and tool calls as chat templates have them."""
    content = message["content"]
    found: dict[str, Any] = {"role": message["role"]}
    if isinstance(content, str):
        found["content"] = _resolve(content, texts)
    else:
        thoughts = [_resolve(part["reasoning"], texts) for part in content if part["type"] == "reasoning"]
        rest = [part for part in content if part["type"] != "reasoning"]
        found["content"] = [
            {**part, "text": _resolve(part["text"], texts)} if part["type"] == "text" else part for part in rest
        ]
        if thoughts:
            found["reasoning_content"] = "\n".join(thoughts)
    if calls := message.get("tool_calls"):
        found["tool_calls"] = [build_call(call["function"], call["arguments"], call.get("id")) for call in calls]
    return found


def _resolve(text: str, texts: Mapping[str, str]) -> str:
    """Return a text, which Inspect may keep apart if it is long."""
    if not text.startswith(_ATTACHMENT):
        return text
    return texts[text.removeprefix(_ATTACHMENT)]
