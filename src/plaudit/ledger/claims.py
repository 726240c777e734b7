"""Who writes the episodes of a run: each live writer has an actor of its own, so that no two share an episode."""

import json
import re
from itertools import count

from sqlalchemy import select

from plaudit.errors import ActorInUse
from plaudit.ledger.context import validate_string
from plaudit.ledger.storage.schema import blocks, scopes, summaries
from plaudit.ledger.storage.segment_rows import LOCATED
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.store import Store

Claim = tuple[str | None, str]
"""A run and an actor."""
_NUMBER = re.compile("[0-9]{1,18}")


class Claims:
    """The runs and actors that the writers of one open ledger number the episodes of.

    A claim is released, or dies with its process. Nobody else keeps it from being taken again.
    """

    def __init__(self, store: Store) -> None:
        """Begin with none."""
        self._store = store
        self._held: set[Claim] = set()
        self._abandoned: list[Claim] = []

    def take(self, run: str | None, actor: str | None, prefix: str = "env") -> Claim:
        """Claim an actor of a run; without one, the first of env0, env1 … that no live writer has.

        Raises:
            ActorInUse: Another live writer has it.
            InputError: No ledger can keep such a `run` or `actor`.
        """
        while self._abandoned:
            self.release(self._abandoned[-1])
            self._abandoned.pop()
        run, actor = validate_string("run", run), validate_string("actor", actor)
        if actor is not None:
            holder = self._try((run, actor))
            if holder is None:
                return run, actor
            of = "records without a run" if run is None else f"run {run!r}"
            raise ActorInUse(
                f"{self._store.backend.name}: another live writer ({holder}) records as actor {actor!r} of {of}, and "
                "the episodes of the two would be mixed. Give each its own actor=, or leave actor= out to get one."
            )
        return next(claim for at in count() if self._try(claim := (run, f"{prefix}{at}")) is None)

    def _try(self, claim: Claim) -> str | None:
        """Claim an actor; return who has it, where somebody does."""
        if claim in self._held:
            return "in this process"
        holder = self._store.backend.claim(json.dumps(claim))
        if holder is None:
            self._held.add(claim)
        return holder

    def release(self, claim: Claim) -> None:
        """Let the next writer have it."""
        if claim in self._held:
            self._store.backend.release(json.dumps(claim))
            self._held.discard(claim)

    def abandon(self, claim: Claim) -> None:
        """Release a claim before the next is taken: the collector of garbage may strike in the middle of a write."""
        self._abandoned.append(claim)

    def find_last_episode(self, claim: Claim) -> int:
        """Return the highest number among the recorded episodes of an actor, 0 where there are none.

        What is known of a block counts names without a number too, so that the blocks are opened, the highest first.
        """
        run, actor = claim
        located = summaries.join(blocks, blocks.c.first == summaries.c.first).join(
            scopes, scopes.c.id == blocks.c.scope
        )
        own = scopes.c.run.is_(None) if run is None else scopes.c.run == run
        statement = (
            select(summaries.c.episode_high, limit_size(blocks.c.episodes), *LOCATED)
            .select_from(located)
            .where(own, scopes.c.actor == actor, summaries.c.episode_high.is_not(None))
            .order_by(summaries.c.episode_high.desc())
        )
        last = 0
        with self._store.backend.snapshot() as connection, connection.execute(statement) as found:
            for row in found:
                if row.episode_high <= last:
                    break
                names = set(json.loads(self._store.segments.hydrate(row).episodes)) - {None}
                last = max([last, *(int(name) for name in names if _NUMBER.fullmatch(name))])
        return last
