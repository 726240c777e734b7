"""The result of `verify`."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from plaudit.terminal import escape_controls, format_count

_KEPT = 1000
"""Problems to keep in full; beyond that they are counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that `verify` found."""

    kind: str
    """`edited`, `removed`, `differs`, `sum`, `reward`, `key`, `unsigned` or `damaged`."""
    id: int | None
    """The record, or the first one of the block, if known."""
    text: str


@dataclass(slots=True)
class Verification:
    """The result of `verify`; `ok` if there are no problems."""

    ledger: str
    records: int = 0
    blocks: int = 0
    writers: int = 0
    head: str | None = None
    """The head of the ledger: a digest of where all its chains end."""
    compared_bits: int = 0
    """Records compared bit for bit."""
    compared_ulp: int = 0
    """Records of another machine whose reward uses functions that C libraries round differently."""
    compared_rounding: int = 0
    """Records that JAX or PyTorch computed, which may differ as far as rounding can move them."""
    not_recomputed: Counter[str] = field(default_factory=Counter)
    """Records whose checksums alone were checked, by the target that computed them, which is not installed here."""
    not_compared: str | None = None
    """Why tables, indexes and triggers could not be compared with those of a new ledger, as on a standby server."""
    found: int = 0
    problems: list[Problem] = field(default_factory=list)
    """The first problems."""

    @property
    def ok(self) -> bool:
        """Whether no problems were found."""
        return not self.found

    def add(self, kind: str, record: int | None, text: str) -> None:
        """Note a problem."""
        self.found += 1
        if len(self.problems) < _KEPT:
            self.problems.append(Problem(kind, record, text))

    def __str__(self) -> str:
        """Return the result as text."""
        numbers = {"record": self.records, "block": self.blocks, "writer": self.writers, "problem": self.found}
        counts = {name: format_count(count, name) for name, count in numbers.items()}
        what = f"{counts['record']} in {counts['block']} of {counts['writer']}"
        how = f"{self.compared_bits:,} compared bit for bit"
        if self.compared_ulp:
            how += f", {self.compared_ulp:,} from another machine within 4 units in the last place"
        if self.compared_rounding:
            how += f", {self.compared_rounding:,} from JAX or PyTorch within rounding"
        lines = [f"{self.ledger}: {what}; {how}."]
        lines += [
            f"{format_count(count, 'record')} of the {target} target not recomputed: it is not installed here."
            for target, count in self.not_recomputed.items()
        ]
        if self.not_compared is not None:
            lines.append(f"Tables and indexes were not compared with those of a new ledger: {self.not_compared}")
        if self.ok:
            return escape_controls("\n".join([*lines, "No problems found."]))
        lines.append(f"{counts['problem']}:")
        lines += [f"  {p.kind:8}{'' if p.id is None else f'record {p.id}: '}{p.text}" for p in self.problems[:20]]
        if self.found > 20:
            lines.append(f"  … and {self.found - 20:,} more")
        return escape_controls("\n".join(lines))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        counts = ("records", "blocks", "writers", "compared_bits", "compared_ulp", "compared_rounding", "found")
        listed = [{"kind": p.kind, "id": p.id, "text": p.text} for p in self.problems]
        return {
            "ledger": self.ledger,
            "ok": self.ok,
            "head": self.head,
            **{n: getattr(self, n) for n in counts},
            "not_recomputed": dict(self.not_recomputed),
            "not_compared": self.not_compared,
            "problems": listed,
        }
