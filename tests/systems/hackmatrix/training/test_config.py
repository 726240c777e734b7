"""Settings: what they are checked for, and how batches are cut."""

import pytest

from plaudit import DefinitionError
from plaudit.systems.hackmatrix.training.config import PRESETS, Config, get_preset, scale_batch


def test_a_run_ends_with_the_update_that_reaches_its_steps():
    assert Config(envs=4, rollout=8, minibatches=4, steps=64).updates == 2
    assert Config(envs=4, rollout=8, minibatches=4, steps=65).updates == 3


@pytest.mark.parametrize(
    ("envs", "minibatches", "epochs"), [(64, 4, 4), (256, 4, 4), (512, 8, 2), (2048, 32, 2), (65_536, 64, 2)]
)
def test_larger_batches_are_cut_into_more_minibatches_with_fewer_epochs(envs, minibatches, epochs):
    assert scale_batch(envs, 128) == {"minibatches": minibatches, "epochs": epochs}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"envs": 0}, "envs=0 must be 1 or more"),
        ({"steps": -1}, "steps=-1"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"gamma": 1.5}, "gamma=1.5 must be between 0 and 1"),
        ({"entropy": -0.1}, "entropy=-0.1"),
        ({"entropy_end": float("inf")}, "entropy_end=inf"),
        ({"hidden": (8, 0)}, "hidden"),
        ({"precision": "float16"}, "precision='float16' must be float32 or bfloat16"),
        ({"seed": 2**32}, "seed"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"envs": 3, "rollout": 5, "minibatches": 4}, "3 × 5 = 15 steps does not divide into 4 equal minibatches"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, told):
    with pytest.raises(DefinitionError, match=told):
        Config(**settings)


def test_settings_go_through_json():
    config = Config(hidden=(8,), entropy_end=0.0)
    assert Config.from_dict(config.to_dict()) == config


@pytest.mark.parametrize("name", PRESETS)
def test_presets_can_be_run_and_changed(name):
    assert get_preset(name).updates >= 1
    assert get_preset(name, envs=64, seed=3).envs == 64


def test_a_preset_that_is_not_there_is_told():
    with pytest.raises(DefinitionError, match="there is no preset 'gpo'; choose from cpu, gpu. Did you mean 'gpu'"):
        get_preset("gpo")


def test_only_what_changes_along_a_run_fixes_its_length():
    assert Config().anneals
    assert not Config(decay=False).anneals
    assert Config(decay=False, entropy_end=0.0).anneals
