"""Bad: rewards that prefer what their author does not, in a step or in a whole episode."""

from checks.corpus.case import bad
from plaudit import Field, Reward, Task, prefer, term


@bad("order-inversion", source="Popov et al., Data-efficient deep RL for dexterous manipulation (2017)")
def block_stacking():
    """The red block is to be put on the blue one, and the height of its bottom face is paid.

    Turning it over raises that face just as high, with less effort.
    """

    @term(weight=10.0, kind="goal")
    def height(bottom_face, grasped):
        return 0 if grasped else bottom_face

    @term(weight=-0.01, kind="penalty")
    def effort(force):
        return force

    return Reward(
        "stacking",
        version="1",
        terms=[height, effort],
        fields=[
            Field("bottom_face", low=0, high=0.3, unit="m", doc="Height of the red block's bottom face."),
            Field("grasped", flag=True),
            Field("force", low=0, high=10, unit="N", doc="What the arm spent in the step."),
        ],
        task=Task(
            prefer=[
                prefer(
                    {"bottom_face": 0.05, "grasped": False, "force": 6.0},
                    over={"bottom_face": 0.05, "grasped": False, "force": 1.0},
                    because="the first is a block that was lifted onto another, the second one that was turned over",
                )
            ],
            states=["bottom_face", "grasped"],
        ),
    )


@bad("order-inversion", source="Amodei et al., Concrete problems in AI safety (2016)")
def cleaning_robot():
    """The robot is fined for every mess that it sees: closing its eyes is better than cleaning up."""

    @term(weight=-1.0, kind="penalty")
    def visible_mess(mess, eyes_open):
        return mess if eyes_open else 0

    return Reward(
        "cleaning",
        version="1",
        terms=[visible_mess],
        fields=[Field("mess", low=0, high=10), Field("eyes_open", flag=True)],
        task=Task(
            prefer=[
                prefer(
                    {"mess": 1, "eyes_open": True},
                    over={"mess": 10, "eyes_open": False},
                    because="a clean room that is seen is better than a dirty one that is not",
                )
            ],
            states=["mess", "eyes_open"],
        ),
    )


@bad(
    "order-inversion",
    source="Christiano et al., Deep RL from human preferences (2017): a comparison that was made and not kept",
)
def careless_delivery():
    """A metre a second is worth a point and a broken parcel costs ten.

    Fast and broken beats slow and whole at any load, where the people who were asked had said the opposite.
    """

    @term(kind="goal")
    def pace(speed):
        return speed

    @term(weight=0.1, kind="bonus")
    def carrying(load):
        return load

    @term(weight=-10.0, kind="penalty")
    def breakage(broken):
        return broken

    return Reward(
        "delivery",
        version="1",
        terms=[pace, carrying, breakage],
        fields=[
            Field("speed", low=0, high=20, unit="m/s"),
            Field("load", low=0, high=30, unit="kg"),
            Field("broken", flag=True),
        ],
        task=Task(
            prefer=[
                prefer({"speed": 5.0, "broken": False}, over={"speed": 18.0, "broken": True}, because="whole, if late")
            ],
            states=["speed", "load"],
        ),
    )


LIVING = {"dead": False, "arrived": False}


@bad(
    "outcome-order",
    source="Krakovna et al., Specification gaming (2020): agents that end the episode; Saunders et al. (2017)",
    outcomes={
        "death": [LIVING] * 4 + [LIVING | {"dead": True}],
        "timeout": [LIVING] * 200,
        "success": [LIVING] * 49 + [LIVING | {"arrived": True}],
    },
)
def better_dead():
    """Every step costs 1 and death costs 10, where even a good episode takes 50 steps: the agent dies as soon as it can."""

    @term(weight=-1.0, kind="penalty")
    def time():
        return 1

    @term(weight=-10.0, kind="penalty")
    def death(dead):
        return dead

    @term(weight=10.0, kind="goal")
    def arrive(arrived):
        return arrived

    return Reward(
        "better_dead",
        version="1",
        terms=[time, death, arrive],
        fields=[Field("dead", flag=True), Field("arrived", flag=True)],
    )


WALKING = {"torque": 2.0, "arrived": False}


@bad(
    "outcome-order",
    source="Knox et al. 2023, sanity check 2, on a walker that does not walk",
    outcomes={"idle": [WALKING | {"torque": 0.0}] * 100, "success": [WALKING] * 99 + [WALKING | {"arrived": True}]},
)
def lazy_walker():
    """Walking to the goal costs 20 in energy and arriving pays 10: it is better not to begin."""

    @term(weight=-0.05, kind="penalty")
    def energy(torque):
        return torque**2

    @term(weight=10.0, kind="goal")
    def arrive(arrived):
        return arrived

    return Reward(
        "lazy_walker",
        version="1",
        terms=[energy, arrive],
        fields=[Field("torque", low=-5, high=5, unit="N*m"), Field("arrived", flag=True)],
        action="torque",
    )
