"""A game as text: the board with row 5 on top, and beside it what the player has."""

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from plaudit.systems.hackmatrix.plain.convert import to_plain
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.playing import board
from plaudit.systems.hackmatrix.rules import MAX_HP, PROGRAM_CREDITS, PROGRAM_ENERGY, PROGRAMS, SIZE, STAGES

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix.state import EnvState

WIDTH = 7
"""Columns of a cell; it is two lines high: who is there, and what is there."""
PANEL = 26
"""Columns beside the board, so that a picture has 80."""

BLOCK, SIPHONED_BLOCK, CENTER = "▒", "░", "×"
_DRAWN = {board.BLOCK: BLOCK, board.SIPHONED_BLOCK: SIPHONED_BLOCK, board.CENTER: CENTER, "": " "}

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
    drawn, beside = list(_draw_board(game, reveal)), list(_draw_panel(game))
    lines = []
    for at in range(max(len(drawn), len(beside))):
        line = drawn[at] if at < len(drawn) else Text(" " * len(drawn[0]))
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


def _draw_board(state: State, reveal: bool) -> Iterator[Text]:
    signs = board.find_signs(state, reveal=reveal)
    yield Text("    " + " ".join(f"{col:^{WIDTH}}" for col in range(SIZE)).rstrip(), style="dim").append("   ")
    yield _draw_rule("┌┬┐")
    for row in reversed(range(SIZE)):
        cells = [_draw_cell(signs[row, col]) for col in range(SIZE)]
        for label, line in zip((f"{row} ", "  "), zip(*cells, strict=True), strict=True):
            made = Text.assemble((f" {label}│", "dim"))
            for part in line:
                made.append_text(part).append("│", "dim")
            yield made
        yield _draw_rule("├┼┤" if row else "└┴┘")


def _draw_rule(ends: str) -> Text:
    return Text(f"   {ends[0]}{ends[1].join(['─' * WIDTH] * SIZE)}{ends[2]}", style="dim")


def _draw_cell(cell: board.Signs) -> tuple[Text, Text]:
    fill = _DRAWN[cell.block]
    who = cell.beings or tuple(filter(None, [cell.spawn]))
    return _centre(who, fill), _centre([_DRAWN.get(sign, sign) for sign in cell.things], fill)


def _centre(tokens: Sequence[str], fill: str) -> Text:
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
