"""The colours of all pictures, from the set of Okabe and Ito, which the colour-blind can tell apart."""

PAPER = "#ffffff"
INK = "#1f2933"
FAINT = "#5c6773"
"""Of captions: still 5 to 1 against the paper."""
GROUND = "#e6e9ed"
ASPHALT = "#4b5158"
MARKING = "#ffffff"
POST = "#aab2bb"

EGO = "#56b4e9"
PEER = "#d8dce1"
GLASS = "#23292f"
BRAKE_LIGHT = "#ff2a1f"
REAR_LIGHT = "#7d2b27"
HAZARD = "#d55e00"
HEARD = "#0072b2"

COLLISION = "#d55e00"
UNSAFE = "#e69f00"
SAFE = "#009e73"

GAIN = "#00664b"
LOSS = "#b34700"
"""The colours of numbers: bluish green and vermilion, dark enough to be read as text."""

LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Of cars and terms in a chart, in this order."""


def mix(color: str, share: float, ground: str) -> str:
    """Return a colour laid thinly over a ground.

    >>> mix("#ffffff", 0.5, "#000000")
    '#808080'
    """
    parts = [(int(color[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(own * share + below * (1 - share)):02x}" for own, below in parts)


COLLISION_LANE = mix(COLLISION, 0.85, ASPHALT)
UNSAFE_LANE = mix(UNSAFE, 0.65, ASPHALT)
SAFE_LANE = mix(SAFE, 0.6, ASPHALT)
GLOW = mix(BRAKE_LIGHT, 0.55, ASPHALT)

DRAWN = (
    PAPER, INK, FAINT, GROUND, ASPHALT, POST, EGO, PEER, GLASS, BRAKE_LIGHT, REAR_LIGHT, HAZARD, HEARD, GAIN, LOSS,
    COLLISION_LANE, UNSAFE_LANE, SAFE_LANE, GLOW,
)  # fmt: skip
"""All that a view from above is drawn in."""
