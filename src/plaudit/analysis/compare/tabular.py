"""Measures that need to know where actions lead: rewards as tables over states, actions and next states."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import list_entries, select_inputs
from plaudit.analysis.compare.measures import CONFIDENCE
from plaudit.analysis.compare.transitions import Given
from plaudit.errors import InputError
from plaudit.reward.reward import Reward

Numbers = NDArray[np.float64]

CONSTANT_TABLE = 1e-9
"""A canonical reward that is smaller than this, measured by the reward, is 0 but for rounding."""
TABLE_RESAMPLES = 200
MOST_RESAMPLED = 20_000
"""Maximum total size of tables to compute intervals for."""
MOST_CELLS = 20_000_000
"""Maximum size of a table: states² × actions."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What transitions tell of a world with few states, and what each reward pays in it."""

    places: tuple[NDArray[np.intp], ...]
    """The state, the action and the next state of each transition, as numbers."""
    rewards: tuple[Numbers, ...]
    """What each transition pays, possible or not: [state, action, next state]; NaN where it cannot be scored."""

    def count(self, weights: Numbers | None = None) -> Numbers:
        """Return how often each transition was given."""
        counts = np.zeros(self.rewards[0].shape)
        np.add.at(counts, self.places, 1.0 if weights is None else weights)
        return counts


def build_tables(rewards: Sequence[Reward], given: Given, action: str | None) -> Tables:
    """Return tables counted from transitions.

    Raises:
        InputError: The transitions do not tell enough; the message says what is missing.
    """
    steps = given.steps
    entries = list_entries(rewards)
    names = [name for name, each in entries.items() if each.declared.name != action]
    if action is None:
        raise InputError("no reward names its action field")
    if lacking := [name for name in names if name not in steps.before]:
        raise InputError(f"the transitions lack {', '.join(f'prev.{name}' for name in lacking)}")
    if not names:
        raise InputError("the rewards read only the action, so there are no states")
    size = len(steps)
    both = np.stack([np.concatenate((steps.before[name], steps.after[name])).astype(np.float64) for name in names])
    states, numbers = np.unique(both, axis=1, return_inverse=True)
    chosen = steps.after.get(action)
    if chosen is None:
        raise InputError(f"the transitions lack {action}")
    actions, taken = np.unique(chosen, return_inverse=True)
    count = states.shape[1]
    if count * count * len(actions) > MOST_CELLS or size < count * len(actions):
        raise InputError(
            f"{size:,} transitions are too few for a table of {count:,} states and {len(actions):,} actions"
        )
    numbers = numbers.reshape(-1)
    places = (numbers[:size], taken.reshape(-1), numbers[size:])
    shape = (count, len(actions), count)
    seen = len(np.unique(places[0] * len(actions) + places[1]))
    if seen < count * len(actions):
        pairs = count * len(actions)
        raise InputError(f"{pairs - seen:,} of {pairs:,} state-action pairs were never seen")
    before, act, after = (each.reshape(-1) for each in np.indices(shape))
    found = []
    for reward in rewards:
        kinds = {name: steps.after[name].dtype for name in names}
        first = {name: states[at][before].astype(kinds[name]) for at, name in enumerate(names)}
        last = {name: states[at][after].astype(kinds[name]) for at, name in enumerate(names)}
        score = reward.compile("numpy", on_bad="mask")
        total = score(select_inputs(reward, first, {**last, action: actions[act]})).total
        found.append(np.broadcast_to(np.asarray(total, np.float64), len(act)).reshape(shape))
    if not np.isfinite(found).all():
        raise InputError("some steps between known states cannot be scored")
    return Tables(places, tuple(found))


def canonicalise_dard(reward: Numbers, dynamics: Numbers, discount: float) -> Numbers:
    """Return the canonical reward of DARD: means over what can follow, with one action for all (Wulfe et al., 2022)."""
    paid = np.einsum("sat,sat->sa", dynamics, reward)
    # what two starts earn between where one action takes each of them
    between = np.einsum("sau,uav,tav->st", dynamics, reward, dynamics, optimize=True) / reward.shape[1]
    mean = paid.mean(axis=1)
    found: Numbers = reward + discount * mean[None, None, :] - mean[:, None, None] - discount * between[:, None, :]
    return found


def evaluate_uniform(reward: Numbers, dynamics: Numbers, discount: float) -> Numbers:
    """Return what each state is worth to a policy that takes every action alike."""
    paid = np.einsum("sat,sat->s", dynamics, reward) / reward.shape[1]
    leads = dynamics.mean(axis=1)
    return np.linalg.solve(np.eye(len(paid)) - discount * leads, paid)


