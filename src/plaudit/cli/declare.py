"""`plaudit declare`: the task of a reward as text to fill in, with open questions as comments."""

import click

from plaudit.checks.questions import list_open_questions
from plaudit.cli._support.options import apply_task, task_option
from plaudit.plugins.arguments import find_reward
from plaudit.plugins.options import output_option
from plaudit.reward.task.text import write_python
from plaudit.rows.streams import STANDARD, Output
from plaudit.terminal import format_count


@click.command(epilog="Example: plaudit declare parking.py:reward -o task.py")
@click.argument("reward")
@task_option("Start from this task, merged over the reward's own.")
@output_option("File to write; - is stdout.", default=STANDARD, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Write JSON: data for --task instead of Python code.")
def declare(reward: str, task: str | None, output: str, as_json: bool) -> None:
    """Print a task for a reward, to fill in.

    The output is Python code that defines a Task with what is known about the REWARD. Facts that are not declared,
    and that `plaudit check` would use, are commented lines that say what is assumed meanwhile. Fill in what you know,
    delete the rest, and pass the file to a command with --task, or the task to the reward. Unedited, it changes
    nothing.
    """
    found = apply_task(find_reward(reward), task)
    known = found.task if not found.task.is_empty else found.task.evolve(name=found.name)
    questions = list_open_questions(found)
    if as_json:
        text = known.to_json(questions={each.part: each.to_dict() for each in questions})
    else:
        text = write_python(known, questions, doc=f"The goal of {found.name} and what can happen.")
    with Output(output) as file:
        file.file.write(text)
        file.commit()
    if output != STANDARD:
        left = format_count(len(questions), "question")
        click.echo(f"{output}: {left} left. Fill it in, then run: plaudit check {reward} --task {output}", err=True)
