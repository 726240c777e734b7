"""A hazard as an environment tells of it in every step."""

from typing import Any

from plaudit.systems.roadsense.hazard.injector import HazardInjector


def told(hazard: HazardInjector) -> dict[str, Any]:
    """Return what is known of the hazard of an episode, under the names that `info` has for it.

    Numbers are there once they are known: Gymnasium cannot put a number of one environment beside a None of another.
    """
    numbers = {
        "hazard_step": hazard.step,
        "hazard_source_rank_ahead": hazard.rank_ahead,
        "hazard_desired_decel": hazard.desired_decel,
        "hazard_target_speed": hazard.target_speed,
        **{f"hazard_onset_{name}": value for name, value in hazard.onset.items() if name != "gap_bucket"},
    }
    return {
        "hazard_injected": hazard.source is not None,
        "hazard_source_id": hazard.source,
        "hazard_injection_attempted": hazard.attempted,
        "hazard_injection_failed_reason": hazard.failed_reason,
        "hazard_resolved": hazard.resolved,
        "hazard_trigger_mode": hazard.trigger_mode,
        "hazard_trigger_result": hazard.trigger_result,
        "hazard_onset_gap_bucket": hazard.onset["gap_bucket"],
        **{name: value for name, value in numbers.items() if value is not None},
    }
