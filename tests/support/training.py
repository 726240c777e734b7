"""TRL's trainers for a page that trains a language model, without TRL: calls that a real trainer made are made again.

`python tests/adapters/real_packages.py tutorial` trains and records them. What decides the calls is recorded too, so a
page that would train otherwise fails.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "train-a-language-model.md"
RECORDED = Path(__file__).parents[1] / "adapters" / "recorded" / "tutorial.json"
STALE = "recorded/tutorial.json is of another training; renew it: python tests/adapters/real_packages.py tutorial"


@contextmanager
def replayed() -> Iterator[None]:
    """Let a page import TRL and what goes with it; training makes the recorded calls."""
    trl = SimpleNamespace(SFTConfig=_Config, GRPOConfig=_Config, SFTTrainer=_Examples, GRPOTrainer=_Calls)
    datasets = SimpleNamespace(Dataset=SimpleNamespace(from_list=list))
    stand_ins = {"trl": trl, "datasets": datasets, "tokenizers": MagicMock(), "transformers": MagicMock()}
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(cast("dict[str, ModuleType]", stand_ins))
    try:
        yield
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


def describe_examples(rows: list[dict[str, Any]]) -> str:
    """Return what tells the examples of a page from others."""
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


class _Config(dict[str, Any]):
    """The settings that a page gives."""

    def __init__(self, output_dir: str, **settings: Any) -> None:
        super().__init__(settings)


class _Examples:
    """Learns nothing, from the right examples."""

    def __init__(
        self, model: Any, *, args: _Config, train_dataset: list[dict[str, Any]], processing_class: Any
    ) -> None:
        recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
        assert dict(args) == recorded["examples"]["settings"], STALE
        assert describe_examples(train_dataset) == recorded["examples"]["rows"], STALE

    def train(self) -> None:
        """Do nothing."""


class _Calls:
    """Calls the reward function as a real trainer did."""

    def __init__(
        self,
        model: Any,
        *,
        reward_funcs: Any,
        args: _Config,
        train_dataset: list[dict[str, Any]],
        processing_class: Any,
    ) -> None:
        self._recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
        assert dict(args) == self._recorded["settings"], STALE
        self._func, self._answers = reward_funcs, {row["prompt"]: row["answer"] for row in train_dataset}

    def train(self) -> None:
        """Make the calls, which are answered as they were."""
        logged: dict[str, Any] = {}
        for step, call in enumerate(self._recorded["calls"]):
            size = self._recorded["settings"]["num_generations"]
            prompts = [prompt for prompt in call["prompts"] for _ in range(size)]
            rewards = self._func(
                prompts=prompts,
                completions=call["completions"],
                answer=[self._answers[prompt] for prompt in prompts],
                trainer_state=SimpleNamespace(global_step=step),
                log_extra=logged.__setitem__,
                log_metric=logged.__setitem__,
            )
            assert rewards == call["rewards"], STALE
