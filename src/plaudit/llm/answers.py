"""What judges said of rollouts after these were recorded: in other re-scorings, and in one that was stopped."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Page
from plaudit.ledger.rescore.rescore import STOPPED, list_new_contexts
from plaudit.ledger.storage.texts import FEATURES, FOUND
from plaudit.llm.plain import decode_plain

__all__ = ["LaterAnswers"]


class LaterAnswers:
    """Answers of judges by record and feature."""

    def __init__(self, ledger: Ledger, fingerprints: Mapping[str, str], *, ask: bool) -> None:
        """Look for answers of the judges that have these fingerprints, by name.

        With `ask`, only those of the same re-scoring count, as far as it came before it was stopped.
        """
        self._ledger, self._fingerprints, self._ask = ledger, fingerprints, ask
        self._values: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, dict[str, str]] = {}

    def load(self, job: int, pages: Sequence[Page]) -> None:
        """Read what was said of the records of some pages, for a re-scoring with this number."""
        if not self._fingerprints:
            return

        def is_wanted(choice: Mapping[str, Any]) -> bool:
            stopped = choice.get(STOPPED, {}).get("job")
            return stopped == job or (FEATURES in choice and not self._ask)

        listed = list(list_new_contexts(self._ledger._store, [page.row.first for page in pages], is_wanted))
        texts = self._ledger._read_texts_of([context for _, context in listed])
        for (record, _), named in zip(listed, texts, strict=True):
            said = json.loads(named.get("answers") or "{}")
            features = json.loads(named.get(FEATURES) or "{}")
            for name, value in said.get(FOUND, {}).items():
                if name in self._fingerprints and features.get(name) == self._fingerprints[name]:
                    self.add(record, name, decode_plain(value), said["answers"].get(name))

    def add(self, record: int, name: str, value: Any, text: str | None) -> None:
        """Keep what a judge said; what was said first stays."""
        if name not in self._values.setdefault(record, {}):
            self._values[record][name] = value
            if text is not None:
                self._texts.setdefault(record, {})[name] = text

    def clear(self) -> None:
        """Forget all of it, once it is not needed any more."""
        self._values.clear()
        self._texts.clear()

    def find(self, record: int, name: str) -> Any:
        """Return what a judge found; None where it was not asked."""
        return self._values.get(record, {}).get(name)

    def find_texts(self, record: int) -> Mapping[str, str]:
        """Return the words of judges, by feature."""
        return self._texts.get(record, {})
