"""A learner that many processes share: every update is a record in a ledger, and all of them replay the same ones."""

import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from plaudit.errors import InputError, SpecError, WrongType
from plaudit.learn import saving
from plaudit.learn.bandits import Learner
from plaudit.learn.decision import Decision, unknown_action
from plaudit.learn.replay import lesson, not_comparable, taught
from plaudit.reward.signal import Signal

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger


class SharedLearner:
    """A learner whose memory is a ledger: its state is what the records of a decision class amount to, in their order.

    Nothing is lost when a process dies, and nothing is counted twice: an update is a record with the decision's id as
    its key, and whoever reads the ledger up to the same record has the same state, to the bit. `snapshot` names a file
    that saves replaying from the beginning; it is a copy, never the truth.

    >>> import tempfile
    >>> from plaudit import Ledger, Reward, Field, term
    >>> from plaudit.learn import ucb1
    >>> @term
    ... def gain(delta): return delta
    >>> reward = Reward("gain", version="1", terms=[gain], fields=[Field("delta", low=-1, high=1)])
    >>> with Ledger(Path(tempfile.mkdtemp(), "rewards.db")) as ledger:
    ...     tier = SharedLearner(ledger, ucb1(("small", "large")), decision_class="model_tier")
    ...     decision = tier.choose()
    ...     number = tier.credit(decision, reward.score(delta=0.5))
    ...     tier.state.decisions
    1
    """

    def __init__(
        self,
        ledger: "Ledger",
        learner: Learner,
        *,
        decision_class: str,
        seed: int = 0,
        snapshot: str | os.PathLike[str] | None = None,
        mixed: bool = False,
    ) -> None:
        """Take up what the ledger holds. Processes that share it may have different seeds.

        Rewards of two formulas, or two versions of one, are not comparable: where both are recorded it is an InputError
        unless `mixed` says that it is meant.
        """
        self.ledger = ledger
        self.learner = learner
        self.decision_class = decision_class
        self.seed = seed
        self.snapshot = None if snapshot is None else Path(snapshot)
        self.mixed = mixed
        self.state: Any = learner.init()
        self.formula: str | None = None
        """The reward that was learnt from last, with its version."""
        self.last = 0
        """The number of the last record that the state knows of."""
        self._made = 0
        if self.snapshot is not None and self.snapshot.exists():
            self._resume(self.snapshot)
        self.catch_up()

    def choose(self, context: Any = None, *, id: str | None = None) -> Decision:
        """Return a decision with an id of its own, made on all that is recorded by now."""
        self.catch_up()
        self._made += 1
        decision = self.learner.choose(self.state, self.seed * 1_000_003 + self._made, context)
        return decision._replace(id=id or f"{self.decision_class}/{token_hex(8)}")

    def credit(
        self,
        decision: Decision,
        signal: Signal,
        *,
        again: bool = False,
        blocked: str | None = None,
        context: Mapping[str, Any] | None = None,
        **about: Any,
    ) -> int:
        """Record what a decision earned, learn from it, and return the record's number.

        `again` is a further reward of a decision that has one, like a bonus at the end. `blocked` is why nothing may be
        learnt from this one: it is recorded with the reason and left out of the state. `about` is what `Ledger.record`
        takes: `run`, `episode`, `step`, `phase`, `actor`, `at`; `key` is made of the decision's id unless it is given,
        so that crediting twice is recorded once.
        """
        self._check(decision, signal)
        noted = dict(context or {}) | {"decision": decision.to_dict()}
        noted |= {"again": True} if again else {}
        noted |= {} if blocked is None else {"blocked": blocked}
        if decision.id is not None:
            about.setdefault("key", f"{decision.id}/again" if again else decision.id)
        number = self.ledger.record(signal, decision_class=self.decision_class, context=noted, **about)
        self.catch_up()
        return number

    def catch_up(self) -> int:
        """Learn from what was recorded since, by whomever, and return how many rewards that were."""
        learnt = 0
        for record in self.ledger.history(decision_class=self.decision_class, after=self.last):
            found = lesson(record)
            if found is not None:
                if self.formula not in (None, found.formula) and not self.mixed:
                    raise not_comparable(self.decision_class, str(self.formula), found.formula)
                self.state = taught(self.learner, self.state, record, found)
                self.formula = found.formula
                learnt += 1
            self.last = record.id
        return learnt

    def save(self) -> None:
        """Write the snapshot, so that the next start replays only what comes after it."""
        if self.snapshot is None:
            raise InputError("there is no snapshot to save: name a file, SharedLearner(…, snapshot='tier.json').")
        where = {"last": self.last, "decision_class": self.decision_class, "formula": self.formula}
        saving.save(self.snapshot, self.learner, self.state, **where)

    def _check(self, decision: Decision, signal: Signal) -> None:
        """Refuse what could not be learnt from before it is recorded: a record stays for ever."""
        if not isinstance(decision, Decision):
            raise WrongType(f"{decision!r:.60} is not a Decision.")
        if not isinstance(signal, Signal):
            raise WrongType(f"{signal!r:.60} is not a Signal: score the reward, do not pass its total.")
        if decision.action not in self.learner.actions:
            raise unknown_action(decision.action, self.learner.actions)
        self.learner.update(self.state, decision, signal.total)

    def _resume(self, snapshot: Path) -> None:
        saved = saving.load(snapshot, expected=self.learner)
        last, decided, formula = (saved.more.get(name) for name in ("last", "decision_class", "formula"))
        if not isinstance(last, int) or decided != self.decision_class:
            raise SpecError(f"{snapshot} is no snapshot of the decision class {self.decision_class!r}.")
        self.state, self.last, self.formula = saved.state, last, formula
