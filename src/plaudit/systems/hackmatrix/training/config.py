"""What a training run is set to."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.systems.training.settings import build_settings, require_setting

Precision = Literal["float32", "bfloat16"]
View = Literal["board", "player"]

REFERENCE_BATCH = 32_768
"""The batch for which the reference settings were found; larger ones are cut into more minibatches."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run.

    >>> Config(envs=256, rollout=128, steps=5_000_000).updates
    153
    """

    envs: int = 256
    """Games played at once."""
    rollout: int = 128
    """Steps of each game between two updates."""
    steps: int = 10_000_000
    """Steps of the whole run, over all games; it ends with the update that reaches them."""
    epochs: int = 4
    """How often each update goes through its batch."""
    minibatches: int = 4
    """Into how many parts a batch is cut, each one step of the optimizer."""
    learning_rate: float = 2.5e-4
    decay: bool = True
    """Whether the learning rate falls to 0 along the run, in a straight line."""
    gamma: float = 0.99
    """What a reward one step later is worth."""
    gae_lambda: float = 0.95
    clip: float = 0.2
    value_weight: float = 0.5
    entropy: float = 0.01
    """The weight of the policy's entropy at the start of the run."""
    entropy_end: float | None = None
    """The same at its end, reached in a straight line; no change if not given."""
    max_gradient: float = 0.5
    """The longest gradient; longer ones are cut to it."""
    view: View = "player"
    """What the network sees: the board as the observation has it, or around the player."""
    hidden: tuple[int, ...] = (256, 256)
    precision: Precision = "float32"
    """What observations are kept in and matrices are multiplied in; weights and sums stay float32."""
    max_steps: int | None = None
    """After how many steps an episode is cut off; None plays it to its end."""
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for name in (
            "envs",
            "rollout",
            "steps",
            "epochs",
            "minibatches",
            *(["max_steps"] if self.max_steps is not None else []),
        ):
            require_setting(getattr(self, name) >= 1, name, getattr(self, name), "1 or more")
        for name in ("learning_rate", "max_gradient", "clip"):
            require_setting(0 < getattr(self, name) < float("inf"), name, getattr(self, name), "above 0")
        for name in ("gamma", "gae_lambda"):
            require_setting(0 <= getattr(self, name) <= 1, name, getattr(self, name), "between 0 and 1")
        for name in ("value_weight", "entropy", *(["entropy_end"] if self.entropy_end is not None else [])):
            require_setting(0 <= getattr(self, name) < float("inf"), name, getattr(self, name), "0 or more")
        require_setting(all(width >= 1 for width in self.hidden), "hidden", self.hidden, "widths of 1 or more")
        require_setting(
            self.precision in get_args(Precision), "precision", self.precision, " or ".join(get_args(Precision))
        )
        require_setting(self.view in get_args(View), "view", self.view, " or ".join(get_args(View)))
        require_setting(0 <= self.seed < 2**32, "seed", self.seed, "between 0 and 2**32 - 1")
        if self.batch % self.minibatches:
            raise DefinitionError(
                f"a batch of {self.envs} × {self.rollout} = {self.batch} steps "
                f"does not divide into {self.minibatches} equal minibatches."
            )

    @property
    def batch(self) -> int:
        """Steps of all games in one update."""
        return self.envs * self.rollout

    @property
    def updates(self) -> int:
        """Updates of the whole run."""
        return -(-self.steps // self.batch)

    @property
    def anneals(self) -> bool:
        """Whether something changes along the run, so that its length matters from the start."""
        return self.decay or self.entropy_end not in (None, self.entropy)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        return {**dataclasses.asdict(self), "hidden": list(self.hidden)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Config":
        """Return the settings that `to_dict` gave."""
        return build_settings(cls, given)


def scale_batch(envs: int, rollout: int) -> dict[str, int]:
    """Return how a batch is cut: up to the reference batch as there, above it in more minibatches and fewer epochs.

    >>> scale_batch(256, 128), scale_batch(2048, 128)
    ({'minibatches': 4, 'epochs': 4}, {'minibatches': 32, 'epochs': 2})
    """
    times = max(1, envs * rollout // REFERENCE_BATCH)
    return {"minibatches": min(64, 4 * times), "epochs": max(2, 4 // times)}


PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {"envs": 256, "rollout": 64, "steps": 4_000_000, "learning_rate": 1e-3},
    "gpu": {"envs": 8192, "rollout": 64, "steps": 1_000_000_000, "learning_rate": 5e-4, "precision": "bfloat16"},
}
"""Settings that were found to work, by the machine they are for."""


def get_preset(name: str, **changes: Any) -> Config:
    """Return the settings of a preset, with changes; how a batch of another size is cut follows `scale_batch`.

    >>> get_preset("cpu", envs=2048).minibatches
    16
    """
    if name not in PRESETS:
        raise DefinitionError(
            f"there is no preset {name!r}; choose from {', '.join(PRESETS)}.{did_you_mean(name, PRESETS)}"
        )
    chosen = {**PRESETS[name], **changes}
    return Config(**{**scale_batch(chosen["envs"], chosen["rollout"]), **chosen})
