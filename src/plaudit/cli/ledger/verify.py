"""`plaudit ledger verify`: whether every record is as it was written."""

import json
from pathlib import Path

import click

from plaudit.errors import FileError, SpecError, explain_unreadable
from plaudit.ledger.heads import LedgerHead
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import ExitCode, show_progress


@click.command(epilog="Example: plaudit ledger verify rewards.db")
@click.argument("ledger")
@click.option(
    "--heads", "kept", metavar="FILE", help="Heads that were published, or kept from `plaudit ledger stats --json`."
)
@click.option(
    "--public-key", metavar="FILE", help="An Ed25519 key in PEM; every head must be signed with its other half."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def verify(ledger: str, kept: str | None, public_key: str | None, as_json: bool) -> None:
    """Recompute every record of a LEDGER, and check its checksums.

    Each record is computed again from the reward and the inputs that are stored, and has to come out the same in
    every bit; values have to add up to totals; checksums show what was edited or removed. With --heads, so does a
    past that was rewritten together with its checksums.

    The exit code is 0 if everything is as it was written, 1 if something is not, 2 if the LEDGER cannot be read, 3 if
    what scored some records is not installed, or a server does not let its tables be compared with those of a new
    ledger.
    """
    heads = () if kept is None else _read_heads(Path(kept))
    with open_ledger(ledger) as found, show_progress("verifying") as progress:
        result = found.verify(heads=heads, public_key=public_key, progress=progress)
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else str(result))
    if not result.ok:
        raise click.exceptions.Exit(ExitCode.FOUND)
    if result.not_recomputed or result.not_compared is not None:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def _read_heads(path: Path) -> list[LedgerHead]:
    """Return the heads that `plaudit ledger stats --json` printed into a file, or that were published there."""
    try:
        text = path.read_text(encoding="utf-8")
        try:
            return [LedgerHead.from_dict(json.loads(text))]
        except json.JSONDecodeError:
            return [LedgerHead.from_dict(json.loads(line)) for line in text.splitlines() or [""]]
    except OSError as error:
        raise explain_unreadable(path, error) from None
    except (ValueError, AttributeError) as error:
        why = f" ({error})" if isinstance(error, SpecError) else ""
        raise FileError(f"{path} holds no heads{why}; `plaudit ledger stats LEDGER --json` prints them.") from None
