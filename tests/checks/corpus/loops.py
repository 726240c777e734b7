"""Bad: rewards that an agent can go round in, and be paid for it."""

from checks.corpus.case import bad
from plaudit import Field, Reward, Task, term


@bad("loop-that-pays", source="Clark & Amodei, Faulty reward functions in the wild (OpenAI, 2016)")
def coast_runners():
    """Targets on the course come back a while after they were hit, and pay again.

    The boat circles in a lagoon, hits three of them over and over, burns, and outscores boats that finish the race.
    """

    @term(weight=10.0, kind="bonus")
    def hit(prev, curr):
        """Hit a target that is there."""
        return prev.target and not curr.target

    @term(weight=-0.1, kind="penalty")
    def time():
        return 1

    @term(weight=100.0, kind="goal", terminal=True)
    def finish(finished):
        return finished

    return Reward(
        "coast_runners",
        version="1",
        terms=[hit, time, finish],
        fields=[
            Field("target", flag=True, doc="A target floats here; it comes back after a while."),
            Field("finished", flag=True),
        ],
    )


@bad("loop-that-pays", source="Randløv & Alstrøm, Learning to drive a bicycle (ICML 1998)")
def bicycle():
    """The rider is paid for coming closer to the goal and not fined for going away: it circles round the start."""

    @term(weight=0.01, kind="shaping")
    def closer(prev, curr):
        return max(0.0, prev.distance - curr.distance)

    @term(weight=-1.0, kind="penalty", terminal=True)
    def fall(fallen):
        return fallen

    return Reward(
        "bicycle",
        version="1",
        terms=[closer, fall],
        fields=[
            Field("distance", low=0, high=1000, unit="m", doc="Metres to the goal."),
            Field("fallen", flag=True),
        ],
        task=Task(max_change={"distance": 3}),
    )


@bad("loop-that-pays", source="Andre & Teller 1999, told by Ng, Harada & Russell (ICML 1999)")
def soccer_touching():
    """Touching the ball is paid because possession matters: the robot vibrates beside the ball to touch it often."""

    @term(weight=0.5, kind="shaping")
    def touch(prev, curr):
        """Get in touch with the ball."""
        return curr.touching and not prev.touching

    @term(weight=10.0, kind="goal")
    def score(goal):
        return goal

    return Reward(
        "soccer",
        version="1",
        terms=[touch, score],
        fields=[Field("touching", flag=True), Field("goal", flag=True)],
    )


@bad("loop-that-pays", source="Checkpoints of racing games; the same flaw as in Clark & Amodei 2016")
def gate_entered_again():
    """A checkpoint pays whenever it is passed forwards: the car rocks to and fro over the line."""
    gate = 50.0

    @term(weight=1.0, kind="bonus")
    def checkpoint(prev, curr):
        return prev.along < gate <= curr.along

    @term(weight=-0.01, kind="penalty")
    def step_cost():
        return 1

    fields = [Field("along", low=0, high=100, unit="m")]
    task = Task(max_change={"along": 5})
    return Reward("checkpoint", version="1", terms=[checkpoint, step_cost], fields=fields, task=task)


@bad("loop-that-pays", source="Campbell, Assessing the impact of planned social change (1979)")
def ticket_desk():
    """Every ticket that becomes resolved is worth a point, and re-opening is free.

    An agent closes and re-opens one ticket, as long as a lap costs fewer than 1,000 tokens.
    """

    @term(weight=1.0, kind="goal")
    def resolve(prev, curr):
        return curr.status == "resolved" and prev.status != "resolved"

    @term(weight=-0.001, kind="penalty")
    def tokens(prev, curr):
        return curr.tokens_used - prev.tokens_used

    return Reward(
        "ticket_desk",
        version="1",
        terms=[resolve, tokens],
        fields=[
            Field("status", values=("open", "in work", "resolved")),
            Field("tokens_used", low=0, unit="tokens"),
        ],
        task=Task(max_change={"tokens_used": 10_000}, monotone={"tokens_used": "up"}),
    )


