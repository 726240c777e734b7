"""`plaudit dashboard`: the page, live, from a server on this machine."""

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
    """Look for garbage in circles less often: importing and listing make much that stays, and a view waits for them."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@click.command(epilog="Example: plaudit dashboard rewards.db")
@click.argument("sources", metavar="LEDGER|REWARD...", nargs=-1, required=True)
@click.option("--run", metavar="TEXT", help="Of ledgers: this run (or mission) alone.")
@task_option()
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; 0.0.0.0 lets other machines ask, with the token.",
)
@click.option(
    "--port",
    metavar="NUMBER",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Where to listen; 0 for any that is free.",
)
@click.option("--no-token", is_flag=True, help="Answer every user of this machine, without a token.")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@_collect_rarely()
def dashboard(
    sources: tuple[str, ...], run: str | None, task: str | None, host: str, port: int, no_token: bool, no_browser: bool
) -> None:
    """Look at ledgers and rewards in a browser, while runs are being recorded.

    Rewards, runs, episodes and single steps, and what they would have earned with other knobs. Ledgers are opened so
    that nothing can be written to them. The server answers this machine alone unless told otherwise, and needs the
    token in the address that it prints, which a script sends as a header: Authorization: Bearer TOKEN. It ends with
    Ctrl-C or SIGTERM.
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
            click.echo(f"{names}: {url}\nNothing is written. Ctrl-C or SIGTERM ends it.")
            if no_browser:
                return
            if has_browser():
                open_browser(url)
            else:
                click.echo(_explain_no_browser(bound.getsockname()[1]), err=True)

        if run is not None and not library.has_runs:
            advice = "it is shown once it is recorded. `plaudit ledger runs LEDGER` lists those that are."
            click.echo(f"No ledger here has a run {run!r:.60} yet; {advice}", err=True)
        shell = build_shell(live=True)
        try:
            build_server(library, shell, bound, host=host, on_ready=announce, with_token=not no_token).run()
        except KeyboardInterrupt:  # the way it is meant to end
            click.echo("\nThe dashboard has ended.", err=True)


def _explain_no_browser(port: int) -> str:
    if "SSH_CONNECTION" in os.environ:
        tunnel = f"ssh -N -L {port}:localhost:{port} THIS_MACHINE"
        return f"There is no browser here. On your own machine: {tunnel}, then open the address above there."
    return "There is no browser to open here; open the address above."
