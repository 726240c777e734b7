"""The policies of a probe: baseline ones, which ignore the observation, and simple ones, which a search tunes."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from plaudit.analysis.probe.result import Kind
from plaudit.errors import DefinitionError

Numbers = NDArray[np.float64]
Act = Callable[[Any, Any], Any]
"""From an observation, and which actions are allowed (or None), to an action."""

MOST_CONSTANTS = 32
"""Constant actions that are tried; of more, these many at even distances."""
MOST_PAIRS = 20
"""Cycles of two actions that a search begins with."""
MOST_FEATURES, PROJECTED = 512, 48
"""Observations with more features than the first are projected at random to the second."""
_FURTHEST = 5.0
"""How many standard deviations from its mean a feature counts at most: a flag that is rarely set is no outlier."""


class Policy(Protocol):
    """What decides in an episode."""

    @property
    def name(self) -> str:
        """What people call it: "always 0"."""

    @property
    def kind(self) -> Kind:
        """What sort of policy it is."""

    def start(self, seed: int) -> Act:
        """Return what decides in the episode with this seed."""


@dataclass(frozen=True)
class Constant:
    """The same action in every step; where it is not allowed, the next one that is."""

    name: str
    kind: Kind
    action: Any

    def start(self, seed: int) -> Act:
        """Return what decides."""
        return lambda observation, allowed: skip_to_allowed(self.action, allowed)


@dataclass(frozen=True)
class Random:
    """Any action, each as likely as any other, whatever is seen."""

    space: spaces.Space[Any]
    name: str = "random"
    kind: Kind = "random"

    def start(self, seed: int) -> Act:
        """Return what decides: the same for a seed."""
        generator = np.random.default_rng([seed, 1])  # not the environment's own
        space = deepcopy(self.space)
        space.seed(int(generator.integers(2**31)))

        def act(observation: Any, allowed: Any) -> Any:
            if allowed is not None and isinstance(space, spaces.Discrete) and np.any(allowed):
                return int(space.start) + int(generator.choice(np.flatnonzero(allowed)))
            return space.sample()

        return act


@dataclass(frozen=True)
class Cycle:
    """A cycle of a few actions, repeated."""

    name: str
    actions: tuple[int, ...]
    kind: Kind = "search"

    def start(self, seed: int) -> Act:
        """Return what decides."""
        at = itertools.cycle(self.actions)
        return lambda observation, allowed: skip_to_allowed(next(at), allowed)


@dataclass(frozen=True)
class Linear:
    """Each action, or part of one, by a weighted sum of what is seen."""

    name: str
    weights: Numbers
    features: "FeatureReader"
    decode: Callable[[Numbers, Any], Any]
    kind: Kind = "search"

    def start(self, seed: int) -> Act:
        """Return what decides."""
        weights, read, decode = self.weights, self.features.read, self.decode
        return lambda observation, allowed: decode(weights @ read(observation), allowed)


def skip_to_allowed(action: Any, allowed: Any) -> Any:
    """Return an action or, where a mask forbids it, the next one that is allowed."""
    if allowed is None or not isinstance(action, int | np.integer) or allowed[action] or not np.any(allowed):
        return action
    return int(next(at % len(allowed) for at in range(action, action + len(allowed)) if allowed[at % len(allowed)]))


# -- what can be done --------------------------------------------------------------------------------------------------


def list_baseline_policies(space: spaces.Space[Any]) -> list[Policy]:
    """Return every policy that looks at nothing: doing nothing, where it is known what that is, constants, chance.

    Raises:
        DefinitionError: There is no simple policy for such actions.
    """
    match space:
        case spaces.Discrete():
            actions: Iterator[Any] = (int(space.start) + at for at in _spread(int(space.n)))
            return [*(Constant(f"always {action}", "constant", action) for action in actions), Random(space)]
        case spaces.Box() if space.dtype.kind in "fiu":
            idle = Constant(
                "idle", "idle", np.clip(np.zeros(space.shape), *find_action_limits(space)).astype(space.dtype)
            )
            return [idle, *_list_extremes(space), Random(space)]
        case spaces.MultiDiscrete() if not space.start.any():
            ways = list(itertools.islice(itertools.product(*map(range, space.nvec.ravel())), 4096))
            chosen = (np.array(ways[at], space.dtype).reshape(space.shape) for at in _spread(len(ways)))
            return [*(Constant(f"always {_format(action)}", "constant", action) for action in chosen), Random(space)]
        case spaces.MultiBinary():
            rows = {"idle": 0, "always on": 1}
            kinds: dict[str, Kind] = {"idle": "idle", "always on": "constant"}
            made = (Constant(name, kinds[name], np.full(space.shape, bit, space.dtype)) for name, bit in rows.items())
            return [*made, Random(space)]
    raise DefinitionError(
        f"there is no simple policy for actions of {space}. Supported are Discrete, Box, MultiDiscrete and "
        "MultiBinary: "
        "wrap the environment in one that takes such actions."
    )


def _spread(count: int) -> list[int]:
    return sorted({round(at) for at in np.linspace(0, count - 1, min(count, MOST_CONSTANTS))})


def find_action_limits(space: spaces.Box) -> tuple[Numbers, Numbers]:
    """Return the lowest and highest action; 1 from zero where there is no limit."""
    low = np.where(np.isfinite(space.low), space.low, np.minimum(-1.0, space.high - 1.0))
    return low.astype(float), np.where(np.isfinite(space.high), space.high, np.maximum(1.0, low + 1.0)).astype(float)


def _list_extremes(space: spaces.Box) -> Iterator[Policy]:
    """Yield the lowest and the highest action and, of several parts, each part alone at its ends."""
    low, high = find_action_limits(space)
    rest = np.clip(np.zeros(space.shape), low, high)
    ends = [low, high]
    if 1 < rest.size <= MOST_CONSTANTS // 2 - 1:
        for part, limit in itertools.product(range(rest.size), (low, high)):
            alone = rest.copy().ravel()
            alone[part] = limit.ravel()[part]
            ends.append(alone.reshape(space.shape))
    for action in ends:
        yield Constant(f"always {_format(action)}", "constant", action.astype(space.dtype))


def _format(action: NDArray[Any]) -> str:
    parts = [f"{float(part):z.3g}" for part in action.ravel()]
    return " ".join(parts if len(parts) <= 8 else [*parts[:3], "…", parts[-1]])


def count_outputs(space: spaces.Space[Any]) -> int:
    """Return how many sums a linear policy needs to choose an action."""
    match space:
        case spaces.Discrete():
            return int(space.n)
        case spaces.MultiDiscrete():
            return int(space.nvec.sum())
    return int(np.prod(space.shape or ()))


def build_decoder(space: spaces.Space[Any]) -> Callable[[Numbers, Any], Any]:
    """Return the function from sums, and which actions are allowed, to an action."""
    match space:
        case spaces.Discrete():
            start = int(space.start)

            def choose(sums: Numbers, allowed: Any) -> int:
                if allowed is not None and np.any(allowed):
                    sums = np.where(allowed, sums, -np.inf)
                return start + int(sums.argmax())

            return choose
        case spaces.MultiDiscrete():
            ends = np.cumsum(space.nvec.ravel())[:-1]
            shape, dtype = space.shape, space.dtype
            return lambda sums, allowed: np.array([part.argmax() for part in np.split(sums, ends)], dtype).reshape(
                shape
            )
        case spaces.MultiBinary():
            shape, dtype = space.shape, space.dtype
            return lambda sums, allowed: (sums > 0).astype(dtype).reshape(shape)
    assert isinstance(space, spaces.Box)
    low, high = find_action_limits(space)
    middle, half, shape, dtype = (low + high) / 2, (high - low) / 2, space.shape, space.dtype
    whole = dtype.kind in "iu"

    def scale(sums: Numbers, allowed: Any) -> Any:
        action = middle + half * sums.clip(-1.0, 1.0).reshape(shape)
        return (action.round() if whole else action).astype(dtype)

    return scale


# -- what is seen ------------------------------------------------------------------------------------------------------


class FeatureReader:
    """Observations as features of about the same size, with a 1 behind them; long ones are projected to fewer."""

    def __init__(self, space: spaces.Space[Any], seen: Sequence[Any], generator: np.random.Generator):
        """Learn from observations that were `seen` how large each feature usually is."""
        self._space = space
        self._plain = isinstance(space, spaces.Box)
        table = np.array([self._flatten(observation) for observation in seen])
        self._mean, deviation = table.mean(0), table.std(0)
        self._mean[np.abs(self._mean) < deviation] = 0.0  # what goes both ways is often wanted at 0
        self._scale = 1.0 / np.where(deviation > 1e-8, deviation, 1.0)
        if not self._plain:  # a position of many is one column a place: which is which must stay to be seen
            self._mean, self._scale = np.zeros_like(self._mean), np.ones_like(self._scale)
        size = table.shape[1]
        projection = generator.normal(size=(PROJECTED, size)) / np.sqrt(size)
        self._projection = None if size <= MOST_FEATURES else projection
        self.size = (size if size <= MOST_FEATURES else PROJECTED) + 1
        self._features = np.ones(self.size)

    def read(self, observation: Any) -> Numbers:
        """Return the features of an observation, until the next is read."""
        scaled = ((self._flatten(observation) - self._mean) * self._scale).clip(-_FURTHEST, _FURTHEST)
        if self._projection is not None:
            scaled = self._projection @ scaled
        self._features[:-1] = scaled
        return self._features

    def _flatten(self, observation: Any) -> Numbers:
        flat = observation if self._plain else spaces.utils.flatten(self._space, observation)
        return np.asarray(flat, float).ravel()


def can_be_seen(space: spaces.Space[Any]) -> bool:
    """Return whether a linear policy can read such observations."""
    return bool(space.is_np_flattenable)


# -- what is searched --------------------------------------------------------------------------------------------------


class LinearFamily:
    """Linear policies: a search looks for their weights."""

    def __init__(self, outputs: int, space: spaces.Space[Any], features: FeatureReader) -> None:
        """Decide on actions of `space` by `features`."""
        self._features, self._decode = features, build_decoder(space)
        self._shape = outputs, features.size
        self.constants = self._list_constants() if isinstance(space, spaces.Discrete) and outputs <= 8 else ()
        """The weights of each constant action, of a few: what is found is to be no worse than these."""
        self.mean, self.deviation = np.zeros(outputs * features.size), np.ones(outputs * features.size)

    def _list_constants(self) -> tuple[Numbers, ...]:
        made = np.zeros((self._shape[0], *self._shape))
        for action in range(self._shape[0]):
            made[action, action, -1] = 1.0
        return tuple(made.reshape(self._shape[0], -1))

    def near(self, weights: Numbers) -> "LinearFamily":
        """Return the family with a search that begins near some weights."""
        other = copy(self)
        other.mean, other.deviation = weights, np.full_like(weights, 0.3)
        return other

    def build(self, weights: Numbers, name: str = "") -> Linear:
        """Return the policy with these weights."""
        return Linear(name, weights.reshape(self._shape), self._features, self._decode)


class CycleFamily:
    """Cycles of a few actions: a search looks for the preference of each place for each action."""

    length = 4

    def __init__(self, space: spaces.Discrete, known: Sequence[int] = ()) -> None:
        """Go round in some actions of `space`; there and back between two of those that are `known` comes first."""
        self._count, self._start = int(space.n), int(space.start)
        pairs = itertools.combinations([action - self._start for action in known], 2)
        self.constants = tuple(np.eye(self._count)[[one, other] * 2].ravel() for one, other in pairs)[:MOST_PAIRS]
        self.mean, self.deviation = np.zeros(self.length * self._count), np.ones(self.length * self._count)

    def build(self, weights: Numbers, name: str = "") -> Cycle:
        """Return the cycle of the actions that are preferred most."""
        actions = weights.reshape(self.length, self._count).argmax(1) + self._start
        return Cycle(name, tuple(actions.tolist()))
