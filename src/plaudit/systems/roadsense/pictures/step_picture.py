"""A recorded step from above, as SVG for the page: the car, the one ahead of it, and the zones of the reward.

A record holds what was measured, and not where the cars were: the road is straight here, the nearest car ahead is drawn
at its distance, and cars that were only heard are not drawn at all. Along the road it is to scale; across, twice that.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Zones, find_zones

if TYPE_CHECKING:
    from plaudit import Record, Reward

ACTIONS = ("Maintain", "Caution", "Brake", "Emergency")
WIDTH, HEIGHT = 340, 130
SCALE = 5.0
"""Pixels for a metre along the road."""
BUMPER = 40.0
"""Where the front of the own car is."""
MIDDLE = 50.0
"""Where the middle of the lane is."""
LANE = 32.0
CAR = 25.0
"""The length of a car, 5 m; distances are from front to front."""
BRAKING = 0.5
"""The deceleration in m/s² at which brake lights come on."""
_WARNINGS = ("braking_received", "warned_fading", "warned_ever", "peer_warned_ever")

_find_zones = lru_cache(maxsize=16)(find_zones)


def draw_step(record: "Record", reward: "Reward") -> str | None:
    """Draw a recorded step as SVG.

    Args:
        record: A record of a ledger.
        reward: Its reward.

    Returns:
        The SVG; None for a record without a distance.

    Example:
        with Ledger("rewards.db") as ledger:
            svg = draw_step(ledger[1], reward)
    """
    inputs = record.signal.inputs
    if "distance" not in inputs:
        return None
    distance = float(inputs["distance"])
    parts = [
        f"<title>{_describe(distance, inputs)}</title>",
        *_draw_lane(_find_zones(reward)),
        *_draw_gap(distance),
        *_draw_ahead(distance, inputs),
        *_draw_car(BUMPER, colors.EGO, braking=_measure(inputs, "deceleration") >= BRAKING),
        *_draw_warning(inputs),
        *_draw_captions(inputs),
    ]
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" font-size="13" fill="var(--ink)">{"".join(parts)}</svg>'


def _measure(inputs: Mapping[str, Any], name: str) -> float:
    """Return what was measured; 0 where that version of the reward does not read it."""
    return float(inputs.get(name, 0.0))


# -- in words ---------------------------------------------------------------------------------------------------------


def _describe(distance: float, inputs: Mapping[str, Any]) -> str:
    ahead = f"The car ahead is {distance:.1f} m away" if math.isfinite(distance) else "There is no car ahead"
    warned = "a warning was heard" if any(_measure(inputs, name) > 0 for name in _WARNINGS) else ""
    return ", ".join(filter(None, [ahead, warned, _describe_action(inputs), _describe_braking(inputs)])) + "."


def _describe_action(inputs: Mapping[str, Any]) -> str:
    action = _measure(inputs, "action")
    return ACTIONS[int(action)] if "action" in inputs and action in range(len(ACTIONS)) else ""


def _describe_braking(inputs: Mapping[str, Any]) -> str:
    deceleration = _measure(inputs, "deceleration")
    if not deceleration:
        return ""
    return f"{'brakes' if deceleration > 0 else 'speeds up'} at {abs(deceleration):.1f} m/s²"


# -- in shapes --------------------------------------------------------------------------------------------------------


def _draw_lane(zones: Zones | None) -> Iterator[str]:
    top = MIDDLE - LANE / 2
    yield f'<rect y="{top:g}" width="{WIDTH}" height="{LANE:g}" fill="{colors.ASPHALT}"/>'
    if zones is not None:
        ends = (0.0, zones.collision, zones.unsafe, zones.safe_from, zones.safe_to)
        tints = (colors.COLLISION_LANE, colors.UNSAFE_LANE, colors.ASPHALT, colors.SAFE_LANE)
        for start, end, tint in zip(ends, ends[1:], tints, strict=False):
            x, width = BUMPER + start * SCALE, (end - start) * SCALE
            yield f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{LANE:g}" fill="{tint}"/>'
    for edge in (top + 2, top + LANE - 2):
        yield f'<path d="M0 {edge:g}H{WIDTH}" stroke="{colors.MARKING}" stroke-dasharray="10 8" opacity="0.7"/>'


def _draw_car(front: float, color: str, *, braking: bool) -> Iterator[str]:
    back, top = front - CAR, MIDDLE - 9
    if braking:
        glow = f'fill="{colors.BRAKE_LIGHT}" opacity="0.45"'
        yield f'<rect x="{back - 7:.1f}" y="{top:g}" width="9" height="18" rx="4" {glow}/>'
    paint = f'fill="{color}" stroke="{colors.GLASS}"'
    yield f'<rect x="{back:.1f}" y="{top:g}" width="{CAR:g}" height="18" rx="5" {paint}/>'
    yield f'<rect x="{front - 11:.1f}" y="{top + 3:g}" width="4" height="12" rx="1.5" fill="{colors.GLASS}"/>'
    light = colors.BRAKE_LIGHT if braking else colors.REAR_LIGHT
    for y in (top + 1.5, top + 11.5):
        yield f'<rect x="{back:.1f}" y="{y:g}" width="2.5" height="5" fill="{light}"/>'


def _draw_ahead(distance: float, inputs: Mapping[str, Any]) -> Iterator[str]:
    front = BUMPER + distance * SCALE
    if front - CAR < WIDTH:
        yield from _draw_car(front, colors.PEER, braking=bool(_measure(inputs, "fresh_braking")))
    elif math.isfinite(distance):
        line = f'fill="none" stroke="{colors.MARKING}" stroke-width="2"'
        yield f'<path d="M{WIDTH - 16} {MIDDLE - 6:g}l9 6l-9 6" {line}/>'


def _draw_gap(distance: float) -> Iterator[str]:
    y = MIDDLE + LANE / 2 + 11
    if not math.isfinite(distance):
        yield f'<text x="{BUMPER:g}" y="{y + 5:g}" fill="var(--quiet)">no car ahead</text>'
        return
    end = BUMPER + distance * SCALE
    inside = end < WIDTH - 6
    line = f"M{BUMPER:g} {y - 4:g}v8m0 -4H{min(end, WIDTH - 6):.1f}" + ("m0 -4v8" if inside else "l-5 -3m5 3l-5 3")
    yield f'<path d="{line}" fill="none" stroke="var(--quiet)"/>'
    middle = (BUMPER + min(end, WIDTH)) / 2
    yield f'<text x="{max(middle, BUMPER):.1f}" y="{y + 18:g}" text-anchor="middle">{distance:.1f} m</text>'


def _draw_warning(inputs: Mapping[str, Any]) -> Iterator[str]:
    """Draw waves over the own car while a warning is remembered, the fainter the older it is."""
    strength = max((_measure(inputs, name) for name in _WARNINGS), default=0.0)
    if strength <= 0:
        return
    waves = "".join(f"M{28 - r} {28 - r / 2:g}a{r} {r} 0 0 1 {2 * r} 0" for r in (4, 8, 12))
    opacity = f"{0.3 + 0.7 * min(1.0, strength):.2f}"
    yield f'<path d="{waves}" fill="none" stroke="var(--accent)" stroke-width="1.8" opacity="{opacity}"/>'
    yield f'<text x="46" y="26" fill="var(--accent)" opacity="{opacity}">warned</text>'


def _draw_captions(inputs: Mapping[str, Any]) -> Iterator[str]:
    said = " · ".join(filter(None, [_describe_action(inputs), _describe_braking(inputs)]))
    yield f'<text x="6" y="{HEIGHT - 6}" font-weight="600">{said}</text>'
    numbers = [f"{inputs['ego_speed']:.1f} m/s" if "ego_speed" in inputs else ""]
    numbers += [f"closing at {inputs['closing_rate']:.1f} m/s" if "closing_rate" in inputs else ""]
    place = f'x="{WIDTH - 6}" y="14" text-anchor="end" fill="var(--quiet)"'
    yield f"<text {place}>{' · '.join(filter(None, numbers))}</text>"
