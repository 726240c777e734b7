"""Whether what a proof shows is true."""

import pytest


def assert_real(proof, left, right):
    """Assert that each difference is what the two really make of its inputs."""
    assert proof.verdict == "different"
    for each in proof.differences:
        for side, reward in ((each.left, left), (each.right, right)):
            inputs = {name: value for name, value in each.inputs.items() if name in reward.inputs}
            if len(inputs) < len(reward.inputs):
                continue  # a term of its own needs fewer
            scores = reward.compile("python")(inputs)
            value = scores.total if each.term == "total" else scores.values[each.term]
            assert side == pytest.approx(float(value))
        assert each.left != each.right
