"""A reward on the screen: its terms, formula, fields and knobs."""

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from plaudit.cli.screen import Screen, table
from plaudit.cli.texts import printable, shown
from plaudit.language.field import Field
from plaudit.reward.reward import Reward

MOST_VALUES = 8
"""How many values of a field are written out."""


def draw(reward: Reward, screen: Screen) -> None:
    """Print everything that a reward is."""
    screen.print(Text.assemble((reward.name, "bold"), "@", reward.version))
    if reward.doc:
        screen.print(printable(reward.doc))
    screen.print(Text.assemble(("fingerprint ", "dim"), reward.fingerprint))
    source = Syntax(reward.source().strip("\n"), "python", background_color="default", word_wrap=True)
    _part(screen, "Terms", _terms(reward))
    _part(screen, "Formula", source)
    _part(screen, "Fields", _fields(reward))
    screen.print(Text.assemble("\n", ("A row holds ", "dim"), ", ".join(reward.inputs)))
    if knobs := _knobs(reward):
        _part(screen, "Knobs", knobs)
    if reward.facts:
        _part(screen, "Facts", _facts(reward))
    if reward.prefer:
        _part(screen, "Preferences", _preferences(reward))
    if reward.discount is not None:
        screen.print(Text.assemble("\n", ("Discount ", "dim"), shown(reward.discount)))


def _part(screen: Screen, title: str, body: RenderableType) -> None:
    screen.print(f"\n{title}\n", style="bold")
    screen.print(body)


def _terms(reward: Reward) -> Table:
    rows = []
    for term in reward.terms:
        kind = ", ".join(part for part in (term.kind, "at the end" if term.terminal else "") if part)
        first = printable(term.doc.partition("\n")[0])
        rows.append((term.name, shown(term.weight), span(term.low, term.high), kind, first))
    if clamps := span(reward.low, reward.high):
        rows.append(("total", "", clamps, "", "The sum of the above."))
    return _filled(("term", "weight", "clamped to", "kind", "what it rewards"), rows, right=["weight"])


def _fields(reward: Reward) -> Table:
    rows = []
    for name, field in reward.fields.items():
        title = f"{name}[0 … {field.length - 1}]" if field.length else name
        role = "action" if name == reward.action else field.role or ""
        rows.append((title, field.kind, allowed(field), printable(field.unit), role, printable(field.doc)))
    return _filled(("field", "kind", "range", "unit", "role", "what it is"), rows)


def _knobs(reward: Reward) -> Table | None:
    own = {f"{term.name}.{knob}" for term in reward.terms for knob in term.knobs}
    rows = []
    for name, value in reward.params.items():
        users = [term.name for term in reward.terms if name in term.shared]
        if users or name in own:
            rows.append((name, shown(value), ", ".join(users)))
    return _filled(("knob", "value", "shared by"), rows, right=["value"]) if rows else None


def _facts(reward: Reward) -> Table:
    rows = []
    for fact in reward.facts:
        says = printable(fact.doc.partition("\n")[0])
        rows.append((fact.name, ", ".join(printable(name) for name in fact.reads), says))
    return _filled(("fact", "reads", "what it says"), rows)


def _preferences(reward: Reward) -> Table:
    rows = [(steps(each.better), steps(each.over), printable(each.because)) for each in reward.prefer]
    return _filled(("better", "worse", "because"), rows)


def steps(rows: Sequence[Mapping[str, float | bool | str]]) -> str:
    """Return what is known of one or more steps.

    >>> steps([{"distance": 30.0, "warned": True}, {}])
    'distance=30, warned=true; then any step'
    """
    texts = [", ".join(f"{name}={shown(value)}" for name, value in row.items()) or "any step" for row in rows]
    return "; then ".join(texts)


def _filled(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> Table:
    """Return a table of the columns that hold anything."""
    kept = [at for at in range(len(headers)) if any(row[at] for row in rows)]
    made = table(*(headers[at] for at in kept), right=right)
    for row in rows:
        made.add_row(*(row[at] for at in kept))
    return made


def span(low: float | None, high: float | None) -> str:
    """Return a range as people write it.

    >>> span(0.0, 0.3), span(0.0, None), span(None, None)
    ('0 … 0.3', '≥ 0', '')
    """
    if low is not None and high is not None:
        return f"{shown(low)} … {shown(high)}"
    if low is not None:
        return f"≥ {shown(low)}"
    return "" if high is None else f"≤ {shown(high)}"


def allowed(field: Field) -> str:
    """Return which values a field can have, and what becomes of others.

    >>> allowed(Field("distance", low=0, infinite=True)), allowed(Field("delta", low=-1, high=1, outside="clip"))
    ('≥ 0 or inf', '-1 … 1; others clipped')
    """
    values = f"{_values(field)} or inf" if field.infinite else _values(field)
    outside = {"error": "", "clip": "others clipped", "allow": "others pass"}[field.outside]
    other = "" if field.other is None else f"others: {shown(field.other)}"
    absent = "" if field.missing is None else f"absent: {shown(field.missing)}"
    return "; ".join(part for part in (values, outside, other, absent) if part)


def _values(field: Field) -> str:
    if field.kind == "flag":
        return "true, false"
    if not field.values:
        return span(field.low, field.high) or "any number"
    texts = [shown(value) for value in field.values]
    return ", ".join(texts if len(texts) <= MOST_VALUES else [*texts[: MOST_VALUES - 2], "…", texts[-1]])
