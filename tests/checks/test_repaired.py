"""The built-in rewards as specified have the flaws they are known for; the repaired versions beside them have none."""

import pytest

from plaudit.checks.check import check
from plaudit.systems import load

REPAIRED = {
    ("hackmatrix@1.0.0", "hackmatrix@potential"): {"loop-that-pays"},
    ("apex@explicit", "apex@high_water"): {"loop-that-pays"},
    ("deepthinker@1.0.0", "deepthinker@rescaled"): {"saturated-clamp", "clamp-never-binds"},
    ("roadsense@R0", "roadsense@graded"): {"dominated-action", "unreachable-branch"},
}


def warnings(name):
    """Return the codes that a built-in reward is warned of."""
    return {finding.code for finding in check(load(*name.split("@"))).at_least("warning")}


@pytest.mark.parametrize(("pair", "flaws"), REPAIRED.items(), ids=[seed for seed, _ in REPAIRED])
def test_what_is_wrong_as_specified_is_gone_in_the_repaired_version(pair, flaws):
    seed, repaired = pair
    assert flaws <= warnings(seed)
    assert not warnings(repaired)


def test_repaired_falling_far_behind_pays_nothing():
    (staying,) = check(load("roadsense", "graded"), only=["pays-for-staying"])
    assert staying.severity == "advice"
    assert all(step.inputs["distance"] <= 40 for step in staying.witness if step.total and step.total > 0)
