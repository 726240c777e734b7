"""`plaudit show`: everything that a reward is."""

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plaudit.reward.reward import Reward
    from plaudit.reward.term import Term


@click.command(epilog="Example: plaudit show roadsense@R8 --source")
@click.argument("reward")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
@click.option("--formula", is_flag=True, help="Print the formula as Markdown with LaTeX.")
@click.option("--source", is_flag=True, help="Print the formula as Python.")
@click.option("--spec", is_flag=True, help="Print the specification: a JSON file that every command takes.")
@click.option("--sql", metavar="DIALECT", help="Print a query over a table `steps`: duckdb, sqlite, postgres, spark.")
def show(reward: str, as_json: bool, formula: bool, source: bool, spec: bool, sql: str | None) -> None:
    """Show a REWARD: its terms, formula, fields, knobs and fingerprint.

    REWARD is a built-in (roadsense, or roadsense@R8), path/to/file.py:name, package.module:name, or a JSON
    file. The specification rebuilds the reward without its Python source:

    \b
        plaudit show roadsense --spec > r.json
        plaudit show r.json
    """  # noqa: D301 - Click takes a real backspace as "leave these lines alone"
    from plaudit.cli.rewards import find_reward

    if as_json + formula + source + spec + (sql is not None) > 1:
        raise click.UsageError("--json, --formula, --source, --spec and --sql cannot be combined; choose one.")
    found = find_reward(reward)
    if as_json:
        click.echo(json.dumps(described(found), indent=2))
    elif spec:
        click.echo(found.to_json())
    elif formula:
        click.echo(found.formula().rstrip("\n"))
    elif source:
        click.echo(found.source().rstrip("\n"))
    elif sql is not None:
        click.echo(found.compile("sql", dialect=sql).select("steps"))
    else:
        from plaudit.cli.portrait import draw
        from plaudit.cli.screen import Screen

        draw(found, Screen())


def described(reward: "Reward") -> dict[str, Any]:
    """Return what a script wants to know about a reward."""
    from plaudit.reward.identity import field_to_dict, preference_to_dict

    return {
        "name": reward.name,
        "version": reward.version,
        "doc": reward.doc,
        "fingerprint": reward.fingerprint,
        "domain_fingerprint": reward.domain_fingerprint,
        "action": reward.action,
        "low": reward.low,
        "high": reward.high,
        "inputs": list(reward.inputs),
        "terms": [_term(term) for term in reward.terms],
        "fields": [{"kind": field.kind, **field_to_dict(field)} for field in reward.fields.values()],
        "params": dict(reward.params),
        "facts": [{"name": fact.name, "doc": fact.doc, "reads": fact.reads} for fact in reward.facts],
        "discount": reward.discount,
        "prefer": [preference_to_dict(preference) for preference in reward.prefer],
        "allow": dict(reward.allow),
    }


def _term(term: "Term") -> dict[str, Any]:
    parts = ("name", "weight", "low", "high", "terminal", "kind", "doc", "shared", "reads")
    return {part: getattr(term, part) for part in parts} | {"knobs": dict(term.knobs), "allow": dict(term.allow)}
