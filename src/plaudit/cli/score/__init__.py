"""`plaudit score`: a reward for every row of a file."""

import json
from collections.abc import Sequence

import click

from plaudit.cli.errors import SOME_BAD
from plaudit.cli.score.files import STANDARD, Format, format_of
from plaudit.ledger.wording import counted

_EXAMPLE = "Example: plaudit score roadsense --input rows.csv --output scores.jsonl --set comfort.weight=2"


@click.command(epilog=_EXAMPLE)
@click.argument("reward")
@click.option("-i", "--input", "source", metavar="FILE", required=True, help="Rows, .jsonl or .csv; - is stdin.")
@click.option("-o", "--output", metavar="FILE", required=True, help="Scores, .jsonl or .csv; - is stdout.")
@click.option("--bad", metavar="FILE", help="Bad rows, .jsonl; OUTPUT.bad.jsonl unless given.")
@click.option(
    "--format",
    "chosen",
    type=click.Choice(["jsonl", "csv"]),
    help="What - holds, and files with other endings; jsonl unless given.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Another value for a knob, a weight or a clamp; can be repeated.",
)
@click.option("--params", metavar="FILE", help="Such values in a TOML file; --set goes over it.")
@click.option("--ignore-extra", is_flag=True, help="Leave out columns that the reward does not read.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def score(
    reward: str,
    source: str,
    output: str,
    bad: str | None,
    chosen: Format | None,
    settings: Sequence[str],
    params: str | None,
    ignore_extra: bool,
    as_json: bool,
) -> None:
    """Score every row of a file with a REWARD.

    A row is one line. Its columns, or the keys of its JSON object, are the inputs that `plaudit show` lists:
    distance, prev.tokens_used, torque[0]. JSON may nest them: {"prev": {"tokens_used": 1}}. An empty cell is an
    absent value.

    Scores come with the number of their `line`, the `total` and each term's value; JSON keeps those under
    `values`, and what the terms gave before clamps and weights under `scores`.

    A row that cannot be scored is told by its line number and kept with its error in OUTPUT.bad.jsonl. The exit
    code is 0 if every row was scored, 1 if some are bad, 2 if nothing could be done. The output appears when it
    is complete, or not at all.
    """
    from plaudit.cli.rewards import find_reward
    from plaudit.cli.score.job import Job, score_file
    from plaudit.cli.score.shape import Shape
    from plaudit.cli.settings import tuned

    if as_json and output == STANDARD:
        raise click.UsageError("--json and --output - both print to standard output; choose one.")
    job = Job(source, format_of(source, chosen), output, format_of(output, chosen), bad)
    found = tuned(find_reward(reward), params, settings)
    done = score_file(job, Shape(found, ignore_extra=ignore_extra))
    if as_json:
        identity = {"reward": found.name, "version": found.version, "fingerprint": found.fingerprint}
        files = {"input": source, "output": output, "bad_rows": done.kept}
        click.echo(json.dumps({**identity, **files, "scored": done.scored, "bad": done.bad}, indent=2))
    else:
        click.echo(_told(f"{found.name}@{found.version}", done.scored, done.bad, done.kept), err=True)
    if done.bad:
        raise click.exceptions.Exit(SOME_BAD)


def _told(reward: str, scored: int, bad: int, kept: str | None) -> str:
    """Return the outcome in a line.

    >>> _told("roadsense@R0", 1, 1200, "scores.bad.jsonl")
    '1 row scored with roadsense@R0. 1,200 bad rows are kept in scores.bad.jsonl.'
    """
    told = f"{counted(scored, 'row')} scored with {reward}."
    if not bad:
        return told
    return f"{told} {counted(bad, 'bad row')} {'is' if bad == 1 else 'are'} {f'kept in {kept}' if kept else 'above'}."
