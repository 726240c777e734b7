"""The source lines that a step executed: a term is a chain of cases, and each step returns from one of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.language.writing.render import list_cases, render_functions
from plaudit.reward.reward import Reward
from plaudit.targets.numpy import NumpyReward


@dataclass(frozen=True, slots=True)
class TermPaths:
    """The source of one term, as plaudit writes it, and its cases."""

    text: str
    conditions: tuple[int, ...]
    """The node of each condition, in the order of evaluation."""

    @property
    def first(self) -> int:
        """The line of the first condition, or of the last return; the first line is 1."""
        return len(self.text.splitlines()) - 2 * len(self.conditions)

    def list_lines(self, case: int) -> list[int]:
        """Return the lines that are executed if this case is the first whose condition is true."""
        asked = [self.first + 2 * at for at in range(min(case + 1, len(self.conditions)))]
        return [*range(2, self.first), *asked, self.first + 2 * case + (case < len(self.conditions))]

    def list_conditions(self, case: int) -> list[dict[str, Any]]:
        """Return the conditions that were evaluated, as they are written, and whether they were true."""
        lines = self.text.splitlines()
        asked = range(min(case + 1, len(self.conditions)))
        texts = [lines[self.first - 1 + 2 * at].strip().removeprefix("if ").removesuffix(":") for at in asked]
        return [{"text": text, "true": at == case} for at, text in zip(asked, texts, strict=True)]

    def name_case(self, case: int) -> str:
        """Return the condition of a case, as it is written."""
        return str(self.list_conditions(case)[case]["text"]) if case < len(self.conditions) else "otherwise"


class RewardPaths:
    """The paths through the terms of a reward."""

    def __init__(self, reward: Reward, shown: "RewardPaths | None" = None) -> None:
        """Render the terms; where others are `shown`, those of them that read the same."""
        self.reward: Reward = reward if shown is None else shown.reward
        self._program = program = reward.program
        texts = render_functions(program, reward._find_local_names())
        cases = {term: tuple(list_cases(program, term)) for term in program.terms if term in texts}
        self.terms: Mapping[str, TermPaths] = {
            term: TermPaths(texts[term], conditions)
            for term, conditions in cases.items()
            if shown is None or shown.terms[term].text == texts[term]
        }

    @cached_property
    def _conditions(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(at for paths in self.terms.values() for at in paths.conditions))

    @cached_property
    def _compiled(self) -> NumpyReward:
        """A reward whose terms are the conditions, evaluated for all rows alike."""
        opened = self._program.with_terms({f"c{at}": at for at in self._conditions})
        return NumpyReward(opened.bind(), guard=False)

    def find_cases(self, columns: Mapping[str, NDArray[Any]], count: int) -> dict[str, NDArray[np.intp]]:
        """Return the case of each row for each term; the last case has the number of conditions."""
        held: dict[int, NDArray[np.bool_]] = {}
        if self._conditions:
            with np.errstate(all="ignore"):
                found = self._compiled({name: columns[name] for name in self._compiled.program.inputs}).values
            held = {at: np.broadcast_to(np.asarray(found[f"c{at}"], bool), count) for at in self._conditions}
        last = np.ones(count, np.bool_)
        return {
            term: np.argmax([*(held[at] for at in paths.conditions), last], axis=0)
            for term, paths in self.terms.items()
        }
