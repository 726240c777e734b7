"""A small runtime for tests of the controller: real router, engine and coordinator, time that is counted."""

import asyncio
from itertools import pairwise

from plaudit.learn import Decision
from plaudit.systems import apex

AGENTS = ("planner", "coder", "runner", "critic")


class Clock:
    """A clock that goes on by a millisecond whenever it is read."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.001
        return self.now


class Scripted:
    """A learner that chooses what it is told to, and keeps what it is credited with as its state."""

    actions = apex.ACTIONS
    features = apex.FEATURES

    def __init__(self, *script, probabilities=(0.4, 0.3, 0.2, 0.1)):
        self.script = iter(script)
        self.likely = probabilities

    def init(self):
        return ()

    def choose(self, state, key, context=None):
        action = next(self.script, "stay")
        return Decision(action, self.likely[self.actions.index(action)], self.likely, tuple(context), len(state), 0.2)

    def update(self, state, decision, reward, *, again=False):
        return (*state, (decision.action, decision.context, reward, again))


class Runtime:
    """Four agents who receive what is sent to them while a switch waits, unless they are `deaf`."""

    def __init__(self, *, budget=10_000, **rules):
        self.now = 0.0
        self.deaf = False
        self.router = apex.Router(AGENTS, clock=lambda: self.now)
        self.engine = apex.SwitchEngine(self.router, clock=lambda: self.now, sleep=self._sleep)
        self.coordinator = apex.Coordinator(self.engine, **rules)
        self.budget = apex.TokenBudget(budget)
        self.features = apex.FeatureSource(budget=self.budget)

    def controller(self, *script, **options):
        """Return a controller that does as the script says, or one with its own learner."""
        if script:
            options["learner"] = Scripted(*script)
        return apex.Controller(self.coordinator, self.features, **({"clock": Clock()} | options))

    def hear(self):
        """Let every agent receive everything."""
        for agent in AGENTS:
            while self.router.receive(agent) is not None:
                pass

    async def _sleep(self, seconds):
        self.now += seconds
        if not self.deaf:
            self.hear()
        await asyncio.sleep(0)


def state(phase="coding", rate=0.0, tokens=0, **more):
    return {"phase": phase, "test_pass_rate": rate, "tokens_used": tokens, **more}


def play(controller, states, *, success=None):
    """Run an episode through `states` and return its rows: decisions, rewards, end."""

    async def run():
        decisions, rewards = [], []
        for before, after in pairwise(states):
            decisions.append(await controller.tick())
            rewards.append(controller.observe(before, after))
        return decisions, rewards, controller.finish(success)

    return asyncio.run(run())
