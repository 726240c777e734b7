"""TensorBoard: scalars, and what each term of a reward gave, in event files; nothing but `tensorboard` is needed."""

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
    """An event file of numbers, by name and step, in a folder that is made if it is not there."""

    def __init__(self, folder: str | os.PathLike[str], *, after: int | None = None, extra: str = "tensorboard") -> None:
        """Begin a file; what older files of the folder have `after` a step was undone.

        `extra` is what of plaudit is to be installed where TensorBoard is not.
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
        """Write numbers of one step; NaN is left out."""
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
    """Wait, for less than a second, where a file was begun in this one: files are read in the order of their names.

    A name begins with the second; what follows, the machine, the process and a number, says nothing of order.
    """
    begun = [path.name.split(".")[3] for path in folder.glob("events.out.tfevents.*")]
    newest = max((int(second) for second in begun if second.isdigit()), default=0)
    if newest == int(now := time.time()):
        time.sleep(newest + 1 - now)


class RewardCurves(Scalars):
    """Curves of a reward's terms, under the names of a profile: "isaac", "trl", or a `Profile` of your own."""

    def __init__(self, folder: str | os.PathLike[str], *, profile: str | Profile = "isaac") -> None:
        """Begin a file in a folder."""
        self._profile = find_profile(profile)
        super().__init__(folder)

    def log(self, info: Mapping[str, Any], step: int) -> None:
        """Write what the info of a `RewardWrapper` tells, the mean where it is about many environments.

        A profile of episodes draws the sums of those that ended in this step, and nothing where none did; a profile of
        steps draws what the step gave. With them come weights that follow a schedule, and how many steps so far could
        not be scored.
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
        """Write what each term gave: of a signal, or of components or sums by name; of arrays the mean."""
        components = split_total(what) if isinstance(what, Signal) else average(what)
        self.write(self._profile.tags(components), step)
