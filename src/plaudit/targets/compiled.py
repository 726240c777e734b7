"""What every compiled reward keeps: its Program and how it was asked for, so that it can travel to another process."""

from collections.abc import Mapping
from typing import Any

from plaudit.language.program import Program


class Compiled:
    """A Program compiled for a target with some options; pickling it pickles these and compiles again."""

    def __init__(self, program: Program, *, guard: bool, on_bad: str, **options: Any) -> None:
        """Keep the Program and the options."""
        self.program = program
        self.guard = guard
        self.on_bad = on_bad
        self.inputs = tuple(program.inputs)
        self._options: Mapping[str, Any] = {"guard": guard, "on_bad": on_bad, **options}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the Program, not the generated code."""
        return rebuilt, (type(self), self.program, dict(self._options))


def rebuilt(kind: type[Any], program: Program, options: Mapping[str, Any]) -> Any:
    """Return a compiled reward of another process, compiled again in this one."""
    return kind(program, **options)
