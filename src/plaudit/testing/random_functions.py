"""Random functions in the language of terms, written as text."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol, TypeVar

from plaudit.language import nodes as n
from plaudit.testing.cases import MATH

T = TypeVar("T")
CONSTANTS = ("0", "1", "2", "-1", "3", "0.5", "0.1", "-0.3", "2.5", "10.0", "1e-3", "100")
NONZERO = ("2", "-3", "0.5", "1.7", "-0.25")


class Choose(Protocol):
    """A function that picks one of some options: `random.Random(seed).choice`, or what draws for Hypothesis."""

    def __call__(self, options: Sequence[T], /) -> T:
        """Return one of the options."""


@dataclass
class FunctionWriter:
    """Writes one function; every method returns text, and `moving` says whether the last one can vary by row."""

    choose: Choose
    numbers: list[str]
    flags: list[str]
    _: KW_ONLY
    moods: Mapping[str, Sequence[str]] = field(default_factory=dict)
    vectors: Mapping[str, int] = field(default_factory=dict)
    wholes: Sequence[str] = ()
    helpers: Sequence[str] = ()
    infinite: Collection[str] = ()
    fixed: Sequence[str] = ()
    fresh: int = 0
    powers: bool = False

    def pick(self, *options: T) -> T:
        """Return one of the options."""
        return self.choose(options)

    # -- numbers

    def leaf(self) -> str:
        """Return a name or a constant."""
        options = ["constant", "number", "number", "number", "number"]
        options += ["vector"] * bool(self.vectors) + ["flag"] * bool(self.flags)
        match self.pick(*options):
            case "constant":
                return self.pick(*CONSTANTS, "HALF", "math.pi", "PRICES[2]", *self.fixed)
            case "vector":
                vector = self.pick(*self.vectors)
                return f"{vector}[{self.pick(*range(self.vectors[vector]))}]"
            case "flag":
                return self.pick(*self.flags)
        return self.moving()

    def moving(self) -> str:
        """Return something that is never a constant."""
        return self.pick(*self.numbers)

    def number(self, depth: int) -> str:
        """Return an expression that is a number."""
        if depth <= 0:
            return self.leaf()
        options = ["leaf", "plus", "plus", "times", "over", "step", "least", "function", "choice", "choice", "item"]
        options += ["place"] * bool(self.moods or self.wholes) + ["reduce"] * 2 * bool(self.vectors)
        options += ["helper"] * 2 * bool(self.helpers) + ["power", "round"]
        return str(getattr(self, f"_{self.pick(*options)}")(depth - 1))

    def _leaf(self, depth: int) -> str:
        return self.leaf()

    def _plus(self, depth: int) -> str:
        return f"({self.number(depth)} {self.pick('+', '-')} {self.varied(depth)})"

    def _times(self, depth: int) -> str:
        return f"({self.varied(depth)} * {self.number(depth)})"

    def varied(self, depth: int) -> str:
        """Return an expression with an operand that can vary, so that no constants are folded."""
        return f"({self.moving()} {self.pick('+', '-', '*')} {self.number(depth - 1)})" if depth > 0 else self.moving()

    def _over(self, depth: int) -> str:
        top, sign = self.number(depth), self.pick("/", "/", "//", "%")
        match self.pick("safe", "guarded", "constant", "raw"):
            case "safe":
                return f"({top} {sign} (abs({self.varied(depth)}) + 1.0))"
            case "guarded":
                bottom = self.varied(depth)
                return f"({top} {sign} {bottom} if {bottom} != 0 else {self.leaf()})"
            case "constant":
                return f"({self.varied(depth)} {sign} {self.pick(*NONZERO)})"
        return f"({top} {sign} {self.varied(depth)})"

    def _step(self, depth: int) -> str:
        return (
            f"({self.pick('-', '+')}{self.number(depth)})" if self.pick(True, False) else f"abs({self.number(depth)})"
        )

    def _least(self, depth: int) -> str:
        parts = [self.number(depth) for _ in range(self.pick(2, 2, 3))]
        return f"{self.pick('min', 'max')}({', '.join(parts)})"

    def _function(self, depth: int) -> str:
        argument = self.number(depth)
        guarded = {
            "sqrt": f"math.sqrt(abs({argument}))",
            "exp": f"exp(min({argument}, 5.0))",
            "log": f"math.log(abs({argument}) + 0.1)",
            "log1p": f"log1p(abs({argument}))",
            "expm1": f"math.expm1(-abs({argument}))",
        }
        kind = self.pick(*MATH)
        _, name = n.split_function(kind)
        if kind.domain == n.Domain(-1.0, 1.0):
            guarded[name] = f"{kind.function}({argument} / (abs({argument}) + 1.0))"
        if name in guarded and self.pick(True, True, False):
            return guarded[name]
        if issubclass(kind, n.Binary):
            return f"{kind.function}({argument}, {self.varied(depth)})"
        return f"cos({argument})" if kind is n.Cos and self.pick(True, False) else f"{kind.function}({argument})"

    def _choice(self, depth: int) -> str:
        return f"({self.number(depth)} if {self.flag(depth)} else {self.number(depth)})"

    def _item(self, depth: int) -> str:
        return f"{self.pick('PRICES', 'STEPS', 'OPEN')}[{self.index(depth)}]"

    def index(self, depth: int) -> str:
        """Return an expression that is an integer, perhaps outside a table."""
        options = ["round", "floor", "choice"] + ["whole"] * 3 * bool(self.wholes) + ["flag"] * bool(self.flags)
        match self.pick(*options):
            case "whole":
                return self.pick(*self.wholes)
            case "flag":
                return self.pick(*self.flags)
            case "choice":
                return f"(1 if {self.flag(depth)} else 2)"
            case "floor":
                return f"math.floor({self.varied(depth)})"
        return f"round({self.varied(depth)})"

    def _place(self, depth: int) -> str:
        if self.moods and (not self.wholes or self.pick(True, False)):
            return f"{self.pick('ORDER', 'ORDER', 'SOME')}.index({self.pick(*self.moods)})"
        return f"STEPS.index({self.pick(*self.wholes)})"

    def _reduce(self, depth: int) -> str:
        vector, kind = self.pick(*self.vectors), self.pick("sum", "min", "max")
        match self.pick("whole", "each", "zip"):
            case "whole":
                return f"{kind}({vector})"
            case "zip":
                long = [name for name, length in self.vectors.items() if length == self.vectors[vector]]
                return f"{kind}(a * b - {self.leaf()} for a, b in zip({vector}, {self.pick(*long)}))"
        each = self.pick("x * x", "abs(x)", "x if x > 0.5 else -x", "max(x, 1)", "1 / x", "math.sqrt(x)")
        if kind == "sum":  # JAX and PyTorch take infinity * 0 for the largest, Python for none
            each = f"{self.pick('', self.leaf() + ' * ', f'max({self.pick(*self.vectors)}) * ')}({each})"
        return f"{kind}({each} for x in {vector})"

    def _helper(self, depth: int) -> str:
        name = self.pick(*self.helpers)
        knob = f", scale={self.pick(*CONSTANTS, self.moving())}" if self.pick(True, False) else ""
        return f"{name}({self.varied(depth)}, {self.varied(depth)}{knob})"

    def _power(self, depth: int) -> str:
        self.powers = True
        finite = [
            name for name in self.numbers if name not in self.infinite and name.isidentifier() and "local" not in name
        ]
        bases = [f"math.sin({self.number(depth)})", *(f"({name} - 0.75)" for name in finite)]
        return f"({self.pick(*bases)} ** {self.pick(2, 2, 3, 0, 1, 8)})"

    def _round(self, depth: int) -> str:
        function = self.pick("round", "math.floor", "math.ceil")
        return f"({function}({self.number(depth)}) * {self.pick('1.0', '0.25', '-2.5')})"

    # -- flags

    def flag(self, depth: int) -> str:
        """Return an expression that is a bool."""
        options = ["compare", "compare", "compare", "chain", "among"] + ["leaf"] * bool(self.flags)
        options += ["mood"] * 2 * bool(self.moods) + ["joined", "joined", "negated"] * (depth > 0)
        options += ["every"] * bool(self.vectors) + ["infinite"] * 3 * bool(self.infinite)
        return str(getattr(self, f"_{self.pick(*options)}_flag")(depth - 1))

    def _leaf_flag(self, depth: int) -> str:
        return self.pick(*self.flags)

    def _compare_flag(self, depth: int) -> str:
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"({self.pick(self.moving(), self.number(depth))} {sign} {self.pick(self.leaf(), self.number(depth))})"

    def _chain_flag(self, depth: int) -> str:
        low, high = self.pick(("0", "1"), ("-0.3", "2.5"), ("0.1", self.leaf()))
        return f"({low} {self.pick('<', '<=')} {self.number(depth)} {self.pick('<', '<=', '!=')} {high})"

    def _among_flag(self, depth: int) -> str:
        return f"({self.moving()} {self.pick('in', 'not in')} (1, 0.5, -0.3, 2))"

    def _mood_flag(self, depth: int) -> str:
        mood = self.pick(*self.moods)
        if self.pick(True, False):
            return f"({mood} {self.pick('==', '!=')} {self.pick(*self.moods[mood])!r})"
        if len(self.moods) > 1:
            return f"({self.pick(*self.moods)} {self.pick('==', '!=')} {mood})"
        labels = self.moods[mood]
        return f"({mood} {self.pick('in', 'not in')} {self.pick(tuple(labels[:2]), tuple(labels[-1:]))!r})"

    def _joined_flag(self, depth: int) -> str:
        parts = [self.flag(depth) for _ in range(self.pick(2, 2, 3))]
        return "(" + self.pick(" and ", " or ").join(parts) + ")"

    def _negated_flag(self, depth: int) -> str:
        return f"(not {self.pick(self.flag(depth), self.moving())})"

    def _every_flag(self, depth: int) -> str:
        return f"{self.pick('any', 'all')}(x {self.pick('<', '>=')} {self.leaf()} for x in {self.pick(*self.vectors)})"

    def _infinite_flag(self, depth: int) -> str:
        return f"isinf({self.pick(*sorted(self.infinite))})"

    # -- statements

    def body(self, depth: int, indent: str = "    ") -> list[str]:
        """Return the lines of a function."""
        lines = [line for _ in range(self.pick(0, 1, 1, 2, 3)) for line in self.statement(depth, indent)]
        return [*lines, f"{indent}return {self.result(depth)}"]

    def result(self, depth: int) -> str:
        """Return what a function returns."""
        return self.flag(depth) if self.pick(*[False] * 8, True) else self.number(depth)

    def statement(self, depth: int, indent: str) -> list[str]:
        """Return the lines of a statement."""
        match self.pick("assign", "augment", "branch", "branch", "early", "flag"):
            case "assign":
                return [self.assign(depth, indent)]
            case "augment" if any("local" in name for name in self.numbers):
                name = self.pick(*(name for name in self.numbers if "local" in name))
                return [f"{indent}{name} {self.pick('+=', '-=', '*=')} {self.varied(depth)}"]
            case "branch":
                return self.branch(depth, indent)
            case "early":
                return [f"{indent}if {self.flag(depth)}:", f"{indent}    return {self.number(depth)}"]
            case "flag":
                self.fresh += 1
                line = f"{indent}check{self.fresh} = {self.flag(depth)}"
                self.flags.append(f"check{self.fresh}")
                return [line]
        return [self.assign(depth, indent)]

    def assign(self, depth: int, indent: str) -> str:
        """Return an assignment to a new name."""
        self.fresh += 1
        line = f"{indent}local{self.fresh} = {self.varied(depth)}"
        self.numbers.append(f"local{self.fresh}")
        return line

    def branch(self, depth: int, indent: str) -> list[str]:
        """Return an `if` whose branches give the same new name a value, change old ones, or return."""
        self.fresh += 1
        new = f"local{self.fresh}"
        words = ["if", *["elif"] * self.pick(0, 0, 1), "else"]
        lines: list[str] = []
        for word in words:
            lines.append(f"{indent}{word}:" if word == "else" else f"{indent}{word} {self.flag(depth)}:")
            outer = list(self.numbers), list(self.flags)
            inner = indent + "    "
            if depth > 1 and self.pick(True, False, False):
                lines += self.statement(depth - 1, inner)
            if word != "else" and self.pick(True, False, False):
                lines.append(f"{inner}return {self.number(depth - 1)}")
            else:
                lines.append(f"{inner}{new} = {self.number(depth - 1)} + {self.moving()}")
            self.numbers, self.flags = outer
        self.numbers.append(new)
        return lines
