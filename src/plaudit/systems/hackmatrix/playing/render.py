"""A game as text: the board with row 5 on top, and beside it what the player has."""

from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.text import Text

from plaudit.systems.hackmatrix.plain.cells import PLACES, Place
from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.observation import is_visible
from plaudit.systems.hackmatrix.plain.state import Block, Cell, State
from plaudit.systems.hackmatrix.rules import MAX_HP, PROGRAM_CREDITS, PROGRAM_ENERGY, PROGRAMS, SIZE, STAGES

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix.state import EnvState, Snapshot

WIDTH = 7
"""Columns of a cell; it is two lines high: who is there, and what is there."""
PANEL = 26
"""Columns beside the board, so that a picture has 80."""

BLOCK, SIPHONED_BLOCK = "▒", "░"
CENTER = "×"

LEGEND = f"""\
@ you   V virus  D daemon  G glitch  C cryptog, with hit points; z stunned,
x disabled, s let in by a siphon, + another one behind   *1 a transmission
and the turns it takes   2c 2e credits, energy   (S) data siphon to pick up
{BLOCK} block: points, a program or ?, and how many transmissions a siphon of it
lets in (+4*)   {SIPHONED_BLOCK} siphoned block   {CENTER} a siphon was used here"""

STYLES = {
    "@": "bold green reverse",
    "V": "bold red",
    "D": "bold magenta",
    "G": "bold blue",
    "C": "bold",
    "*": "bold yellow",
    "c": "yellow",
    "e": "cyan",
    "(": "bold green",
    "E": "bold green",
    BLOCK: "blue",
    SIPHONED_BLOCK: "dim",
}
"""How a token is coloured, by the character that says what it is: the first, or the last of an amount."""

CHARACTERS = "─│┌┬┐├┼┤└┴┘▒░×♥·"
"""What a picture is drawn with beside ASCII."""
_ASCII = str.maketrans(dict(zip(CHARACTERS, "-|+++++++++#:xo.", strict=True)))


def to_text(
    state: "State | EnvState", *, color: bool = False, reveal: bool = False, legend: bool = False, ascii: bool = False
) -> str:
    """Return a picture of one game, 80 columns wide.

    It shows what an observation shows, so a cryptog is seen only in the player's row or column, unless `reveal` asks
    for all there is. `color` adds ANSI colours, `ascii` leaves out every other character than ASCII.
    """
    made = to_rich(state, reveal=reveal, legend=legend, ascii=ascii)
    if not color:
        return made.plain
    buffer = StringIO()
    Console(file=buffer, force_terminal=True, color_system="standard", width=200, legacy_windows=False).print(made)
    return buffer.getvalue().rstrip("\n")


def to_rich(state: "State | EnvState", *, reveal: bool = False, legend: bool = False, ascii: bool = False) -> Text:
    """Return a picture of one game for a Rich console."""
    game = to_plain(state)
    board, beside = list(_draw_board(game, reveal)), list(_draw_panel(game))
    lines = []
    for at in range(max(len(board), len(beside))):
        line = board[at] if at < len(board) else Text(" " * len(board[0]))
        if at < len(beside):
            line = Text.assemble(line, "  ", beside[at])
        line.rstrip()
        lines.append(line)
    made = Text("\n").join([*lines, *(Text(f"\n{LEGEND}", style="dim") for _ in range(legend))])
    if ascii:
        made.plain = to_ascii(made.plain)
    return made


def to_ascii(drawn: str) -> str:
    """Return a picture in ASCII.

    >>> to_ascii("│▒ 5pt ▒│")
    '|# 5pt #|'
    """
    return drawn.translate(_ASCII)


# -- the board --------------------------------------------------------------------------------------------------------


class _Occupant(NamedTuple):
    """The first enemy or transmission of a cell as it is drawn, and whether it is seen."""

    token: str
    seen: bool


class _Cell(NamedTuple):
    """A cell as it is drawn: the sign of its block, a space where there is none; who is there, and what is there."""

    fill: str
    who: list[str]
    what: list[str]


