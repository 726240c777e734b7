"""A short game: one stage completed, and a death on the next."""

from typing import Any

from plaudit.systems.hackmatrix.rewards import reward

_START = {"score": 0, "hp": 3, "credits": 0, "energy": 0, "exit_distance": 4}
_STEPS: tuple[tuple[int, int, dict[str, int], dict[str, int | bool]], ...] = (
    # stage, action, what changed of the player, what happened
    (1, 3, {"exit_distance": 3}, {}),
    (1, 3, {}, {"kills": 1}),
    (1, 0, {"exit_distance": 2}, {"picked_up": True}),
    (1, 4, {"score": 5, "credits": 2, "energy": 5}, {"missed_credits": 3}),
    (1, 1, {"exit_distance": 3}, {}),  # a step back is free
    (1, 10, {"energy": 4, "hp": 2}, {}),  # WAIT, and an enemy strikes
    (1, 19, {"energy": 0, "hp": 3}, {}),  # RESET for one hit point
    (1, 0, {"exit_distance": 2}, {}),
    (1, 3, {"exit_distance": 1}, {}),
    (1, 3, {"exit_distance": 7}, {"stage_completed": True}),  # 7: on the next board
    (2, 0, {"exit_distance": 6, "hp": 1}, {}),
    (2, 0, {"exit_distance": 5, "hp": 0}, {"died": True, "siphon_death": True}),
)


def episode() -> list[dict[str, Any]]:
    """Return the rows of a game, each as keyword arguments for `reward.score`.

    >>> len(episode()), episode()[0]["curr"]
    (12, {'score': 0, 'hp': 3, 'credits': 0, 'energy': 0, 'exit_distance': 3})
    """
    nothing = {name: field.at_rest for name, field in reward.fields.items() if field.role == "event"}
    rows, player = [], dict(_START)
    for stage, action, changed, happened in _STEPS:
        before, player = player, {**player, **changed}
        rows.append({"prev": before, "curr": player, "stage": stage, "action": action, **nothing, **happened})
    return rows
