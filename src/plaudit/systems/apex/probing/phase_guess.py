"""A guess at the phase of a task from who spoke last, for runtimes whose agents do not say where they are."""

from collections import deque
from collections.abc import Iterable

from plaudit.systems.apex.features import SENDER_ALIASES, SENDERS

GUESSES = ("planning", "implementation", "debug")
"""What can be guessed; the reward takes the last two for coding and critique, see `ALIASES`."""

LAST = 5
"""How many messages back are looked at."""


def guess_phase(
    senders: Iterable[str], *, edits: int, tests_run: bool, failing: bool, current: str = "planning"
) -> str:
    """Return the phase that the last five messages and the state of the work speak for.

    - planning: the planner sent at least 60 % of them, or no test was run yet;
    - implementation: coder and runner sent at least half of them, and something was edited;
    - debug: the critic sent at least 40 % of them, or tests fail.

    Where several hold, the `current` phase stays if it is among them, else the first of them counts; where none does,
    it stays too. A sender without a role is not counted.

    >>> guess_phase(["planner", "coder", "coder", "runner"], edits=1, tests_run=True, failing=False)
    'implementation'
    >>> guess_phase(["coder", "runner"], edits=1, tests_run=False, failing=False)
    'planning'
    """
    roles = [role for sender in senders if (role := _role(sender)) in SENDERS][-LAST:]
    count = len(roles) or 1
    planner, coder_runner, critic = (
        sum(role in named for role in roles) / count for named in (("planner",), ("coder", "runner"), ("critic",))
    )
    claims = (
        planner >= 0.6 or not tests_run,
        coder_runner >= 0.5 and edits > 0,
        critic >= 0.4 or (tests_run and failing),
    )
    found = [phase for phase, claimed in zip(GUESSES, claims, strict=True) if claimed]
    return current if current in found or not found else found[0]


class PhaseGuess:
    """Keeps what `guess_phase` needs as an episode goes on.

    >>> guess = PhaseGuess()
    >>> for sender in ("planner", "coder", "runner"):
    ...     guess.message(sender)
    >>> guess.edited(), guess.tested(passed=2, total=5)
    (None, None)
    >>> guess.phase
    'implementation'
    """

    def __init__(self) -> None:
        """Begin in the phase of planning."""
        self._senders: deque[str] = deque(maxlen=LAST)
        self._edits = 0
        self._tested = False
        self._failing = False
        self._phase = GUESSES[0]

    def message(self, sender: str) -> None:
        """Notice a message; one of a sender without a role says nothing about the phase."""
        if _role(sender) in SENDERS:
            self._senders.append(sender)
            self._look()

    def edited(self) -> None:
        """Notice that a file was edited."""
        self._edits += 1
        self._look()

    def tested(self, *, passed: int, total: int) -> None:
        """Notice a run of the tests."""
        self._tested, self._failing = True, passed < total
        self._look()

    @property
    def phase(self) -> str:
        """The phase, as guessed now."""
        return self._phase

    def _look(self) -> None:
        self._phase = guess_phase(
            self._senders, edits=self._edits, tests_run=self._tested, failing=self._failing, current=self._phase
        )


def _role(sender: str) -> str:
    name = sender.strip().lower()
    return SENDER_ALIASES.get(name, name)
