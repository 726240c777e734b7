"""Shaping: what telescopes and so changes nothing, and what does not."""

from checks.corpus.case import bad, good
from plaudit import Field, Reward, Task, term


@bad("loop-that-pays", source="Ng, Harada & Russell, Policy invariance under reward transformations (ICML 1999)")
def one_way_shaping():
    """A grid pays for every step that shortens the way to the corner; a step back is free, so pacing up and down pays."""

    def left(x, y):
        return abs(9 - x) + abs(9 - y)

    @term(weight=0.1, kind="shaping")
    def progress(prev, curr):
        return max(0, left(prev.x, prev.y) - left(curr.x, curr.y))

    @term(weight=-0.01, kind="penalty")
    def step_cost():
        return 1

    @term(weight=1.0, kind="goal", terminal=True)
    def arrive(arrived):
        return arrived

    return Reward(
        "one_way",
        version="1",
        terms=[progress, step_cost, arrive],
        fields=[
            Field("x", low=0, high=9, unit="cells"),
            Field("y", low=0, high=9, unit="cells"),
            Field("arrived", flag=True),
        ],
        task=Task(max_change={"x": 1, "y": 1}),
    )


@bad(
    "not-potential-based",
    source="Ng, Harada & Russell 1999; the negative control of Gleave et al., EPIC (ICLR 2021)",
    severity="note",
)
def shaping_without_its_discount():
    """The agent discounts by 0.99 and the shaping does not: φ(s') − φ(s) instead of 0.99 φ(s') − φ(s).

    It is no longer sure that the same policy is best.
    """

    @term(kind="shaping")
    def closer(prev, curr):
        return prev.distance - curr.distance

    @term(weight=10.0, kind="goal", terminal=True)
    def arrive(arrived):
        return arrived

    return Reward(
        "undiscounted_shaping",
        version="1",
        terms=[closer, arrive],
        fields=[
            Field("distance", low=0, high=20, unit="cells"),
            Field("arrived", flag=True),
        ],
        task=Task(discount=0.99, max_change={"distance": 1}),
    )


@bad(
    "pays-for-staying",
    source="Grześ, Reward shaping in episodic reinforcement learning (AAMAS 2017), on where potentials go wrong",
)
def shaping_with_another_discount():
    """The shaping discounts by 0.9 where the agent discounts by 0.99.

    Its potential is the negative distance: standing still 20 cells away pays 2 a step for ever, the goal pays 10 once.
    """

    @term(kind="shaping")
    def closer(prev, curr, *, gamma=0.9):
        return prev.distance - gamma * curr.distance

    @term(weight=10.0, kind="goal", terminal=True)
    def arrive(arrived):
        return arrived

    return Reward(
        "mismatched_shaping",
        version="1",
        terms=[closer, arrive],
        fields=[
            Field("distance", low=0, high=20, unit="cells"),
            Field("arrived", flag=True),
        ],
        task=Task(discount=0.99, max_change={"distance": 1}),
    )


@good(source="Ng, Harada & Russell, Policy invariance under reward transformations (ICML 1999), without discount")
def potential_on_a_grid():
    """The difference of a potential: what it pays depends on the ends of a walk and not on the way."""

    @term(weight=0.1, kind="shaping")
    def closer(prev, curr):
        return (abs(9 - prev.x) + abs(9 - prev.y)) - (abs(9 - curr.x) + abs(9 - curr.y))

    @term(weight=-0.01, kind="penalty")
    def step_cost():
        return 1

    @term(weight=1.0, kind="goal", terminal=True)
    def arrive(arrived):
        return arrived

    return Reward(
        "grid",
        version="1",
        terms=[closer, step_cost, arrive],
        fields=[
            Field("x", low=0, high=9, unit="cells"),
            Field("y", low=0, high=9, unit="cells"),
            Field("arrived", flag=True),
        ],
        task=Task(discount=1.0, max_change={"x": 1, "y": 1}),
    )


@good(source="Ng, Harada & Russell 1999, with the agent's discount")
def potential_with_discount():
    """0.99 φ(s') − φ(s) where the agent discounts by 0.99, so no policy becomes better than it was.

    Standing still far away pays 0.2 a step, which is only what the potential lends and takes back.
    """

    @term(kind="shaping")
    def closer(prev, curr):
        return prev.distance - 0.99 * curr.distance

    @term(weight=10.0, kind="goal", terminal=True)
    def arrive(arrived):
        return arrived

    return Reward(
        "discounted",
        version="1",
        terms=[closer, arrive],
        fields=[
            Field("distance", low=0, high=20, unit="cells"),
            Field("arrived", flag=True),
        ],
        task=Task(discount=0.99, max_change={"distance": 1}),
    )


@good(source="A toll gate that pays on entering and takes the same on leaving")
def gate_both_ways():
    """Entering the zone pays 1 and leaving it costs 1: the indicator of the zone is a potential."""

    @term(kind="shaping")
    def inside(prev, curr):
        if prev.along < 50 <= curr.along:
            return 1
        return -1 if curr.along < 50 <= prev.along else 0

    @term(weight=-0.01, kind="penalty")
    def step_cost():
        return 1

    fields = [Field("along", low=0, high=100, unit="m")]
    return Reward("gate", version="1", terms=[inside, step_cost], fields=fields, task=Task(max_change={"along": 5}))


@good(source="Ng, Harada & Russell 1999, on a category: how far a task has come as a potential")
def phases_both_ways():
    """Going back costs what going forward pays."""
    order = ("planning", "coding", "testing", "done")

    @term(weight=0.3, kind="shaping")
    def advance(prev, curr):
        return order.index(curr.phase) - order.index(prev.phase)

    return Reward("both_ways", version="1", terms=[advance], fields=[Field("phase", values=order)])


@good(source="hackmatrix with dearer steps: shaping that is not potential-based, and that no lap can live on")
def shaping_cheaper_than_steps():
    """A step closer pays 0.015 and every step costs 0.01: two steps to and fro lose 0.005."""

    @term(weight=0.015, kind="shaping")
    def closer(prev, curr):
        return max(0, prev.distance - curr.distance)

    @term(weight=-0.01, kind="penalty")
    def step_cost():
        return 1

    fields = [Field("distance", low=0, high=20, unit="cells")]
    task = Task(max_change={"distance": 1})
    return Reward("cheap_shaping", version="1", terms=[closer, step_cost], fields=fields, task=task)
