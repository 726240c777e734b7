"""The network: every peer that is heard goes through the same small one, and the strongest of each output is kept."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import MultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from plaudit.systems.roadsense.action_applicator import Actions
from plaudit.systems.roadsense.observation_builder import ObservationBuilder
from plaudit.systems.roadsense.scenario import SCENARIOS

WIDTH = 32
"""Outputs for a peer."""
HEADS = [64, 64]
"""The hidden layers of the policy, and of the value, on top of what was extracted."""


class ConvoyFeatures(BaseFeaturesExtractor):
    """What the heads see: the own car as it is, and of all peers together the maximum of what was made of each.

    The order of peers plays no part in it. Where none is heard there are zeros.
    """

    def __init__(self, observation_space: spaces.Dict, width: int = WIDTH) -> None:
        (ego,), (_, peer) = (_find_shape(observation_space, name) for name in ("ego", "peers"))
        super().__init__(observation_space, features_dim=ego + width)
        self.each = nn.Sequential(nn.Linear(peer, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the features of a batch of observations."""
        heard = observations["peer_mask"].unsqueeze(-1)
        outputs = (
            self.each(observations["peers"]) * heard
        )  # no output is negative, so a peer that is not heard has none
        return torch.cat([observations["ego"], outputs.amax(dim=-2)], dim=-1)


def _find_shape(space: spaces.Dict, name: str) -> tuple[int, ...]:
    shape = space[name].shape
    assert shape is not None
    return shape


def build_network_settings(log_std: float) -> dict[str, Any]:
    """Return how Stable-Baselines3 is to build the network."""
    return {
        "features_extractor_class": ConvoyFeatures,
        "net_arch": list(HEADS),
        "activation_fn": nn.Tanh,
        "log_std_init": log_std,
        "optimizer_kwargs": {"eps": 1e-5, "fused": True},  # Stable-Baselines3's own eps; fused is faster on a CPU too
    }


def build_network(actions: Actions, *, log_std: float = 0.0) -> MultiInputActorCriticPolicy:
    """Return a new network for one kind of actions, untrained."""
    seen = ObservationBuilder("dict", peers=SCENARIOS["late"].ids[1:]).space
    assert isinstance(seen, spaces.Dict)
    done = spaces.Discrete(4) if actions == "discrete" else spaces.Box(0.0, 1.0, (1,), np.float32)
    return MultiInputActorCriticPolicy(seen, done, lambda progress: 0.0, **build_network_settings(log_std))