def describe_board(state: "State | EnvState | Snapshot") -> str:
    """Return the board in one line, for the context of a record: what the player sees, in the signs of a picture.

    Rows stand from top to bottom with `/` between, cells with spaces between, and the things in a cell with commas; `.`
    is an empty cell, `#` a block and `:` a siphoned one. A snapshot of a state will do.
    """
    cells = _find_cells(to_plain(state), reveal=False)
    return "/".join(" ".join(_describe_cell(cells[row, col]) for col in range(SIZE)) for row in reversed(range(SIZE)))


def _describe_cell(cell: _Cell) -> str:
    things = (cell.fill.strip(), *cell.who, *cell.what)
    return to_ascii(",".join(filter(None, things))) or "."


def _draw_board(state: State, reveal: bool) -> Iterator[Text]:
    drawn = _find_cells(state, reveal)
    yield Text("    " + " ".join(f"{col:^{WIDTH}}" for col in range(SIZE)).rstrip(), style="dim").append("   ")
    yield _draw_rule("┌┬┐")
    for row in reversed(range(SIZE)):
        row_cells = [drawn[row, col] for col in range(SIZE)]
        cells = [(_centre(cell.who, cell.fill), _centre(cell.what, cell.fill)) for cell in row_cells]
        for label, line in zip((f"{row} ", "  "), zip(*cells, strict=True), strict=True):
            made = Text.assemble((f" {label}│", "dim"))
            for part in line:
                made.append_text(part).append("│", "dim")
            yield made
        yield _draw_rule("├┼┤" if row else "└┴┘")


def _find_cells(state: State, reveal: bool) -> dict[Place, _Cell]:
    """Return every cell of the board by row and column."""
    enemies, transmissions = _find_enemies(state, reveal), _find_transmissions(state, reveal)
    found = {}
    for place in PLACES:
        who = ["@"] if state.player.place == place else []
        who += [each.token for each in (enemies.get(place), transmissions.get(place)) if each is not None and each.seen]
        found[place] = _find_cell(state.cells[place], who, is_exit=place == state.exit, reveal=reveal)
    return found


def _draw_rule(ends: str) -> Text:
    return Text(f"   {ends[0]}{ends[1].join(['─' * WIDTH] * SIZE)}{ends[2]}", style="dim")


def _find_cell(cell: Cell, who: list[str], *, is_exit: bool, reveal: bool) -> _Cell:
    block = cell.block
    if block is None:
        return _Cell(" ", who, list(_list_ground(cell, is_exit)))
    known = reveal or cell.siphoned or not block.question
    if not who and block.spawn and known:
        who = [f"+{block.spawn}*"]
    fill = SIPHONED_BLOCK if cell.siphoned else BLOCK
    resources = list(_list_resources(cell)) if cell.siphoned else []
    return _Cell(fill, who, [_describe_content(block, cell.siphoned) if known else "?", *resources])


def _describe_content(block: Block, siphoned: bool) -> str:
    mark = "?" if block.question and not siphoned else ""
    return f"{block.points}pt{mark}" if block.program is None else f"{block.program}{mark}"


def _list_ground(cell: Cell, is_exit: bool) -> Iterator[str]:
    yield from _list_resources(cell)
    if cell.data_siphon:
        yield "(S)"
    if is_exit:
        yield "EXIT"
    if cell.siphon_center:
        yield CENTER


def _list_resources(cell: Cell) -> Iterator[str]:
    for amount, sign in ((cell.credits, "c"), (cell.energy, "e")):
        if amount:
            yield f"{amount}{sign}"


def _centre(tokens: list[str], fill: str) -> Text:
    """Return a line of a cell; what does not fit is cut off."""
    gap = " " if len(" ".join(tokens)) <= WIDTH else ""
    line = gap.join(tokens)[:WIDTH]
    padded = f" {line} " if 0 < len(line) <= WIDTH - 4 else line  # of a block something is left on both sides
    made = Text(f"{padded:{fill}^{WIDTH}}")
    made.stylize(STYLES.get(fill, ""))
    at = made.plain.index(line) if line else 0
    for token in tokens:
        made.stylize(f"not dim {_find_style(token)}", at, at + len(token))
        at += len(token) + len(gap)
    return made


