"""What HackMatrix pays, and what is wanted of a player: that it completes a stage."""

from plaudit import Field, Reward, Task, term


@term
def paid(original_reward):
    """What the game pays, all fifteen components."""
    return original_reward


def completes_stage(stage_completed):
    """A stage is done."""
    return stage_completed


stages = Reward(
    "stages",
    version="1",
    terms=[paid],
    fields=[Field("original_reward", low=-1000, high=2000), Field("stage_completed", flag=True)],
    task=Task(goal=completes_stage),
)
