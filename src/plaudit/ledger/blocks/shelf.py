"""What a ledger has seen and keeps at hand: how rewards are packed, scopes, and the rewards of stored records."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select

from plaudit.errors import LedgerError, NotInLedger, WrongType
from plaudit.ledger.blocks import specs
from plaudit.ledger.blocks.shape import Shape
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import specs as table
from plaudit.ledger.record import Scope, text
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Frame, Signal

_SCOPES = 65_536
"""Scopes to keep at hand; beyond that all are forgotten and looked up again."""

Packing = tuple[Shape, Callable[[Signal], tuple[bytes, bytes]]]


class Shelf:
    """Shapes by reward and by their number in the ledger, packers by frame, checked scopes."""

    def __init__(self, place: Place) -> None:
        """Begin with nothing."""
        self._place = place
        self._shapes: dict[tuple[str, ...], Shape] = {}
        self._frames: dict[Frame, Packing] = {}
        self._from_data: dict[tuple[Any, ...], Packing] = {}
        self._scopes: dict[tuple[Any, ...], Scope] = {}
        self._stored: dict[int, Shape] = {}

    def shape(self, reward: Reward, part: str = "whole") -> Shape:
        """Return the one shape of a reward."""
        if not isinstance(reward, Reward):
            raise LedgerError(f"{reward!r:.60} is not a Reward.")
        shape = Shape(reward, part)
        return self._shapes.setdefault(shape.identity, shape)

    def packing(self, signal: Signal) -> Packing:
        """Return the shape of a signal and the function that packs it."""
        try:
            frame = signal.frame
            return self._frames[frame]
        except KeyError:
            pass
        except AttributeError:
            raise WrongType(
                f"{signal!r:.60} is not a Signal: score a step with reward.score(...). Entries go to record_many."
            ) from None
        if frame.source is not None:
            made = self._frames[frame] = self._packing(frame)
            return made
        same = (frame.reward, frame.version, frame.fingerprint, frame.domain, frame.terms, frame.inputs)
        if same not in self._from_data:  # each signal read from data has a frame of its own
            self._from_data[same] = self._packing(frame)
        return self._from_data[same]

    def _packing(self, frame: Frame) -> Packing:
        if frame.source is not None:
            shape = self.shape(frame.source, frame.part)
            return shape, shape.packer(frame)
        for shape in self._known():
            found = (frame.reward, frame.version, shape.part, frame.fingerprint, frame.domain)
            if shape.identity == found and tuple(term.name for term in shape.scored.terms) == frame.terms:
                return shape, shape.packer(frame)
        raise NotInLedger(
            f"{self._place.name} does not know {frame.reward}@{frame.version} ({frame.fingerprint[:12]}), the reward "
            "of a signal that was read from data. Register it first: ledger.register(reward)."
        )

    def _known(self) -> list[Shape]:
        with self._place.reading() as connection:
            whole = list(self.read(connection).values())
        rewards = {shape.identity: shape for shape in [*self._shapes.values(), *whole]}
        finals = [
            self.shape(shape.reward, "final")
            for shape in rewards.values()
            if shape.part == "whole" and any(term.terminal for term in shape.reward.terms)
        ]
        return [*rewards.values(), *finals]

    def scope(self, parts: tuple[Any, Any, Any, Any]) -> Scope:
        """Return run, phase, decision class and actor, checked."""
        try:
            return self._scopes[parts]
        except (KeyError, TypeError):
            names = Scope._fields
            made = Scope(*(text(name, part) for name, part in zip(names, parts, strict=True)))
            if len(self._scopes) >= _SCOPES:
                self._scopes.clear()
            self._scopes[parts] = made
            return made

    def read(self, connection: Connection) -> dict[int, Shape]:
        """Return the shape of every reward in the ledger, by number."""
        rows = connection.execute(select(table).where(table.c.id.not_in(list(self._stored))).order_by(table.c.id))
        for row in rows:
            self._stored[row.id] = specs.loaded(self._place, row)
        return self._stored
