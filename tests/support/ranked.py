"""A reward of language models that needs all completions of a prompt, and a weight that follows the trainer's steps."""

from plaudit import Field, Reward, term
from plaudit.llm import feature
from plaudit.schedules import linear


@feature
def words(text):
    return len(text.split())


@feature(group=True)
def longest(words):
    return [own == max(words) for own in words]


@term(weight=linear(0.0, 1.0, over=10))
def most(longest):
    return 1 if longest else 0


@term
def wordy(words):
    return words


WORDY = Reward("wordy", version="1", terms=[wordy], fields=[Field("words", low=0)])
REWARD = Reward("ranked", version="1", terms=[most], fields=[Field("longest", flag=True)])
FEATURES = [words, longest]
PROMPTS = ["a"] * 3 + ["b"] * 3
COMPLETIONS = ["one", "two words", "three words here", "", "one", ""]
