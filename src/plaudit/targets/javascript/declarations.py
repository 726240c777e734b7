"""The types of a generated module, for TypeScript: which fields, knobs and terms there are, and what each may be."""

from collections.abc import Iterable, Mapping

from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.inputs import InputColumn, list_columns
from plaudit.targets.javascript.writing import format_json

_ERRORS = {
    "PlauditError": "Error",
    "DefinitionError": "PlauditError",
    "UnknownParameter": "DefinitionError",
    "TargetError": "PlauditError",
    "InputError": "PlauditError",
    "MissingField": "InputError",
    "UnknownInput": "InputError",
    "WrongType": "InputError",
    "NotFinite": "InputError",
    "OutOfRange": "InputError",
    "UnknownCategory": "InputError",
    "OutsideDomain": "InputError",
    "ShapeMismatch": "InputError",
}

_FUNCTIONS = """\
export interface Options {
  readonly onBad?: "raise" | "mask";
}

export interface Scores {
  total: number;
  values: Record<Term, number>;
  scores: Record<Term, number>;
  ok: boolean;
}

export interface BatchScores {
  total: Float64Array;
  values: Record<Term, Float64Array>;
  scores: Record<Term, Float64Array>;
  ok: Uint8Array;
}

export type Column =
  | Float64Array | Float32Array | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array
  | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;

export function score(row: Row, knobs?: Knobs, options?: Options): Scores;
export function scoreBatch(columns: Columns, knobs?: Knobs, out?: BatchScores, options?: Options): BatchScores;
export function encode(columns: Readonly<Record<string, unknown>>): Columns;
"""

_STEPS = """\
export function initialState(): State;
export function step(
  row: StepRow, state: State, knobs?: Knobs, options?: Options & { readonly reset?: boolean },
): Scores & { state: State };
"""


def format_declarations(program: Program) -> str:
    """Return the declarations of a module."""
    terms = " | ".join(map(format_json, program.terms)) or "never"
    parts = [
        "// Types of a reward of plaudit. They were generated: change the reward, and export it again.",
        "export const name: string;\nexport const version: string;\nexport const fingerprint: string;\n",
        f"export type Term = {terms};\nexport const docs: Readonly<Record<Term, string>>;\n",
        _format_interface("Knobs", _list_knobs(program)),
        "export const defaults: Readonly<Required<Pick<Knobs, " + _list_defaults(program) + ">>>;\n",
        *_format_row("Row", program, list_columns(program)),
        _format_interface("Columns", _list_batch_columns(program)),
        _FUNCTIONS,
    ]
    if program.states:
        states = {format_json(name): _format_type(each.field) for name, each in program.states.items()}
        own = [each for each in list_columns(program) if each.slots[0].key not in program.states]
        parts += [_format_interface("State", states), *_format_row("StepRow", program, own), _STEPS]
    parts += [f"export class {error} extends {base} {{}}" for error, base in _ERRORS.items()]
    return "\n".join(parts) + "\n"


def _format_interface(name: str, members: Mapping[str, str]) -> str:
    lines = [f"  {member}" for member in _format_members(members)]
    return "\n".join([f"export interface {name} {{", *lines, "}", ""])


def _format_members(members: Mapping[str, str]) -> list[str]:
    return [f"readonly {member}: {kind};" for member, kind in members.items()]


def _list_knobs(program: Program) -> dict[str, str]:
    """Return the knobs with their types: vectors whole, and each number."""
    found = {}
    for whole, shape in program.vector_params.items():
        first = next(value for knob, value in program.params.items() if knob.partition("[")[0] == whole)
        found[f"{format_json(whole)}?"] = _nest("boolean" if isinstance(first, bool) else "number", len(shape))
    kinds = {knob: "boolean" if isinstance(value, bool) else "number" for knob, value in program.params.items()}
    return found | {f"{format_json(knob)}?": kind for knob, kind in kinds.items()}


def _list_defaults(program: Program) -> str:
    return " | ".join(map(format_json, program.params)) or "never"


def _nest(kind: str, axes: int) -> str:
    return f"readonly ({kind})[]" if axes == 1 else f"readonly ({_nest(kind, axes - 1)})[]" if axes else kind


def _format_type(field: Field) -> str:
    single = "number | bigint"
    if field.kind == "flag":
        single = "boolean | 0 | 1"
    elif field.kind == "category":
        single = "string" if field.other is not None else " | ".join(map(format_json, field.labels))
    if field.missing is not None:
        single += " | null"
    if not field.shape:
        return single
    typed = " | Float64Array | Float32Array" if len(field.shape) == 1 and field.kind == "number" else ""
    return _nest(single, len(field.shape)) + typed


def _format_row(name: str, program: Program, columns: Iterable[InputColumn]) -> list[str]:
    """Return the type of a row: single fields, and `prev` and `curr` as records or under their whole names."""
    plain: dict[str, str] = {}
    whole: dict[str, str] = {}
    records: dict[str, dict[str, str]] = {}
    for column in columns:
        slot, kind = column.slots[0], _format_type(column.slots[0].field)
        mark = "?" if _is_optional(program, column) else ""
        if slot.record:
            records.setdefault(slot.record, {})[format_json(slot.key) + mark] = kind
            whole[format_json(column.name) + mark] = kind
        else:
            plain[format_json(column.name) + mark] = kind
    if not records:
        return [_format_interface(name, plain)]
    nested = {record: f"{{ {' '.join(_format_members(each))} }}" for record, each in records.items()}
    return [
        _format_interface(f"{name}Fields", plain),
        _format_interface(f"{name}Records", nested),
        _format_interface(f"{name}Flat", whole),
        f"export type {name} = {name}Fields & ({name}Records | {name}Flat);\n",
    ]


def _is_optional(program: Program, column: InputColumn) -> bool:
    field = column.slots[0].field
    ends = all(slot.name in program.terminal for slot in column.slots)
    return field.missing is not None or ends or column.name == "terminal"


def _list_batch_columns(program: Program) -> dict[str, str]:
    """Return the columns of a batch: typed arrays, or one value for all rows."""
    return {
        format_json(column.name) + ("?" if _is_optional(program, column) else ""): (
            f"Column | {_format_type(column.slots[0].field)}"
        )
        for column in list_columns(program)
    }
