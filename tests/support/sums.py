"""A small task for language models — sums — with its reward, in the shapes that TRL, verifiers and OpenEnv hand over."""

from plaudit import Field, Reward, term
from plaudit.llm import text_of


@term
def correct(right):
    return 1 if right else 0


@term(weight=-0.5, high=1.0)
def length(words, *, budget=4.0):
    return words / budget


@term(weight=0.25)
def form(style):
    return 1 if style == "worked" else 0


def reward(**changes):
    """Return the reward; `low=` and `high=` hold its total."""
    fields = [Field("right", flag=True), Field("words", low=0, high=100), Field("style", values=("bare", "worked"))]
    return Reward("sums", version="1", terms=[correct, length, form], fields=fields, **changes)


def features(completion, answer):
    """Return the reward's inputs for what the model said."""
    words = text_of(completion).split()
    style = "worked" if "=" in words else "bare"
    return {"right": bool(words) and words[-1] == answer, "words": len(words), "style": style}


def is_sum(kind):
    """Say whether a sample is of this task."""
    return kind == "sum"


def said(text):
    """Return a text as the message of an assistant."""
    return [{"role": "assistant", "content": text}]


PROMPTS = ["1 + 1", "2 + 3", "4 + 4", "a poem"]
COMPLETIONS = ["2", "2 + 3 = 5", "I think that it is 9", "roses"]
COLUMNS = {"answer": ["2", "5", "8", ""], "kind": ["sum", "sum", "sum", "poem"]}
TOTALS = [1 - 0.5 * 1 / 4, 1 - 0.5 + 0.25, -0.5, None]
"""What the reward gives each completion; None for the poem."""
