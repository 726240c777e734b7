"""`plaudit declare`: the task of a reward as text to fill in, with a question for what nobody has said."""

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
@task_option("Begin with what this task says, beside the reward's own.")
@output_option("The file to write; - is stdout.", default=STANDARD, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Write JSON: a file for --task that is not run.")
def declare(reward: str, task: str | None, output: str, as_json: bool) -> None:
    """Print the task of a REWARD to fill in: what is known, and what is left to say.

    The text is Python that defines a Task. What nobody has said, and a check of this reward would use, is a commented
    line with what is assumed as long as it stays one. As printed it changes nothing: fill in what you know, delete the
    rest, and give the file to a command with --task, or the task to the reward.
    """
    found = apply_task(find_reward(reward), task)
    known = found.task if not found.task.is_empty else found.task.evolve(name=found.name)
    questions = list_open_questions(found)
    if as_json:
        text = known.to_json(questions={each.part: each.to_dict() for each in questions})
    else:
        text = write_python(known, questions, doc=f"What is wanted of {found.name} and what can happen.")
    with Output(output) as file:
        file.file.write(text)
        file.commit()
    if output != STANDARD:
        left = format_count(len(questions), "question")
        click.echo(f"{output}: {left} left. Fill it in: plaudit check {reward} --task {output}", err=True)
