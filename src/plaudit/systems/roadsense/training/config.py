"""What a training run is set to."""

import dataclasses
from dataclasses import dataclass
from typing import Any, get_args

from plaudit.errors import DefinitionError
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.action_applicator import Actions
from plaudit.systems.roadsense.versions import VERSIONS
from plaudit.systems.training.settings import build_settings, require_setting

RADIOS = ("ideal", "default", "bench", "field")
"""What cars hear of one another: everything at once, or what a measured radio lets through."""

EARLY: dict[str, Any] = {"entropy": 0.01, "log_std": 0.0, "normalise": False}
"""The settings with which the versions up to R7 were trained, where they differ from those that came later."""
LATER: dict[str, Any] = {"entropy": 0.0, "log_std": -0.5, "normalise": True}
"""Those from R8 on. Rates and rollouts are the early ones for all: the later ones were for millions of steps."""
FIRST_LATER = "R8"


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a run.

    >>> Config(steps=300_000, rollout=2048).updates
    147
    """

    actions: Actions = "continuous"
    radio: str = "ideal"
    hazards: float = 1.0
    """The share of training episodes in which a car ahead brakes to a stop."""
    envs: int = 4
    """Convoys driven side by side, each on a SUMO of its own."""
    steps: int = 300_000
    """Steps of the whole run, over all convoys; it ends with the update that reaches them."""
    rollout: int = 2048
    """Steps of all convoys together between two updates."""
    minibatch: int = 64
    """Steps that one step of the optimizer sees."""
    epochs: int = 10
    """How often each update goes through its batch."""
    learning_rate: float = 3e-4
    gamma: float = 0.99
    """What a reward one step later is worth."""
    gae_lambda: float = 0.95
    clip: float = 0.2
    value_weight: float = 0.5
    entropy: float = 0.0
    """The weight of the policy's entropy."""
    max_gradient: float = 0.5
    """The longest gradient; longer ones are cut to it."""
    log_std: float = -0.5
    """The logarithm of the spread with which continuous actions are tried at first."""
    normalise: bool = True
    """Whether rewards are divided by the running deviation of returns before the network learns from them."""
    limit: int = 400
    """Steps after which an episode is cut off in training."""
    threads: int = 1
    """Threads of PyTorch: the network is small, and more of them are slower."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("envs", "steps", "rollout", "epochs", "limit", "threads"):
            require_setting(getattr(self, name) >= 1, name, getattr(self, name), "1 or more")
        require_setting(self.minibatch >= 2, "minibatch", self.minibatch, "2 or more")
        for name in ("learning_rate", "max_gradient", "clip"):
            require_setting(0 < getattr(self, name) < float("inf"), name, getattr(self, name), "above 0")
        for name in ("gamma", "gae_lambda", "hazards"):
            require_setting(0 <= getattr(self, name) <= 1, name, getattr(self, name), "between 0 and 1")
        for name in ("value_weight", "entropy"):
            require_setting(0 <= getattr(self, name) < float("inf"), name, getattr(self, name), "0 or more")
        require_setting(-20 <= self.log_std <= 2, "log_std", self.log_std, "between -20 and 2")
        require_setting(self.actions in get_args(Actions), "actions", self.actions, " or ".join(get_args(Actions)))
        require_setting(self.radio in RADIOS, "radio", self.radio, " or ".join(RADIOS))
        require_setting(0 <= self.seed < 2**32, "seed", self.seed, "between 0 and 2**32 - 1")
        if self.rollout % self.envs or self.rollout % self.minibatch:
            raise DefinitionError(
                f"a rollout of {self.rollout} steps does not divide into {self.envs} equal parts for the convoys "
                f"and into minibatches of {self.minibatch}."
            )

    @property
    def batch(self) -> int:
        """Steps of all convoys in one update."""
        return self.rollout

    @property
    def updates(self) -> int:
        """Updates of the whole run."""
        return -(-self.steps // self.rollout)

    @property
    def anneals(self) -> bool:
        """Whether something changes along the run, so that its length matters from the start: nothing does."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Config":
        """Return the settings that `to_dict` gave."""
        return build_settings(cls, given)


def build_config(reward: Reward, **changes: Any) -> Config:
    """Return the settings with which a version of the reward was trained, with changes.

    A reward that reads the action gets the four actions of the seed, any other one the continuous action. Rewards of
    your own are trained like the versions that they resemble in this.

    >>> from plaudit.systems.roadsense.versions import version
    >>> build_config(version("R0")).actions, build_config(version("R8")).actions
    ('discrete', 'continuous')
    """
    discrete = "action" in reward.inputs
    return Config(
        **{
            **(EARLY if _is_early(reward, discrete) else LATER),
            "actions": "discrete" if discrete else "continuous",
            **changes,
        }
    )


def _is_early(reward: Reward, discrete: bool) -> bool:
    label = reward.version
    return discrete or (label in VERSIONS and VERSIONS.index(label) < VERSIONS.index(FIRST_LATER))
