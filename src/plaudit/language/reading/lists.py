"""Lists of records, `world.agents`: how many there are, as their declared parts say, and which of them are the same."""

import ast

from plaudit.language.field import RECORDS
from plaudit.language.reading.context import Context, Path
from plaudit.language.reading.paths import drop_indices, find_declared, list_indices
from plaudit.language.reading.values import EACH, Constant, Element, Record, Undeclared, Value, format_path


def list_records(context: Context, value: Value, node: ast.AST) -> list[Value] | None:
    """Return the records of a list, as many as have declared parts, `agents_0_pos`, `agents_1_pos`; None if none has.

    An index that is left out is an error: another declaration is forgotten, or the list is not what it seems.
    """
    if not isinstance(value, Record) or value.path[0] in RECORDS:
        return None
    named = list_indices(context, value.path)
    if not named:
        return None
    shown = format_path(value.path)
    if len(named) > 1:
        names = " and ".join(f"{name}_{indices[0]}_..." for name, indices in named.items())
        what = f"how many objects `{shown}` holds is not known: parts are declared as {names}."
        raise context.error(node, what, "Give all its parts the longest name, and those of other lists another one.")
    (found,) = named.values()
    whole = [name for at in found if (name := find_declared(context, (*value.path, str(at))))]
    if whole:
        what = f"`{shown}` is declared entry by entry, {whole[0]!r}, and is read as a whole here."
        raise context.error(node, what, f"Declare one array: Field({value.path[-1]!r}, shape=({len(found)}, ...)).")
    if found != list(range(len(found))):
        listed = ", ".join(map(str, found))
        what = f"how many objects `{shown}` holds is not known: parts are declared under {listed}."
        raise context.error(node, what, f"Declare what is read of each one, from `{shown}[0]` on, without a gap.")
    count = f"{len(found)} object{'s' * (len(found) > 1)}"
    what = f"`{shown}` is read as a list of {count}, as many as have declared parts."
    if all(note.what != what for note in context.notes):
        context.note(node, what)
    return [Record((*value.path, str(at))) for at in found]


def is_same_record(context: Context, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> bool | None:
    """Return whether two records are one object: the entries of a list are as many objects; None for other values."""
    paths = [each.path for each in (left, right) if isinstance(each, Record) and each.path[0] not in RECORDS]
    if len(paths) != 2 or not any(map(_is_entry, paths)):
        return None
    if not isinstance(op, ast.Is | ast.IsNot):
        what = "this compares two objects, and whether they are equal is not known."
        raise context.error(node, what, "Compare their parts, or write `is` and `is not` to ask for the same object.")
    one, other = paths
    known = not any("(" in part for part in (*one, *other))
    if known and one == other:
        return True
    if known and one[:-1] == other[:-1] and all(path[-1].isdigit() for path in paths):
        return False
    shown = f"`{format_path(one)}` and `{format_path(other)}`"
    entry = format_path(next(path for path in paths if _is_entry(path)))
    advice = (
        f"Only entries of one list can be told apart. Pass the entry itself: `def first(...): return f({entry}, ...)`."
    )
    raise context.error(node, f"whether {shown} are the same object is not known.", advice)


def may_be_same_record(left: Value, right: Value) -> bool:
    """Return whether two values may turn out to be records of lists, once fields are declared."""
    paths = [each.path for each in (left, right) if isinstance(each, Undeclared | Element) and each.path]
    return len(paths) == 2 and any(map(_is_entry, paths))


def is_choice_of_records(*values: Value) -> bool:
    """Return whether values are records, or None, and at least one is a record of a list."""
    paths = [each.path for each in values if isinstance(each, Record)]
    others = [each for each in values if not isinstance(each, Record)]
    return any(map(_is_entry, paths)) and all(isinstance(each, Constant) and each.value is None for each in others)


def _is_entry(path: Path) -> bool:
    return path[-1] == EACH or drop_indices(path) != path
