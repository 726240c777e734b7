"""A run in a file: weights, optimizer, the scale of returns and the state of chance; or the weights alone.

What is on the road is not in it: SUMO's convoys start again when a run goes on.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecNormalize

from plaudit.systems.roadsense.training.config import Config
from plaudit.systems.roadsense.training.network import build_network
from plaudit.systems.training import checkpoint as archive
from plaudit.systems.training.checkpoint import Arrays

FORMAT = 1
"""How checkpoints are laid out. One of another format is refused."""
CheckpointInfo = archive.CheckpointInfo[Config]


def save_run(path: Path, model: PPO, info: CheckpointInfo) -> None:
    """Write everything that a run needs to go on: all of it, or nothing."""
    archive.write_archive(path, info.to_json(FORMAT), _collect_run(model))


def save_policy(path: Path, policy: BasePolicy, info: CheckpointInfo) -> None:
    """Write the weights of a policy: all of them, or nothing."""
    archive.write_archive(path, info.to_json(FORMAT), _collect_weights(policy))


def read_info(path: Path) -> CheckpointInfo:
    """Return what a checkpoint says of itself; FileError if it is none, is damaged, or is of another format."""
    return archive.read_info(path, Config.from_dict, format=FORMAT)


def load_run(path: Path, model: PPO) -> None:
    """Put a model, which was made with the same settings, into the state in which a run was kept."""
    info, arrays = read_info(path), archive.read_archive(path)
    archive.check_shapes(path, arrays, _collect_run(model, begun=info.update > 0), writer=info.plaudit)
    _set_weights(model.policy, arrays)
    _set_optimizer(model.policy.optimizer, arrays)
    _set_scale(model, arrays)
    _set_random_state(arrays)
    model.num_timesteps = info.steps


def load_policy(path: Path) -> BasePolicy:
    """Return the network that a run found: of its `policy.npz`, or of its checkpoint."""
    info, arrays = read_info(path), archive.read_archive(path)
    policy = build_network(info.config.actions)
    weights = {name: array for name, array in arrays.items() if name.startswith("policy/")}
    archive.check_shapes(path, weights, _collect_weights(policy), writer=info.plaudit)
    _set_weights(policy, weights)
    policy.set_training_mode(False)
    return policy


def _collect_run(model: PPO, *, begun: bool | None = None) -> Arrays:
    """Return everything of a run by name; `begun` says whether the optimizer has made a step, if the model does not."""
    has = bool(model.policy.optimizer.state) if begun is None else begun
    optimizer = _collect_optimizer(model.policy.optimizer) if has else {}
    return {**_collect_weights(model.policy), **optimizer, **_collect_scale(model), **_collect_random_state()}


# -- the network -----------------------------------------------------------------------------------------------------


def _collect_weights(policy: BasePolicy) -> Arrays:
    return {f"policy/{name}": tensor.detach().numpy() for name, tensor in policy.state_dict().items()}


def _set_weights(policy: BasePolicy, arrays: Arrays) -> None:
    names = policy.state_dict()
    policy.load_state_dict({name: torch.tensor(arrays[f"policy/{name}"]) for name in names})


# -- the optimizer: two running means of every weight's gradient, and a count ------------------------------------------

_MOMENTS = ("exp_avg", "exp_avg_sq")
_COUNT = "step"


def _collect_optimizer(optimizer: torch.optim.Optimizer) -> Arrays:
    found: Arrays = {}
    for at, weights in enumerate(_list_tuned_weights(optimizer)):
        state: dict[str, Any] = optimizer.state.get(weights, {})
        found |= {f"optimizer/{at}/{name}": state.get(name, torch.zeros_like(weights)).numpy() for name in _MOMENTS}
        found[f"optimizer/{at}/{_COUNT}"] = state.get(_COUNT, torch.zeros(())).numpy()
    return found


def _set_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    for at, weights in enumerate(_list_tuned_weights(optimizer)):
        if f"optimizer/{at}/{_COUNT}" in arrays:
            names = (_COUNT, *_MOMENTS)
            optimizer.state[weights] = {name: torch.tensor(arrays[f"optimizer/{at}/{name}"]) for name in names}


def _list_tuned_weights(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [weights for group in optimizer.param_groups for weights in group["params"]]


# -- the scale of returns ----------------------------------------------------------------------------------------------


def _collect_scale(model: PPO) -> Arrays:
    scale = model.get_vec_normalize_env()
    if scale is None:
        return {}
    return {
        f"returns/{name}": np.asarray(getattr(scale.ret_rms, name), np.float64) for name in ("mean", "var", "count")
    }


def _set_scale(model: PPO, arrays: Arrays) -> None:
    scale: VecNormalize | None = model.get_vec_normalize_env()
    if scale is not None:
        scale.ret_rms.mean, scale.ret_rms.var = arrays["returns/mean"], arrays["returns/var"]
        scale.ret_rms.count = float(arrays["returns/count"])


# -- chance: Stable-Baselines3 draws actions from PyTorch's generator and minibatches from NumPy's ---------------------


def _collect_random_state() -> Arrays:
    numpy: Any = np.random.get_state(legacy=False)
    rest = np.array([numpy["state"]["pos"], numpy["has_gauss"], numpy["gauss"]], np.float64)
    return {
        "chance/torch": torch.get_rng_state().numpy(),
        "chance/numpy": numpy["state"]["key"],
        "chance/numpy_rest": rest,
    }


def _set_random_state(arrays: Arrays) -> None:
    at, has_gauss, gauss = arrays["chance/numpy_rest"].tolist()
    np.random.set_state(("MT19937", arrays["chance/numpy"], int(at), int(has_gauss), gauss))
    torch.set_rng_state(torch.tensor(arrays["chance/torch"]))
