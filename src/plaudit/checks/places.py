"""Places in the source of a term that only some rows reach, as outputs of a small Program."""

from collections.abc import Sequence
from dataclasses import dataclass

from plaudit.checks.finding import Place
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Builder, Program
from plaudit.language.reader import Mark
from plaudit.reward.lower import read_into, transitions
from plaudit.reward.reward import Reward
from plaudit.reward.term import Term


@dataclass(frozen=True, slots=True)
class Marked:
    """A term, read again with its places marked; flags that are knobs are left open, as inputs."""

    program: Program
    """Outputs `reached 0`, `test 0`, …, one of each for every mark that has them."""
    marks: tuple[Mark, ...]

    def place(self, at: int) -> Place:
        """Return where a mark stands."""
        mark = self.marks[at]
        return Place(mark.file, mark.line, mark.text)


def marked(reward: Reward, term: Term) -> Marked | None:
    """Return `term` with its places marked; None where it was loaded and has no source."""
    if term.source is None:
        return None
    builder = Builder()
    reading = read_into(builder, term, reward.fields, transitions(reward.terms), reward.shared)
    params = {**term.params, **reward.shared}
    switches = {name: Field("switch", flag=True) for name, value in params.items() if isinstance(value, bool)}
    nodes = _opened(builder.nodes, set(switches))
    outputs = {f"reached {at}": mark.reached for at, mark in enumerate(reading.marks)}
    outputs |= {f"test {at}": mark.test for at, mark in enumerate(reading.marks) if mark.test is not None}
    inputs = {**reading.inputs, **switches}
    inputs |= {"terminal": Field("terminal", flag=True)} if term.terminal else {}
    program = Program(
        reward.name, (), tuple(nodes), inputs, params, outputs, frozenset(), domain=reading.guards, ranges=()
    )
    return Marked(program.bound(), reading.marks)


def _opened(nodes: Sequence[n.Node], switches: set[str]) -> list[n.Node]:
    """Return nodes in which some parameters are inputs."""
    return [n.Input(node.name) if isinstance(node, n.Param) and node.name in switches else node for node in nodes]
