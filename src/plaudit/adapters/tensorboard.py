"""TensorBoard: scalars and the terms of a reward in event files; only `tensorboard` is needed."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from plaudit.adapters.components import (
    COMPONENTS,
    EPISODE_COMPONENTS,
    MASKED_STEPS,
    WEIGHTS,
    Profile,
    average,
    find_profile,
    missing_components,
    split_total,
)
from plaudit.atomic import build_write_error
from plaudit.errors import MissingExtra
from plaudit.reward.signal import Signal

__all__ = ["RewardCurves"]

_KEYS = {"episode": EPISODE_COMPONENTS, "step": COMPONENTS}


class Scalars:
    """An event file of numbers by name and step, in a folder that is created if needed."""

    def __init__(self, folder: str | os.PathLike[str], *, after: int | None = None, extra: str = "tensorboard") -> None:
        """Begin a file; points of older files in the folder `after` this step are discarded.

        `extra` is the extra of plaudit to name if TensorBoard is not installed.
        """
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"curves for TensorBoard need {error.name}. Install it: pip install 'plaudit[{extra}]'"
            ) from None
        self._event, self._summary = Event, Summary
        if after is not None:
            _wait_for_a_later_name(Path(folder))
        try:
            self._writer = EventFileWriter(os.fspath(folder))
        except OSError as error:
            raise build_write_error(os.fspath(folder), error) from None
        if after is not None:
            log = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=time.time(), step=after + 1, session_log=log))

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Write the numbers of one step.

        Args:
            values: Numbers by name; NaN is left out.
            step: The step.
        """
        value = self._summary.Value
        points = [value(tag=tag, simple_value=number) for tag, number in values.items() if number == number]
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=self._summary(value=points)))

    def close(self) -> None:
        """Finish writing."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _wait_for_a_later_name(folder: Path) -> None:
    """Wait up to a second if a file was begun in the current one: files are read in the order of their names.

    A name begins with the second; the machine, the process and a number that follow do not order files.
    """
    begun = [path.name.split(".")[3] for path in folder.glob("events.out.tfevents.*")]
    newest = max((int(second) for second in begun if second.isdigit()), default=0)
    if newest == int(now := time.time()):
        time.sleep(newest + 1 - now)


class RewardCurves(Scalars):
    """Write curves of a reward's terms for TensorBoard.

    Args:
        folder: Folder for the event file; created if needed.
        profile: Names of the curves: "isaac" (sums over episodes), "trl" (means of steps), or a `Profile`.

    Example:
        ```python
        with RewardCurves("logs/run-1") as curves:
            obs, reward, terminated, truncated, info = env.step(action)
            curves.log(info, step)
        ```
    """

    def __init__(self, folder: str | os.PathLike[str], *, profile: str | Profile = "isaac") -> None:
        """Begin a file in a folder."""
        self._profile = find_profile(profile)
        super().__init__(folder)

    def log(self, info: Mapping[str, Any], step: int) -> None:
        """Write the terms from the `info` of a `RewardWrapper`, averaged over environments.

        A profile over episodes writes the sums of episodes that ended in this step, if any; a profile over steps writes
        the values of the step. Scheduled weights and the number of unscored steps are written too.

        Args:
            info: The `info` that `step` of the wrapped environment returned.
            step: The step to write it under.

        Raises:
            MissingField: `info` has no reward components: the environment is not wrapped.
        """
        if COMPONENTS not in info:
            raise missing_components(COMPONENTS)
        key = _KEYS[self._profile.over]
        which = info.get(f"_{key}")
        if key in info and (which is None or any(which)):
            self.draw(average(info[key], which), step)
            weights = average(info.get(WEIGHTS, {}), info.get(f"_{WEIGHTS}"))
            besides = {self._profile.weight.format(name): weight for name, weight in weights.items()}
            if MASKED_STEPS in info:
                besides[f"reward/{MASKED_STEPS}"] = float(np.sum(info[MASKED_STEPS]))
            if besides:
                self.write(besides, step)

    def draw(self, what: Signal | Mapping[str, Any], step: int) -> None:
        """Write the value of each term.

        Args:
            what: A signal, or components or sums by name; arrays are averaged.
            step: The step to write it under.
        """
        components = split_total(what) if isinstance(what, Signal) else average(what)
        self.write(self._profile.tags(components), step)
