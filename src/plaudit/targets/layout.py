"""Which nodes a compiled function returns, and how they become scores: equal outputs are computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plaudit.language.program import Program
from plaudit.targets.scores import Scores


@dataclass(frozen=True, slots=True)
class Layout:
    """The distinct outputs of a Program, in order, and where each name finds its own."""

    roots: tuple[int, ...]
    names: tuple[str, ...]
    """The first name of each root: `total`, `safety.value` …"""
    terms: tuple[str, ...]
    total: int
    values: tuple[int, ...]
    scores: tuple[int, ...]
    clamped: tuple[int, ...]

    @classmethod
    def of(cls, program: Program, *, clamped: bool = True) -> "Layout":
        """Return the layout of every output; without `clamped`, of what `Scores` holds."""
        parts = ("value", "score", "clamped") if clamped else ("value", "score")
        wanted = ["total", *(f"{term}.{part}" for part in parts for term in program.terms)]
        roots: dict[int, str] = {}
        for name in wanted[1:]:
            roots.setdefault(program.outputs[name], name)
        order = [program.outputs["total"], *roots]  # a total may be scaled in place: it shares with no term

        def at(part: str) -> tuple[int, ...]:
            if part not in parts:
                return ()
            return tuple(1 + list(roots).index(program.outputs[f"{term}.{part}"]) for term in program.terms)

        return cls(tuple(order), ("total", *roots.values()), program.terms, 0, at("value"), at("score"), at("clamped"))

    def named(self, outputs: Sequence[Any], ok: Any, *, kind: type[dict[str, Any]] = dict) -> Scores:
        """Return the outputs of a compiled function by name, in dictionaries of `kind`."""
        return Scores(
            outputs[self.total],
            kind((term, outputs[at]) for term, at in zip(self.terms, self.values, strict=True)),
            kind((term, outputs[at]) for term, at in zip(self.terms, self.scores, strict=True)),
            ok,
        )
