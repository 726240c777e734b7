"""A tiny model that TRL trains for a few steps, on a processor and in a second: run by `real_packages.py`."""

import math
import tempfile
from pathlib import Path

from support import sums

STEPS = 3


def trained(funcs, weights, *, conversational, batch=16, config=None, rows=None, **more):
    """Return what TRL logs in three steps, the completions it scored, and the columns that functions logged in the last.

    Prompts and columns of the data set are those of `sums`, unless there are other rows.
    """
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
    from trl import GRPOConfig, GRPOTrainer

    set_seed(0)
    words = ["<pad>", "<eos>", "<unk>", *"0123456789+=", "a", "poem", "I", "think"]
    inner = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    tokenizer.chat_template = (
        _find_template() if more else "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    )
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(words), num_key_value_heads=2, **shape, **ends))
    prompts = [[{"role": "user", "content": prompt}] for prompt in sums.PROMPTS] if conversational else sums.PROMPTS
    data = Dataset.from_dict(rows or {"prompt": prompts, **sums.COLUMNS})
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "per_device_train_batch_size": batch,
            "num_generations": 4,
            "max_completion_length": 5,
            "max_steps": STEPS,
        }
        quiet = {"report_to": [], "logging_steps": 1, "save_strategy": "no", "use_cpu": True, "disable_tqdm": True}
        given = {"output_dir": folder, "reward_weights": weights, "seed": 0, "learning_rate": 1e-2, **(config or {})}
        config = GRPOConfig(**{**settings, **quiet, **given})
        trainer = GRPOTrainer(
            model=model, reward_funcs=funcs, args=config, train_dataset=data, processing_class=tokenizer, **more
        )
        texts = []
        trainer.add_callback(_callback(trainer, texts))
        trainer.train()
        assert funcs is None or trainer.reward_func_names == [func.__name__ for func in funcs]
        logs = [log for log in trainer.state.log_history if "reward" in log]
        assert torch.isfinite(torch.tensor([[log["loss"], log["grad_norm"]] for log in logs])).all(), logs
        extra = {name: list(column) for name, column in trainer._logs["extra"].items()}
        return logs, texts, extra


def check_equal(one, other):
    """Check that two trainings were the same, step by step."""
    assert len(one) == len(other) > 0
    for key in ("reward", "reward_std", "grad_norm", "loss"):
        pairs = [(a[key], b[key]) for a, b in zip(one, other, strict=True)]
        assert all(math.isclose(*pair, rel_tol=1e-5, abs_tol=1e-6) for pair in pairs), (key, pairs)


def _find_template():
    """Return a chat template that has tools, and that TRL knows how to read calls from."""
    import trl

    return (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text(encoding="utf-8")


def _callback(trainer, texts):
    from transformers import TrainerCallback

    class Keep(TrainerCallback):
        def on_step_end(self, *args, **others):
            texts.append(list(trainer._logs["completion"]))

    return Keep()
