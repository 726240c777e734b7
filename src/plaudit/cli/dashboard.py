"""`plaudit dashboard`: the page, live, from a local server."""

import gc
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from plaudit.cli._support.options import task_option
from plaudit.plugins.arguments import find_task
from plaudit.terminal import escape_line

PORT = 8420


@contextmanager
def _collect_rarely() -> Iterator[None]:
    """Collect garbage less often: importing and listing create many lasting objects, and views wait for it."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@click.command(epilog="Example: plaudit dashboard rewards.db")
@click.argument("sources", metavar="LEDGER|REWARD...", nargs=-1, required=True)
@click.option("--run", metavar="TEXT", help="Only records of this run (or mission).")
@task_option()
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 accepts other machines, with the token.",
)
@click.option(
    "--port",
    metavar="NUMBER",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@click.option("--no-token", is_flag=True, help="Answer requests without a token, from any user of this machine.")
@click.option("--no-browser", is_flag=True, help="Print the address only; do not open a browser.")
@_collect_rarely()
def dashboard(
    sources: tuple[str, ...], run: str | None, task: str | None, host: str, port: int, no_token: bool, no_browser: bool
) -> None:
    """Browse ledgers and rewards in a live web page.

    The page shows rewards, runs, episodes and single steps, also while a run is being recorded, and what they would
    have earned with other knobs. Ledgers are opened read-only. The server answers only this machine by default, and
    needs the token in the address that it prints. A script sends it as a header: Authorization: Bearer TOKEN. Stop
    the server with Ctrl-C or SIGTERM.
    """
    from plaudit.page.assets import build_shell
    from plaudit.page.library import Library
    from plaudit.page.serving import build_server, has_browser, open_socket, prepare_browser

    with (
        open_socket(host, port, with_token=not no_token) as bound,
        closing(Library(sources, run=run, live=True, task=None if task is None else find_task(task))) as library,
        prepare_browser() as open_browser,
    ):

        def announce(url: str) -> None:
            names = ", ".join(escape_line(source.name) for source in library.sources)  # an address has no password here
            click.echo(f"{names}: {url}\nLedgers are open read-only. Press Ctrl-C to stop.")
            if no_browser:
                return
            if has_browser():
                open_browser(url)
            else:
                click.echo(_explain_no_browser(bound.getsockname()[1]), err=True)

        if run is not None and not library.has_runs:
            advice = "it will appear once it is recorded. `plaudit ledger runs LEDGER` lists the runs."
            click.echo(f"No ledger here has a run {run!r:.60} yet; {advice}", err=True)
        shell = build_shell(live=True)
        try:
            build_server(library, shell, bound, host=host, on_ready=announce, with_token=not no_token).run()
        except KeyboardInterrupt:  # the intended way to stop it
            click.echo("\nDashboard stopped.", err=True)


def _explain_no_browser(port: int) -> str:
    if "SSH_CONNECTION" in os.environ:
        tunnel = f"ssh -N -L {port}:localhost:{port} THIS_MACHINE"
        return f"No browser found. On your own machine, run: {tunnel}, then open the address above there."
    return "No browser found; open the address above."