def canonicalise_value(reward: Numbers, dynamics: Numbers, discount: float) -> Numbers:
    """Return E[R + discount · V(S') - V(s)] of each state and action: STARC's VAL (Skalse et al., 2024)."""
    worth = evaluate_uniform(reward, dynamics, discount)
    shaped = reward + discount * worth[None, None, :] - worth[:, None, None]
    found: Numbers = np.einsum("sat,sat->sa", dynamics, shaped)
    return found


def canonicalise_value_potential(reward: Numbers, dynamics: Numbers, discount: float) -> Numbers:
    """Return R + discount · V(s') - V(s) of each transition, possible or not: STARC's VALPotential."""
    worth = evaluate_uniform(reward, dynamics, discount)
    return reward + discount * worth[None, None, :] - worth[:, None, None]


def canonicalise_minimal(reward: Numbers, dynamics: Numbers | None, discount: float) -> Numbers:
    """Return the smallest of all rewards that are the same to an agent: STARC's minimal form, in the norm of squares.

    Such rewards differ by shaping and, where it is known where actions lead, by what cancels among next states.
    """
    states, actions, _ = reward.shape
    eye = np.eye(states)
    shaping = discount * eye[None, None, :, :] - eye[:, None, None, :]
    if dynamics is None:
        basis = np.broadcast_to(shaping, (states, actions, states, states)).reshape(-1, states)
        wanted = reward.reshape(-1)
    else:
        norm = np.sqrt((dynamics**2).sum(axis=2))
        wanted = (np.einsum("sat,sat->sa", dynamics, reward) / norm).reshape(-1)
        leads = discount * dynamics - eye[:, None, :]
        basis = (leads / norm[:, :, None]).reshape(-1, states)
    found = wanted - basis @ np.linalg.lstsq(basis, wanted, rcond=None)[0]
    return found.reshape(reward.shape if dynamics is None else (states, actions))


def measure_normalised(one: Numbers, other: Numbers) -> float:
    """Return how far two canonical rewards of norm 1 are apart, from 0 to 2; NaN where one of them is 0."""
    first, second = one.reshape(-1), other.reshape(-1)
    sizes = [np.linalg.norm(each) for each in (first, second)]
    if min(sizes) == 0.0:
        return float("nan")
    return float(np.linalg.norm(first / sizes[0] - second / sizes[1]))


MEASURES = {
    "starc": canonicalise_value,
    "starc-potential": canonicalise_value_potential,
    "starc-minimal": canonicalise_minimal,
}


def measure_tables(tables: Tables, counts: Numbers, discount: float) -> dict[str, Numbers]:
    """Return STARC's distances and DARD of every pair of rewards, under the dynamics that `counts` tell."""
    dynamics = counts / counts.sum(axis=2, keepdims=True)
    limits = [CONSTANT_TABLE * float(np.abs(each).max()) for each in tables.rewards]
    found = {}
    for name, canonicalise in MEASURES.items():
        forms = [canonicalise(each, dynamics, discount) for each in tables.rewards]
        forms = [form * (np.abs(form).max() > limit) for form, limit in zip(forms, limits, strict=True)]
        found[name] = np.array([[measure_normalised(one, other) / 2 for other in forms] for one in forms])
    weights = counts.reshape(-1) / counts.sum()
    flat = np.stack([canonicalise_dard(each, dynamics, discount).reshape(-1) for each in tables.rewards])
    flat = flat - (flat @ weights)[:, None]
    spread = (flat * weights) @ flat.T
    own = np.where(np.diag(spread) <= np.array(limits) ** 2, np.nan, np.diag(spread))
    found["dard"] = np.sqrt((1 - np.clip(spread / np.sqrt(np.outer(own, own)), -1.0, 1.0)) / 2)
    return found


def resample_tables(
    tables: Tables, groups: Sequence[NDArray[np.int64]], discount: float, seed: int
) -> dict[str, tuple[Numbers, Numbers]] | None:
    """Return intervals of the distances from resampled groups of transitions.

    None where that would take long, or where draws often leave a pair of a state and an action unseen.
    """
    if len(groups) < 2 or tables.rewards[0].size * len(tables.rewards) > MOST_RESAMPLED:
        return None
    rng = np.random.default_rng([seed, 5])
    owner = np.empty(len(tables.places[0]), np.intp)
    for at, rows in enumerate(groups):
        owner[rows] = at
    drawn = []
    for _ in range(TABLE_RESAMPLES):
        times = rng.multinomial(len(groups), np.full(len(groups), 1 / len(groups))).astype(np.float64)
        counts = tables.count(times[owner])
        if counts.sum(axis=2).all():
            drawn.append(measure_tables(tables, counts, discount))
    if len(drawn) < 0.9 * TABLE_RESAMPLES:
        return None
    tail = (1 - CONFIDENCE) / 2
    ends = {name: np.quantile([each[name] for each in drawn], (tail, 1 - tail), axis=0) for name in drawn[0]}
    return {name: (low, high) for name, (low, high) in ends.items()}
