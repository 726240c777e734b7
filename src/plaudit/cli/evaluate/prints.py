"""An evaluation on the terminal: a table of estimates, how far the log reaches, and a verdict."""

from rich.text import Text

from plaudit.cli.screen import Screen, table
from plaudit.cli.texts import printable
from plaudit.learn.off_policy import Evaluation


def print_evaluation(result: Evaluation) -> None:
    """Print what was found."""
    screen = Screen()
    heading, *rows = result.rows()
    shown = table(*heading, right=heading[1:])
    for row in rows[:-1]:
        shown.add_row(*row)
    shown.add_section()
    shown.add_row(*rows[-1])
    screen.print(shown)
    screen.print(f"\n{_about(result)}", soft_wrap=True)
    for note in result.notes:
        screen.print(Text(f"Note: {printable(note)}", style="yellow"), soft_wrap=True)
    screen.print(Text(printable(result.verdict), style="bold"), soft_wrap=True)


def _about(result: Evaluation) -> str:
    if result.source is None:
        return result.figures()
    scored = "scored again with" if result.source.rescored else "as scored by"
    return f"{printable(result.source.decision_class)}, {scored} {printable(result.source.reward)}: {result.figures()}"
