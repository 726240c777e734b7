"""A reward of rollouts, and samples of which each differs."""

from plaudit import Field, Reward, term
from plaudit.llm import Answer, feature

SIZE = 8


@feature
def words(text):
    return len(text.split())


@feature(judge=True)
def clear(text):
    return Answer(0.5, f"said of {text[:40]}")


@term(weight=0.01, high=100.0)
def length(words):
    return words


@term
def clarity(clear):
    return clear


REWARD = Reward("rollouts", version="1", terms=[length, clarity], fields=[Field("words", low=0), Field("clear")])


def build_samples(run, step):
    """Return the samples of a step: two prompts, each text its own."""
    return [
        {"prompt": f"{run} {step} {at // 4}", "completion": f"{run} {step} {at} " + "word " * (at * 40)}
        for at in range(SIZE)
    ]
