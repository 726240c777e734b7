"""The network: blind to the order of peers and to those that are not heard."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plaudit.systems.roadsense.training.network import WIDTH, build_network


@pytest.fixture(scope="module")
def policy():
    torch.manual_seed(0)
    return build_network("continuous")


def observation(seed, heard):
    rng = np.random.default_rng(seed)
    mask = np.zeros(8, np.float32)
    mask[:heard] = 1
    return {
        "ego": rng.uniform(-1, 1, 6).astype(np.float32),
        "peers": rng.uniform(-1, 1, (8, 6)).astype(np.float32),
        "peer_mask": mask,
    }


def features(policy, seen):
    with torch.no_grad():
        return policy.features_extractor({name: torch.tensor(value)[None] for name, value in seen.items()})[0].numpy()


@given(seed=st.integers(0, 1000), heard=st.integers(0, 8), order=st.permutations(range(8)))
def test_the_order_of_peers_plays_no_part(policy, seed, heard, order):
    seen = observation(seed, heard)
    shuffled = {**seen, "peers": seen["peers"][order], "peer_mask": seen["peer_mask"][order]}
    np.testing.assert_array_equal(features(policy, seen), features(policy, shuffled))


@given(seed=st.integers(0, 1000), heard=st.integers(0, 7))
def test_a_peer_that_is_not_heard_plays_no_part(policy, seed, heard):
    seen = observation(seed, heard)
    other = {**seen, "peers": seen["peers"].copy()}
    other["peers"][heard:] = 9.0
    np.testing.assert_array_equal(features(policy, seen), features(policy, other))


@given(seed=st.integers(0, 1000), heard=st.integers(1, 8))
def test_the_strongest_of_each_output_is_kept(policy, seed, heard):
    seen = observation(seed, heard)
    with torch.no_grad():
        each = policy.features_extractor.each(torch.tensor(seen["peers"][:heard])).numpy()
    np.testing.assert_allclose(features(policy, seen)[6:], each.max(axis=0), rtol=1e-5, atol=1e-6)


def test_where_none_is_heard_there_are_zeros_and_the_own_car(policy):
    seen = observation(1, heard=0)
    np.testing.assert_array_equal(features(policy, seen), [*seen["ego"], *[0.0] * WIDTH])


@settings(deadline=None)
@given(seed=st.integers(0, 1000), heard=st.integers(0, 8))
def test_an_action_is_one_that_the_car_can_carry_out(policy, seed, heard):
    action, _ = policy.predict(observation(seed, heard))
    assert policy.action_space.contains(action)


def test_the_shape_is_that_of_the_origin(policy):
    widths = [tuple(layer.weight.shape) for layer in policy.features_extractor.each if hasattr(layer, "weight")]
    assert widths == [(32, 6), (32, 32)]
    heads = [
        tuple(layer.weight.shape)
        for net in (policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net)
        for layer in net
        if hasattr(layer, "weight")
    ]
    assert heads == [(64, 38), (64, 64)] * 2
    assert isinstance(policy.mlp_extractor.policy_net[1], torch.nn.Tanh)
    assert build_network("continuous", log_std=-0.5).log_std.item() == -0.5
    assert build_network("discrete").action_space.n == 4
