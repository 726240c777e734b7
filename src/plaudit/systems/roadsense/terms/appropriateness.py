"""Whether the car brakes for nothing, or not at all: told from the action, later from the braking."""

from plaudit import term


@term(name="appropriateness", kind="penalty")
def of_action(
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
def by_degrees(
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
        asked = 3
    elif distance < unsafe_dist:
        asked = 2
    else:
        asked = 1 if distance < caution_dist else 0
    if action < asked:
        return penalty_too_little * (asked - action)
    if action > asked:
        return penalty_too_much * (action - asked)
    return 0.0


@term(name="appropriateness", kind="penalty")
def of_braking(
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
def when_closing(
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
