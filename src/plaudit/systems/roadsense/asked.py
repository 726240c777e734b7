"""What an environment is asked for, checked at the door."""

from collections.abc import Mapping, Sequence
from typing import Any

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.action_applicator import Actions, Scale
from plaudit.systems.roadsense.numbers import is_whole
from plaudit.systems.roadsense.sumo import speed_mode
from plaudit.systems.roadsense.versions import version

OPTIONS = ("scenario", "hazard")
"""What `reset` can be asked for, for one episode."""


def reward_for(given: Any, actions: Actions) -> Reward:
    """Return the reward asked for; where none is, the first that fits the actions."""
    if isinstance(given, Reward):
        return given
    if given is None:
        return version("R0" if actions == "discrete" else "R8")
    if not isinstance(given, str):
        raise DefinitionError(f"reward={given!r:.60}: give the name of a version, or a Reward.")
    return version(given)


def mode_for(scale: Scale, assist: bool | None) -> int:
    """Return the speed mode: what SUMO is to check of a command."""
    if scale == "per_step":
        if assist is False:
            raise DefinitionError("scale='per_step' asks for 45 m/s² and lives by what SUMO allows: leave assist on.")
        return speed_mode.ORIGIN
    return speed_mode.ASSISTED if assist else speed_mode.EXACT


def options(given: Any) -> Mapping[str, Any]:
    """Return what `reset` was asked for; an error where there is no such option."""
    if given is not None and not isinstance(given, Mapping):
        raise DefinitionError(f"reset(options={given!r:.60}): options are a mapping, such as {{'hazard': 'certain'}}.")
    for name in given or {}:
        if name not in OPTIONS:
            near = did_you_mean(str(name), OPTIONS)
            raise DefinitionError(f"reset(options=…) has no option {name!r}, only {' and '.join(OPTIONS)}.{near}")
    return given or {}


def render_mode(given: str | None, known: Sequence[str]) -> str | None:
    """Return a way to render, or None."""
    if given is not None and given not in known:
        raise DefinitionError(f"render_mode={given!r}: it is {' or '.join(map(repr, known))}, or None.")
    return given


def count(name: str, given: Any, least: int) -> int:
    """Return a whole number of steps."""
    if not is_whole(given) or given < least:
        raise DefinitionError(f"{name}={given!r}: it is a whole number, {least} or more.")
    return int(given)
