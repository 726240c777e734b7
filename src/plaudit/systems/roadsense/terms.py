"""The terms of the convoy reward: safety, comfort, appropriateness, and the reaction to warnings.

Most functions of a subject are the same term in different versions, under one name. What differs between versions only
by a number is a knob. What is remembered from step to step (a latch, a fading signal) is kept by the environment and
handed in as `braking_received`, so every function sees one step only.
"""

from plaudit import term


@term(name="safety", kind="goal")
def safety_zones(
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
def safety_ramp(
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


@term(name="comfort", kind="penalty")
def comfort_steps(
    deceleration: float,
    *,
    uncomfortable_brake_threshold: float = 3.0,
    harsh_brake_threshold: float = 4.5,
    penalty_uncomfortable: float = -2.0,
    penalty_harsh_brake: float = -10.0,
) -> float:
    """Brake gently: one price above the first threshold, a higher one above the second."""
    force = abs(deceleration)
    if force > harsh_brake_threshold:
        return penalty_harsh_brake
    if force > uncomfortable_brake_threshold:
        return penalty_uncomfortable
    return 0.0


def compute_braking_price(
    deceleration: float, gentle: float, uncomfortable: float, harsh: float, if_uncomfortable: float, if_harsh: float
) -> float:
    """Return what braking costs: nothing while gentle, then two straight lines to the price when harsh."""
    force = abs(deceleration)
    if force <= gentle:
        return 0.0
    if force <= uncomfortable:
        return if_uncomfortable * (force - gentle) / (uncomfortable - gentle)
    if force < harsh:
        return if_uncomfortable + (if_harsh - if_uncomfortable) * (force - uncomfortable) / (harsh - uncomfortable)
    return if_harsh


@term(name="comfort", kind="penalty")
def comfort_slope(
    deceleration: float,
    *,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    uncomfortable_brake_threshold: float = 3.0,
    penalty_uncomfortable: float = -2.0,
    penalty_harsh_brake: float = -10.0,
) -> float:
    """Brake gently: the harder, the more it costs."""
    return compute_braking_price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )


@term(name="comfort", kind="penalty")
def comfort_unless_peer_brakes(
    deceleration: float,
    peer_braking: bool,
    *,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    uncomfortable_brake_threshold: float = 3.0,
    penalty_uncomfortable: float = -2.0,
    penalty_harsh_brake: float = -10.0,
) -> float:
    """Brake gently; while a peer brakes, braking is free."""
    if peer_braking and abs(deceleration) >= gentle_brake_threshold:
        return 0.0
    return compute_braking_price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )


@term(name="comfort", kind="penalty")
def comfort_unless_close(
    distance: float,
    deceleration: float,
    *,
    unsafe_dist: float,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    uncomfortable_brake_threshold: float = 3.0,
    penalty_uncomfortable: float = -2.0,
    penalty_harsh_brake: float = -5.0,
) -> float:
    """Brake gently; at an unsafe distance braking is free."""
    if distance < unsafe_dist:
        return 0.0
    return compute_braking_price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )


@term(name="comfort", kind="penalty")
def comfort_by_distance(
    distance: float,
    deceleration: float,
    *,
    collision_dist: float,
    safe_dist_min: float,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    uncomfortable_brake_threshold: float = 3.0,
    penalty_uncomfortable: float = -2.0,
    penalty_harsh_brake: float = -5.0,
    smallest_share: float = 0.1,
) -> float:
    """Brake gently; the closer the car ahead, the less braking costs."""
    full = compute_braking_price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )
    if distance >= safe_dist_min:
        return full
    return full * max(smallest_share, (distance - collision_dist) / (safe_dist_min - collision_dist))


@term(name="appropriateness", kind="penalty")
def appropriateness_of_action(
    distance: float,
    action: int,
    *,
    unsafe_dist: float,
    safe_dist_max: float,
    penalty_unnecessary_alert: float = -2.0,
    penalty_missed_warning: float = -3.0,
) -> float:
    """Act as the gap asks: no Brake or Emergency (2, 3) when far away, no Maintain (0) when too close."""
    if distance > safe_dist_max and action > 1:
        return penalty_unnecessary_alert
    if distance < unsafe_dist and action == 0:
        return penalty_missed_warning
    return 0.0


