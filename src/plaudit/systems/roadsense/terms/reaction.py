"""What the radio said and whether the car reacted: a bonus for braking early, a penalty for doing nothing.

What is remembered from step to step (a latch, a fading signal) is kept by the environment and handed in as
`braking_received`, so every function here sees one step only.
"""

from plaudit import term


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
