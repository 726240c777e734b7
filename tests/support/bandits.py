"""Learners of every kind, and random decisions for them: what the tests of `plaudit.learn` share."""

from hypothesis import strategies as st

from plaudit import Field, Ledger, Reward, learn, term

ACTIONS = ("stay", "star", "chain", "flat")
FEATURES = ("load", "share", "headroom")

LINEAR = {
    "epsilon_ridge": learn.epsilon_ridge(ACTIONS, FEATURES),
    "linucb": learn.linucb(ACTIONS, FEATURES),
    "linucb by squarecb": learn.linucb(ACTIONS, FEATURES, mix="squarecb"),
    "greedy": learn.linucb(ACTIONS, FEATURES, alpha=0.0),
    "squarecb": learn.squarecb(ACTIONS, FEATURES),
    "linear_thompson": learn.linear_thompson(ACTIONS, FEATURES),
}
ARMS = {
    "epsilon_greedy": learn.epsilon_greedy(ACTIONS),
    "ucb1": learn.ucb1(ACTIONS),
    "thompson": learn.thompson(ACTIONS),
}
LEARNERS = LINEAR | ARMS
BANDIT = LINEAR["linucb"]
X = (1.0, 0.5, 0.2)

contexts = st.tuples(*[st.floats(-3, 3) for _ in FEATURES])
rewards = st.floats(-1, 1)


def plain(learner):
    """Return the learner without machine code: as it is where Numba is not installed."""
    twin = type(learner)(**{name: getattr(learner, name) for name in learner.__dataclass_fields__ if name != "kind"})
    twin.__dict__["_compiled"] = None
    return twin


def context_of(learner, context):
    """Return the context if the learner reads one."""
    return context if learner.features else None


def run_steps(learner, steps, key=7):
    """Return the state after choosing and learning through `steps`, pairs of a context and a reward."""
    state = learner.init()
    for context, reward in steps:
        decision = learner.choose(state, key, context_of(learner, context))
        state = learner.update(state, decision, reward)
    return state


def same(one, other):
    """Return whether two states are equal to the bit."""
    return all((a == b).all() if hasattr(a, "shape") else a == b for a, b in zip(one, other, strict=True))


@term
def gain(delta):
    """Gain."""
    return delta


REWARD = Reward("gain", version="1", terms=[gain], fields=[Field("delta", low=-1, high=1)])


def shared(ledger, learner=BANDIT, **options):
    """Return a learner whose memory is the ledger."""
    return learn.SharedLearner(ledger, learner, decision_class="topology", **options)


def credit_often(place, seed, count):
    """Choose and credit `count` times: what a process of its own does, with a learner that needs no machine code."""
    with Ledger(place) as ledger:
        bandit = shared(ledger, ARMS["ucb1"], seed=seed)
        for _ in range(count):
            bandit.credit(bandit.choose(), REWARD.score(delta=0.25), actor=str(seed))