@term(name="appropriateness", kind="penalty")
def appropriateness_by_degrees(
    distance: float,
    action: int,
    *,
    unsafe_dist: float,
    emergency_dist: float = 8.0,
    caution_dist: float = 20.0,
    penalty_too_little: float = -3.0,
    penalty_too_much: float = -1.0,
) -> float:
    """Act as the gap asks, the closer the harder: every degree too little costs, and every degree too much."""
    if distance < emergency_dist:
        needed = 3
    elif distance < unsafe_dist:
        needed = 2
    else:
        needed = 1 if distance < caution_dist else 0
    if action < needed:
        return penalty_too_little * (needed - action)
    if action > needed:
        return penalty_too_much * (action - needed)
    return 0.0


@term(name="appropriateness", kind="penalty")
def appropriateness_of_braking(
    distance: float,
    deceleration: float,
    *,
    unsafe_dist: float,
    safe_dist_max: float,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    penalty_unnecessary_alert: float = -2.0,
    penalty_unnecessary_harsh: float = -4.0,
    penalty_missed_warning: float = -3.0,
) -> float:
    """Brake as the gap asks: not when far away, but when too close."""
    force = abs(deceleration)
    if distance > safe_dist_max and force > gentle_brake_threshold:
        return penalty_unnecessary_harsh if force >= harsh_brake_threshold else penalty_unnecessary_alert
    if distance < unsafe_dist and force <= gentle_brake_threshold:
        return penalty_missed_warning
    return 0.0


@term(name="appropriateness", kind="penalty")
def appropriateness_when_closing(
    distance: float,
    deceleration: float,
    closing_rate: float,
    *,
    unsafe_dist: float,
    safe_dist_max: float,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    closing: float = 0.5,
    penalty_unnecessary_alert: float = -2.0,
    penalty_unnecessary_harsh: float = -4.0,
    penalty_missed_warning: float = -3.0,
) -> float:
    """Brake as the gap asks: not when far away, but when too close and coming closer."""
    force = abs(deceleration)
    if distance > safe_dist_max and force > gentle_brake_threshold:
        return penalty_unnecessary_harsh if force >= harsh_brake_threshold else penalty_unnecessary_alert
    if distance < unsafe_dist and closing_rate > closing and force <= gentle_brake_threshold:
        return penalty_missed_warning
    return 0.0


@term(name="early_reaction", kind="bonus")
def early_when_peer_brakes(
    distance: float,
    deceleration: float,
    peer_braking: bool,
    *,
    gentle_brake_threshold: float,
    early_dist: float = 10.0,
    reward_early: float = 2.0,
) -> float:
    """Brake while a peer brakes and there is still room."""
    if peer_braking and distance > early_dist and abs(deceleration) >= gentle_brake_threshold:
        return reward_early
    return 0.0


@term(name="early_reaction", kind="bonus")
def early_when_warned(
    distance: float,
    deceleration: float,
    braking_received: float,
    *,
    gentle_brake_threshold: float,
    faintest: float = 0.01,
    early_dist: float = 15.0,
    reward_early: float = 2.0,
) -> float:
    """Brake on a warning while there is still room; a fading warning pays less."""
    if braking_received > faintest and distance > early_dist and abs(deceleration) > gentle_brake_threshold:
        return reward_early * braking_received
    return 0.0


@term(name="early_reaction", kind="bonus")
def early_when_warned_afresh(
    distance: float,
    deceleration: float,
    braking_received: float,
    fresh_braking: bool,
    *,
    gentle_brake_threshold: float,
    faintest: float = 0.01,
    early_dist: float = 15.0,
    reward_early: float = 2.0,
) -> float:
    """Brake on a warning while there is still room; a peer braking right now warns at full strength."""
    strength = 1.0 if fresh_braking else braking_received
    if strength > faintest and distance > early_dist and abs(deceleration) > gentle_brake_threshold:
        return reward_early * strength
    return 0.0


@term(name="ignored_warning", kind="penalty")
def ignored_peer(
    distance: float,
    deceleration: float,
    peer_braking: bool,
    *,
    gentle_brake_threshold: float,
    near_dist: float = 30.0,
    penalty_ignored: float = -5.0,
) -> float:
    """Do nothing while a peer brakes nearby."""
    if peer_braking and distance <= near_dist and abs(deceleration) < gentle_brake_threshold:
        return penalty_ignored
    return 0.0


@term(name="ignored_warning", kind="penalty")
def ignored(
    deceleration: float,
    braking_received: float,
    *,
    gentle_brake_threshold: float,
    faintest: float = 0.01,
    penalty_ignored: float = -5.0,
) -> float:
    """Do nothing on a warning."""
    if braking_received > faintest and abs(deceleration) <= gentle_brake_threshold:
        return penalty_ignored * braking_received
    return 0.0


