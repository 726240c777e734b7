"""Rollouts in a ledger: each sample with its texts, the answers of judges, its group, and the reward or why it has none."""

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.errors import InputError, LedgerError, WrongType
from plaudit.ledger.context import encode_context, validate_scope
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.ledger.storage.batch import score_batch
from plaudit.ledger.storage.codec import PackedRecord, RecordLayout
from plaudit.ledger.storage.computation import Computation
from plaudit.ledger.storage.episode_parts import MASKED
from plaudit.ledger.storage.texts import TEXTS, StoredText, seal_text
from plaudit.llm.feature import FeatureSet
from plaudit.llm.sample import Sample
from plaudit.llm.scored import Scored
from plaudit.reward.reward import Reward

Keep = str | Callable[[str], str]
"""What is kept of texts: "keep" all, "hash" only digests, or a function from a text to what is kept of it."""
_PROMPT, _ROLLOUT, _FEATURES = "prompt", "rollout", "features"


@dataclass(frozen=True, slots=True)
class Rollout:
    """A rollout as it was recorded."""

    record: Record
    sample: Sample | None
    """The sample; None where its texts were not kept, or were forgotten."""
    answers: Mapping[str, str]
    """What judges said, by feature."""
    group: str | None
    """What tells completions of one prompt in one step from others."""
    prompt_id: str | None
    """What tells a prompt from others, in all steps of a run."""
    policy: str | None
    """The version of the policy that wrote it."""
    features: Mapping[str, str]
    """The fingerprint of each feature."""


class RolloutRecorder:
    """Records scored batches as the rollouts of one actor of a run."""

    def __init__(
        self,
        ledger: Ledger,
        reward: Reward,
        features: FeatureSet,
        *,
        run: str | None,
        actor: str | None,
        texts: Keep,
    ) -> None:
        """Check the arguments, add the reward to the ledger and claim the actor.

        Raises:
            WrongType: `ledger` is not a Ledger, or `texts` not a choice.
            VersionConflict: The ledger has another formula under the reward's label.
            ActorInUse: Another live writer has the actor.
        """
        if not isinstance(ledger, Ledger):
            raise WrongType(f"ledger={ledger!r:.60} is not a Ledger; pass Ledger('rewards.db').")
        if not callable(texts) and texts not in ("keep", "hash"):
            raise WrongType(f"texts={texts!r:.60} is not 'keep', 'hash' or a function from a text to what is kept.")
        ledger.register(reward)
        self._ledger, self._texts = ledger, texts
        claims, self._claim, self._last = ledger._claim_actor(run, actor)
        self._released = weakref.finalize(self, claims.abandon, self._claim)
        self._key = os.urandom(16)
        self._features = seal_text(json.dumps(features.fingerprints, sort_keys=True), salted=False)

    def record(self, scored: Scored, *, step: int | None = None, policy: str | None = None) -> list[int]:
        """Record a batch; it is durable when this returns.

        Returns:
            The numbers of the records, in order.
        """
        if not scored.samples:
            return []
        store = self._ledger._store
        run, actor = self._claim
        scope, now, first = validate_scope(run, None, None, actor), store.writer.now(), self._last + 1
        numbers = self._pack_numbers(scored, store.specs.get_layout)
        texts: list[StoredText] = [self._features]
        prompts: dict[Any, StoredText] = {}
        orders: dict[Any, int] = {}
        records = []
        for at, sample in enumerate(scored.samples):
            group = scored.groups[at]
            kept = self._keep_texts(scored, at, sample, group, prompts)
            texts += [text for text in kept.values() if text is not None]
            order = orders.setdefault(group, len(orders))
            about: dict[str, Any] = {TEXTS: {name: text.name for name, text in kept.items() if text is not None}}
            about[TEXTS][_FEATURES] = self._features.name
            about |= {"group": f"{'' if step is None else step}/{order}", "prompt_id": self._name(sample.get("prompt"))}
            about["text_id"] = self._name(sample.get("completion"))
            about |= {} if policy is None else {"policy": policy}
            if (reason := scored.reasons.get(at) or scored.abstained.get(at)) is not None:
                about[MASKED] = reason.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
            layout, target, inputs, outputs = numbers[at]
            context = encode_context(about)
            records.append(
                PackedRecord(layout, target, scope, now, None, str(first + at), step, context, inputs, outputs)
            )
        numbers_of = self._ledger._write_with_texts(records, texts)
        self._last += len(records)
        return numbers_of

    def _keep_texts(
        self, scored: Scored, at: int, sample: Sample, group: Any, prompts: dict[Any, StoredText]
    ) -> dict[str, StoredText | None]:
        if self._texts == "hash":
            return {}
        plain = {name: part for name, part in sample.items() if _is_plain(part) and not name.endswith("_ids")}
        if callable(self._texts):
            plain = {name: _redact(part, self._texts) for name, part in plain.items()}
        prompt = plain.pop("prompt", None)
        if group not in prompts:
            prompts[group] = seal_text(json.dumps({"prompt": prompt}))
        answers = scored.answers.get(at, {})
        if callable(self._texts):
            answers = {name: self._texts(text) for name, text in answers.items()}
        return {_PROMPT: prompts[group], _ROLLOUT: seal_text(json.dumps({"parts": plain, "answers": answers}))}

    def _name(self, part: Any) -> str:
        """Return what tells a text from others of this recorder, and says nothing about it to anybody else."""
        said = json.dumps(part, sort_keys=True, default=repr)
        return hashlib.blake2s(said.encode(), key=self._key, digest_size=6).hexdigest()

    def _pack_numbers(
        self, scored: Scored, get_layout: Callable[[Reward], RecordLayout]
    ) -> list[tuple[RecordLayout, str, bytes, bytes]]:
        """Return the layout, the target, the inputs and the outputs of each sample; NaN where it has no reward."""
        packed: list[Any] = [None] * len(scored.samples)
        by_reward: dict[Reward, list[int]] = {}
        for at, reward in enumerate(scored.rewards):
            if scored.totals[at] is not None:
                by_reward.setdefault(reward, []).append(at)
            else:
                layout = get_layout(reward)
                target = Computation("numpy", inputs=()).format(layout.scored.program)
                blank = (np.full(width, np.nan).tobytes() for width in (layout.width, layout.breadth))
                packed[at] = layout, target, *blank
        for reward, which in by_reward.items():
            layout = get_layout(reward)
            columns = {name: np.array([scored.inputs[at][name] for at in which]) for name in reward.inputs}  # type: ignore[index]
            try:
                inputs, outputs, target = score_batch(layout, columns)
            except InputError:  # of types that a batch does not mix, and a single row may
                for at in which:
                    signal = scored.build_signal(at)
                    record = layout.pack(signal, lambda: 0, None, (None,) * 4, None, None, None, None)
                    packed[at] = layout, record.target, record.inputs, record.outputs
                continue
            for place, at in enumerate(which):
                packed[at] = layout, target, inputs[place].tobytes(), outputs[place].tobytes()
        return packed


