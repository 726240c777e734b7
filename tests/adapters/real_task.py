"""A task of reasoning-gym that TRL trains a tiny model on, with math-verify as the judge: run by `real_packages.py`."""

from real_training import check_equal, trained

from plaudit import Field, Reward, term
from plaudit.adapters.trl import reward_func
from plaudit.llm import Scoring
from plaudit.llm.ready import equal_mathematics

SIZE = 4


@term
def correct(equal_mathematics):
    return 1 if equal_mathematics else 0


def train_task():
    """Train on sums of two digits: rewards are those of reasoning-gym, and the training that of a plain function."""
    import reasoning_gym

    tasks = reasoning_gym.create_dataset(
        "chain_sum", size=SIZE, seed=3, min_terms=2, max_terms=2, min_digits=1, max_digits=1
    )
    rows = {"prompt": [task["question"] for task in tasks], "answer": [task["answer"] for task in tasks]}
    by_answer = {task["answer"]: task for task in tasks}
    reward = Reward("task", version="1", terms=[correct], fields=[Field("equal_mathematics", flag=True)])
    score = reward_func(Scoring(reward, [equal_mathematics()]))
    paid = []

    def verified(completions, answer, **columns):
        found = score(completions=completions, answer=answer, **columns)
        paid.extend(zip(completions, answer, found, strict=True))
        return found

    def plain(completions, answer, **_):
        return [float(said.strip() == right) for said, right in zip(completions, answer, strict=True)]

    options = {"conversational": False, "batch": 32 * SIZE, "rows": rows}
    config = {"num_generations": 32, "max_completion_length": 1}
    one, *_ = trained([verified], [1.0], config=config, **options)
    other, *_ = trained([plain], [1.0], config=config, **options)
    check_equal(one, other)
    for said, answer, total in paid:
        assert total == (tasks.score_answer(said.strip(), by_answer[answer]) == 1.0), (said, answer, total)
    right = sum(total for *_, total in paid)
    assert 0 < right < len(paid)
    print(f"reasoning-gym: {right:.0f} of {len(paid)} right, by step", [log["reward"] for log in one])
