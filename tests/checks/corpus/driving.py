"""Published rewards of driving, with the three outcomes that everybody ranks alike: crash, idle, success."""

from itertools import pairwise

from checks.corpus.case import bad, good
from plaudit import Field, Reward, Task, term

KNOX = "Knox et al., Reward (mis)design for autonomous driving (AIJ 2023), on "

DRIVING = {"speed": 5.0, "steer": 0.0, "collision": False, "off_lane": False}


@bad(
    "outcome-order",
    source=KNOX + "Chen, Yuan & Tomizuka (2019)",
    outcomes={
        "crash": [DRIVING] * 100 + [DRIVING | {"collision": True}],
        "idle": [DRIVING | {"speed": 0.0}] * 500,
        "success": [DRIVING] * 500,
    },
)
def driving_chen():
    """min(v, 10 − v) − 0.5 steer² − 10 for a collision − 1 off the lane − 0.1 a step.

    Standing for the whole episode costs 50 and a collision 10, so crashing is better than waiting.
    """

    @term(kind="goal")
    def pace(speed):
        return min(speed, 10 - speed)

    @term(weight=-0.5, kind="penalty")
    def steering(steer):
        return steer**2

    @term(weight=-10.0, kind="penalty")
    def crash(collision):
        return collision

    @term(weight=-1.0, kind="penalty")
    def lane(off_lane):
        return off_lane

    @term(weight=-0.1, kind="penalty")
    def time():
        return 1

    return Reward(
        "chen_2019",
        version="1",
        terms=[pace, steering, crash, lane, time],
        fields=[
            Field("speed", low=0, high=20, unit="m/s"),
            Field("steer", low=-1, high=1),
            Field("collision", flag=True),
            Field("off_lane", flag=True),
        ],
        action="steer",
        task=Task(states=["speed"]),
    )


