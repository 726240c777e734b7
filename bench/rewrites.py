"""R0 of roadsense written again as one function: once the same, and with slips."""


def rewritten(distance, deceleration, action):
    """Compute R0 of roadsense in other words: sums of steps instead of zones, max for abs."""
    near = -95 if distance < 5 else 0
    unsafe = -5 if distance < 15 else 0
    safe = 0.5 if 20 <= distance <= 40 else 0
    far = 0.5 if distance >= 20 else 0
    force = max(deceleration, -deceleration)
    rough = -8 * (force > 4.5) - 2 * (force > 3.0)
    odd = -2 if distance > 40 and (action == 2 or action == 3) else (-3 if action <= 0 and distance < 15 else 0)
    return odd + rough + far + safe + unsafe + near


def strict(distance, deceleration, action):
    """Leave out the very edge of the safe zone."""
    near = -95 if distance < 5 else 0
    unsafe = -5 if distance < 15 else 0
    safe = 0.5 if 20 < distance <= 40 else 0
    far = 0.5 if distance > 20 else 0
    force = max(deceleration, -deceleration)
    rough = -8 * (force > 4.5) - 2 * (force > 3.0)
    odd = -2 if distance > 40 and (action == 2 or action == 3) else (-3 if action <= 0 and distance < 15 else 0)
    return odd + rough + far + safe + unsafe + near


def without_a_zone(distance, deceleration, action):
    """Forget the unsafe zone."""
    near = -100 if distance < 5 else 0
    good = 1 if 20 <= distance <= 40 else (0.5 if distance > 40 else 0)
    force = abs(deceleration)
    rough = -10 if force > 4.5 else (-2 if force > 3.0 else 0)
    odd = -2 if distance > 40 and action > 1 else (-3 if action == 0 and distance < 15 else 0)
    return near + good + rough + odd