def read_rollouts(ledger: Ledger, records: Iterable[Record]) -> Iterator[Rollout]:
    """Yield records of rollouts with their texts; other records are left out."""
    for record in records:
        texts = ledger.read_texts(record)
        if _FEATURES not in texts:
            continue
        prompt, rollout = (json.loads(text) if (text := texts.get(name)) else None for name in (_PROMPT, _ROLLOUT))
        about = record.context
        sample = None
        if prompt is not None and rollout is not None:
            sample = Sample({**prompt, **rollout["parts"]})
        yield Rollout(
            record,
            sample,
            {} if rollout is None else rollout["answers"],
            about.get("group"),
            about.get("prompt_id"),
            about.get("policy"),
            json.loads(texts[_FEATURES] or "{}"),
        )


def _is_plain(part: Any) -> bool:
    """Return whether a part of a sample is plain data: what else a trainer passes is not kept."""
    if isinstance(part, str | int | float | bool) or part is None:
        return True
    if isinstance(part, Mapping):
        return all(isinstance(name, str) and _is_plain(each) for name, each in part.items())
    return isinstance(part, list | tuple) and all(map(_is_plain, part))


def _redact(part: Any, redact: Callable[[str], str]) -> Any:
    """Return a part of a sample with what is kept of every string in it."""
    if isinstance(part, str):
        found = redact(part)
        if not isinstance(found, str):
            raise LedgerError(f"the function for texts returned {found!r:.60}, not a string; nothing was recorded.")
        return found
    if isinstance(part, Mapping):
        return {name: each if name in ("role", "type") else _redact(each, redact) for name, each in part.items()}
    return [_redact(each, redact) for each in part] if isinstance(part, list | tuple) else part
