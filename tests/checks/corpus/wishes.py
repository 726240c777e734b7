"""Bad: what the author wanted and did not pay for, with a good twin beside each. The wishes are declared in a word."""

from checks.corpus.case import bad, good
from plaudit import Field, Reward, Task, fact, prefer, term


def _tuned(weight):
    @term(weight=weight, kind="goal")
    def liked(preference):
        return preference

    @term(weight=-0.1, kind="penalty")
    def drift(divergence):
        return divergence

    fields = [Field("preference", low=-5, high=5), Field("divergence", low=0, high=20)]
    task = Task(better={"preference": "high", "divergence": "low"})
    return Reward("tuned", version="1", terms=[liked, drift], fields=fields, task=task)


@bad("wrong-way", source="Ziegler et al., Fine-tuning language models from human preferences (2019), section 4.4")
def flipped_sign():
    """One refactoring turned the sign of the reward model overnight, and the model wrote the worst texts it could."""
    return _tuned(-1.0)


@good(source="The same with its sign as it was")
def sign_as_it_was():
    """What people like pays, and straying from the first model costs."""
    return _tuned(1.0)


def _running(*terms):
    @term(kind="goal")
    def forward(velocity):
        return velocity

    fields = [
        Field("velocity", low=-10, high=10, unit="m/s"),
        Field("upright", flag=True, doc="The back is above the feet."),
    ]
    task = Task(better={"velocity": "high", "upright": "high"}, states=["velocity", "upright"])
    return Reward("running", version="1", terms=[forward, *terms], fields=fields, task=task)


@bad(
    "unpriced",
    severity="advice",
    source="Irpan, Deep reinforcement learning doesn't work yet (2018): the half-cheetah on its back",
)
def runs_on_its_back():
    """Forward velocity is all that is paid, and a robot that fell on its back found a way to move there."""
    return _running()


@good(source="The same with a price for lying on the back")
def runs_upright():
    """Being upright is paid for as well."""

    @term(weight=5.0, kind="bonus")
    def standing(upright):
        return upright

    return _running(standing)


def _merging(*terms):
    @term(kind="goal")
    def flow(mean_speed):
        return mean_speed / 30

    fields = [
        Field("mean_speed", low=0, high=30, unit="m/s"),
        Field("waiting", low=0, high=20, doc="Cars that wait on the ramp."),
    ]
    wish = prefer(
        {"mean_speed": 20, "waiting": 0}, over={"mean_speed": 20, "waiting": 10}, because="all want to get on"
    )
    task = Task(prefer=[wish], states=["mean_speed", "waiting"])
    return Reward("merging", version="1", terms=[flow, *terms], fields=fields, task=task)


@bad("order-inversion", source="Pan, Bhatia & Steinhardt, The effects of reward misspecification (ICLR 2022)")
def blocked_ramp():
    """The mean speed on the motorway is highest when nobody may enter it: cars wait on the ramp for ever."""
    return _merging()


@good(source="The same with a price for waiting")
def open_ramp():
    """Each car that waits costs."""

    @term(weight=-0.05, kind="penalty")
    def waits(waiting):
        return waiting

    return _merging(waits)


NEAR = Field("distance", low=0, high=10)
KEY = Field("has_key", flag=True)


def key_is_taken(has_key):
    """The key is in the bag."""
    return has_key


KEY_TASK = Task(goal=key_is_taken, discount=0.99, max_change={"distance": 1})


@term(terminal=True, kind="goal")
def key(has_key):
    return 2 * has_key


@bad("goal-not-best", source="Ibarz et al., Reward learning from human preferences and demonstrations in Atari (2018)")
def dances_before_the_key():
    """What was learnt from people pays for being near the key, so the agent comes near it again and again, untouched."""

    @term
    def close(distance):
        return 1 / (1 + distance)

    return Reward("key", version="1", terms=[close, key], fields=[NEAR, KEY], task=KEY_TASK)


@good(source="The same with its pay as a potential")
def walks_to_the_key():
    """What coming nearer pays, going away takes back, under the agent's own discount."""

    @term(kind="shaping")
    def closer(prev, curr):
        return prev.distance - 0.99 * curr.distance

    return Reward("key", version="2", terms=[closer, key], fields=[NEAR, KEY], task=KEY_TASK)


