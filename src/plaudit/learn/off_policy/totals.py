"""The rewards of recorded decisions: as they were scored, or by another reward from the inputs they were scored on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.blocks.shape import Rows, Shape
from plaudit.ledger.blocks.shelf import Shelf
from plaudit.ledger.history import Page
from plaudit.ledger.rescoring.translate import Translation, translation
from plaudit.reward.reward import Reward

Numbers = NDArray[np.float64]

NO_COUNTERPART = ("a terminal term",)
"""What `translation` says of terminal terms where the other reward has none."""


class Totals(NamedTuple):
    """The reward of each record of some pages, and why it is NaN where it is."""

    rewards: Numbers
    lacking: NDArray[np.bool_]
    """Records without an input that the other reward needs."""
    unpaid: NDArray[np.bool_]
    """Records of terminal terms, of which the other reward has none."""

    def at(self, where: slice) -> "Totals":
        """Return those of some of the records."""
        return Totals(self.rewards[where], self.lacking[where], self.unpaid[where])


class Scorer:
    """Gives records their rewards, and remembers by which rewards they were recorded and what they lack."""

    def __init__(self, shelf: Shelf, reward: Reward | None) -> None:
        """Keep the totals that were recorded, or score inputs with `reward`."""
        self._shelf = shelf
        self._shape = None if reward is None else shelf.shape(reward)
        self._translations: dict[Shape, Translation | tuple[str, ...]] = {}
        self.recorded: dict[Shape, int] = {}
        """How many records there were of each reward."""

    def lacks(self, shape: Shape) -> tuple[str, ...]:
        """Return what records of a reward lack; nothing where they can be scored."""
        found = self._translations.get(shape, ())
        return found if isinstance(found, tuple) else ()

    def totals(self, pages: Sequence[Page]) -> Totals:
        """Return the rewards of the chosen records of `pages`, one after the other."""
        counts = [len(page.positions()) for page in pages]
        ends = np.cumsum(counts)
        made = Totals(np.full(ends[-1], np.nan), np.zeros(ends[-1], np.bool_), np.zeros(ends[-1], np.bool_))
        groups: dict[Shape, list[int]] = {}
        for at, page in enumerate(pages):
            groups.setdefault(page.shape, []).append(at)
        for shape, members in groups.items():
            where = np.concatenate([np.arange(ends[at] - counts[at], ends[at]) for at in members])
            self.recorded[shape] = self.recorded.get(shape, 0) + len(where)
            self._fill(made, shape, [pages[at] for at in members], where)
        return made

    def _fill(self, made: Totals, shape: Shape, pages: Sequence[Page], where: NDArray[np.intp]) -> None:
        if self._shape is None:
            made.rewards[where] = _joined(shape, pages, "outputs")[:, 0]
            return
        if shape not in self._translations:
            self._translations[shape] = translation(self._shelf, shape, self._shape)
        found = self._translations[shape]
        if isinstance(found, Translation):
            made.rewards[where] = found.score(_joined(shape, pages, "inputs"))[1][:, 0]
        elif found == NO_COUNTERPART:
            made.unpaid[where] = True
        else:
            made.lacking[where] = True


def _joined(shape: Shape, pages: Sequence[Page], side: str) -> Rows:
    """Return the inputs or the outputs of the chosen records of pages of one reward."""
    data = b"".join(getattr(page.row, side) for page in pages)
    count = sum(page.row.records for page in pages)
    rows = shape.input_rows(data, count) if side == "inputs" else shape.output_rows(data, count)
    if all(page.chosen is None for page in pages):
        return rows
    starts = np.cumsum([0, *(page.row.records for page in pages[:-1])])
    chosen: Rows = rows[np.concatenate([page.positions() + start for page, start in zip(pages, starts, strict=True)])]
    return chosen
