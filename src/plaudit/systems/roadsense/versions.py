"""The convoy reward through time: R0 as first specified, what each later version changed, and three repairs of R0.

`episode` is a small drive that visits every zone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from plaudit import Field, Reward, Term
from plaudit.plugins.registry import validate_label
from plaudit.systems.roadsense import terms
from plaudit.systems.roadsense.fields import (
    ACTION,
    CLOSING_RATE,
    COLLISION,
    DECELERATION,
    DISTANCE,
    EGO_SPEED,
    FRESH_BRAKING,
    PEER_BRAKING,
    PEER_WARNED_EVER,
    WARNED_EVER,
    WARNED_FADING,
    WARNED_NOW,
)
from plaudit.systems.roadsense.task import find_task

Knobs = dict[str, float | bool]

WIDE: Knobs = {"unsafe_dist": 15.0, "safe_dist_max": 40.0}
BRAKING: Knobs = {"gentle_brake_threshold": 0.5, "harsh_brake_threshold": 4.5}
NARROW: Knobs = {"unsafe_dist": 10.0, "safe_dist_max": 35.0, **BRAKING}
RAMP: Knobs = {"collision_dist": 5.0, "safe_dist_min": 20.0, **NARROW}

GAP = (DISTANCE, DECELERATION, CLOSING_RATE)
FROM_R2 = (terms.safety_zones, terms.comfort_slope, terms.appropriateness_when_closing)
FROM_R7 = (terms.safety_ramp, terms.comfort_by_distance, terms.appropriateness_when_closing)
SOONER: Knobs = {"safe_dist_min": 15.0}
CHEAP_BRAKING: Knobs = {
    "uncomfortable_brake_threshold": 1.0,
    "harsh_brake_threshold": 3.0,
    "penalty_uncomfortable": -0.5,
    "penalty_harsh_brake": -1.5,
}


@dataclass(frozen=True)
class Recipe:
    """What a version is made of; `knobs` are those of a term that depart from its defaults."""

    change: str
    terms: Sequence[Term]
    fields: Sequence[Field]
    shared: Knobs
    knobs: Mapping[str, Knobs] = field(default_factory=dict)
    action: str = "deceleration"


RECIPES = {
    "R0": Recipe(
        "Follow a convoy: keep a safe distance, brake gently, and act as the distance asks.",
        [terms.safety_zones, terms.comfort_steps, terms.appropriateness_of_action],
        [DISTANCE, DECELERATION, ACTION],
        WIDE,
        action="action",
    ),
    "R1": Recipe(
        "R0 for braking by degrees: comfort along straight lines, appropriateness told from the braking.",
        [terms.safety_zones, terms.comfort_slope, terms.appropriateness_of_braking],
        [DISTANCE, DECELERATION],
        {**WIDE, **BRAKING},
    ),
    "R2": Recipe(
        "R1 with shorter zones; a warning is missed only while the gap closes.",
        FROM_R2,
        GAP,
        NARROW,
        {"safety": SOONER},
    ),
    "R3": Recipe(
        "R2 and a bonus for braking early while a peer brakes.",
        [*FROM_R2, terms.early_when_peer_brakes],
        [*GAP, PEER_BRAKING],
        NARROW,
        {"safety": SOONER},
    ),
    "R4": Recipe(
        "R3 and a penalty for doing nothing while a peer brakes; braking is free then.",
        [
            terms.safety_zones,
            terms.comfort_unless_peer_brakes,
            terms.appropriateness_when_closing,
            terms.early_when_peer_brakes,
            terms.ignored_peer,
        ],
        [*GAP, PEER_BRAKING],
        NARROW,
        {"safety": SOONER},
    ),
    "R5": Recipe("R2 again: both reactions to peers are gone.", FROM_R2, GAP, NARROW, {"safety": SOONER}),
    "R6": Recipe(
        "R5 with more for safety and less for harsh braking, which is free at an unsafe distance.",
        [terms.safety_zones, terms.comfort_unless_close, terms.appropriateness_when_closing],
        GAP,
        NARROW,
        {"safety": {**SOONER, "reward_safe": 3.0}},
    ),
    "R7": Recipe(
        "A ramp instead of zones, a price for hanging back, and braking cheaper at short distances.",
        FROM_R7,
        GAP,
        RAMP,
        {"safety": {"reward_safe": 3.0, "reward_far": -1.0}},
    ),
    "R8": Recipe("R7 with a steeper ramp and a higher price for hanging back.", FROM_R7, GAP, RAMP),
    "R9": Recipe(
        "R8 with a bonus and a penalty for the reaction to the hazard's warning, in the step it arrives.",
        [*FROM_R7, terms.early_when_warned, terms.ignored],
        [*GAP, WARNED_NOW],
        RAMP,
    ),
    "R9L": Recipe(
        "R9 with the warning latched until the episode ends.",
        [*FROM_R7, terms.early_when_warned, terms.ignored],
        [*GAP, WARNED_EVER],
        RAMP,
    ),
    "R10": Recipe(
        "R9L with the latch that the driver sees too, set by any peer; a standing car ignores nothing.",
        [*FROM_R7, terms.early_when_warned, terms.ignored_while_moving],
        [*GAP, PEER_WARNED_EVER, EGO_SPEED],
        RAMP,
    ),
    "R11": Recipe(
        "R10 with a warning that fades instead of a latch.",
        [*FROM_R7, terms.early_when_warned, terms.ignored_while_moving],
        [*GAP, WARNED_FADING, EGO_SPEED],
        RAMP,
    ),
    "R12": Recipe(
        "R11 with a threshold of its own for the penalty.",
        [*FROM_R7, terms.early_when_warned, terms.ignored_from_strength],
        [*GAP, WARNED_FADING, EGO_SPEED],
        RAMP,
    ),
    "R12a2": Recipe(
        "R12a as its origin has it: a peer braking now makes the penalty full, and leaves the bonus as it is.",
        [*FROM_R7, terms.early_when_warned, terms.ignored_in_danger],
        [*GAP, WARNED_FADING, FRESH_BRAKING, EGO_SPEED],
        RAMP,
        {"ignored_warning": {"weakest": 0.3, "needs_danger": True}},
    ),
    "R12b2": Recipe(
        "R12b as its origin has it: R12a2 with a lower threshold, in danger or not.",
        [*FROM_R7, terms.early_when_warned, terms.ignored_in_danger],
        [*GAP, WARNED_FADING, FRESH_BRAKING, EGO_SPEED],
        RAMP,
    ),
    "R12a": Recipe(
        "R12 with a high threshold, a peer braking now at full strength, and the penalty only in danger.",
        [*FROM_R7, terms.early_when_warned_afresh, terms.ignored_in_danger],
        [*GAP, WARNED_FADING, FRESH_BRAKING, EGO_SPEED],
        RAMP,
        {"ignored_warning": {"weakest": 0.3, "needs_danger": True}},
    ),
    "R12b": Recipe(
        "R12a with a lower threshold, in danger or not.",
        [*FROM_R7, terms.early_when_warned_afresh, terms.ignored_in_danger],
        [*GAP, WARNED_FADING, FRESH_BRAKING, EGO_SPEED],
        RAMP,
    ),
    "graded": Recipe(
        "R0 repaired: each action is the best one at some distance, and falling far behind pays nothing.",
        [terms.safety_zones, terms.comfort_steps, terms.appropriateness_by_degrees],
        [DISTANCE, DECELERATION, ACTION],
        WIDE,
        {"safety": {"reward_far": 0.0}, "comfort": CHEAP_BRAKING},
        action="action",
    ),
    "following": Recipe(
        "graded with a price for falling far behind, so that parking pays less than braking for a warning.",
        [terms.safety_zones, terms.comfort_steps, terms.appropriateness_by_degrees],
        [DISTANCE, DECELERATION, ACTION],
        WIDE,
        {"safety": {"reward_far": -2.0}, "comfort": CHEAP_BRAKING},
        action="action",
    ),
    "keep_gap": Recipe(
        "R0 repaired: a step earns from 0 to 1 for its gap, and a collision costs all that an episode can earn.",
        [terms.safety_gap, terms.comfort_of_gap, terms.appropriateness_of_gap],
        [*GAP, COLLISION],
        {**WIDE, **BRAKING, "collision_dist": 5.0, "safe_dist_min": 20.0, "lost_dist": 100.0},
    ),
}

VERSIONS = tuple(RECIPES)
"""The labels of all versions, the default first."""


@cache
def version(label: str) -> Reward:
    """Return the convoy reward in the version called `label`.

    >>> version("R8").score(distance=30.0, deceleration=1.0, closing_rate=0.0).total
    3.6
    """
    recipe = RECIPES[validate_label("roadsense", label, VERSIONS)]
    made = Reward(
        "roadsense",
        version=label,
        terms=recipe.terms,
        fields=recipe.fields,
        action=recipe.action,
        shared=recipe.shared,
        task=find_task(recipe.fields),
        doc=recipe.change,
    )
    return made.with_params(recipe.knobs)


reward = version("R0")


_DRIVE = (
    # distance (m), deceleration (m/s²), action
    (float("inf"), 0.0, 0),  # nobody ahead
    (48.0, 2.0, 2),  # far away: braking for nothing
    (41.0, 0.5, 1),
    (32.0, 0.0, 0),  # following
    (24.0, 0.0, 0),
    (18.0, 0.5, 1),  # the car ahead slows down
    (14.0, 0.0, 0),  # too close, and nothing done about it
    (9.0, 2.0, 2),
    (6.0, 4.5, 3),  # uncomfortable
    (4.0, 4.5, 3),  # contact
    (12.0, 0.5, 1),
    (26.0, 0.0, 0),  # following again
)


def episode() -> list[dict[str, float]]:
    """Return the steps of a short drive for `reward.score`.

    Returns:
        Keyword arguments, one dict per step.

    >>> len(episode()), episode()[3]
    (12, {'distance': 32.0, 'deceleration': 0.0, 'action': 0})
    """
    return [
        {"distance": distance, "deceleration": deceleration, "action": action}
        for distance, deceleration, action in _DRIVE
    ]
