"""How many random examples a test draws: a share of what the profile says, and so many more in `make soak`."""

from typing import Any

from hypothesis import settings


def examples(share: float, **options: Any) -> settings:
    """Return settings with a share of the profile's examples."""
    count = max(1, round(settings.default.max_examples * share))
    return settings(max_examples=count, **{"report_multiple_bugs": False, **options})
