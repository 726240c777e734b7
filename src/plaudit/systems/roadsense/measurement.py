"""One step of a drive, as every version of the reward can read it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from plaudit import DefinitionError, Reward
from plaudit.adapters.components import CLAMP, has_clamp
from plaudit.errors import UnknownField
from plaudit.language.field import Field
from plaudit.systems.roadsense.fields import BRAKE, PEER_WARNED_EVER, WARNED_EVER, WARNED_FADING, WARNED_NOW

SIGNAL = "braking_received"
"""The one input that versions fill in different ways."""
MIDPOINTS = tuple((low + high) / 2 for low, high in pairwise(BRAKE))
"""Between these decelerations lie those that an action stands for: 0.25, 1.25 and 3.25 m/s²."""


class Measurement(NamedTuple):
    """The inputs that an environment measures in a step: those of all versions, with the four forms of the warning.

    >>> Measurement(30.0, 4.0, 3, 0.0, 15.0, False, False, 0.0, 0.0, 0.0, 0.0).collision
    False
    """

    distance: float
    deceleration: float
    action: int
    closing_rate: float
    ego_speed: float
    peer_braking: bool
    fresh_braking: bool
    warned_now: float
    """1 where the hazard's own warning arrived in this step, else 0: what R9 reads."""
    warned_ever: float
    """1 from its first arrival on: R9L."""
    peer_warned_ever: float
    """1 from the first warning of any peer on: R10."""
    warned_fading: float
    """1 when a peer in front warns, then × 0.95 in every step: from R11 on."""
    collision: bool = False
    """Whether the car ahead was hit in truth, whatever the radio says: keep_gap."""


_SIGNALS = {
    WARNED_NOW: "warned_now",
    WARNED_EVER: "warned_ever",
    PEER_WARNED_EVER: "peer_warned_ever",
    WARNED_FADING: "warned_fading",
}


def find_nearest_action(deceleration: float) -> int:
    """Return the action that comes nearest to a deceleration in m/s².

    >>> [find_nearest_action(q) for q in (0.0, 0.25, 1.0, 3.0, 8.0)]
    [0, 1, 1, 2, 3]
    """
    return sum(deceleration >= point for point in MIDPOINTS)


def build_scorer(reward: Reward) -> Callable[[Measurement], tuple[float, dict[str, float]]]:
    """Return the function from a measured step to its total and what each component adds: the fast path of `reward`.

    >>> from plaudit.systems.roadsense.versions import version
    >>> build_scorer(version("R0"))(Measurement(30.0, 4.0, 3, 0.0, 15.0, False, False, 0.0, 0.0, 0.0, 0.0))
    (-1.0, {'safety': 1.0, 'comfort': -2.0, 'appropriateness': 0.0})
    """
    compiled = reward.compile("python")
    function, total, names = compiled.function, compiled.layout.total, [term.name for term in reward.terms]
    chosen, parts = _build_picker(_find_positions(reward)), _build_picker(compiled.layout.values)

    def score(step: Measurement) -> tuple[float, dict[str, float]]:
        outputs = function(*chosen(step))
        return float(outputs[total]), dict(zip(names, map(float, parts(outputs)), strict=True))

    def score_with_clamp(step: Measurement) -> tuple[float, dict[str, float]]:
        paid, terms = score(step)
        return paid, {**terms, CLAMP: paid - sum(terms.values())}

    return score_with_clamp if has_clamp(reward) else score


def build_input_reader(reward: Reward) -> Callable[[Measurement], dict[str, Any]]:
    """Return the function from a measured step to the inputs of `reward`; UnknownField where it reads anything else.

    >>> from plaudit.systems.roadsense.versions import version
    >>> step = Measurement(30.0, 0.5, 1, 0.0, 15.0, False, False, 0.0, 0.0, 0.0, 0.0)
    >>> build_input_reader(version("R0"))(step)
    {'distance': 30.0, 'deceleration': 0.5, 'action': 1}
    """
    names, chosen = reward.inputs, _build_picker(_find_positions(reward))
    return lambda step: dict(zip(names, chosen(step), strict=True))


def select_columns(reward: Reward, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of `reward` for a batch, of which `columns` has every measure under its name."""
    return {name: columns[measure] for name, measure in _map_inputs(reward).items()}


def _build_picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return the function that picks the entries at some places, as a tuple even where it is one or none."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def _find_positions(reward: Reward) -> list[int]:
    return [Measurement._fields.index(measure) for measure in _map_inputs(reward).values()]


def _map_inputs(reward: Reward) -> dict[str, str]:
    return {name: _find_measure(reward, name) for name in reward.inputs}


def _find_measure(reward: Reward, name: str) -> str:
    if name in reward.fields and reward.fields[name].kind == "category":
        raise DefinitionError(f"reward {reward.name!r} declares {name!r} by strings, but the convoy measures numbers.")
    if name == SIGNAL:
        return _find_signal(reward.fields[SIGNAL])
    if name in Measurement._fields:
        return name
    if name.removeprefix("prev.").removeprefix("curr.") in (*Measurement._fields, SIGNAL, "terminal"):
        raise UnknownField(
            f"reward {reward.name!r} reads {name!r}, but the convoy scores one step at a time.\n"
            "Wrap the environment in plaudit.adapters.gymnasium.RewardWrapper, which remembers the previous step."
        )
    known = ", ".join((*Measurement._fields, SIGNAL))
    raise UnknownField(
        f"reward {reward.name!r} reads {name!r}, which the convoy does not measure.\nIt measures: {known}"
    )


def _find_signal(field: Field) -> str:
    """Return how a declared warning is remembered: as the version that declares it does, else fading."""
    return _SIGNALS.get(field, "warned_fading")
