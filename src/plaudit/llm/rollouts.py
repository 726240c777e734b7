"""Rollouts in a ledger: samples with their texts, what judges said, and the reward or why there is none."""

import hashlib
import json
import logging
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import InputError, LedgerError, WrongType
from plaudit.ledger.context import Scope, validate_scope, validate_string
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.ledger.storage.batch import score_batch
from plaudit.ledger.storage.codec import PackedRecord, RecordLayout
from plaudit.ledger.storage.computation import Computation
from plaudit.ledger.storage.episode_parts import LOST_TERMS, MASKED, find_lost_terms
from plaudit.ledger.storage.texts import FEATURES, FOUND, ID_KEY, LEFT_OUT, TEXTS, StoredText, name_texts, seal_text
from plaudit.llm.feature import FeatureSet
from plaudit.llm.grouping import GROUP, GROUP_SIZE, Membership, name_groups
from plaudit.llm.plain import NotPlain, decode_plain, encode_plain, is_large
from plaudit.llm.sample import Sample, spell_part
from plaudit.llm.scored import Scored
from plaudit.reward.reward import Reward

_LOG = logging.getLogger("plaudit")
Keep = str | Callable[[str], str]
"""What is kept of texts: "keep" all, "hash" only digests, or a function from a text to what is kept of it."""
_TOGETHER = 256
"""Rollouts to read the texts of at a time."""
_PARTS = _PROMPT, _ROLLOUT, _ANSWERS = "prompt", "rollout", "answers"
_TOKENS = "prompt_ids", "completion_ids"
"""Parts that say in numbers what is recorded as text: kept only if a feature reads them."""
APPLIES = "applies"
"""Under which name the context of a record says that the reward is not about its sample."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A rollout as it was recorded.

    Example:
        ```python
        for rollout in read_rollouts(ledger, ledger.history(run="night-3")):
            print(rollout.record.total, rollout.sample and rollout.sample.text)
        ```
    """

    record: Record
    sample: Sample | None
    """The sample; None where its texts were not kept, or were forgotten."""
    answers: Mapping[str, str]
    """What judges said, by feature."""
    group: str | None
    """What tells completions of one prompt that were scored together from others, whichever process recorded them."""
    prompt_id: str | None
    """What tells a prompt from others in a run; without texts or a run, in a process. See `Ledger.forget`."""
    policy: str | None
    """The version of the policy that wrote it."""
    features: Mapping[str, str]
    """The fingerprint of each feature."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """What features found, by feature: judges, and those that give the reward its inputs; also without a reward."""
    left_out: tuple[str, ...] = ()
    """Parts of the sample that were not recorded, since they are not plain data."""
    group_size: int | None = None
    """How many completions its group has, those of other processes too; None where nobody knows."""

    @property
    def applies(self) -> bool:
        """Whether the reward is about its sample, as `applies` of the `Scoring` said."""
        return self.record.context.get(APPLIES) is not False

    @property
    def lost_terms(self) -> str | None:
        """The terms that it was scored without, and why, with `on_lost_term="group"`; None where it has all."""
        return find_lost_terms(self.record.context)


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
        reads = {name for each in features.ordered for name in each.reads}
        self._packer = RolloutPacker(texts, features.fingerprints, reads=reads)
        ledger.register(reward)
        self._ledger, self._given = ledger, (run, actor)
        self._begin()

    def _begin(self) -> None:
        """Claim the actor, and go on after its last rollout; a copy by `pickle` or `fork` is another actor."""
        claims, self._claim, self._last = self._ledger._claim_actor(*self._given, "scorer")
        self._released = weakref.finalize(self, claims.abandon, self._claim)
        self._process, self._turn = os.getpid(), threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        names = ("_ledger", "_packer", "_given")
        return {name: getattr(self, name) for name in names} | {"_given": (self._given[0], None)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def record(
        self,
        scored: Scored,
        *,
        step: int | None = None,
        policy: str | None = None,
        groups: Sequence[Membership] | None = None,
    ) -> list[int]:
        """Record a batch; it is durable when this returns. Without `groups`, all of each group is in the batch.

        Returns:
            The numbers of the records, in order.
        """
        if not scored.samples:
            return []
        if self._process != os.getpid():
            self._given = (self._given[0], None)
            self._begin()
        with self._turn:
            return self._record(scored, step, policy, groups or name_groups(scored.groups))

    def _record(self, scored: Scored, step: int | None, policy: str | None, groups: Sequence[Membership]) -> list[int]:
        run, actor = self._claim
        scope, now, first = validate_scope(run, None, None, actor), self._ledger._store.writer.now(), self._last + 1
        policy = validate_string("policy", policy)
        places = [
            Place(scope, now, None, str(first + at), group, step, policy, group_size=size)
            for at, (group, size) in enumerate(groups)
        ]
        if self._packer.has_key:
            written = self._ledger._write_with_texts(*self._packer.pack(self._ledger, scored, places))
        else:  # processes that begin together take turns, so that one of them makes the key and the others find it
            key: list[IdKey] = []

            def pack() -> tuple[list[PackedRecord], list[StoredText]]:
                key[:] = [find_id_key(self._ledger, run)]
                return self._packer.pack(self._ledger, scored, places, key[0])

            written = self._ledger._pack_and_write(pack)
            self._packer.key = key[0]
        self._last += len(places)
        return written


class Place(NamedTuple):
    """Where a rollout belongs in a ledger."""

    scope: Scope
    at: int
    key: str | None
    episode: str
    group: str
    """What tells completions of one prompt that were scored together from others in the run."""
    step: int | None
    policy: str | None
    about: Mapping[str, Any] = {}
    """What its context says besides."""
    group_size: int | None = None


class IdKey(NamedTuple):
    """What ids of texts are made with, so that they say nothing to who does not have it."""

    secret: bytes
    name: str
    """How contexts name the text that keeps it."""
    stored: StoredText | None
    """The text, where it may not be in the ledger yet."""


def find_id_key(ledger: Ledger, run: str | None) -> IdKey:
    """Return the key of a run; a new one where it has none yet, or where it was forgotten."""
    for record in ledger.history(run=run).last(1) if run is not None else ():
        named = name_texts(record.context)
        (texts,) = ledger._read_texts_of([record.context])
        if (secret := texts.get(ID_KEY)) is not None:
            return IdKey(bytes.fromhex(secret), f"text:{named[ID_KEY]}", None)
    secret = os.urandom(16).hex()
    stored = seal_text(secret)
    return IdKey(bytes.fromhex(secret), stored.name, stored)


class RolloutPacker:
    """Makes records of scored samples, and the texts that they name."""

    def __init__(self, texts: Keep, fingerprints: Mapping[str, str], *, reads: Collection[str] = ()) -> None:
        """Keep what is kept of texts, the fingerprint of each feature, and which parts of samples they read."""
        if not callable(texts) and texts not in ("keep", "hash"):
            raise WrongType(f"texts={texts!r:.60} is not 'keep', 'hash' or a function from a text to what is kept.")
        self._texts, self._reads = texts, frozenset(reads)
        self._warned: set[str] = set()
        self._own_secret = os.urandom(16)
        self.key: IdKey | None = None
        """Found with the first rollouts; None until then."""
        self._features = seal_text(json.dumps(dict(fingerprints), sort_keys=True), salt=b"")

    @property
    def has_key(self) -> bool:
        """Whether it needs no key that it does not have: where no texts are kept, none is either."""
        return self.key is not None or self._texts == "hash"

    def pack(
        self, ledger: Ledger, scored: Scored, places: Sequence[Place], key: IdKey | None = None
    ) -> tuple[list[PackedRecord], list[StoredText]]:
        """Return a record for each sample, and the texts."""
        numbers = pack_numbers(scored, ledger._store.specs.get_layout)
        if key is None and not self.has_key:
            self.key = find_id_key(ledger, places[0].scope.run)
        key = key or self.key
        texts: list[StoredText] = [self._features, *filter(None, (key and key.stored,))]
        prompts: dict[str, StoredText] = {}
        records = []
        for at, (sample, place) in enumerate(zip(scored.samples, places, strict=True)):
            kept = self._keep_texts(scored, at, prompts)
            texts += kept.values()
            about: dict[str, Any] = {TEXTS: {name: text.name for name, text in kept.items()}}
            about[TEXTS][FEATURES] = self._features.name
            about[TEXTS] |= {} if key is None else {ID_KEY: key.name}
            about[GROUP] = place.group
            about |= {} if place.group_size is None else {GROUP_SIZE: place.group_size}
            about["prompt_id"] = self._name(sample.get("prompt"), key)
            about["text_id"] = self._name(sample.get("completion"), key)
            about |= {} if place.policy is None else {"policy": place.policy}
            about |= place.about
            about |= {APPLIES: False} if at in scored.outside else {}
            if self._texts == "hash" and (numbers_found := _list_numbers(scored, at)):
                about[FOUND] = numbers_found
            if at in scored.errors:
                reason = scored.reasons.get(at) or scored.abstained[at]
                about[MASKED] = clean_reason(self._keep_reason(scored.errors[at], reason))
            if at in scored.lost_errors:
                reason = self._keep_reason(scored.lost_errors[at], scored.lost_reasons[at])
                about[LOST_TERMS] = clean_reason(f"{', '.join(scored.lost_terms[at])}: {reason}")
            layout, target, inputs, outputs = numbers[at]
            where = place.scope, place.at, place.key, place.episode, place.step
            context = json.dumps(about, separators=(",", ":"))
            records.append(PackedRecord(layout, target, *where, context, inputs, outputs))
        return records, texts

    def _keep_texts(self, scored: Scored, at: int, prompts: dict[str, StoredText]) -> dict[str, StoredText]:
        """Return the texts of a sample to keep; a prompt once for all its completions."""
        if self._texts == "hash":
            return {}
        parts, left_out = self._encode_parts(scored.samples[at])
        answers: Mapping[str, Any] = scored.answers.get(at, {})
        found = encode_found(scored, at)
        if callable(self._texts):
            answers = _redact(answers, self._texts)
            found = {name: value for name, value in found.items() if self._tells_nothing(scored.found[name][at], value)}
        prompt = json.dumps({"prompt": parts.pop("prompt")} if "prompt" in parts else {})
        if prompt not in prompts:
            prompts[prompt] = seal_text(prompt)
        about = {"parts": parts, "answers": answers, FOUND: found, **({LEFT_OUT: left_out} if left_out else {})}
        return {_PROMPT: prompts[prompt], _ROLLOUT: seal_text(json.dumps(about))}

    def _encode_parts(self, sample: Sample) -> tuple[dict[str, Any], list[str]]:
        """Return the parts of a sample that are plain data, and the names of the others."""
        parts: dict[str, Any] = {}
        left_out = []
        given: Iterable[tuple[Any, Any]] = sample.items()
        for name, part in given:
            if not isinstance(name, str):  # which no feature can read
                left_out.append(repr(name))
                continue
            if name not in self._reads and (name in _TOKENS or is_large(part)):
                continue
            try:
                parts[name] = encode_plain(_redact(part, self._texts) if callable(self._texts) else part)
            except NotPlain as error:
                left_out.append(name)
                if name in self._reads and name not in self._warned:
                    self._warned.add(name)
                    text = "the part %r of samples is not recorded, as %s; features that read it cannot be run again"
                    _LOG.warning(text, name, error)
        return parts, left_out

    def _tells_nothing(self, value: Any, encoded: Any) -> bool:
        """Return whether nothing would be redacted in what a feature found: with another value it could not be used."""
        assert callable(self._texts)
        with suppress(NotPlain):
            return bool(encode_plain(_redact(value, self._texts)) == encoded)
        return False

    def _keep_reason(self, error: Exception, reason: str) -> str:
        """Return what is kept of why a sample has no reward, or lacks a term; a message may quote the sample."""
        if self._texts == "hash":
            return " ".join([type(error).__name__, *getattr(error, "__notes__", ())])
        return _redact(reason, self._texts) if callable(self._texts) else reason

    def _name(self, part: Any, key: IdKey | None) -> str:
        """Return what tells a text from others, and says nothing about it to anybody who has not what is kept of it."""
        secret = self._own_secret  # which is kept nowhere
        if self._texts == "keep" and key is not None:
            secret = key.secret
        elif callable(self._texts) and key is not None:
            with suppress(NotPlain):
                part, secret = _redact(part, self._texts), key.secret
        said = spell_part(part).encode("utf-8", "surrogatepass")
        return hashlib.blake2s(said, key=secret, digest_size=6).hexdigest()


def pack_numbers(
    scored: Scored, get_layout: Callable[[Reward], RecordLayout]
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
                signal = reward.score(**scored.inputs[at] or {})
                record = layout.pack(signal, lambda: 0, None, (None,) * 4, None, None, None, None)
                packed[at] = layout, record.target, record.inputs, record.outputs
            continue
        for place, at in enumerate(which):
            packed[at] = layout, target, inputs[place].tobytes(), outputs[place].tobytes()
    return packed


def read_rollouts(ledger: Ledger, records: Iterable[Record]) -> Iterator[Rollout]:
    """Yield the rollouts among records, with their texts.

    Args:
        ledger: The ledger.
        records: Records, such as `ledger.history(run="night-3")`.

    Yields:
        The rollouts; records of anything else are left out.

    Example:
        ```python
        for rollout in read_rollouts(ledger, ledger.history(run="night-3", step=40)):
            print(rollout.prompt_id, rollout.record.total, rollout.sample and rollout.sample.text)
        ```
    """
    left = iter(records)
    while some := list(islice(left, _TOGETHER)):
        for record, texts in zip(some, ledger._read_texts_of([each.context for each in some]), strict=True):
            if FEATURES in texts:
                yield _build_rollout(record, texts)


def _build_rollout(record: Record, texts: Mapping[str, str | None]) -> Rollout:
    found = {name: {} if (text := texts.get(name)) is None else json.loads(text) for name in _PARTS}
    whole = all(texts.get(name) is not None for name in (_PROMPT, _ROLLOUT))
    parts = decode_plain({**found[_PROMPT], **found[_ROLLOUT]["parts"]}) if whole else None
    answers = {**found[_ROLLOUT].get("answers", {}), **found[_ANSWERS].get("answers", {})}
    group, prompt_id, policy = (record.context.get(name) for name in (GROUP, "prompt_id", "policy"))
    own = found[_ROLLOUT] if record.job is None else found[_ANSWERS]  # of a new record, what was found for it
    values = decode_plain(own.get(FOUND) or record.context.get(FOUND, {}))
    return Rollout(
        record,
        None if parts is None else Sample(parts),
        answers,
        group,
        prompt_id,
        policy,
        json.loads(texts[FEATURES] or "{}"),
        values,
        tuple(found[_ROLLOUT].get(LEFT_OUT, ())),
        record.context.get(GROUP_SIZE),
    )


def encode_found(scored: Scored, at: int) -> dict[str, Any]:
    """Return what features found in a sample, as JSON can represent it; what is not plain data is left out."""
    found = {}
    for name, column in scored.found.items():
        if column[at] is not None:
            with suppress(NotPlain):
                found[name] = encode_plain(column[at])
    return found


def _list_numbers(scored: Scored, at: int) -> dict[str, Any]:
    """Return the numbers that features found in a sample: unlike other values, they quote nothing of it."""
    inputs = scored.rewards[at].inputs
    return {
        name: value
        for name, value in encode_found(scored, at).items()
        if _is_number(value)
        or (isinstance(value, dict) and all(each in inputs and _is_number(value[each]) for each in value))
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def clean_reason(reason: str) -> str:
    """Return a reason, which may quote a sample, as any database can keep it."""
    return reason.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")[:2000]


def _redact(part: Any, redact: Callable[[str], str]) -> Any:
    """Return a part of a sample with what is kept of every string in it."""
    if isinstance(part, str):
        found = redact(part)
        if not isinstance(found, str):
            raise LedgerError(f"the function for texts returned {found!r:.60}, not a string; nothing was recorded.")
        return found
    if isinstance(part, Mapping):
        return {name: each if name in ("role", "type") else _redact(each, redact) for name, each in part.items()}
    if isinstance(part, list | tuple):
        redacted = [_redact(each, redact) for each in part]
        return tuple(redacted) if isinstance(part, tuple) else redacted
    is_numbers = isinstance(part, np.ndarray | np.generic) and part.dtype.kind in "biuf"
    if part is None or isinstance(part, int | float) or is_numbers:
        return part
    raise NotPlain(f"the function for texts cannot be applied to a {type(part).__name__}")
