"""How hard the car brakes: first in steps, later along straight lines that some situations waive."""

from plaudit import term


@term(name="comfort", kind="penalty")
def steps(
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


def price(
    deceleration: float,
    gentle: float,
    uncomfortable: float,
    harsh: float,
    if_uncomfortable: float,
    if_harsh: float,
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
def slope(
    deceleration: float,
    *,
    gentle_brake_threshold: float,
    harsh_brake_threshold: float,
    uncomfortable_brake_threshold: float = 3.0,
    penalty_uncomfortable: float = -2.0,
    penalty_harsh_brake: float = -10.0,
) -> float:
    """Brake gently: the harder, the more it costs."""
    return price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )


@term(name="comfort", kind="penalty")
def unless_peer_brakes(
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
    return price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )


@term(name="comfort", kind="penalty")
def unless_close(
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
    return price(
        deceleration,
        gentle_brake_threshold,
        uncomfortable_brake_threshold,
        harsh_brake_threshold,
        penalty_uncomfortable,
        penalty_harsh_brake,
    )


@term(name="comfort", kind="penalty")
def by_distance(
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
    full = price(
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
