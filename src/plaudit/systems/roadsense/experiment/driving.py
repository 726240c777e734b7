"""Drive one case on SUMO and keep every step as it was measured."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.systems.roadsense.action_applicator import ActionApplicator
from plaudit.systems.roadsense.convoy import Convoy
from plaudit.systems.roadsense.ears import Ears
from plaudit.systems.roadsense.experiment.study import CALM, STUDIES, Case, Study
from plaudit.systems.roadsense.measured import action_of
from plaudit.systems.roadsense.policies import Seen
from plaudit.systems.roadsense.sumo import simulation, speed_mode
from plaudit.systems.roadsense.world import COLLISION

Rows = NDArray[np.float64]


class Drive(NamedTuple):
    """A case as it was driven."""

    case: Case
    rows: Rows
    """A row a step, with the columns of `Measured`."""
    sumo: str
    """The version of SUMO that drove."""

    @property
    def nearest(self) -> float:
        """The least distance to the car ahead, in metres."""
        return float(self.rows[:, 0].min())

    @property
    def collided(self) -> bool:
        """Whether the cars touched; an episode ends there."""
        return self.nearest < COLLISION


def driven(cases: Iterable[Case]) -> Iterator[Drive]:
    """Drive cases one after the other in one simulator, which is closed after the last."""
    with closing(simulation("libsumo")) as sumo:
        # SUMO's default mode caps a command at what the car can do and keeps its gap, as when the findings were made.
        convoy = Convoy(sumo, mode=speed_mode.ORIGIN)
        for case in cases:
            yield Drive(case, _rows(convoy, STUDIES[case.study], case), sumo.version)


def _rows(convoy: Convoy, study: Study, case: Case) -> Rows:
    # A stream of its own for each policy: what one draws does not change with which others are driven.
    rng = np.random.default_rng([case.seed, *case.policy.encode()])
    applicator = ActionApplicator(convoy, actions=study.actions, scale=study.scale, charge=study.charge)
    convoy.begin(study.world(case.seed))
    for _ in range(study.warmup):
        convoy.roll()
    convoy.endanger(study.hazard if case.hazard else CALM, rng)
    policy, ears = study.policy(case.policy), Ears(convoy)
    ears.listen()
    seen = ears.measured(0, 0.0)
    rows = []
    for step in range(study.steps):
        action = policy(Seen(seen, step, rng))
        deceleration = applicator.apply(action)
        if convoy.ego is None:
            break  # it has left the road, and there is nothing to measure
        ears.listen()
        seen = ears.measured(int(action) if study.actions == "discrete" else action_of(deceleration), deceleration)
        rows.append(seen)
        if seen.distance < COLLISION:
            break
    return np.array(rows, np.float64)
