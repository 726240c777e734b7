"""A learner that many processes share: every update is a record in a ledger, and all of them replay the same ones."""

import os
import threading
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from plaudit.errors import InputError, NotInLedger, SpecError, WrongType
from plaudit.learn import saving
from plaudit.learn.bandits import Learner
from plaudit.learn.decision import Decision
from plaudit.learn.draws import derive_key
from plaudit.learn.replay import not_comparable, read_lesson, teach
from plaudit.reward.signal import Signal

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger


class SharedLearner:
    """A learner that processes share through a ledger: its state is the replay of the records of a decision class.

    Nothing is lost when a process dies, and nothing is counted twice: an update is a record with the decision's id as
    its key, and every process that has read up to the same record has the same state. Threads can share one. `snapshot`
    names a file that saves replaying from the beginning; it can always be rebuilt from the ledger.

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
        skip: Collection[int] = (),
    ) -> None:
        """Replay the ledger.

        Args:
            ledger: The ledger with the decisions.
            learner: The learner.
            decision_class: The decision class to learn from and to record under.
            seed: The random seed.
            snapshot: A file for `save`, read at the start if it exists.
            mixed: Allow rewards of several formulas or versions, which are not comparable; an InputError otherwise.
            skip: Numbers of records to leave out, such as those recorded by mistake.
        """
        if not (decision_class and isinstance(decision_class, str)):
            raise WrongType(f"decision_class={decision_class!r:.60} must be a string that is not empty.")
        self.ledger = ledger
        self.learner = learner
        self.decision_class = decision_class
        self.seed = seed
        self.snapshot = None if snapshot is None else Path(snapshot)
        self.mixed = mixed
        self.skip = frozenset(skip)
        self.state: Any = learner.init()
        self.formula: str | None = None
        """The reward learned from last, with its version."""
        self.last = 0
        """The number of the last record that the state knows of."""
        self._turn = threading.RLock()
        if self.snapshot is not None and self.snapshot.exists():
            self._resume(self.snapshot)
        self.catch_up()

    def choose(self, context: Any = None, *, id: str | None = None) -> Decision:
        """Choose an action, after learning from everything recorded so far.

        Args:
            context: The features.
            id: The decision's id; random if omitted. The same seed, id and records give the same decision.

        Returns:
            The decision with its id.
        """
        name = f"{self.decision_class}/{token_hex(8)}" if id is None else id
        with self._turn:
            self.catch_up()
            return self.learner.choose(self.state, derive_key(self.seed, name), context)._replace(id=name)

    def credit(
        self,
        decision: Decision,
        signal: Signal,
        *,
        again: bool | str = False,
        blocked: str | None = None,
        context: Mapping[str, Any] | None = None,
        **about: Any,
    ) -> int:
        """Record the reward of a decision and learn from it.

        Args:
            decision: The decision.
            signal: The reward.
            again: A further reward of a decision that has one, such as a bonus at the end. If there are several, give
                each a name: `again="bonus"`.
            blocked: Why nothing may be learned from this decision; it is recorded with the reason only.
            context: More context for the record.
            **about: As for `Ledger.record`: `run`, `episode`, `step`, `phase`, `actor`, `at`, `key`. The key defaults
                to the decision's id, so crediting twice records once.

        Returns:
            The number of the record.

        Raises:
            InputError: The decision or the signal cannot be learned from.
        """
        if not isinstance(decision, Decision):
            raise WrongType(f"{decision!r:.60} is not a Decision.")
        if not isinstance(signal, Signal):
            raise WrongType(f"{signal!r:.60} is not a Signal: score the reward, do not pass its total.")
        notes = dict(context or {}) | {"decision": decision.to_dict()}
        notes |= {"again": True} if again else {}
        notes |= {} if blocked is None else {"blocked": blocked}
        if decision.id is not None:
            about.setdefault("key", self._key(decision.id, again))
        with self._turn:
            self.catch_up()
            if blocked is None:
                self._check(decision, signal)
            number = self.ledger.record(signal, decision_class=self.decision_class, context=notes, **about)
            self.catch_up()
        return number

    def catch_up(self) -> int:
        """Learn from the records that were added since, by any process.

        Returns:
            How many rewards they hold.
        """
        learnt = 0
        with self._turn:
            for record in self.ledger.history(decision_class=self.decision_class, after=self.last):
                lesson = None if record.id in self.skip else read_lesson(record)
                if lesson is not None:
                    self._check_formula(lesson.formula)
                    self.state = teach(self.learner, self.state, record, lesson)
                    self.formula = lesson.formula
                    learnt += 1
                self.last = record.id
        return learnt

    def save(self) -> None:
        """Write the snapshot, so the next start replays only later records.

        Raises:
            DefinitionError: No snapshot file was named.
        """
        if self.snapshot is None:
            raise InputError("there is no snapshot to save: name a file, SharedLearner(…, snapshot='tier.json').")
        with self._turn:
            saving.save(
                self.snapshot,
                self.learner,
                self.state,
                decision_class=self.decision_class,
                formula=self.formula,
                skip=sorted(self.skip),
                last=self.last,
                mark=self._mark(self.last),
            )

    def _key(self, id: str, again: bool | str) -> str:
        """Return the key of a decision's record: no other class has it, and a further reward has another."""
        name = id if id.startswith(f"{self.decision_class}/") else f"{self.decision_class}/{id}"
        return f"{name}/{'again' if again is True else again}" if again else name

    def _check(self, decision: Decision, signal: Signal) -> None:
        """Refuse what could not be learnt from before it is recorded: a record stays for ever."""
        self._check_formula(f"{signal.reward}@{signal.version}")
        self.learner.update(self.state, decision, signal.total)

    def _check_formula(self, formula: str) -> None:
        if self.formula not in (None, formula) and not self.mixed:
            raise not_comparable(self.decision_class, str(self.formula), formula)

    def _mark(self, last: int) -> str:
        if not last:
            return ""
        record = self.ledger[last]
        return sha256(f"{record.at.isoformat()} {record.total!r} {record.key}".encode()).hexdigest()[:16]

    def _resume(self, snapshot: Path) -> None:
        saved = saving.load(snapshot, expected=self.learner)
        if saved.learner != self.learner:  # of before there were intercepts: the records are replayed
            return
        last, formula = saved.more.get("last"), saved.more.get("formula")
        wanted = {"decision_class": self.decision_class, "skip": sorted(self.skip)}
        if not isinstance(last, int) or any(saved.more.get(name) != value for name, value in wanted.items()):
            raise SpecError(
                f"{snapshot} is not a snapshot of the decision class {self.decision_class!r} with these settings."
            )
        try:
            known = self._mark(last) == saved.more.get("mark")
        except NotInLedger:
            known = False
        if not known:
            raise SpecError(f"{snapshot} is a snapshot of another ledger; remove it to replay the records.")
        self.state, self.last, self.formula = saved.state, last, formula