@bad("loop-that-pays", source="Randløv & Alstrøm 1998, as a ring of three rooms")
def carousel():
    """Clockwise is forward and pays, counter-clockwise costs as much, but the rooms form a ring.

    Pacing to and fro earns nothing; whoever goes round is always going forward.
    """

    @term(kind="shaping")
    def clockwise(prev, curr):
        if prev.room == "hall":
            return 1 if curr.room == "attic" else -1 if curr.room == "cellar" else 0
        if prev.room == "attic":
            return 1 if curr.room == "cellar" else -1 if curr.room == "hall" else 0
        return 1 if curr.room == "hall" else -1 if curr.room == "attic" else 0

    return Reward(
        "carousel",
        version="1",
        terms=[clockwise],
        fields=[Field("room", values=("hall", "attic", "cellar"))],
    )


@bad("loop-that-pays", source="Siebert, Der Kobra-Effekt (2001)")
def cobra_bounty():
    """Every dead cobra is paid for and a new one costs little: people breed cobras and hand them in."""

    @term(weight=1.0, kind="goal")
    def bounty(prev, curr):
        return max(0, prev.cobras - curr.cobras)

    @term(weight=-0.2, kind="penalty")
    def feed(prev, curr):
        return max(0, curr.cobras - prev.cobras)

    return Reward(
        "cobras",
        version="1",
        terms=[bounty, feed],
        fields=[Field("cobras", low=0, high=1000)],
    )


@bad(
    "pays-for-staying",
    source="Russell & Norvig, Artificial Intelligence: A Modern Approach, the 4 × 3 world with R(s) > 0",
)
def enjoyable_life():
    """Every step pays 0.1 and the exit pays 1: with a discount of 0.99 living on is worth 10, so the agent avoids the exit."""

    @term(weight=0.1, kind="bonus")
    def living():
        return 1

    @term(kind="goal", terminal=True)
    def leave(through):
        return 1 if through == "goal" else -1

    fields = [Field("through", values=("goal", "pit"))]
    return Reward("enjoyable_life", version="1", terms=[living, leave], fields=fields, task=Task(discount=0.99))


@bad(
    "pays-per-event",
    source="Clark & Amodei, Faulty reward functions in the wild (OpenAI, 2016), with targets as events",
    severity="advice",
)
def coast_runners_by_events():
    """Every target that is hit pays 1 and the finish pays 10: after eleven hits a boat need not arrive any more."""

    @term(kind="bonus")
    def target(hit):
        return hit

    @term(weight=10.0, kind="goal", terminal=True)
    def finish(finished):
        return finished

    return Reward(
        "coast_runners_by_events",
        version="1",
        terms=[target, finish],
        fields=[Field("hit", flag=True), Field("finished", flag=True)],
    )


@bad(
    "cheap-end",
    source="Russell & Norvig, Artificial Intelligence: A Modern Approach, the 4 × 3 world with R(s) < -1.63",
    severity="advice",
)
def painful_life():
    """Every step costs 2 and the pit costs 1: the agent heads for the nearest exit, even if that is the pit."""

    @term(weight=-2.0, kind="penalty")
    def living():
        return 1

    @term(kind="goal", terminal=True)
    def leave(through):
        return 1 if through == "goal" else -1

    return Reward(
        "painful_life",
        version="1",
        terms=[living, leave],
        fields=[Field("through", values=("goal", "pit"))],
    )


@bad("cheap-end", source="Folklore: the agent that dies in order to stop paying for its steps", severity="advice")
def suicidal_agent():
    """A step costs 1, dying 5 and winning pays 10: whoever does not win soon is better off dead."""

    @term(weight=-1.0, kind="penalty")
    def time():
        return 1

    @term(kind="goal", terminal=True)
    def end(won, died):
        return 10 * won - 5 * died

    fields = [Field("won", flag=True), Field("died", flag=True)]
    return Reward("suicidal", version="1", terms=[time, end], fields=fields, task=Task(discount=0.99))
