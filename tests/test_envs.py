"""The Gymnasium ids of plaudit's systems: registered in one light module, and made by either spelling."""

import subprocess
import sys

import pytest

gymnasium = pytest.importorskip("gymnasium")

from plaudit.envs import HACKMATRIX, ROADSENSE  # noqa: E402
from plaudit.systems.hackmatrix.playing.gym_env import HackMatrixEnv  # noqa: E402

SPELLINGS = [HACKMATRIX, f"plaudit.envs:{HACKMATRIX}"]


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_gymnasium_finds_both_ids_and_nothing_heavy_is_imported_before_one_is_made():
    done = run(
        """if True:
        import sys
        import plaudit
        assert "gymnasium" not in sys.modules
        import gymnasium
        import plaudit.envs
        assert {"plaudit/HackMatrix-v0", "plaudit/RoadSense-v0"} <= set(gymnasium.registry)
        heavy = [name for name in sys.modules if name.startswith(("jax", "libsumo", "traci", "plaudit.systems"))]
        assert not heavy, heavy
        env = gymnasium.make("plaudit/HackMatrix-v0")
        env.reset(seed=1)
        env.step(env.unwrapped.action_masks().argmax())
        heavy = [name for name in sys.modules if name.startswith(("jax", "libsumo", "traci"))]
        assert not heavy, heavy
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("id", ["plaudit.envs:plaudit/HackMatrix-v0", "plaudit.envs:plaudit/RoadSense-v0"])
def test_an_environment_is_made_by_an_id_with_its_module_and_nothing_imported_before(id):
    made = run(f"import gymnasium; print(type(gymnasium.make({id!r}).unwrapped).__name__)")
    assert made.stdout.strip() == f"{id.partition('/')[2].removesuffix('-v0')}Env", made.stderr


@pytest.mark.parametrize("spelling", SPELLINGS, ids=["plain", "with its module"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_of_single_environments_are_made(spelling, mode):
    envs = gymnasium.make_vec(spelling, num_envs=2, vectorization_mode=mode, flat=True)
    try:
        observations, info = envs.reset(seed=3)
        assert observations.shape == (2, 1545)
        _, rewards, *_ = envs.step(info["action_mask"].argmax(axis=1))
        assert rewards.shape == (2,)
    finally:
        envs.close()


@pytest.mark.parametrize("spelling", SPELLINGS, ids=["plain", "with its module"])
def test_an_environment_is_made_by_either_spelling(spelling):
    assert isinstance(gymnasium.make(spelling).unwrapped, HackMatrixEnv)
    assert gymnasium.spec(ROADSENSE).entry_point == "plaudit.systems.roadsense.env:RoadSenseEnv"


def test_without_gymnasium_the_extra_that_brings_it_is_named():
    done = run("import sys; sys.modules['gymnasium'] = None; import plaudit.envs")
    told = "MissingExtra: the environments need gymnasium. Install it: pip install 'plaudit[gym]'"
    assert done.stderr.strip().endswith(told)
