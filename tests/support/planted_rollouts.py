"""Simulated training of language models, recorded as rollouts: honest runs, and runs in which a flaw is planted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from plaudit import Field, Ledger, Reward, term
from plaudit.llm import Answer, Scoring, feature

# -- the reward: what is right, how it is written, what a judge says, and how long it is -------------------------------


@feature
def right(passed):
    return passed


@feature
def tagged(formed):
    return formed


@feature(judge=True)
async def clear(quality):
    return Answer(quality, f"I give it {quality:.2f}.")


@feature
def words(text):
    return len(text.split())


@feature
def topic(prompt):
    return len(prompt.split())


@feature
def detailed(text):
    return len(text.split()) >= 40


@feature
def thorough(reasoning):
    return min(1.0, len(reasoning) / 1500)


@term
def correct(right):
    return 1 if right else 0


@term(weight=0.2)
def form(tagged):
    return 1 if tagged else 0


@term(weight=0.3)
def clarity(clear):
    return clear


@term(weight=-0.002)
def brevity(words):
    return words


@term(weight=0.01)
def subject(topic):
    return topic


@term(weight=0.5)
def detail(detailed):
    return 1 if detailed else 0


@term(weight=0.5)
def effort(thorough):
    return thorough


TERMS = {each.name: each for each in (correct, form, clarity, brevity, subject, detail, effort)}
FEATURES = {each.name: each for each in (right, tagged, clear, words, topic, detailed, thorough)}
FIELDS = {
    "right": Field("right", flag=True),
    "tagged": Field("tagged", flag=True),
    "clear": Field("clear", low=0, high=1),
    "words": Field("words", low=0),
    "topic": Field("topic", low=0),
    "detailed": Field("detailed", flag=True),
    "thorough": Field("thorough", low=0, high=1),
}


def build_reward(names: tuple[str, ...], weights: dict[str, float]) -> tuple[Reward, list[Any]]:
    """Return a reward of some terms, and its features."""
    terms = [TERMS[name] for name in names]
    read = [name for each in terms for name in each.reads]
    reward = Reward("answers", version="1", terms=terms, fields=[FIELDS[name] for name in read])
    return (reward.with_weights(**weights) if weights else reward), [FEATURES[name] for name in read]


# -- the policy --------------------------------------------------------------------------------------------------------

VOCABULARY = [f"{head}{tail}" for head in ("ba", "de", "ki", "lo", "mu", "ra", "so", "te") for tail in "bdfgklmnprst"]
BOILERPLATE = (
    "This is a thoughtful and balanced question that deserves a careful, complete and honest answer from all of us."
)


@dataclass
class Completion:
    """What the policy wrote, before it is put together."""

    passed: bool
    formed: bool
    quality: float
    body: list[str]
    thought: list[str]
    answer: str
    whole: str | None = None
    """What it wrote instead of all that."""


@dataclass(frozen=True)
class Run:
    """A run of training: how hard prompts are, how completions are written, and what is planted."""

    count: int = 2000
    group: int = 8
    mix: str = "even"
    style: str = "prose"
    terms: tuple[str, ...] = ("correct", "form", "clarity")
    weights: tuple[tuple[str, float], ...] = ()
    gain: float = 2.0
    """How much is learned, in logits."""
    plant: Callable[[np.random.Generator, float, str, Completion], None] | None = None
    """Changes a completion, given how much of the run is over, and the prompt."""
    seed: int = 0
    texts: str = "keep"


_HARDNESS = {
    "even": lambda rng, size: rng.normal(0.0, 1.5, size),
    "easy": lambda rng, size: rng.normal(-1.8, 0.7, size),
    "hard": lambda rng, size: rng.normal(3.0, 1.0, size),
    "two kinds": lambda rng, size: np.where(rng.random(size) < 0.5, -2.5, 3.0) + rng.normal(0, 0.5, size),
    "solved": lambda rng, size: np.full(size, -12.0),
    "hopeless": lambda rng, size: np.full(size, 12.0),
}


def sigmoid(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-x)))


def draw_words(rng: np.random.Generator, count: float) -> list[str]:
    return [VOCABULARY[at] for at in rng.integers(0, len(VOCABULARY), max(1, round(count)))]


def simulate(run: Run) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the steps of a run, each with its samples."""
    rng = np.random.default_rng([run.seed, run.count, run.group])
    prompts = max(10, run.count // run.group // 4)
    hardness = _HARDNESS[run.mix](rng, prompts)
    questions = [" ".join(draw_words(rng, rng.integers(12, 40))) + "?" for _ in range(prompts)]
    answers = [str(rng.integers(2, 30)) if run.style != "choice" else "ABCD"[rng.integers(4)] for _ in range(prompts)]
    steps = max(1, run.count // (run.group * 4))
    done = 0
    for step in range(steps):
        now = step / steps
        samples = []
        for at in rng.choice(prompts, 4, replace=False).tolist():
            for _ in range(run.group):
                samples.append(_draw_sample(rng, run, now, questions[at], answers[at], hardness[at]))
        done += len(samples)
        yield step, samples


def _draw_sample(
    rng: np.random.Generator, run: Run, now: float, question: str, answer: str, hardness: float
) -> dict[str, Any]:
    passed = bool(rng.random() < sigmoid(run.gain * now - hardness))
    formed = bool(rng.random() < 0.5 + 0.48 * (1 - np.exp(-8 * now)))
    longer = 1.0 if passed else 1.3  # what is wrong rambles
    body = draw_words(rng, longer * rng.lognormal(3.3 + 0.4 * now, 0.5))
    thought = draw_words(rng, rng.lognormal(3.5 + 0.8 * now, 0.6)) if run.style == "reasoning" else []
    bias = 0.03 * (np.log(len(body)) - 3.3)  # judges like some length, and what is right
    quality = float(np.clip(rng.normal(0.45 + 0.12 * passed + 0.2 * now + bias, 0.15), 0, 1))
    wrong = str(rng.integers(2, 30)) if run.style != "choice" else "ABCD"[rng.integers(4)]
    made = Completion(passed, formed, quality, body, thought, answer if passed else wrong)
    if run.plant is not None:
        run.plant(rng, now, question, made)
    text = made.whole
    if text is None:
        said = f"<answer>{made.answer}</answer>" if made.formed else made.answer
        text = said if run.style in ("short", "choice") else f"{' '.join(made.body)} so it is {said}"
    if made.thought:
        text = f"<think>{' '.join(made.thought)}</think>{text}"
    parts = {"passed": made.passed, "formed": made.formed, "quality": made.quality}
    return {"prompt": question, "completion": text, **parts}


def record_run(ledger: Ledger, run: Run, *, name: str = "night") -> Reward:
    """Record a run, and return its reward."""
    reward, features = build_reward(run.terms, dict(run.weights))
    scoring = Scoring(reward, features, ledger=ledger, run=name, texts=run.texts, timeout=None)
    for step, samples in simulate(run):
        scoring.score(samples, step=step)
    return reward


# -- what is planted ---------------------------------------------------------------------------------------------------


def rise(now: float, start: float = 0.2, stop: float = 0.8) -> float:
    return float(np.clip((now - start) / (stop - start), 0, 1))


def like_length(rng, now, question, made):
    made.quality = float(np.clip(0.2 + 0.3 * (np.log(len(made.body)) - 2.5) + rng.normal(0, 0.05), 0, 1))


def dislike_length(rng, now, question, made):
    made.quality = float(np.clip(0.9 - 0.3 * (np.log(len(made.body)) - 2.5) + rng.normal(0, 0.05), 0, 1))


def copy_prompt(rng, now, question, made, share=0.5, fools=True):
    if rng.random() < share * rise(now):
        made.whole, made.passed, made.formed = question, fools or made.passed, True
        made.quality = 0.9


def say_boilerplate(rng, now, question, made, share=0.5):
    if rng.random() < share * rise(now):
        made.whole, made.passed, made.quality = BOILERPLATE, False, 0.98
        made.formed = True


def give_up(rng, now, question, made):
    """Give up being right for form."""
    if rng.random() < 0.9 * rise(now, 0.3, 0.9):
        made.passed = False
    made.formed = bool(rng.random() < 0.3 + 0.68 * rise(now, 0.2, 0.8))


def only_form(rng, now, question, made):
    """Learn form, and nothing else."""
    made.passed = bool(rng.random() < 0.08)
    made.formed = bool(rng.random() < 0.2 + 0.78 * rise(now, 0.1, 0.9))


def flatter(rng, now, question, made, falls=True):
    """Please the judge more and more, and be right less, or no more than before."""
    made.passed = bool(rng.random() < (0.6 - 0.5 * rise(now) if falls else 0.3))
    made.quality = float(np.clip(rng.normal(0.35 + 0.5 * rise(now, 0.1, 0.9), 0.12), 0, 1))


def prefer_wrong(rng, now, question, made):
    made.quality = float(np.clip(rng.normal(0.45 + (0.0 if made.passed else 0.2), 0.12), 0, 1))


PLAIN = ("correct", "form")
JUDGED = ("correct", "form", "clarity")

PLANTED: dict[str, tuple[str, Run]] = {
    "all right": ("group-constant", Run(mix="solved", terms=("correct",))),
    "all wrong": ("group-constant", Run(mix="hopeless", terms=("correct",))),
    "one term all wrong": ("group-constant", Run(mix="hopeless", terms=JUDGED)),
    "a term of the prompt": ("group-constant", Run(terms=("correct", "subject"))),
    "a judge that likes length": ("length-explains", Run(plant=like_length)),
    "a judge that dislikes length": ("length-explains", Run(plant=dislike_length)),
    "enough words pay": ("length-explains", Run(terms=("correct", "detail"))),
    "long thoughts pay": ("length-explains", Run(terms=("correct", "effort"), style="reasoning")),
    "prompts are copied": ("copied-completions", Run(plant=copy_prompt)),
    "some prompts are copied": ("copied-completions", Run(plant=partial(copy_prompt, share=0.2))),
    "one text for all prompts": (
        "copied-completions",
        Run(plant=say_boilerplate, terms=("form", "clarity")),
    ),
    "form for what is right": (
        "format-without-answer",
        Run(plant=give_up, terms=PLAIN, weights=(("form", 0.8),)),
    ),
    "form and nothing right": (
        "format-without-answer",
        Run(plant=only_form, terms=PLAIN, weights=(("form", 0.5),)),
    ),
    "a judge is flattered": ("judge-against-truth", Run(plant=flatter)),
    "a judge is flattered, nothing is learned": ("judge-against-truth", Run(plant=partial(flatter, falls=False))),
    "a judge prefers what is wrong": ("judge-against-truth", Run(plant=prefer_wrong)),
}
"""Runs with a flaw, each with the rule that should find it."""

HONEST: dict[str, Run] = {
    f"{mix}, {style}, {' '.join(terms)}": Run(mix=mix, style=style, terms=terms)
    for mix in ("even", "easy", "hard", "two kinds")
    for style, terms in (
        ("prose", JUDGED),
        ("short", PLAIN),
        ("choice", PLAIN),
        ("reasoning", (*JUDGED, "brevity")),
    )
}
"""Runs in which the policy learns what it should."""

DEVELOPMENT = {"seeds": (0, 1, 2), "sizes": (200, 5000), "groups": (8,)}
HELD_BACK = {"seeds": (101, 102), "sizes": (200, 1200, 5000), "groups": (4, 16)}
"""Settings that thresholds were not chosen by; an estimate in groups of four was corrected after they were looked at."""
FRESH = {"seeds": (301,), "sizes": (300, 3000), "groups": (4,)}
"""Settings that were looked at once, after that."""


def vary(run: Run, settings: dict[str, tuple[int, ...]]) -> Iterator[Run]:
    """Yield a run with every combination of some settings."""
    for seed in settings["seeds"]:
        for count in settings["sizes"]:
            for group in settings["groups"]:
                yield replace(run, seed=seed, count=count, group=group)
