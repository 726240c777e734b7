"""Pairs: a bad reward beside a good one that differs from it, or from a bad one elsewhere, in one detail."""

from math import sqrt

from checks.corpus.case import bad, good
from plaudit import Field, Reward, Task, prefer, term

HIT_POINTS = Field("hp", low=0, high=3)
BY_ONES = Task(max_change={"hp": 1})


@bad("loop-that-pays", source="Health packs in ViZDoom-like games: regained health is paid as progress")
def hurt_and_heal():
    """A hit point lost costs 0.5 and one regained pays 1: the agent gets itself hurt to be healed."""

    @term(weight=-0.5, kind="penalty")
    def damage(prev, curr):
        return max(0, prev.hp - curr.hp)

    @term(weight=1.0, kind="bonus")
    def healing(prev, curr):
        return max(0, curr.hp - prev.hp)

    return Reward("hurt_and_heal", version="1", terms=[damage, healing], fields=[HIT_POINTS], task=BY_ONES)


@good(source="The same with one price for both")
def hurt_and_heal_alike():
    """A hit point is worth 1 lost or regained: neither term telescopes by itself, and together they do."""

    @term(weight=-1.0, kind="penalty")
    def damage(prev, curr):
        return max(0, prev.hp - curr.hp)

    @term(weight=1.0, kind="bonus")
    def healing(prev, curr):
        return max(0, curr.hp - prev.hp)

    return Reward("hurt_and_heal_alike", version="1", terms=[damage, healing], fields=[HIT_POINTS], task=BY_ONES)


@bad("loop-that-pays", source="apex with a cap on the price of tokens")
def price_with_a_cap():
    """A lap from coding to testing and back pays 0.3, and a step costs at most 0.1 however many tokens it takes."""

    @term(weight=0.3, kind="shaping")
    def advance(prev, curr):
        return prev.phase == "coding" and curr.phase == "testing"

    @term(weight=-1e-4, high=1000.0, kind="penalty")
    def tokens(prev, curr):
        return curr.tokens_used - prev.tokens_used

    return Reward(
        "capped_price",
        version="1",
        terms=[advance, tokens],
        fields=[
            Field("phase", values=("coding", "testing")),
            Field("tokens_used", low=0, unit="tokens"),
        ],
        task=Task(max_change={"tokens_used": 5000}, monotone={"tokens_used": "up"}),
    )


@good(source="Russell & Norvig's 4 × 3 world with a life that is only a little enjoyable")
def modest_life():
    """Every step pays 0.001 and the goal 1: living on is worth 0.1 at a discount of 0.99, so the goal is worth leaving for."""

    @term(weight=0.001, kind="bonus")
    def living():
        return 1

    @term(kind="goal", terminal=True)
    def leave(through):
        return 1 if through == "goal" else -1

    fields = [Field("through", values=("goal", "pit"))]
    return Reward("modest_life", version="1", terms=[living, leave], fields=fields, task=Task(discount=0.99))


@bad("may-divide-by-zero", source="A resonance curve with its pole inside the range")
def pole_inside_the_range():
    """1 / (speed − target) has no value at the target, which is where the agent is meant to be."""

    @term(weight=0.1, kind="shaping")
    def near_target(speed, *, target=1.5):
        return 1 / (speed - target)

    fields = [Field("speed", low=0, high=3, unit="m/s")]
    return Reward("pole", version="1", terms=[near_target], fields=fields, task=Task(states=["speed"]))


@good(source="A ratio that is only taken where there is something to divide by")
def ratio_behind_a_branch():
    """The division stands behind a test of its divisor."""

    @term(kind="goal")
    def hit_rate(hits, shots):
        return min(1.0, hits / shots) if shots > 0 else 0.0

    return Reward(
        "hit_rate",
        version="1",
        terms=[hit_rate],
        fields=[Field("hits", low=0, high=100), Field("shots", low=0, high=100)],
    )


