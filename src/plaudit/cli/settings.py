"""Other values for the knobs of a reward: `--params overrides.toml` and `--set comfort.weight=2`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plaudit.errors import DefinitionError

if TYPE_CHECKING:
    from plaudit.reward.reward import Reward


def tuned(reward: "Reward", params: str | None, settings: Sequence[str]) -> "Reward":
    """Return `reward` with the values of a TOML file, then with those of `settings`.

    >>> from plaudit.systems import load
    >>> tuned(load("roadsense"), None, ["comfort.weight=2"]).params["comfort.weight"]
    2.0
    """
    if params is not None:
        reward = reward.with_file(params)
    return reward.with_params(dict(_parsed(setting) for setting in settings))


def _parsed(setting: str) -> tuple[str, float | bool]:
    name, equals, value = (part.strip() for part in setting.partition("="))
    if not equals or not name:
        raise DefinitionError(f"--set {setting}: write the name of a knob and its value, as in comfort.weight=2.")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value)
    except ValueError:
        raise DefinitionError(f"--set {setting}: {value!r} is neither a number nor true or false.") from None