def carla_episode(*, metres, damage=0.0):
    """Return a drive towards a goal that is 1 km away, at 36 km/h and in steps of 10 m; damage at its end, if any."""
    rest = {"speed": 0.0, "damage": 0.0, "sidewalk": 0.0, "opposite": 0.0}
    states = [rest | {"to_goal": 1000.0 - 10.0 * step, "speed": 36.0} for step in range(metres // 10 + 1)]
    end = states[-1] | {"damage": damage, "speed": 0.0}
    return [{"prev": before, "curr": after} for before, after in pairwise([*states, end])]


CARLA_IDLE = {"to_goal": 1000.0, "speed": 0.0, "damage": 0.0, "sidewalk": 0.0, "opposite": 0.0}


@bad(
    "outcome-order",
    source=KNOX + "Dosovitskiy et al., CARLA (2017)",
    outcomes={
        "crash": carla_episode(metres=500, damage=50_000.0),
        "idle": [{"prev": CARLA_IDLE, "curr": CARLA_IDLE}] * 100,
        "success": carla_episode(metres=1000),
    },
)
def driving_carla():
    """Δd + 0.05 Δv − 0.00002 Δc − 2 Δs − 2 Δo: half of the way and a wreck at the end of it earn 499, standing still 0."""

    @term(kind="goal")
    def distance(prev, curr):
        return prev.to_goal - curr.to_goal

    @term(weight=0.05, kind="shaping")
    def pace(prev, curr):
        return curr.speed - prev.speed

    @term(weight=-0.00002, kind="penalty")
    def crash(prev, curr):
        return curr.damage - prev.damage

    @term(weight=-2.0, kind="penalty")
    def sidewalk(prev, curr):
        return curr.sidewalk - prev.sidewalk

    @term(weight=-2.0, kind="penalty")
    def opposite(prev, curr):
        return curr.opposite - prev.opposite

    return Reward(
        "carla_2017",
        version="1",
        terms=[distance, pace, crash, sidewalk, opposite],
        fields=[
            Field("to_goal", low=0, high=10_000, unit="m"),
            Field("speed", low=0, high=120, unit="km/h"),
            Field("damage", low=0, high=1e6, doc="Damage by collisions so far."),
            Field("sidewalk", low=0, high=1, doc="Share of the car on the sidewalk."),
            Field("opposite", low=0, high=1, doc="Share of the car on the opposite lane."),
        ],
        task=Task(monotone={"damage": "up"}),
    )


FAST = {"speed": 80.0, "overtook": False, "lane_change": False, "collision": False}


@bad(
    "outcome-order",
    source=KNOX + "Min, Kim & Huh (2019)",
    outcomes={
        "crash": [FAST] * 100 + [FAST | {"collision": True}],
        "crawl": [FAST | {"speed": 40.0}] * 600,
        "success": [FAST] * 600,
    },
)
def driving_min():
    """(v − 40) / 40 + 0.5 for overtaking − 0.25 for a change of lane − 10 for a crash.

    A few steps of speed pay for the wreck, so a fast crash is better than a slow drive that arrives.
    """

    @term(kind="goal")
    def pace(speed):
        return (speed - 40) / 40

    @term(weight=0.5, kind="bonus")
    def overtaking(overtook):
        return overtook

    @term(weight=-0.25, kind="penalty")
    def weaving(lane_change):
        return lane_change

    @term(weight=-10.0, kind="penalty")
    def crash(collision):
        return collision

    return Reward(
        "min_2019",
        version="1",
        terms=[pace, overtaking, weaving, crash],
        fields=[
            Field("speed", low=40, high=80, unit="km/h"),
            Field("overtook", flag=True),
            Field("lane_change", flag=True),
            Field("collision", flag=True),
        ],
        task=Task(states=["speed"], actions=["lane_change"]),
    )


CROSSING = {"collision": False, "through": False}


@good(
    source=KNOX + "Isele et al. (2018)",
    outcomes={
        "crash": [CROSSING] * 20 + [CROSSING | {"collision": True}],
        "idle": [CROSSING] * 100,
        "success": [CROSSING] * 40 + [CROSSING | {"through": True}],
    },
)
def driving_isele():
    """−0.01 a step, −10 for a collision, +1 for getting through.

    It is one of the few published rewards that rank crash, idle and success as people do; the risk it accepts is advice.
    """

    @term(weight=-0.01, kind="penalty")
    def time():
        return 1

    @term(weight=-10.0, kind="penalty")
    def crash(collision):
        return collision

    @term(kind="goal")
    def arrive(through):
        return through

    return Reward(
        "isele_2018",
        version="1",
        terms=[time, crash, arrive],
        fields=[Field("collision", flag=True), Field("through", flag=True)],
    )


WALKERS = {"speed": 1.0, "changed_speed": False, "collision": False}


@good(
    source=KNOX + "Cai et al., LeTS-Drive (2019)",
    outcomes={
        "crash": [WALKERS] * 50 + [WALKERS | {"collision": True}],
        "idle": [WALKERS | {"speed": 0.0}] * 1200,
        "success": [WALKERS] * 290 + [WALKERS | {"changed_speed": True}] * 10,
    },
)
def driving_lets():
    """−0.1 a step, −0.1 for a change of speed, −1000 (v² + 0.5) for a collision: the order is right.

    That it would rather hit someone now and then than wait is a matter of risk, and advice.
    """

    @term(weight=-0.1, kind="penalty")
    def time():
        return 1

    @term(weight=-0.1, kind="penalty")
    def smoothness(changed_speed):
        return changed_speed

    @term(weight=-1000.0, kind="penalty")
    def crash(collision, speed):
        return speed**2 + 0.5 if collision else 0

    return Reward(
        "lets_drive",
        version="1",
        terms=[time, smoothness, crash],
        fields=[
            Field("speed", low=0, high=6, unit="m/s"),
            Field("changed_speed", flag=True),
            Field("collision", flag=True),
        ],
        task=Task(discount=1.0, states=["speed"], actions=["changed_speed"]),
    )
