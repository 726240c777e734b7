"""Bad: slips of the pen. Numbers, signs and comparisons that are not what was meant."""

from math import log, log1p, tanh

from checks.corpus.case import bad
from plaudit import Field, Reward, Task, fact, term


@bad("saturated-clamp", source="van Hasselt et al., Learning values across many orders of magnitude (NIPS 2016)")
def pacman_clipped():
    """Every change of the score is clipped to 1, whether a pellet for 10 or a ghost for 1,600.

    The agent does not care for ghosts.
    """

    @term(low=-1.0, high=1.0, kind="goal")
    def points(gained):
        return gained

    return Reward("pacman", version="1", terms=[points], fields=[Field("gained", low=0, high=1600, unit="points")])


@bad("saturated-clamp", source="deepthinker as specified: the price of tokens")
def tokens_capped_at_once():
    """Tokens cost ln(1 + n) / ln(1 + 100,000), at most 0.3: the cap is reached after 31 of them."""

    @term(weight=-0.1, high=0.3, kind="penalty")
    def cost(tokens):
        return log1p(tokens) / log1p(100_000)

    @term(kind="goal")
    def quality(gain):
        return gain

    return Reward(
        "capped",
        version="1",
        terms=[quality, cost],
        fields=[Field("tokens", low=0, high=100_000, unit="tokens"), Field("gain", low=-1, high=1)],
    )


@bad("clamp-never-binds", source="Folklore: a clamp that was left behind when the weights were turned down")
def clamp_out_of_reach():
    """The total is held within ±10 and can only be within ±1.5: who reads it expects numbers that never come."""

    @term(kind="goal")
    def track(error):
        return tanh(error)

    @term(weight=0.5, kind="shaping")
    def lean(tilt):
        return -abs(tilt)

    return Reward(
        "out_of_reach",
        version="1",
        terms=[track, lean],
        fields=[Field("error", low=-3, high=3), Field("tilt", low=-1, high=1, unit="rad")],
        low=-10.0,
        high=10.0,
    )


@bad("dead-term", source="Folklore: percent for a fraction")
def battery_in_percent():
    """The battery is a fraction from 0 to 1 and the threshold a percentage: it is always low, and the fine says nothing."""

    @term(weight=-1.0, kind="penalty")
    def low_battery(battery):
        return 1 if battery < 20 else 0

    @term(kind="goal")
    def delivered(parcels):
        return parcels

    fields = [Field("battery", low=0, high=1), Field("parcels", low=0, high=3)]
    return Reward("battery", version="1", terms=[delivered, low_battery], fields=fields, task=Task(states=["battery"]))


@bad("wrong-sign", source="Folklore: the minus sign in the function and in the weight")
def effort_twice_negated():
    """The function returns −torque² and the weight is −0.1: the harder the motors fight each other, the better."""

    @term(kind="goal")
    def forward(speed):
        return speed

    @term(weight=-0.1, kind="penalty")
    def effort(torque):
        return -(torque**2)

    fields = [Field("speed", low=-5, high=5, unit="m/s"), Field("torque", low=-2, high=2, unit="N*m")]
    task = Task(states=["speed"])
    return Reward("twice_negated", version="1", terms=[forward, effort], fields=fields, action="torque", task=task)


@bad("dominated-action", source="International Warfarin consortium (NEJM 2009) as a bandit, with a dose too many")
def dose_nobody_needs():
    """No patient needs more than 3 mg, and the choices are 0, 2 and 8 mg: the last one is worse than 2 mg for everybody."""
    doses = (0.0, 2.0, 8.0)

    @term(weight=-1.0, kind="goal")
    def misfit(need, dose):
        return (need - doses[dose]) ** 2

    return Reward(
        "dosing",
        version="1",
        terms=[misfit],
        fields=[Field("need", low=0, high=3, unit="mg"), Field("dose", values=(0, 1, 2))],
        action="dose",
    )