def _tetris(*terms):
    @term(weight=-100.0, terminal=True, kind="penalty")
    def lost(lost):
        return lost

    fields = [Field("lines", low=0, high=4), Field("lost", flag=True)]
    task = Task(better={"lines": "high"}, idle={"lines": 0, "lost": False}, horizon=1000)
    return Reward("tetris", version="1", terms=[lost, *terms], fields=fields, task=task)


@bad(
    "unpriced",
    severity="advice",
    source="Murphy, The first level of Super Mario Bros. is easy (SIGBOVIK 2013): Tetris, paused for ever",
)
def pauses_for_ever():
    """Only to lose costs, and the game that is paused is never lost: the moment before the end lasts for ever."""
    return _tetris()


@good(source="The same with a price on lines")
def plays_on():
    """Lines are worth more than waiting, and to lose is still worse than to wait."""

    @term(kind="goal")
    def cleared(lines):
        return lines

    return _tetris(cleared)


def _flag(bonus):
    @term(weight=bonus, kind="bonus")
    def healthy(upright):
        return upright

    @term(terminal=True, kind="goal")
    def touched(at_flag):
        return 100 * at_flag

    def is_there(at_flag):
        return at_flag

    fields = [Field("upright", flag=True), Field("at_flag", flag=True)]
    task = Task(goal=is_there, discount=0.999, states=["upright"], idle={"upright": True}, horizon=1000)
    return Reward("flag", version="1", terms=[healthy, touched], fields=fields, task=task)


@bad("idle-floor", source="Gymnasium's Humanoid-v5: its 5 a step for being healthy, in a task that ends at a flag")
def stands_and_is_paid():
    """Standing still for the whole episode is worth some 3,000; walking to the flag ends that for 100."""
    return _flag(5.0)


@good(source="The same with a bonus that only tells standing from lying")
def walks_to_the_flag():
    """All of an episode upright is worth less than half of the flag."""
    return _flag(0.04)


def _legged(most, *, low=None, goal=None):
    @term(kind="goal")
    def tracking(velocity):
        return most - abs(velocity - 1.0)

    @term(weight=-0.5, kind="penalty")
    def tilt(angle):
        return angle * angle

    @fact
    def falls(angle, terminal):
        return terminal == (abs(angle) > 1.0)

    fields = [Field("velocity", low=-1, high=2, unit="m/s"), Field("angle", low=-1.5, high=1.5, unit="rad")]
    task = Task(
        goal=goal,
        goal_ends=goal is None,
        aim={"velocity": 1.0},
        discount=0.99,
        states=["velocity", "angle"],
        facts=[falls],
    )
    return Reward("legged", version="1", terms=[tracking, tilt], fields=fields, task=task, low=low)


def keeps_up(velocity):
    """As fast as it was told to be."""
    return abs(velocity - 1.0) < 0.1


@bad(
    "cheap-end",
    source="legged_gym's only_positive_rewards, which 'avoids early termination problems' (2021)",
    severity="advice",
)
def falls_at_once():
    """Every step costs, even the best one, and a fall ends that: the robot throws itself to the ground."""
    return _legged(-0.2)


@bad("goal-not-best", source="legged_gym once more, with the goal declared: to fall is worth more than to keep up")
def rather_falls_than_keeps_up():
    """Keeping up costs 0.2 in every step to come, and falling costs less than one second of that."""
    return _legged(-0.2, goal=keeps_up)


@good(source="legged_gym with only_positive_rewards")
def totals_clipped_at_zero():
    """No step costs anything, so none is worth escaping from, and keeping up pays."""
    return _legged(1.0, low=0.0, goal=keeps_up)


def _match(discount):
    @term(terminal=True, kind="goal")
    def won(won):
        return 1 if won else -1

    fields = [Field("won", flag=True)]
    return Reward("match", version="1", terms=[won], fields=fields, task=Task(discount=discount, horizon=20_000))


@bad("short-sighted", source="Berner et al., Dota 2 with large scale deep RL (2019), on its horizon", severity="advice")
def does_not_see_the_end_of_the_match():
    """A match has 20,000 decisions and only its end is paid; a discount of 0.99 sees a hundred of them."""
    return _match(0.99)


@good(source="Berner et al., with the horizon of five minutes that it was trained with in the end")
def sees_minutes_ahead():
    """A discount of 0.9997 sees some three thousand decisions."""
    return _match(0.9997)
