"""Good: rewards of well-known environments and textbooks."""

from math import pi, sqrt

from checks.corpus.case import good
from plaudit import Field, Reward, Task, term


@good(source="Barto, Sutton & Anderson (1983); Gymnasium's CartPole-v1")
def cart_pole():
    """Every step with the pole upright pays 1: survival is the task, so being paid for staying is what is meant."""

    @term(kind="goal")
    def alive():
        return 1

    return Reward("cart_pole", version="1", terms=[alive], fields=[])


@good(source="Moore (1990); Gymnasium's MountainCar-v0")
def mountain_car():
    """Every step costs 1 until the flag is reached: the shortest way is the best."""

    @term(weight=-1.0, kind="penalty")
    def time():
        return 1

    return Reward("mountain_car", version="1", terms=[time], fields=[])


@good(source="Gymnasium's Pendulum-v1")
def pendulum():
    """−(θ² + 0.1 θ̇² + 0.001 u²): 0 only where it stands upright and still.

    That no torque is the cheapest is its price, and not a flaw.
    """

    @term(weight=-1.0, kind="penalty")
    def cost(angle, speed, torque):
        return angle**2 + 0.1 * speed**2 + 0.001 * torque**2

    return Reward(
        "pendulum",
        version="1",
        terms=[cost],
        fields=[
            Field("angle", low=-pi, high=pi, unit="rad"),
            Field("speed", low=-8, high=8, unit="rad/s"),
            Field("torque", low=-2, high=2, unit="N*m"),
        ],
        action="torque",
        task=Task(states=["angle", "speed"]),
    )


@good(source="Sutton (1996); Gymnasium's Acrobot-v1")
def acrobot():
    """−1 a step and 0 for the one that gets there."""

    @term(kind="penalty")
    def time(terminal):
        return 0 if terminal else -1

    return Reward("acrobot", version="1", terms=[time], fields=[])


@good(source="Gymnasium's LunarLander-v3")
def lunar_lander():
    """Shaping by the difference of a potential (closer, slower, upright, legs down), fuel, and ±100 at the end.

    A leg that touches down and lifts off again earns nothing.
    """
    fuel_used = (0.0, 0.03, 0.30, 0.03)

    def potential(x, y, across, down, tilt, left, right):
        return -100 * sqrt(x**2 + y**2) - 100 * sqrt(across**2 + down**2) - 100 * abs(tilt) + 10 * left + 10 * right

    @term(kind="shaping")
    def approach(prev, curr):
        before = potential(prev.x, prev.y, prev.across, prev.down, prev.tilt, prev.left_leg, prev.right_leg)
        after = potential(curr.x, curr.y, curr.across, curr.down, curr.tilt, curr.left_leg, curr.right_leg)
        return after - before

    @term(weight=-1.0, kind="penalty")
    def fuel(engine):
        return fuel_used[engine]

    @term(weight=100.0, kind="goal", terminal=True)
    def end(landing):
        return 1 if landing == "safe" else -1

    return Reward(
        "lunar_lander",
        version="1",
        terms=[approach, fuel, end],
        fields=[
            Field("x", low=-1.5, high=1.5),
            Field("y", low=-1.5, high=1.5),
            Field("across", low=-5, high=5),
            Field("down", low=-5, high=5),
            Field("tilt", low=-pi, high=pi, unit="rad"),
            Field("left_leg", flag=True),
            Field("right_leg", flag=True),
            Field("engine", values=(0, 1, 2, 3), doc="None, left, main, right."),
            Field("landing", values=("safe", "crash")),
        ],
        action="engine",
    )


@good(source="Gymnasium's FrozenLake-v1")
def frozen_lake():
    """1 for ending on the goal, 0 for ending in a hole and for every step before."""

    @term(kind="goal", terminal=True)
    def arrive(tile):
        return tile == "goal"

    fields = [Field("tile", values=("frozen", "hole", "goal"))]
    return Reward("frozen_lake", version="1", terms=[arrive], fields=fields, task=Task(states=["tile"]))


@good(source="Sutton & Barto, Reinforcement Learning, example 6.6")
def cliff_walking():
    """−1 a step, −100 for stepping off the cliff, which does not end the episode."""

    @term(weight=-1.0, kind="penalty")
    def time():
        return 1

    @term(weight=-99.0, kind="penalty")
    def fall(fell):
        return fell

    return Reward("cliff", version="1", terms=[time, fall], fields=[Field("fell", flag=True)])


@good(source="Silver et al., AlphaZero (2018)")
def chess():
    """A win is worth 1, a draw 0, a loss −1, and nothing else is worth anything."""

    @term(kind="goal", terminal=True)
    def result(outcome):
        return 1 if outcome == "win" else -1 if outcome == "loss" else 0

    return Reward("chess", version="1", terms=[result], fields=[Field("outcome", values=("draw", "win", "loss"))])


@good(source="Tetris for the NES: points for lines cleared at once")
def tetris():
    """Four lines at once are worth far more than four times one: meant, and a table says so."""
    points = (0, 40, 100, 300, 1200)

    @term(kind="goal")
    def cleared(lines):
        return points[lines]

    return Reward("tetris", version="1", terms=[cleared], fields=[Field("lines", values=(0, 1, 2, 3, 4))])


@good(source="Mnih et al., Human-level control through deep RL (Nature 2015), in a game of small prizes")
def atari_clipped():
    """Changes of the score are clipped to ±1, where they are −10, 0, 1, 5 or 10 points.

    The clip acts on the large ones and leaves sign and presence of all.
    """

    @term(low=-1.0, high=1.0, kind="goal")
    def points(gained):
        return gained

    return Reward(
        "atari",
        version="1",
        terms=[points],
        fields=[Field("gained", values=(-10, 0, 1, 5, 10), unit="points")],
    )
