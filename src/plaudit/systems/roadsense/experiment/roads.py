"""The two roads that studies are driven on: one where SUMO keeps the gap, and the one that policies are trained on."""

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plaudit.systems.roadsense.action_applicator import ActionApplicator
from plaudit.systems.roadsense.convoy import Convoy
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.experiment.study import CALM, Case, Study
from plaudit.systems.roadsense.measurement import Measurement, find_nearest_action
from plaudit.systems.roadsense.observation_builder import ObservationBuilder
from plaudit.systems.roadsense.policies import Policy, PolicyInput
from plaudit.systems.roadsense.receiver import Receiver
from plaudit.systems.roadsense.scenario import TRAINING_ROAD
from plaudit.systems.roadsense.sumo import build_simulation, speed_mode

Rows = NDArray[np.float64]
"""A row a step, with the columns of `Measurement`."""


class Road(Protocol):
    """Where the cases of a study are driven, one after the other."""

    def drive(self, case: Case, policy: Policy) -> Rows:
        """Drive one episode to its end."""

    def close(self) -> None:
        """End the simulator."""


def open_road(study: Study) -> Road:
    """Return the road of a study, in this process."""
    return AssistedRoad(study) if study.road == "assisted" else TrainingRoad(study)


class AssistedRoad:
    """Three cars on a straight road, where SUMO caps a command at what the car can do and keeps its gap.

    The findings about the first versions were made there.
    """

    def __init__(self, study: Study) -> None:
        self._study, self._simulation = study, build_simulation()
        self._convoy = Convoy(self._simulation, mode=speed_mode.ORIGIN)
        self._builder = ObservationBuilder("dict", peers=())

    def drive(self, case: Case, policy: Policy) -> Rows:
        """Drive one episode to its end."""
        study, convoy, rng = self._study, self._convoy, _build_generator(case)
        applicator = ActionApplicator(convoy, actions=study.actions, scale=study.scale, charge=study.charge)
        convoy.begin(study.build_world(case.seed))
        for _ in range(study.warmup):
            convoy.roll()
        convoy.set_hazard(study.hazard if case.hazard else CALM, rng)
        receiver = Receiver(convoy)
        receiver.listen()
        seen, rows = receiver.measure(0, 0.0), []
        for step in range(study.steps):
            shown = self._observe(receiver) if case.policy not in study.policies else None
            action = policy(PolicyInput(seen, step, rng, shown))
            deceleration = applicator.apply(action)
            if convoy.ego is None:
                break  # it has left the road, and there is nothing to measure
            receiver.listen()
            discrete = study.actions == "discrete"
            seen = receiver.measure(int(action) if discrete else find_nearest_action(deceleration), deceleration)
            rows.append(seen)
            if seen.collision:
                break
        return np.array(rows, np.float64)

    def _observe(self, receiver: Receiver) -> Any:
        assert self._convoy.ego is not None
        return self._builder.build(self._convoy.ego, receiver.heard, braking=receiver.warnings.fading)

    def close(self) -> None:
        """End the simulator."""
        self._simulation.close()


class TrainingRoad:
    """The environment that policies are trained in: what is asked for is done, and collisions are real."""

    def __init__(self, study: Study) -> None:
        from plaudit.systems.roadsense.env import RoadSenseEnv  # Gymnasium is slow to import

        self._env = RoadSenseEnv(actions=study.actions, hazard=study.hazard, limit=study.steps, **TRAINING_ROAD)

    def drive(self, case: Case, policy: Policy) -> Rows:
        """Drive one episode to its end."""
        env, rng = self._env, _build_generator(case)
        observation, info = env.reset(seed=case.seed, options={} if case.hazard else {"hazard": CALM})
        rows: list[Measurement] = []
        over = False
        while not over:
            action = policy(PolicyInput(env.measured, len(rows), rng, observation))
            with warnings.catch_warnings(action="error", category=RuntimeWarning):
                try:
                    observation, _, terminated, truncated, info = env.step(action)
                except RuntimeWarning as warning:  # half an episode is never taken for a whole one
                    raise SimulatorError(str(warning)) from None
            if info["reward_components"]:  # else the car has left the road, and nothing was measured
                rows.append(env.measured)
            over = terminated or truncated
        return np.array(rows, np.float64)

    def close(self) -> None:
        """End the simulator."""
        self._env.close()


def _build_generator(case: Case) -> np.random.Generator:
    """Return a stream of its own for each policy: what one draws does not change with which others are driven."""
    return np.random.default_rng([case.seed, *case.policy.encode()])
