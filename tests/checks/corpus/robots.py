"""Good: rewards of robots in simulators that everybody uses."""

from math import exp, sqrt

from checks.corpus.case import good
from plaudit import Field, Reward, Task, term


@good(source="Gymnasium's Hopper-v5")
def hopper():
    """Forward velocity, a little for the control, 1 for being upright: alive is worth something, running is worth more."""

    @term(kind="goal")
    def forward(velocity):
        return velocity

    @term(weight=-0.001, kind="penalty")
    def control(torque):
        return sum(t * t for t in torque)

    @term(weight=1.0, kind="bonus")
    def healthy(upright):
        return upright

    return Reward(
        "hopper",
        version="1",
        terms=[forward, control, healthy],
        fields=[
            Field("velocity", low=-10, high=10, unit="m/s"),
            Field("torque", length=3, low=-1, high=1),
            Field("upright", flag=True),
        ],
        action="torque",
        task=Task(states=["velocity", "upright"]),
    )


@good(source="Gymnasium's HalfCheetah-v5")
def half_cheetah():
    """Forward velocity less 0.1 times the squared control."""

    @term(kind="goal")
    def forward(velocity):
        return velocity

    @term(weight=-0.1, kind="penalty")
    def control(torque):
        return sum(t * t for t in torque)

    return Reward(
        "half_cheetah",
        version="1",
        terms=[forward, control],
        fields=[
            Field("velocity", low=-20, high=20, unit="m/s"),
            Field("torque", length=6, low=-1, high=1),
        ],
        action="torque",
        task=Task(states=["velocity"]),
    )


@good(source="Gymnasium's Reacher-v5")
def reacher():
    """Minus the distance of the finger to the target, minus the control."""

    @term(weight=-1.0, kind="penalty")
    def distance(offset):
        return sqrt(sum(x * x for x in offset))

    @term(weight=-0.1, kind="penalty")
    def control(torque):
        return sum(t * t for t in torque)

    return Reward(
        "reacher",
        version="1",
        terms=[distance, control],
        fields=[
            Field("offset", length=2, low=-0.4, high=0.4, unit="m"),
            Field("torque", length=2, low=-1, high=1, unit="N*m"),
        ],
        action="torque",
        task=Task(states=["offset"]),
    )


@good(source="Rudin et al., Learning to walk in minutes (CoRL 2021): legged_gym")
def legged_gym():
    """exp(−error² / 0.25) for following the commanded velocity, and small prices for tilting and for torque."""

    @term(kind="goal")
    def tracking(command, velocity):
        return exp(-sum((c - v) ** 2 for c, v in zip(command, velocity, strict=True)) / 0.25)

    @term(weight=-1.0, kind="penalty")
    def orientation(gravity_x, gravity_y):
        return gravity_x**2 + gravity_y**2

    @term(weight=-1e-4, kind="penalty")
    def torques(torque):
        return sum(t * t for t in torque)

    return Reward(
        "legged",
        version="1",
        terms=[tracking, orientation, torques],
        fields=[
            Field("command", length=2, low=-1, high=1, unit="m/s"),
            Field("velocity", length=2, low=-2, high=2, unit="m/s"),
            Field("gravity_x", low=-1, high=1),
            Field("gravity_y", low=-1, high=1),
            Field("torque", length=4, low=-40, high=40, unit="N*m"),
        ],
        action="torque",
        task=Task(states=["command", "velocity", "gravity_x", "gravity_y"]),
    )


@good(source="Ray, Achiam & Amodei, Safety Gym (2019), with the cost as a penalty")
def safety_gym():
    """The distance to the goal pays what it fell by, the goal pays 1, every step in a hazard costs 1."""

    @term(kind="shaping")
    def progress(prev, curr):
        return prev.distance - curr.distance

    @term(kind="goal")
    def reach(reached):
        return reached

    @term(weight=-1.0, kind="penalty")
    def hazard(in_hazard):
        return in_hazard

    return Reward(
        "safety_gym",
        version="1",
        terms=[progress, reach, hazard],
        fields=[
            Field("distance", low=0, high=5, unit="m"),
            Field("reached", flag=True),
            Field("in_hazard", flag=True),
        ],
        task=Task(states=["in_hazard"]),
    )
