"""A small convoy drive that visits every zone."""

_DRIVE = (
    # distance (m), deceleration (m/s²), action
    (float("inf"), 0.0, 0),  # nobody ahead
    (48.0, 2.0, 2),  # far away: braking for nothing
    (41.0, 0.5, 1),
    (32.0, 0.0, 0),  # following
    (24.0, 0.0, 0),
    (18.0, 0.5, 1),  # the car ahead slows down
    (14.0, 0.0, 0),  # too close, and nothing done about it
    (9.0, 3.5, 2),
    (6.0, 5.0, 3),  # harsh
    (4.0, 4.5, 3),  # contact
    (12.0, 1.0, 1),
    (26.0, 0.0, 0),  # following again
)


def episode() -> list[dict[str, float]]:
    """Return the rows of a drive, each as keyword arguments for `reward.score`.

    >>> len(episode()), episode()[3]
    (12, {'distance': 32.0, 'deceleration': 0.0, 'action': 0})
    """
    return [
        {"distance": distance, "deceleration": deceleration, "action": action}
        for distance, deceleration, action in _DRIVE
    ]
