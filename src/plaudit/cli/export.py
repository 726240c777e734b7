"""`plaudit export`: a reward as source code in another language."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plaudit.cli._support.options import drop_unset, tune, tuning_options
from plaudit.plugins.arguments import find_reward
from plaudit.plugins.options import output_option
from plaudit.reward.reward import Reward
from plaudit.rows.streams import STANDARD, Output

if TYPE_CHECKING:
    from plaudit.targets.c import CReward


class Exported(NamedTuple):
    """The files of an export by name, the main one first, and a summary line."""

    files: Mapping[str, str]
    summary: str


class Format(NamedTuple):
    """A language that rewards are exported to."""

    write: Callable[[Reward, Path, bool, dict[str, Any]], Exported]
    """Takes the reward, the file to write, whether to write tests, and options; returns the files."""
    options: tuple[str, ...] = ()
    """Command options that only this format has."""


def export_c(reward: Reward, path: Path, with_tests: bool, options: dict[str, Any]) -> Exported:
    """Return a reward as a C header, and the program that tests it."""
    return _export_header(reward, path, reward.compile("c", **options), "C", f"{path.stem}_test.c" * with_tests)


def export_cuda(reward: Reward, path: Path, with_tests: bool, options: dict[str, Any]) -> Exported:
    """Return a reward as a CUDA header, and the program that tests its functions on the processor."""
    return _export_header(reward, path, reward.compile("cuda", **options), "CUDA", f"{path.stem}_test.cu" * with_tests)


def _export_header(reward: Reward, path: Path, made: "CReward", language: str, tests: str) -> Exported:
    files = {path.name: made.header}
    if tests:
        from plaudit.checks.parity.golden import list_golden_rows
        from plaudit.targets.c.harness import write_harness

        rows = list_golden_rows(reward, float32=made.real == "float")
        files[tests] = write_harness(made, path.name, rows)
    cost = sum(made.operations.values())
    said = f"{reward.name}@{reward.version} as {language} with {made.real}s, at most {cost} operations per row"
    return Exported(files, said)


def export_javascript(reward: Reward, path: Path, with_tests: bool, options: dict[str, Any]) -> Exported:
    """Return a reward as an ES module, with its types and the module that tests it."""
    made = reward.compile("javascript", **options)
    files = {path.name: made.module}
    if str(path) != STANDARD:
        ending = ".d.mts" if path.suffix == ".mjs" else ".d.ts"
        files[f"{path.stem}{ending}"] = made.declarations
    if with_tests:
        from plaudit.checks.parity.golden import list_golden_rows
        from plaudit.targets.javascript.harness import write_harness

        files[f"{path.stem}_test{path.suffix}"] = write_harness(made, path.name, list_golden_rows(reward))
    return Exported(files, f"{reward.name}@{reward.version} as an ES module with type declarations")


OF_C = "real", "knobs", "prefix"
FORMATS = {"c": Format(export_c, OF_C), "cuda": Format(export_cuda, OF_C), "js": Format(export_javascript)}
"""The languages by the name that `--to` takes."""


@click.command(epilog="Example: plaudit export roadsense@R11 --to c -o reward.h --with-tests")
@click.argument("reward")
@click.option("--to", "form", type=click.Choice(list(FORMATS)), required=True, help="Target language.")
@output_option("File to write; - is stdout.", default=STANDARD, show_default=True)
@click.option(
    "--with-tests",
    is_flag=True,
    help="Write a test program with golden rows beside FILE: reward_test.c, .cu or .mjs.",
)
@click.option("--real", type=click.Choice(["double", "float"]), help="C, CUDA: floating-point type.  [default: double]")
@click.option(
    "--knobs",
    type=click.Choice(["constant", "struct"]),
    help="C, CUDA: knobs as constants, or in a struct to change at run time.  [default: constant]",
)
@click.option("--prefix", metavar="NAME", help="C, CUDA: prefix of all names.  [default: the reward's name]")
@tuning_options()
def export(
    reward: str,
    form: str,
    output: str,
    with_tests: bool,
    params: str | None,
    settings: Sequence[str],
    **options: Any,
) -> None:
    """Export a reward to C, CUDA or JavaScript.

    The exported code needs neither plaudit nor Python. --with-tests adds a program that checks golden rows: every
    branch, both sides of every comparison, and inputs that must be refused.
    """
    if with_tests and output == STANDARD:
        raise click.UsageError("--with-tests writes a second file beside the first; name the first with -o FILE.")
    given = drop_unset(options)
    for name in given:
        if name not in FORMATS[form].options:
            raise click.UsageError(f"--{name} is not an option of --to {form}.")
    path = Path(output)
    if not path.name:
        raise click.UsageError(f"-o {output!r} is not a file name.")
    found = FORMATS[form].write(tune(find_reward(reward), params, settings), path, with_tests, given)
    write_files({str(path.with_name(name)): text for name, text in found.files.items()})
    if output != STANDARD:
        click.echo(f"{output}: {found.summary}.", err=True)


def write_files(files: Mapping[str, str]) -> None:
    """Write every file or none."""
    with ExitStack() as stack:
        outputs = [stack.enter_context(Output(name)) for name in files]
        for output, text in zip(outputs, files.values(), strict=True):
            output.file.write(text)
        for output in outputs:
            output.commit()
