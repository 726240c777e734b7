"""An autoscaler keeps a web service fast with few servers, and may turn requests away."""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, prefer, term


class Autoscaler(gymnasium.Env):
    """Demand that comes and goes; a server answers 100 requests a step. An action: fewer, as many or more servers; what share is let in."""

    action_space = spaces.MultiDiscrete([3, 3])
    observation_space = spaces.Box(0, 20_000, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.servers, self.queue, self.steps = 5, 0.0, int(self.np_random.integers(0, 50))
        self.until = self.steps + 200
        return self._observe(), {}

    def step(self, action):
        self.servers = min(max(self.servers + int(action[0]) - 1, 1), 10)
        turned_away = (0.0, 0.5, 1.0)[int(action[1])]
        self.queue = max(self.queue + self.demand * (1 - turned_away) - 100 * self.servers, 0.0)
        self.queue = min(self.queue, 5000.0)  # whoever waits longer gives up
        latency = min(20 + 1000 * self.queue / (100 * self.servers), 2000.0)
        self.steps += 1
        return self._observe(), 0.0, False, self.steps == self.until, {"latency": latency, "turned_away": turned_away}

    def _observe(self):
        noise = self.np_random.uniform(-40, 40)
        self.demand = 450 + 300 * np.sin(2 * np.pi * self.steps / 50) + noise
        return np.array([self.servers, self.queue, self.demand], np.float32)


def features(obs, action, next_obs, info):
    return {
        "servers": int(next_obs[0]),
        "latency": info["latency"],
        "turned_away": info["turned_away"],
        "scale": int(action[0]) - 1,
    }


SERVERS = Field("servers", low=1, high=10)
LATENCY = Field("latency", low=20, high=2000, unit="ms")
TURNED_AWAY = Field("turned_away", low=0, high=1)

TASK = Task(
    "serve the requests",
    better={"latency": "low", "turned_away": "low", "servers": "low"},
    prefer=[
        prefer(
            {"servers": 7, "latency": 50.0, "turned_away": 0.0},
            over={"servers": 1, "latency": 20.0, "turned_away": 1.0},
            because="a service that serves nobody is down",
        )
    ],
    fields=[SERVERS, LATENCY, TURNED_AWAY, Field("scale", values=(-1, 0, 1))],
    states=["servers", "latency"],
    actions=["scale", "turned_away"],
    idle={"scale": 0, "turned_away": 0.0},
    start={"servers": 5},
    max_change={"servers": 1},
    horizon=200,
)


@term
def fast(latency, *, scale=200.0):
    """Answers come at once: 1 at the least latency, falling off from there."""
    return 1 / (1 + (latency - 20) / scale)


@term(weight=-0.05)
def bill(servers):
    """What the servers cost."""
    return servers


@term(weight=-3.0)
def refused(turned_away):
    """The share of requests that were turned away."""
    return turned_away


def good(obs):
    servers, queue, demand = obs
    wanted = (demand + queue) / 95 + 0.5
    return np.array([2 if servers < wanted - 0.5 else 0 if servers > wanted + 1 else 1, 0])


WORLD = World(
    name="autoscaler",
    story=(
        "Answer every request fast, with no more servers than that takes. "
        "Paid for low latency and few servers, it turns all requests away and runs one server with nothing to do."
    ),
    make=Autoscaler,
    features=features,
    task=TASK,
    sound=Reward("autoscaler", version="1", terms=[fast, bill, refused], fields=[SERVERS, LATENCY, TURNED_AWAY]),
    flawed=Reward("autoscaler", version="2", terms=[fast, bill], fields=[SERVERS, LATENCY]),
    good=good,
    hack=lambda obs: np.array([0, 2]),
)
