"""How far ahead the next car is: first as five zones, later as a ramp."""

from plaudit import term


@term(name="safety", kind="goal")
def zones(
    distance: float,
    *,
    unsafe_dist: float,
    safe_dist_max: float,
    collision_dist: float = 5.0,
    safe_dist_min: float = 20.0,
    reward_collision: float = -100.0,
    reward_unsafe: float = -5.0,
    reward_safe: float = 1.0,
    reward_far: float = 0.5,
) -> float:
    """Stay in the safe zone: collision, unsafe, neutral, safe and far have a price each."""
    if distance < collision_dist:
        return reward_collision
    if distance < unsafe_dist:
        return reward_unsafe
    if safe_dist_min <= distance <= safe_dist_max:
        return reward_safe
    if distance > safe_dist_max:
        return reward_far
    return 0.0


@term(name="safety", kind="goal")
def ramp(
    distance: float,
    *,
    collision_dist: float,
    safe_dist_min: float,
    safe_dist_max: float,
    reward_collision: float = -100.0,
    reward_unsafe: float = -5.0,
    reward_safe: float = 4.0,
    reward_far: float = -2.0,
) -> float:
    """Stay in the safe zone: every metre towards it pays a little more."""
    if distance < collision_dist:
        return reward_collision
    if distance < safe_dist_min:
        rise = (reward_safe - reward_unsafe) * (distance - collision_dist)
        return reward_unsafe + rise / (safe_dist_min - collision_dist)
    if distance <= safe_dist_max:
        return reward_safe
    return reward_far
