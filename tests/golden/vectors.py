"""Rewards over vectors in the language of 0.1, whose fingerprints and specifications are kept."""

from math import exp, sqrt

from plaudit import Field, Reward, term

GOAL = (1.0, 0.5, -0.25)
POSE = (0.1, -0.2, 0.3, 0.0)


def distance(position):
    return sqrt(sum((a - b) ** 2 for a, b in zip(position, GOAL, strict=True)))


@term
def arrive(prev, curr, *, radius=0.1):
    if distance(curr.position) < radius:
        return 1
    return distance(prev.position) - distance(curr.position)


@term(weight=-0.01)
def effort(torque, *, most=40.0):
    return min(sum(t * t for t in torque), most) + max(abs(t) for t in torque) / len(torque)


@term(weight=0.5)
def pose(joints, torque):
    worst = max(-t if t < 0 else t for t in torque)
    return exp(-sum((j - p) ** 2 for j, p in zip(joints, POSE, strict=True)) / 0.25) * (1.0 if worst < 3 else 0.5)


@term
def feet(contact, force, mood):
    calm = sum(m == "calm" for m in mood)
    touching = any(contact) and not all(contact)
    return (sum(f for f in force) if touching else min(force)) + 0.1 * calm + contact[-1]


@term(weight=-1.0)
def alive(height, force, spare):
    chosen = force if height > 0.3 else spare
    return sum(chosen) + (1 if any(f > 4 for f in chosen) else 0)


POSITION = Field("position", length=3, low=-2, high=2, unit="m")
TORQUE = Field("torque", length=4, low=-10, high=10)
FORCE = Field("force", length=4, low=0, high=50, outside="clip")

arm = Reward("arm", version="1", terms=[arrive, effort], fields=[POSITION, TORQUE])
legs = Reward("legs", version="1", terms=[effort, pose], fields=[TORQUE, Field("joints", length=4, low=-1, high=1)])
walk = Reward(
    "walk",
    version="1",
    terms=[feet, alive],
    fields=[
        Field("contact", flag=True, length=4),
        FORCE,
        Field("mood", values=("calm", "wild"), length=2),
        Field("height", low=0, high=2),
        Field("spare", length=4, low=0, high=50),
    ],
)
VECTOR_REWARDS = {each.name: each for each in (arm, legs, walk)}