@bad("unit-mismatch", source="Mars Climate Orbiter Mishap Investigation Board (1999), in spirit")
def metres_plus_braking():
    """An error in metres and a deceleration in m/s² are added as they are."""

    @term(weight=-1.0, kind="penalty")
    def discomfort(gap_error, braking):
        return abs(gap_error) + abs(braking)

    return Reward(
        "mixed_sum",
        version="1",
        terms=[discomfort],
        fields=[Field("gap_error", low=-50, high=50, unit="m"), Field("braking", low=-10, high=10, unit="m/s^2")],
    )


@bad("unit-mismatch", source="The two-second rule, with the two seconds forgotten")
def gap_below_speed():
    """A distance is compared with a speed: the gap should be at least two seconds times the speed."""

    @term(weight=-1.0, kind="penalty")
    def too_close(gap, speed):
        return gap < speed

    return Reward(
        "two_seconds",
        version="1",
        terms=[too_close],
        fields=[
            Field("gap", low=0, high=200, unit="m"),
            Field("speed", low=0, high=50, unit="m/s"),
        ],
        task=Task(states=["gap", "speed"]),
    )


@bad("zone-gap", source="roadsense with one `<=` written as `<`")
def five_metres_exactly():
    """Below 5 m is a collision and above 5 m is too close; at exactly 5 m neither holds, and that is paid like a safe gap."""

    @term
    def safety(gap):
        if gap < 5:
            return -100
        if 5 < gap < 15:
            return -5
        return 1

    fields = [Field("gap", low=0, high=100, unit="m")]
    return Reward("gap_zones", version="1", terms=[safety], fields=fields, task=Task(states=["gap"]))


@bad("may-divide-by-zero", source="Time to collision (Hayward 1972), at a closing speed of 0")
def time_to_collision():
    """The gap is divided by the closing speed, and two cars at the same speed do not close at all."""

    @term(weight=-1.0, kind="penalty")
    def danger(gap, closing):
        return 1 if gap / closing < 2.0 else 0

    return Reward(
        "ttc",
        version="1",
        terms=[danger],
        fields=[
            Field("gap", low=0, high=200, unit="m"),
            Field("closing", low=0, high=50, unit="m/s"),
        ],
        task=Task(states=["gap", "closing"]),
    )


@bad("not-a-number", source="Log barriers (Fiacco & McCormick 1968), on the barrier itself")
def barrier_at_the_wall():
    """The clearance may be 0, where its logarithm does not exist."""

    @term(weight=0.1, kind="shaping")
    def clearance(clear):
        return log(clear)

    fields = [Field("clear", low=0, high=10, unit="m")]
    return Reward("barrier", version="1", terms=[clearance], fields=fields, task=Task(states=["clear"]))


@bad("unreachable-branch", source="Zones in the wrong order; see analysis of dead branches in any linter")
def zones_in_the_wrong_order():
    """Whoever is below 5 m is below 15 m, which is asked first: the fine for a collision is never paid."""

    @term
    def safety(gap):
        if gap < 15:
            return -5
        if gap < 5:
            return -100
        return 1

    fields = [Field("gap", low=0, high=100, unit="m")]
    return Reward("wrong_order", version="1", terms=[safety], fields=fields, task=Task(states=["gap"]))


@bad("unused-knob", source="Folklore: a tolerance that nobody looks at")
def tolerance_forgotten():
    """The tolerance can be tuned all day: the formula does not read it."""

    @term(weight=-1.0, kind="penalty")
    def pace(speed, *, target=1.5, tolerance=0.2):
        return abs(speed - target)

    fields = [Field("speed", low=0, high=3, unit="m/s")]
    return Reward("forgotten", version="1", terms=[pace], fields=fields, task=Task(states=["speed"]))


@bad("contradictory-facts", source="Mars Climate Orbiter (1999) once more: a range in m/s and a fact in km/h")
def fact_in_other_units():
    """The car does at most 30 m/s, and a fact says that on this road it does more than 50: of no step that is true."""

    @term(weight=-1.0, kind="penalty")
    def pace(speed):
        return abs(speed - 25)

    @fact
    def on_the_motorway(speed):
        return speed > 50

    fields = [Field("speed", low=0, high=30, unit="m/s")]
    task = Task(states=["speed"], facts=[on_the_motorway])
    return Reward("motorway", version="1", terms=[pace], fields=fields, task=task)
