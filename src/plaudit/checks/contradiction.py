"""Facts that contradict one another: whatever is asked of steps that cannot happen has any answer one likes."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from plaudit.checks.ask import Solver
from plaudit.checks.domain import Row
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject

MOST_DECLARED = 24
"""Among so many declarations the guilty ones are looked for one by one; of more all are named."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Declarations that are true of no step."""

    facts: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """How fields are declared to change in a step: "level only rises"."""

    def __str__(self) -> str:
        """Return the contradiction as a sentence without its end."""
        *others, last = map(repr, self.facts)
        named = f"the facts {', '.join(others)} and {last} true at once" if others else f"the fact {last} true"
        given = f", given that {' and '.join(self.changes)}" if self.changes else ""
        return f"no step that the declared ranges allow makes {named}{given}"


def contradiction(subject: Subject, solver: Solver) -> Contradiction | bool | None:
    """Return the smallest contradiction that is easily found; False where there is none, None if undecided."""
    declared = _Declared(subject, solver)
    if not declared.facts:
        return False  # a step that changes nothing keeps to every range, and to every way of changing
    row = declared.example(declared.flags)
    if row is not False:
        return None if row is None else False
    guilty = declared.guilty()
    return Contradiction(
        tuple(name for name in guilty if name in declared.facts),
        tuple(name for name in guilty if name not in declared.facts),
    )


class _Declared:
    """One question with everything in it that is declared of a step, each under its name."""

    def __init__(self, subject: Subject, solver: Solver) -> None:
        self.solver = solver
        self.question = Question()
        program = subject.reward.facts_program
        copy = self.question.copy(program, scored=False)
        self.facts = tuple(program.outputs)
        self.flags: dict[str, list[int]] = {
            fact: [copy[fact], *(copy.at(guard.node) for guard in program.domain if guard.where == fact)]
            for fact in self.facts
        }
        for ends in subject.ends():
            field = subject.fields[ends[0]]
            alone = [replace(field, step=None)] if field.monotone is not None else []
            alone += [replace(field, monotone=None)] if field.step is not None else []
            told = [each for each in subject.about(*ends) if each not in self.facts]
            for name, each in zip(told, alone, strict=True) if field.kind == "number" else ():
                subject.tie(self.question, each, *(self.question.input(end, field) for end in ends))
                self.flags.setdefault(name, []).extend(self.question.given)
                self.question.given.clear()

    def example(self, names: Collection[str]) -> Row | bool | None:
        """Return a step of which all of these are true, False or None as `Solver.example` does."""
        flags = [flag for name in names for flag in self.flags[name]]
        return self.solver.example(self.question, self.question.all(flags))

    def guilty(self) -> list[str]:
        """Return a fact that is never true by itself, or declarations of which none can be left out."""
        names = list(self.flags)
        if len(names) > MOST_DECLARED:
            return names
        for fact in self.facts:
            if self.example([fact]) is False:
                return [fact]
        for name in list(self.flags):
            rest = [each for each in names if each != name]
            if self.example(rest) is False:
                names = rest
        return names
