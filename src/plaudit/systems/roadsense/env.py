"""The convoy as a Gymnasium environment on SUMO; `plaudit.envs` registers it as `plaudit/RoadSense-v0`."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import EzPickle

from plaudit.adapters.components import list_components
from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.action_applicator import ActionApplicator, Actions, Charge, Scale
from plaudit.systems.roadsense.convoy import Convoy
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.hazard import Hazard, find_hazard
from plaudit.systems.roadsense.hazard_injector import HazardInjector, describe_hazard
from plaudit.systems.roadsense.measurement import Measurement, build_scorer, find_nearest_action
from plaudit.systems.roadsense.observation_builder import Kind, ObservationBuilder
from plaudit.systems.roadsense.radio import RadioParameters, Transport, build_radio
from plaudit.systems.roadsense.receiver import Receiver
from plaudit.systems.roadsense.scenario import SEEDS, Scenario, find_scenario
from plaudit.systems.roadsense.sumo import Binding, build_simulation, find_road, speed_mode
from plaudit.systems.roadsense.sumo.installation import has_display
from plaudit.systems.roadsense.validate import validate_count, validate_switch
from plaudit.systems.roadsense.versions import version
from plaudit.systems.roadsense.warning_gates import build_gate_reader
from plaudit.systems.roadsense.world import CarState

if TYPE_CHECKING:
    from plaudit.systems.roadsense.pictures.frame import Frame

RESET_OPTIONS = ("scenario", "hazard")
"""What `reset` takes as options, for one episode."""

Outcome = tuple[Any, float, bool, bool, dict[str, Any]]


class RoadSenseEnv(gymnasium.Env[Any, Any], EzPickle):
    """A car that follows a convoy on SUMO: every 0.1 s the policy decides how hard it brakes.

    `actions` are the four of R0, or `"continuous"`: from 0, where the car follows on its own, to 1, where it brakes at
    8 m/s². The car obeys and can collide; with `assist` SUMO keeps a safe gap whatever is commanded. `scale` and
    `charge` are those of `ActionApplicator`.

    `reward` is a version, or your own Reward that reads measured inputs. `scenario`, `hazard` and `radio` are names or
    values; with `randomise` each episode draws its drivers, its number of peers and its radio. `hold_after` disables
    the car's own following that many steps after the hazard has begun.

    Example:
        env = RoadSenseEnv(reward="R8", actions="continuous")
        observation, info = env.reset(seed=0)
        observation, reward, terminated, truncated, info = env.step(0.5)
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's own way

    measured: Measurement
    """What the reward could read in the last step."""

    def __init__(
        self,
        *,
        reward: str | Reward | None = None,
        actions: Actions = "discrete",
        scale: Scale = "real",
        charge: Charge = "achieved",
        assist: bool | None = None,
        observation: Kind | None = None,
        scenario: str | Scenario = "early",
        hazard: str | Hazard = "seed",
        radio: str | RadioParameters = "ideal",
        transport: Transport = "mesh",
        randomise: bool = False,
        hold_after: int | None = None,
        limit: int = 1000,
        warmup: int = 0,
        binding: Binding = "auto",
        render_mode: str | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        EzPickle.__init__(self, **given)  # a copy is created again, and begins an episode of its own
        self.render_mode = _validate_render_mode(render_mode, self.metadata["render_modes"])
        if not has_display():  # Gymnasium's checker tries every mode that an environment lists
            self.metadata = {**self.metadata, "render_modes": ["rgb_array"]}
        self.reward = _find_reward(reward, actions)
        self._score, self._read_gates = build_scorer(self.reward), build_gate_reader(self.reward)
        self._scenario, self._hazard = find_scenario(scenario), find_hazard(hazard)
        self._randomise = validate_switch("randomise", randomise)
        self._limit, self._warmup = validate_count("limit", limit, 1), validate_count("warmup", warmup, 0)
        self._hold_after = None if hold_after is None else validate_count("hold_after", hold_after, 0)
        air = build_radio(radio, transport=transport, randomised=self._randomise)
        kind = observation if observation is not None else "vector" if actions == "discrete" else "dict"
        self._builder = ObservationBuilder(kind, peers=self._scenario.ids[1:])
        window = self.render_mode == "human"
        self._simulation = build_simulation("traci" if window else binding, gui=window)
        self._convoy = Convoy(self._simulation, mode=_choose_speed_mode(scale, assist))
        self._receiver = Receiver(self._convoy, air)
        self._applicator = ActionApplicator(self._convoy, actions=actions, scale=scale, charge=charge)
        self._discrete = actions == "discrete"
        self.observation_space = self._builder.space
        self.action_space = spaces.Discrete(4) if self._discrete else spaces.Box(0.0, 1.0, (1,), np.float32)
        self._network = self._scenario.network
        self._running = False
        self._total, self._terms = 0.0, dict[str, float]()
        self._sums: dict[str, float] = {}
        self._keys = {name: f"reward_{name}" for name in list_components(self.reward)}
        self._news: tuple[object, ...] = ()
        self._hazard_info: dict[str, Any] = {}

    # -- Gymnasium ------------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; the same seed gives the same episode.

        Args:
            seed: The random seed.
            options: A `scenario` and a `hazard` for this episode.

        Returns:
            The observation and the info.
        """
        super().reset(seed=seed)
        self._running = False
        convoy, receiver, hazard = self._convoy, self._receiver, self._begin(_validate_options(options))
        receiver.listen()
        while self._warmup and (convoy.rolled < self._warmup or convoy.is_settling(self._warmup)):
            convoy.roll()
            receiver.listen()
        convoy.set_hazard(hazard, self._spawn_generator())
        self._applicator.holding = False
        self._total, self._terms, self._sums = 0.0, {}, dict.fromkeys(self._keys, 0.0)
        assert convoy.ego is not None
        self._running = True
        self.measured = receiver.measure(0, 0.0)
        return self._observe(convoy.ego), self._build_info()

    def step(self, action: Any) -> Outcome:
        """Drive for 0.1 s.

        Args:
            action: How hard to brake.

        Returns:
            The observation, the reward, `terminated`, `truncated` and the info.

        Raises:
            ResetNeeded: The episode is over or has not begun.
        """
        if not self._running:
            raise ResetNeeded("the episode is over or has not begun: call reset().")
        convoy, receiver, given = self._convoy, self._receiver, self._applicator.validate(action)
        before = convoy.ego
        assert before is not None
        if self._hold_after is not None:
            began = convoy.hazard.step
            self._applicator.holding = began is not None and convoy.step >= began + self._hold_after
        try:
            deceleration = self._applicator.apply(given)
        except SimulatorError as error:
            warnings.warn(f"the episode is cut off: {error}", RuntimeWarning, stacklevel=2)
            return self._cut_off(before, f"simulator died: {error}")
        ego = convoy.ego
        if ego is None:
            return self._cut_off(before, "ego route ended")
        receiver.listen()
        self.measured = receiver.measure(given if self._discrete else find_nearest_action(deceleration), deceleration)
        self._total, self._terms = total, terms = self._score(self.measured)
        terminated = self.measured.collision
        truncated = not terminated and convoy.step >= self._limit
        info = self._build_info()
        self._add_rewards(terms, info)
        info["reward_total"] = total
        info["collision"] = terminated
        if truncated:
            info["truncated_reason"] = f"limit of {self._limit} steps"
        if terminated or truncated:
            self._running = False
            info["episode_reward_components"] = dict(self._sums)
        return self._observe(ego), total, terminated, truncated, info

    def render(self) -> Any:
        """Draw the convoy from above.

        Returns:
            The picture; None without a render mode, or if SUMO's own window shows it.
        """
        if self.render_mode != "rgb_array":
            return None
        from plaudit.systems.roadsense.pictures import draw_top_view, find_zones

        return draw_top_view(self.frame, road=find_road(self._network).shape, zones=find_zones(self.reward))

    def close(self) -> None:
        """End the simulator; a second call does nothing."""
        self._running = False
        self._simulation.close()

    # -- what the last step was like ------------------------------------------------------------------------------

    @property
    def cars(self) -> Mapping[str, CarState]:
        """Every car on the road after the last step."""
        return self._convoy.cars

    @property
    def true_distance(self) -> float:
        """Metres to the nearest car ahead in truth, whatever the radio says."""
        return self._receiver.true_distance

    @property
    def frame(self) -> "Frame":
        """The last step, for a picture; of an episode that was cut off, the last one that was measured."""
        from plaudit.systems.roadsense.pictures.frame import Frame

        convoy, heard = self._convoy, frozenset(self._receiver.heard)
        if not convoy.seen:
            raise ResetNeeded("there is nothing to render yet: call reset().")
        return Frame(convoy.step, convoy.seen, self.measured, self._terms, self._total, convoy.hazard.source, heard)

    # -- how a step is made ---------------------------------------------------------------------------------------

    def _begin(self, options: Mapping[str, Any]) -> Hazard:
        hazard = find_hazard(options.get("hazard", self._hazard))
        convoy = find_scenario(options.get("scenario", self._scenario))
        if self._randomise and "scenario" not in options:
            convoy = convoy.sample(self.np_random)
        if self._builder.kind == "vector" and convoy.peers > len(self._builder.peers):
            raise DefinitionError(
                f"a scenario with {convoy.peers} peers does not fit an observation of {len(self._builder.peers)}. "
                f"Create the environment with this scenario, or with observation='dict'."
            )
        self._network = convoy.network
        self._receiver.reset(self._spawn_generator())
        self._convoy.begin(convoy.build_world(int(self.np_random.integers(SEEDS))))
        return hazard

    def _spawn_generator(self) -> np.random.Generator:
        """Return a generator of its own, so that what one part draws does not change what another one does."""
        return np.random.default_rng(int(self.np_random.integers(2**63)))

    def _observe(self, ego: CarState) -> Any:
        return self._builder.build(ego, self._receiver.heard, braking=self._receiver.warnings.fading)

    def _build_info(self) -> dict[str, Any]:
        convoy = self._convoy
        return {
            "step": convoy.step,
            "simulation_time": convoy.time / 1000.0,
            "ego_speed": self.measured.ego_speed,
            **self._receiver.describe(),
            **self._read_gates(self.measured),
            **self._describe_hazard(convoy.hazard),
        }

    def _describe_hazard(self, hazard: HazardInjector) -> dict[str, Any]:
        """Return what `info` has of the hazard, built again only when there is news of it."""
        news = (hazard, hazard.trigger_result, hazard.resolved)
        if news != self._news:
            self._news, self._hazard_info = news, describe_hazard(hazard)
        return self._hazard_info

    def _add_rewards(self, terms: dict[str, float], info: dict[str, Any]) -> None:
        sums, keys = self._sums, self._keys
        for name, value in terms.items():
            sums[name] += value
            info[keys[name]] = value
        info["reward_components"] = terms
        info["action"] = self.measured.action
        info["deceleration"] = self.measured.deceleration

    def _cut_off(self, ego: CarState, reason: str) -> Outcome:
        """End an episode in a step without a measurement: it earns nothing, and `info` is that of the last step."""
        self._running = False
        self._total, self._terms = 0.0, {}
        info = self._build_info()
        self._add_rewards({}, info)
        info |= {"reward_total": 0.0, "collision": False, "truncated_reason": reason}
        info["episode_reward_components"] = dict(self._sums)
        return self._observe(ego), 0.0, False, True, info


def _find_reward(given: Any, actions: Actions) -> Reward:
    """Return a reward, or the version that goes by a name; where neither is given, the first that fits the actions."""
    if isinstance(given, Reward):
        return given
    if given is None:
        return version("R0" if actions == "discrete" else "R8")
    if not isinstance(given, str):
        raise DefinitionError(f"reward={given!r:.60} must be the name of a version or a Reward.")
    return version(given)


def _choose_speed_mode(scale: Scale, assist: bool | None) -> int:
    """Return the speed mode: what SUMO is to check of a command."""
    assist = None if assist is None else validate_switch("assist", assist)
    if scale == "per_step":
        if assist is False:
            raise DefinitionError("scale='per_step' asks for 45 m/s² and relies on SUMO to limit it: leave assist on.")
        return speed_mode.ORIGIN
    return speed_mode.ASSISTED if assist else speed_mode.EXACT


def _validate_options(given: Any) -> Mapping[str, Any]:
    """Return the options of `reset`; an error where there is no such option."""
    if given is not None and not isinstance(given, Mapping):
        raise DefinitionError(f"reset(options={given!r:.60}) must be a mapping, such as {{'hazard': 'certain'}}.")
    for name in given or {}:
        if name not in RESET_OPTIONS:
            near = did_you_mean(str(name), RESET_OPTIONS)
            raise DefinitionError(
                f"reset(options=…) has no option {name!r}; choose from {', '.join(RESET_OPTIONS)}.{near}"
            )
    return given or {}


def _validate_render_mode(given: str | None, known: Sequence[str]) -> str | None:
    if given is not None and given not in known:
        raise DefinitionError(f"render_mode={given!r} must be {' or '.join(map(repr, known))}, or None.")
    return given