@term(name="ignored_warning", kind="penalty")
def ignored_while_moving(
    deceleration: float,
    braking_received: float,
    ego_speed: float,
    *,
    gentle_brake_threshold: float,
    faintest: float = 0.01,
    standstill: float = 0.5,
    penalty_ignored: float = -5.0,
) -> float:
    """Do nothing on a warning, unless the car stands still already; a fading warning costs less."""
    if ego_speed > standstill and braking_received > faintest and abs(deceleration) <= gentle_brake_threshold:
        return penalty_ignored * braking_received
    return 0.0


@term(name="ignored_warning", kind="penalty")
def ignored_from_strength(
    deceleration: float,
    braking_received: float,
    ego_speed: float,
    *,
    gentle_brake_threshold: float,
    weakest: float = 0.01,
    standstill: float = 0.5,
    penalty_ignored: float = -5.0,
) -> float:
    """Do nothing on a warning of a given strength or more, unless the car stands still already."""
    if ego_speed > standstill and braking_received >= weakest and abs(deceleration) <= gentle_brake_threshold:
        return penalty_ignored * braking_received
    return 0.0


@term(name="ignored_warning", kind="penalty")
def ignored_in_danger(
    distance: float,
    deceleration: float,
    closing_rate: float,
    braking_received: float,
    fresh_braking: bool,
    ego_speed: float,
    *,
    gentle_brake_threshold: float,
    weakest: float = 0.15,
    needs_danger: bool = False,
    danger_dist: float = 20.0,
    closing: float = 0.5,
    standstill: float = 0.5,
    penalty_ignored: float = -5.0,
) -> float:
    """Do nothing on a warning, strong or right now; with `needs_danger`, only at a short or closing gap."""
    strength = 1.0 if fresh_braking else braking_received
    danger = not needs_danger or closing_rate > closing or distance < danger_dist
    if ego_speed > standstill and strength >= weakest and danger and abs(deceleration) <= gentle_brake_threshold:
        return penalty_ignored * strength
    return 0.0


def compute_gap_share(
    distance: float, collision_dist: float, safe_dist_min: float, safe_dist_max: float, lost_dist: float
) -> float:
    """Return how much of its pay a gap earns: nothing at a collision, all of it when safe, nothing once it is lost."""
    if distance <= collision_dist or distance >= lost_dist:
        return 0.0
    if distance < safe_dist_min:
        return (distance - collision_dist) / (safe_dist_min - collision_dist)
    if distance <= safe_dist_max:
        return 1.0
    return (lost_dist - distance) / (lost_dist - safe_dist_max)


@term(name="safety", kind="goal")
def safety_gap(
    distance: float,
    collision: bool,
    *,
    collision_dist: float,
    safe_dist_min: float,
    safe_dist_max: float,
    lost_dist: float,
    reward_safe: float = 1.0,
    reward_collision: float = -1000.0,
) -> float:
    """Keep a safe gap. A collision costs all that an episode of 1000 steps can earn, so none is worth it."""
    if collision:
        return reward_collision
    return reward_safe * compute_gap_share(distance, collision_dist, safe_dist_min, safe_dist_max, lost_dist)


@term(name="comfort", kind="penalty")
def comfort_of_gap(
    distance: float,
    deceleration: float,
    *,
    collision_dist: float,
    safe_dist_min: float,
    safe_dist_max: float,
    lost_dist: float,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    penalty_harsh_brake: float = -0.2,
) -> float:
    """Brake gently: harsh braking costs up to a fifth of what the gap earns."""
    share = compute_gap_share(distance, collision_dist, safe_dist_min, safe_dist_max, lost_dist)
    harshness = (abs(deceleration) - gentle_brake_threshold) / (harsh_brake_threshold - gentle_brake_threshold)
    return penalty_harsh_brake * share * min(1.0, max(0.0, harshness))


@term(name="appropriateness", kind="penalty")
def appropriateness_of_gap(
    distance: float,
    deceleration: float,
    closing_rate: float,
    *,
    collision_dist: float,
    unsafe_dist: float,
    safe_dist_min: float,
    gentle_brake_threshold: float,
    closing: float = 0.5,
    penalty_missed_warning: float = -0.5,
) -> float:
    """Brake when the car ahead is too close and comes closer: not to do so costs half of what the gap earns."""
    if distance >= unsafe_dist or closing_rate <= closing or abs(deceleration) > gentle_brake_threshold:
        return 0.0
    return penalty_missed_warning * max(0.0, distance - collision_dist) / (safe_dist_min - collision_dist)
