"""Good: rewards of language models, shops, clinics and cars as they are written every day."""

from checks.corpus.case import good
from plaudit import Field, Reward, Task, term


@good(source="Cobbe et al., GSM8K (2021); DeepSeek-R1 (2025): rewards of accuracy and of format")
def grade_school_maths():
    """1 for the right answer, a tenth for putting it where it belongs."""

    @term(kind="goal")
    def accuracy(correct):
        return correct

    @term(weight=0.1, kind="bonus")
    def layout(well_formed):
        return well_formed

    return Reward(
        "gsm8k",
        version="1",
        terms=[accuracy, layout],
        fields=[Field("correct", flag=True), Field("well_formed", flag=True)],
    )


@good(source="High-water marks, as in Ecoffet et al., Go-Explore (2021), with tokens priced")
def furthest_phase():
    """A phase pays only when it is further than any before, and there are four to come.

    Going back and forth costs tokens and earns nothing.
    """

    @term(weight=0.3, kind="shaping")
    def advance(prev, curr):
        return curr.furthest - prev.furthest

    @term(weight=-0.0001, kind="penalty")
    def tokens(prev, curr):
        return curr.tokens_used - prev.tokens_used

    @term(weight=1.0, kind="goal", terminal=True)
    def solve(solved):
        return solved

    return Reward(
        "furthest",
        version="1",
        terms=[advance, tokens, solve],
        fields=[
            Field("furthest", values=(0, 1, 2, 3, 4)),
            Field("tokens_used", low=0, high=1_000_000, unit="tokens"),
            Field("solved", flag=True),
        ],
        task=Task(monotone={"furthest": "up", "tokens_used": "up"}),
    )


@good(source="Arrow, Harris & Marschak, Optimal inventory policy (1951)")
def inventory():
    """What was sold, less what was ordered, less what lies about: with no demand an order is a loss, with demand it pays."""

    @term(kind="goal")
    def profit(prev, order, demand):
        at_hand = prev.stock + order
        sold = min(demand, at_hand)
        return 5 * sold - 2 * order - 0.1 * (at_hand - sold)

    return Reward(
        "inventory",
        version="1",
        terms=[profit],
        fields=[
            Field("stock", low=0, high=20, unit="pieces"),
            Field("order", values=tuple(range(11)), unit="pieces"),
            Field("demand", low=0, high=20, unit="pieces"),
        ],
        action="order",
    )


@good(source="A thermostat with a dead band, as in any control textbook")
def thermostat():
    """Half a degree off costs nothing, every degree beyond it 1; heating costs a little."""

    @term(weight=-1.0, kind="penalty")
    def discomfort(temperature):
        return max(0.0, abs(temperature - 21) - 0.5)

    @term(weight=-0.02, kind="penalty")
    def energy(heating):
        return heating

    fields = [Field("temperature", low=10, high=35, unit="°C"), Field("heating", flag=True)]
    task = Task(states=["temperature"])
    return Reward("thermostat", version="1", terms=[discomfort, energy], fields=fields, action="heating", task=task)


@good(source="Warfarin dosing as a bandit (NEJM 2009), each dose right for somebody")
def dosing():
    """0, 2 and 8 mg for patients who need 0 to 10 mg: every choice is the best one for some of them."""
    doses = (0.0, 2.0, 8.0)

    @term(weight=-1.0, kind="goal")
    def misfit(need, dose):
        return (need - doses[dose]) ** 2

    fields = [Field("need", low=0, high=10, unit="mg"), Field("dose", values=(0, 1, 2))]
    return Reward("dosing_well", version="1", terms=[misfit], fields=fields, action="dose", task=Task(states=["need"]))


@good(source="Time to collision (Hayward 1972), with a floor under the divisor")
def time_to_collision_guarded():
    """The closing speed counts as at least 0.1 m/s, so there is always something to divide by."""

    @term(weight=-1.0, kind="penalty")
    def danger(gap, closing):
        return 1 if gap / max(closing, 0.1) < 2.0 else 0

    return Reward(
        "ttc_guarded",
        version="1",
        terms=[danger],
        fields=[
            Field("gap", low=0, high=200, unit="m"),
            Field("closing", low=0, high=50, unit="m/s"),
        ],
        task=Task(states=["gap", "closing"]),
    )


@good(source="Constant time headway (Swaroop & Rajagopal 1999): the gap to keep is a time times the speed")
def time_headway():
    """A knob in seconds turns the speed into metres, also where it happens to be 1."""

    @term(weight=-0.1, kind="penalty")
    def headway(gap, speed, *, seconds=1.0):
        return abs(gap - speed * seconds)

    return Reward(
        "headway",
        version="1",
        terms=[headway],
        fields=[
            Field("gap", low=0, high=200, unit="m"),
            Field("speed", low=0, high=50, unit="m/s"),
        ],
        task=Task(states=["gap", "speed"]),
    )


@good(source="roadsense R0: five zones that leave nothing out")
def zones():
    """Neighbouring zones meet: every distance belongs to exactly one of them, the neutral one in the middle included."""

    @term
    def safety(gap):
        if gap < 5:
            return -100
        if gap < 15:
            return -5
        if 20 <= gap <= 40:
            return 1
        if gap > 40:
            return 0.5
        return 0

    fields = [Field("gap", low=0, high=100, unit="m")]
    return Reward("zones", version="1", terms=[safety], fields=fields, task=Task(states=["gap"]))


@good(source="Quadratic tracking with a floor, as in PID tuning")
def tracking_with_a_floor():
    """Errors beyond 5 m cost no more than 5 m do: the clamp protects from outliers and leaves half of the range alone."""

    @term(low=-25.0, kind="goal")
    def track(error):
        return -(error**2)

    fields = [Field("error", low=-10, high=10, unit="m")]
    return Reward("floor", version="1", terms=[track], fields=fields, task=Task(states=["error"]))