def _find_style(token: str) -> str:
    if token[0].isdigit() or token[0] == "+":  # an amount: its unit says what it is
        return STYLES.get(token[-1], "default bold")
    if token.rstrip("?") in PROGRAMS:
        return "default bold"
    return STYLES.get(token[0], "default bold")


def _find_enemies(state: State, reveal: bool) -> dict[Place, _Occupant]:
    """Return the first enemy of each cell; others behind it make a mark."""
    found: dict[Place, _Occupant] = {}
    for enemy in state.enemies:
        if enemy.hp <= 0:
            continue
        seen = reveal or is_visible(state, enemy)
        if first := found.get(enemy.place):
            if seen:
                found[enemy.place] = first._replace(token=f"{first.token.rstrip('+')}+")
            continue
        marks = "z" * enemy.stunned + "x" * bool(enemy.disabled) + "s" * enemy.from_siphon
        found[enemy.place] = _Occupant(f"{enemy.type[0].upper()}{enemy.hp}{marks}", seen)
    return found


def _find_transmissions(state: State, reveal: bool) -> dict[Place, _Occupant]:
    found: dict[Place, _Occupant] = {}
    for each in state.transmissions:
        found.setdefault(each.place, _Occupant(f"*{each.turns}{each.type[0].upper() * reveal}", True))
    return found


# -- beside it --------------------------------------------------------------------------------------------------------


def _draw_panel(state: State) -> Iterator[Text]:
    player = state.player
    yield Text()
    yield Text.assemble((f"Stage {state.stage} of {STAGES}", "bold"), f"{f'turn {state.turn}':>{PANEL - 12}}")
    yield Text()
    yield _draw_line("hp", Text.assemble(("♥" * player.hp, "bold red"), ("·" * (MAX_HP - player.hp), "dim")))
    yield _draw_line("attack", f"{player.attack}")
    yield _draw_line("credits", f"{player.credits}", "yellow")
    yield _draw_line("energy", f"{player.energy}", "cyan")
    yield _draw_line("siphons", f"{player.data_siphons}", "green")
    yield _draw_line("score", f"{player.score}", "bold")
    yield _draw_line("next task", _describe_task(state))
    if state.pending:
        yield _draw_line("let in", f"{state.pending} transmissions")
    effects = (("SHOW", state.show), ("CALM", state.calm), ("STEP", state.step_active))
    if any(on for _, on in effects):
        yield _draw_line("in effect", " ".join(name for name, on in effects if on))
    yield Text()
    yield from _list_programs(state)


def _draw_line(name: str, value: str | Text, style: str = "") -> Text:
    return Text.assemble((f"{name:10}", "dim"), value if isinstance(value, Text) else (value, style))


def _describe_task(state: State) -> str:
    if state.calm:
        return "never (CALM)"
    turns = max(1, state.next_task - state.turn)
    return f"in {turns} {'turns' if turns > 1 else 'turn'}"


def _list_programs(state: State) -> Iterator[Text]:
    """Return the programs that are owned with their costs, two a line; those that cost too much are dim."""
    entries = []
    for slot, name in enumerate(PROGRAMS):
        if name not in state.owned:
            continue
        credits, energy = PROGRAM_CREDITS[slot], PROGRAM_ENERGY[slot]
        affordable = credits <= state.player.credits and energy <= state.player.energy
        made = Text.assemble(f"{name:7}", format_cost(slot), style="" if affordable else "dim")
        made.pad_right(max(0, PANEL // 2 - len(made)))
        entries.append(made)
    for at in range(0, len(entries), 2):
        yield Text.assemble(*entries[at : at + 2])


def format_cost(slot: int) -> str:
    """Return what a program costs, in the signs of the board.

    >>> format_cost(PROGRAMS.index("CRASH"))
    '3c 2e'
    """
    amounts = ((PROGRAM_CREDITS[slot], "c"), (PROGRAM_ENERGY[slot], "e"))
    return " ".join(f"{amount}{sign}" for amount, sign in amounts if amount)
