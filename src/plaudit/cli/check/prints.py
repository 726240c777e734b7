"""Reports on the screen or in a file, in the format that was asked for."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import click

from plaudit.checks.formats.checked import Checked
from plaudit.drafts import Draft

Format = Literal["text", "json", "sarif", "github"]
STANDARD = "-"
_STYLES = {"": "", "title": "bold", "warning": "bold yellow", "advice": "bold cyan", "dim": "dim"}


@contextmanager
def written_to(output: str | None) -> Iterator[Draft | None]:
    """Open the file that the report becomes, if it is to become one; a file that cannot be written fails here."""
    if output in (None, STANDARD):
        yield None
        return
    assert output is not None
    with Draft(output) as draft:
        yield draft


def print_reports(checked: Sequence[Checked], form: Format, draft: Draft | None) -> None:
    """Print reports, or write them and tell so in a line."""
    from plaudit.checks.formats.text import counts

    if draft is not None:
        draft.file.write(rendered(checked, form))
        draft.commit()
        name = checked[0].name if len(checked) == 1 else f"{len(checked)} rewards"
        click.echo(f"{name}: {counts([each.report for each in checked])}. The report is in {draft.name}.", err=True)
    elif form == "text":
        _draw(checked)
    else:
        click.echo(rendered(checked, form), nl=False)


def rendered(checked: Sequence[Checked], form: Format) -> str:
    """Return reports as one text in the format `form`."""
    if form == "json":
        from plaudit.checks.formats.json import as_dict

        return json.dumps(as_dict(checked, root=Path.cwd()), indent=2) + "\n"
    if form == "sarif":
        from plaudit.checks.formats.sarif import as_sarif
        from plaudit.cli import version

        return json.dumps(as_sarif(checked, root=Path.cwd(), version=version()), indent=2) + "\n"
    if form == "github":
        from plaudit.checks.formats.github import as_github

        return as_github(checked, root=os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    from plaudit.checks.formats.text import as_text

    return as_text(checked)


def _draw(checked: Sequence[Checked]) -> None:
    from rich.text import Text

    from plaudit.checks.formats.text import WIDTH, text_lines
    from plaudit.cli.screen import Screen

    screen = Screen()
    for line in text_lines(checked, width=min(screen.width, WIDTH)):
        screen.print(Text.assemble(*((span.text, _STYLES[span.part]) for span in line)), soft_wrap=True)
