"""A batch in CUDA: a struct with the address of each array, and the function that scores a row of it."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from plaudit.targets.c.reward import CReward


class Array(NamedTuple):
    """An array of a batch, which the caller owns."""

    name: str
    """What it holds, by the names of the reward: `in.tilt`, `in.prev.x`, `state.air_time`, `out.values.level`."""
    place: str
    """Where its address is in the struct: the same, unless C does not allow a name."""
    kind: str
    """The type of an entry: `double`, `float`, `bool`, `int`."""
    length: int = 1
    """How many entries each row has."""
    required: bool = False
    """Whether its address may not be null."""


FACTS = {"ok": "bool", "status": "int", "check": "int", "field": "int", "entry": "int", "term": "int"}
"""What the outputs say about a row beside its numbers."""


def list_arrays(made: CReward) -> tuple[Array, ...]:
    """Return the arrays of a batch, in the order of its struct, where each is an address of eight bytes."""
    structs, program = made.structs, made.program
    own = [column for column in structs.columns if not structs.is_state(column)]
    own.sort(key=lambda column: ("", "prev", "curr").index(column.slots[0].record))
    found = []
    for column in own:
        field, name = column.slots[0].field, column.name
        places = f"in.{name}", f"in.{structs.members[name]}"
        found.append(Array(*places, structs.name_kind(field), math.prod(field.shape), required=name != "terminal"))
    for name, carried in program.states.items():
        kind, places = structs.name_kind(carried.field), (f"state.{name}", f"state.{structs.name_state(name)}")
        found.append(Array(*places, kind, math.prod(carried.field.shape), required=True))
    found += [Array("reset", "reset", "bool")] if program.states else []
    found += [Array("knobs", "knobs", f"{made.prefix}_knobs", 0)] if made.bound.params else []
    found += [Array(f"out.{name}", f"out.{name}", kind) for name, kind in FACTS.items()]
    names = ["total", *(f"{part}.{term}" for part in ("values", "scores") for term in structs.terms)]
    numbers = zip(names, structs.list_numbers(), strict=True)
    return (*found, *(Array(f"out.{name}", f"out.{place}", made.real) for name, place in numbers))


def format_batch(made: CReward) -> list[str]:
    """Return the struct with the addresses."""
    p = made.prefix
    said = [
        "/* A batch: an array for each member, with an entry per row, or with all entries of a vector row by row.",
        " * The caller owns the arrays. Outputs that are null are not written.",
        " */",
    ]
    return [*said, f"typedef struct {p}_batch {{", "    long long rows;", *_format_members(made), f"}} {p}_batch;"]


def _format_members(made: CReward) -> Iterator[str]:
    """Yield the lines of the struct; arrays whose names have a common start stand in a struct of that name."""
    opened: list[str] = []
    for array in list_arrays(made):
        *path, name = array.place.split(".")
        while opened != path[: len(opened)]:
            yield f"{'    ' * len(opened)}}} {opened.pop()};"
        while len(opened) < len(path):
            opened.append(path[len(opened)])
            yield f"{'    ' * len(opened)}struct {{"
        constant = "const " if path[:1] not in (["state"], ["out"]) else ""
        yield f"{'    ' * (len(opened) + 1)}{constant}{array.kind} *{name};{_describe(array)}"
    while opened:
        yield f"{'    ' * len(opened)}}} {opened.pop()};"


def _describe(array: Array) -> str:
    said = {
        "reset": "true where a row begins an episode; null: nowhere",
        "knobs": "null: as the reward declares them",
        "in.terminal": "null: false",
        "out.ok": "whether the row was scored",
    }.get(array.name, f"{array.length} per row" if array.length > 1 else "")
    return f" /* {said} */" if said else ""


def format_row(made: CReward) -> list[str]:
    """Return the function that scores a row: it reads the entries that the reward reads, and writes what is wanted."""
    p, structs, program = made.prefix, made.structs, made.bound
    arguments = ["&in", *(["&knobs"] if program.params else []), *(["&state"] if program.states else []), "&out"]
    lines = [f"{p}_inputs in;", f"{p}_outputs out;"]
    if program.params:
        lines.append(f"const {p}_knobs knobs = batch->knobs != 0 ? *batch->knobs : {p}_default_knobs();")
    lines += [f"{p}_state state = {p}_initial_state();"] if program.states else []
    lines += _format_reads(made)
    lines.append(f"(void){p}_score({', '.join(arguments)});")
    lines += [f"{source} = state.{place};" for place, source in _list_state_entries(made)]
    lines += ["if (batch->out.ok != 0)", f"    batch->out.ok[at] = out.status == {p}_OK;"]
    for name in (*list(FACTS)[1:], *structs.list_numbers()):
        value = f"(int)out.{name}" if name == "status" else f"out.{name}"
        lines += [f"if (batch->out.{name} != 0)", f"    batch->out.{name}[at] = {value};"]
    return [
        "/* Scores row `at` of a batch. If the row is bad, its state is what it was before the step. */",
        f"{made.function} void {p}_score_row(const {p}_batch *batch, long long at)",
        "{",
        *(f"    {line}" for line in lines),
        "}",
    ]


def _format_reads(made: CReward) -> list[str]:
    structs, lines = made.structs, []
    for column in structs.columns:
        field, member = column.slots[0].field, structs.members[column.name]
        if structs.is_state(column):
            continue
        for slot in column.slots:
            entry = slot.entry or 0
            read = f"batch->in.{member}[{_format_index(math.prod(field.shape), entry)}]"
            if column.name == "terminal":
                read = f"batch->in.{member} != 0 && {read}"
            lines.append(f"in.{member}{(field.entries or ('',))[entry]} = {read};")
    lines = lines or ["in.unused = 0;"]
    if made.program.states:
        kept = [f"    state.{place} = {source};" for place, source in _list_state_entries(made)]
        lines += ["if (batch->reset == 0 || !batch->reset[at]) {", *kept, "}"]
    return lines


def _list_state_entries(made: CReward) -> Iterator[tuple[str, str]]:
    """Yield each entry of each state: its place in the struct of a row, and in the batch."""
    for name, carried in made.program.states.items():
        member, length = made.structs.name_state(name), math.prod(carried.field.shape)
        for at, entry in enumerate(carried.field.entries or ("",)):
            yield f"{member}{entry}", f"batch->state.{member}[{_format_index(length, at)}]"


def _format_index(length: int, entry: int) -> str:
    if length == 1:
        return "at"
    return f"at * {length} + {entry}" if entry else f"at * {length}"
