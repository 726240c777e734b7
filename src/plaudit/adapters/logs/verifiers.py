"""Logs of verifiers: `traces.jsonl`, a line an episode, and, before 0.4, `results.jsonl`, a line a rollout."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from plaudit.adapters.logs.log import BadRow, Logged, read_number, refuse, require
from plaudit.adapters.rollouts import build_call
from plaudit.errors import SpecError
from plaudit.rows.lines import read_lines
from plaudit.rows.streams import Source

TRACES, RESULTS = "traces.jsonl", "results.jsonl"
_VERSION = 1
"""Of the traces that can be read."""
_LONGEST = 256 << 20
"""Bytes of a line: an episode has everything that was said in it, and its tokens."""
_REWARD = "reward"
_BOOKKEEPING = {
    *("example_id", "reward", "error", "error_chain", "long_error_chain", "timing", "is_completed", "is_truncated"),
    *("stop_condition", "token_usage", "tool_defs", "trajectory"),
}
"""What a line of `results.jsonl` has besides the sample."""
_MACHINE = {
    *("image", "workdir", "agent_user", "skills", "network_allow", "network_block", "artifacts", "artifact_max_bytes"),
    *("timeout", "resources"),
}
"""What the data of a task says about the machine that it runs on."""


class VerifiersLog:
    """A file of lines."""

    tool = "verifiers"

    def __init__(self, path: Path, *, traces: bool) -> None:
        """Keep the path, and whether its lines are episodes."""
        self.path, self._traces = path, traces

    def read(self) -> Iterator[Logged | BadRow]:
        """Yield the rollouts of each line."""
        file = str(self.path)
        with Source(file) as source:
            for number, line in read_lines(source.file, file, _LONGEST):
                if line is None:
                    yield BadRow(file, number, f"it is longer than {_LONGEST >> 20} MiB; what follows was not read")
                elif line.strip():
                    yield from self._read_line(file, number, line)

    def _read_line(self, file: str, number: int, line: bytes) -> Iterator[Logged | BadRow]:
        try:
            row = json.loads(line)
            if self._traces:
                traces = require(row, "traces", list)
                yield from [_read_trace(file, number, row, trace, alone=len(traces) == 1) for trace in traces]
            else:
                yield _read_result(file, number, row, line)
        except json.JSONDecodeError as error:
            yield BadRow(file, number, f"it is not whole JSON: {error}", repr(line[:2000]))
        except (SpecError, KeyError, TypeError, ValueError, RecursionError) as error:
            yield refuse(file, number, error, line.decode("utf-8", "replace"))

    def choose(self, names: Set[str]) -> Sequence[str]:
        """Return all: the weights, or the total itself, are recorded."""
        return sorted(names)


def _read_trace(file: str, line: int, episode: Mapping[str, Any], trace: Any, *, alone: bool) -> Logged:
    if require(trace, "version", int) != _VERSION:
        raise SpecError(f"its trace has version {trace['version']}, and this plaudit reads version {_VERSION}")
    task = require(trace, "task", Mapping)
    data = require(task, "data", Mapping)
    given = {name: each for name, each in require(trace, "rewards", Mapping).items() if each is not None}
    name = require(require(trace, "agent", Mapping), "name", str) if not alone else None
    own = {"completion": _list_replies(require(trace, "nodes", list))} | ({} if name is None else {"agent": name})
    metrics = {"metrics": trace["metrics"]} if trace.get("metrics") else {}
    group = (episode.get("group") or {}).get("id") or task.get("key") or task.get("hash") or json.dumps(data)
    work = (episode.get("run") or {}).get("work") or {}
    return Logged(
        id=require(trace, "id", str),
        group=str(group) if name is None else f"{group} {name}",
        file=file,
        line=line,
        parts={"prompt": None, **{part: data[part] for part in data.keys() - _MACHINE}, **metrics, **own},
        scores={reward: read_number(reward, each["score"]) for reward, each in given.items()},
        weights={reward: read_number(reward, each["weight"]) for reward, each in given.items()},
        failed=_explain_trace(trace),
        step=work.get("step"),
        policy=_name_policy(work.get("policy")),
        at=round(1e6 * trace["timing"]["start"]),
    )


def _explain_trace(trace: Mapping[str, Any]) -> str | None:
    """Return why verifiers leaves out a trace; None if it does not."""
    if trace.get("ok"):
        return None
    errors = trace.get("errors") or ()
    return f"{errors[-1]['type']}: {errors[-1]['message']}" if errors else "verifiers marked the rollout as failed"


def _name_policy(span: Mapping[str, int] | None) -> str | None:
    if span is None:
        return None
    return str(span["start"]) if span["start"] == span["end"] else f"{span['start']}-{span['end']}"


def _list_replies(nodes: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what the model wrote, as messages like those of other trainers."""
    replies = []
    for node in nodes:
        message = require(node, "message", Mapping)
        if node.get("sampled") and message.get("role") == "assistant":
            reply = dict(message)
            if calls := reply.get("tool_calls"):
                reply["tool_calls"] = [build_call(call["name"], call["arguments"], call["id"]) for call in calls]
            replies.append(reply)
    return replies


def _read_result(file: str, line: int, row: Any, text: bytes) -> Logged:
    completion = require(row, "completion", (str, list, type(None)))
    paid, error = row.get(_REWARD), row.get("error")
    metrics = row.get("metrics") or {}
    left_out = _BOOKKEEPING | metrics.keys()
    parts = {name: part for name, part in row.items() if name not in left_out}
    failed = None
    if error is not None:
        failed = str(error.get("error_chain_repr", error) if isinstance(error, Mapping) else error)
    elif completion is None:
        failed = "the model wrote nothing"
    start = (row.get("timing") or {}).get("start_time")
    return Logged(
        id=f"{line} {hashlib.blake2s(text, digest_size=8).hexdigest()}",
        group=str(require(row, "example_id", (int, str))),
        file=file,
        line=line,
        parts={
            **parts,
            "prompt": row["prompt"],
            "completion": [] if completion is None else completion,
            "metrics": metrics,
        },
        scores={} if paid is None else {_REWARD: read_number(_REWARD, paid)},
        failed=failed,
        at=None if not isinstance(start, float) or math.isnan(start) else round(1e6 * start),
    )
