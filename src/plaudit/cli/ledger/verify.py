"""`plaudit ledger verify`: whether any record changed."""

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
    "--heads",
    "kept",
    metavar="FILE",
    help="Published heads, or the output of an earlier `plaudit ledger stats --json`.",
)
@click.option(
    "--public-key", metavar="FILE", help="Ed25519 public key in PEM; every head must be signed with its private key."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(ledger: str, kept: str | None, public_key: str | None, as_json: bool) -> None:
    """Recompute every record and check its checksums.

    Recomputes each record of a LEDGER from the stored reward and inputs, and compares it bit for bit. Values must add
    up to totals. Checksums reveal edited and removed records; --heads also reveals a past that was rewritten together
    with its checksums.

    Exit code: 0 if there are no problems, 1 if a record changed, 2 if the LEDGER cannot be read, 3 if the
    library that scored some records is not installed, or if a server does not allow checking its tables.
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
    """Return the heads in a file, printed by `plaudit ledger stats --json` or published."""
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
        raise FileError(f"{path} contains no heads{why}; `plaudit ledger stats LEDGER --json` prints them.") from None
