"""`plaudit rescore`: another reward for every row of a data set, or for every record of a ledger."""

from typing import Any

import click

from plaudit.cli.ledger.moments import as_moment

_EXAMPLE = "Example: plaudit rescore steps.parquet roadsense@R8 --against roadsense --out steps.R8.parquet"
_LEDGER_ONLY = ("reward", "version", "run", "phase", "since", "until")
_FILES_ONLY = ("out", "against", "keep", "columns", "on_bad", "decision", "scores", "prefix", "force")


@click.command(epilog=_EXAMPLE)
@click.argument("source")
@click.argument("new", metavar="REWARD")
@click.option(
    "-o", "--out", metavar="FILE", help="What is written; rows.rescored.parquet beside rows.parquet if not given."
)
@click.option("--against", metavar="REWARD", help="Tell what changed, against a reward or a column of old totals.")
@click.option("--engine", type=click.Choice(["local", "ray", "spark"]), default="local", help="What runs it.")
@click.option("--keep", metavar="COLUMN", multiple=True, help="Keep only this column of the rows; can be repeated.")
@click.option(
    "--column", "columns", metavar="INPUT=COLUMN", multiple=True, help="Where an input lies; can be repeated."
)
@click.option("--scores", is_flag=True, help="Write each term's score too, before clamps and weights.")
@click.option("--prefix", metavar="TEXT", help="Begin the names of the new columns with it.")
@click.option("--on-bad", type=click.Choice(["mask", "raise"]), help="Write NULL for a bad row, or stop at it.")
@click.option("--decision-class", metavar="NAME", help="The column of decision classes; of a ledger, one of them.")
@click.option("--decision", metavar="COLUMN", help="The column that candidates for one decision share.")
@click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Another value for a knob; can be repeated."
)
@click.option("--params", metavar="FILE", help="Such values in a TOML file; --set goes over it.")
@click.option("--reward", metavar="NAME", help="Of a ledger: records of this reward.")
@click.option("--version", metavar="LABEL", help="Of a ledger: records of this version.")
@click.option("--run", metavar="TEXT", help="Of a ledger: records of this run (or mission).")
@click.option("--phase", metavar="TEXT", help="Of a ledger: records of this phase.")
@click.option("--since", metavar="WHEN", callback=as_moment, help="Of a ledger: at or after 2026-11-01, 7d, 12h.")
@click.option("--until", metavar="WHEN", callback=as_moment, help="Of a ledger: before such a moment.")
@click.option("--force", is_flag=True, help="Write over an output that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def rescore(
    source: str,
    new: str,
    engine: str,
    settings: tuple[str, ...],
    params: str | None,
    decision_class: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Apply a REWARD to every row of SOURCE, a data set or a ledger, and tell what changes.

    A data set is a .parquet, .csv or .jsonl file of any size, or a folder of .parquet parts. The rows are written
    with the columns they have, `total`, each term's value as `<term>.value`, and `ok`; a row that cannot be scored
    has `ok` false and NULL for the rest. The output appears when it is complete, or not at all. A folder that was
    stopped goes on with the parts that lack.

    A ledger is the file that Ledger("rewards.db") made, or postgresql://user@host/database. The new scores are new
    records beside the old ones; a re-scoring that was stopped goes on where it was.

    The exit code is 0 if every row was scored, 1 if some could not be, 2 if nothing was done.
    """
    from plaudit.cli.ledger.opening import check_there
    from plaudit.cli.rescore.dataset import rescore_dataset
    from plaudit.cli.rescore.records import is_ledger, rescore_ledger
    from plaudit.cli.rewards import find_reward
    from plaudit.cli.settings import tuned

    if not set(source) & set("*?["):  # the parts of a data set may be named by a pattern
        check_there(source)
    ledger = is_ledger(source)
    for name in _FILES_ONLY if ledger else _LEDGER_ONLY:
        if options[name]:
            what = "a data set, and this is a ledger" if ledger else "a ledger, and this is a data set"
            flag = {"columns": "column"}.get(name, name).replace("_", "-")
            raise click.UsageError(f"--{flag} is for {what}.")
    if ledger and engine != "local":
        raise click.UsageError("--engine is for data sets; a ledger is re-scored where it is.")
    found = tuned(find_reward(new), params, settings)
    if ledger:
        chosen = {name: options[name] for name in _LEDGER_ONLY} | {"decision_class": decision_class}
        rescore_ledger(source, found, {name: value for name, value in chosen.items() if value is not None}, as_json)
    else:
        asked = {name: options[name] for name in _FILES_ONLY}
        rescore_dataset(source, found, engine, {**asked, "decision_class": decision_class}, as_json)