@bad("not-a-number", source="The square root of what is left, when nothing is left")
def root_of_less_than_nothing():
    """Up to twice the budget may be spent, and the root is taken of the share that is left."""

    @term(kind="goal")
    def thrift(spent):
        return sqrt(1 - spent)

    return Reward("thrift", version="1", terms=[thrift], fields=[Field("spent", low=0, high=2, doc="Of the budget.")])


@good(source="The same with a floor")
def root_with_a_floor():
    """What is left counts as at least 0, so it has a root."""

    @term(kind="goal")
    def thrift(spent):
        return sqrt(max(0.0, 1 - spent))

    return Reward(
        "thrift_floor", version="1", terms=[thrift], fields=[Field("spent", low=0, high=2, doc="Of the budget.")]
    )


@bad("saturated-clamp", source="PID tuning in metres, logged in millimetres")
def floor_reached_at_once():
    """The error is measured up to 10,000 mm and the fine ends at 1, which one millimetre reaches."""

    @term(low=-1.0, kind="penalty")
    def track(error):
        return -abs(error)

    return Reward(
        "floor_at_once", version="1", terms=[track], fields=[Field("error", low=-10_000, high=10_000, unit="mm")]
    )


@good(source="Stopping distance v² / a, which is a length and compares with one")
def stopping_distance():
    """Metres are compared with metres: (m/s)² / (m/s²)."""

    @term(weight=-1.0, kind="penalty")
    def too_fast(gap, speed, braking):
        return speed**2 / braking > gap

    return Reward(
        "stopping",
        version="1",
        terms=[too_fast],
        fields=[
            Field("gap", low=0, high=200, unit="m"),
            Field("speed", low=0, high=50, unit="m/s"),
            Field("braking", low=1, high=10, unit="m/s²"),
        ],
        task=Task(states=["gap", "speed", "braking"]),
    )


PLAYING = {"eaten": 0, "died": False, "finished": False}
FINISHED = [PLAYING | {"eaten": 5}, PLAYING | {"finished": True}]
REPLAYED = [PLAYING | {"eaten": 5}, PLAYING | {"died": True}, PLAYING | {"eaten": 5}]
GAME = Task(prefer=[prefer(FINISHED, over=REPLAYED, because="the game is to be finished, not to be replayed")])
GAME_FIELDS = (Field("eaten", low=0, high=10), Field("died", flag=True), Field("finished", flag=True))


@bad("order-inversion", source="Saunders et al., Trial without error (2017): Road Runner")
def level_replayed():
    """Dying at the end of the first level costs 1 and lets the agent eat everything again: it never gets to the second."""

    @term(kind="bonus")
    def eating(eaten):
        return eaten

    @term(weight=-1.0, kind="penalty")
    def death(died):
        return died

    @term(weight=2.0, kind="goal")
    def finish(finished):
        return finished

    return Reward("road_runner", version="1", terms=[eating, death, finish], fields=GAME_FIELDS, task=GAME)


@good(source="The same with a level that is worth finishing")
def level_finished():
    """Finishing pays more than eating everything a second time."""

    @term(kind="bonus")
    def eating(eaten):
        return eaten

    @term(weight=-1.0, kind="penalty")
    def death(died):
        return died

    @term(weight=20.0, kind="goal")
    def finish(finished):
        return finished

    return Reward("road_runner_well", version="1", terms=[eating, death, finish], fields=GAME_FIELDS, task=GAME)


@good(source="A rover that counts its charge and its hours")
def rover():
    """Charge only falls and time only rises: both are prices, and a sample pays for them."""

    @term(weight=-0.1, kind="penalty")
    def charge(prev, curr):
        return prev.charge - curr.charge

    @term(weight=-0.01, kind="penalty")
    def time(prev, curr):
        return curr.hours - prev.hours

    @term(weight=5.0, kind="goal")
    def sampling(samples):
        return samples

    return Reward(
        "rover",
        version="1",
        terms=[charge, time, sampling],
        fields=[
            Field("charge", low=0, high=100, unit="%"),
            Field("hours", low=0, high=1000, unit="h"),
            Field("samples", low=0, high=3),
        ],
        task=Task(monotone={"charge": "down", "hours": "up"}),
    )
