"""The `python` target: one generated function for the whole reward, one row at a time, every bad row refused."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, TypeVar

from plaudit.errors import InputError, ShapeMismatch, UnknownInput
from plaudit.language.program import Program
from plaudit.language.sure import Sure, surely
from plaudit.targets.compiled import Compiled
from plaudit.targets.door import converter
from plaudit.targets.emit import Code, emit
from plaudit.targets.entrance import UNUSUAL, entrance
from plaudit.targets.layout import Layout
from plaudit.targets.refuse import Refusal
from plaudit.targets.rows import Place, columns, places
from plaudit.targets.scalar import NAMES, SCALAR, function
from plaudit.targets.scores import Scores

Row = tuple[Any, ...]
Result = TypeVar("Result")


class PythonReward(Compiled):
    """A reward compiled to Python.

    Call it with a mapping of inputs to get `Scores`. `function` is the bare generated function: inputs by position, in
    the order of `inputs` and past the door; the total and then each term's value back. A bad row raises.
    """

    def __init__(self, program: Program, *, guard: bool = True, on_bad: str = "raise") -> None:
        """Compile `program`; without `guard`, declared ranges are not checked."""
        super().__init__(program, guard=guard, on_bad=on_bad)
        self._bound = program.bound()
        self._refusal = Refusal(self._bound, ranges=guard)
        self.layout = Layout.of(self._bound)
        outputs = ["total", *(f"{term}.value" for term in program.terms)]
        self.function: Callable[..., Row] = self._generate(self._bound, [self._bound.outputs[name] for name in outputs])

    def __call__(self, inputs: Any, params: Mapping[str, float | bool] | None = None) -> Scores:
        """Return the scores of one row."""
        try:
            if params is None:
                return self.layout.named(self.run(inputs), True)
            row, values = self.row(inputs), self.program.values(params)
            layout, general = self._general
            try:
                return layout.named(general(*row, *values.values()), True)
            except InputError:
                raise Refusal(self.program.bound(params), ranges=self.guard)(row) from None
        except InputError as error:
            if self.on_bad == "raise" or isinstance(error, UnknownInput):  # a wrong name is no bad row
                raise
            return self.layout.named((math.nan,) * len(self.layout.roots), False)

    @property
    def source(self) -> str:
        """The generated text."""
        return str(self.function.source)  # type: ignore[attr-defined]  # put there by `function`

    def row(self, inputs: Any) -> Row:
        """Return the values of `inputs` past the door, in order."""
        flat = columns(self.program, inputs)
        found = list(zip(places(self.program), self._converters, strict=True))
        ended = any(convert(flat["terminal"]) for place, convert in found if place.name == "terminal")
        values = []
        for place, convert in found:
            value = flat.get(place.name) if place.name in flat else flat[place.column]
            if place.name in self.program.terminal and not ended:
                value = place.field.at_rest  # what only the end reads is nobody's business before it
            elif place.entry is not None and place.name not in flat:
                value = _entry(self.program, place, value)
            values.append(convert(value))
        return tuple(values)

    @cached_property
    def run(self) -> Callable[[Any], Row]:
        """The function from a mapping of inputs to every output of the layout."""
        return self.handing(lambda row, outputs: outputs)

    @cached_property
    def _converters(self) -> list[Callable[[Any], Any]]:
        return [converter(self.program.name, name, field) for name, field in self.program.inputs.items()]

    @cached_property
    def _general(self) -> tuple[Layout, Callable[..., Row]]:
        """The function that takes parameters as further arguments, made when first needed."""
        layout = Layout.of(self.program)
        return layout, self._generate(self.program, layout.roots)

    @cached_property
    def _everything(self) -> Callable[..., Row]:
        """The function from a row past the door to every output of the layout."""
        return self._generate(self._bound, self.layout.roots)

    def _body(self, program: Program, roots: Sequence[int], known: Set[str] = frozenset()) -> tuple[list[str], Code]:
        """Return the statements after the door: the ranges in one test, the terms, the domains in another.

        Inputs in `known` have been looked up at the door, as categories always are: their range needs no test.
        """
        names = ", ".join(f"x{i}" for i in range(len(program.inputs)))
        known = known | {name for name, field in program.inputs.items() if field.kind == "category"}
        tests = [guard.node for guard in program.ranges if guard.where not in known] if self.guard else []
        sure = Sure() if program.params else surely(program, ranges=self.guard, looked_up=True)
        code = emit(program, tests, SCALAR)
        lines = code.lines
        code.lines = []
        if tests:
            lines.append(f"if not ({' and '.join(code.texts[test] for test in tests)}): raise bad(({names},))")
        domain = [guard.node for guard in program.domain if guard.node not in sure.holds]
        code = emit(program, [*roots, *domain], SCALAR, code, sure=sure.defined)
        lines += code.lines
        if domain:
            lines.append(f"if not ({' and '.join(code.texts[test] for test in domain)}): raise bad(({names},))")
        return lines, code

    def _generate(self, program: Program, roots: Sequence[int]) -> Callable[..., Row]:
        lines, code = self._body(program, roots)
        arguments = [f"x{i}" for i in range(len(program.inputs))] + [f"p{i}" for i in range(len(program.params))]
        result = "".join(f"{code.texts[root]}, " for root in roots)
        made: Callable[..., Row] = function("score", arguments, [*lines, f"return ({result})"], self._names(code))
        return made

    def _names(self, code: Code) -> dict[str, Any]:
        return {**NAMES, **code.tables, "bad": self._refusal}

    def handing(self, take: Callable[..., Result], *first: object, keywords: bool = False) -> Callable[..., Result]:
        """Return the way in and the reward in one function: a mapping in, `take(*first, row, outputs)` out.

        With `keywords`, the inputs come in as keyword arguments instead.
        """

        def slow(inputs: Any) -> Result:
            row = self.row(inputs)
            return take(*first, row, self._everything(*row))

        way = entrance(self.program, self._converters, keywords=keywords)
        listed = {name for name, field in self.program.inputs.items() if field.numbers}
        lines, code = self._body(self._bound, self.layout.roots, known=listed)
        leading = "".join(f"h{i}, " for i in range(len(first)))
        row = "".join(f"x{i}, " for i in range(len(self.inputs)))
        outputs = "".join(f"{code.texts[root]}, " for root in self.layout.roots)
        body = [*way.lines, *lines, f"return take({leading}({row}), ({outputs}))"]
        body = ["try:", *(f"    {line}" for line in body), f"except unusual: return slow({way.given})"]
        seen = {**self._names(code), **way.names, "take": take, "slow": slow, "unusual": UNUSUAL}
        seen |= {f"h{i}": value for i, value in enumerate(first)}
        made: Callable[..., Result] = way.renamed(function("run", way.arguments, body, seen))
        return made


def _entry(program: Program, place: Place, vector: Any) -> Any:
    """Return one entry of a vector; ShapeMismatch where it is none, or not of its length."""
    if vector is None and place.field.missing is not None:
        return place.field.missing
    sized = not isinstance(vector, str | bytes | Mapping | Set) and hasattr(vector, "__getitem__")
    length = len(vector) if sized and getattr(vector, "ndim", 1) != 0 else -1
    if length != place.field.length:
        given = f"{length} values" if length >= 0 else f"a {type(vector).__name__}"
        raise ShapeMismatch(
            f"reward {program.name!r}, field {place.column!r}: {place.field.length} values are needed, {given} given."
        )
    return vector[place.entry]
