"""The Gymnasium environments of plaudit's systems: `plaudit/HackMatrix-v0` and `plaudit/RoadSense-v0`.

Import this module, or let Gymnasium import it: `gymnasium.make("plaudit.envs:plaudit/HackMatrix-v0")`. A system and its
dependencies (SUMO, or JAX for many games at once) are imported when an environment is made.
"""

from plaudit.errors import MissingExtra

try:
    import gymnasium
except ModuleNotFoundError:
    raise MissingExtra("the environments need gymnasium. Install it: pip install 'plaudit[gym]'") from None

__all__ = ["HACKMATRIX", "ROADSENSE"]

HACKMATRIX = "plaudit/HackMatrix-v0"
"""The tactical game; `gymnasium.make_vec` steps many games with one compiled function."""
ROADSENSE = "plaudit/RoadSense-v0"
"""The car that follows a convoy, on SUMO."""

_PLAYING = "plaudit.systems.hackmatrix.playing"

if HACKMATRIX not in gymnasium.registry:
    gymnasium.register(
        id=HACKMATRIX,
        entry_point=f"{_PLAYING}.gym_env:HackMatrixEnv",
        vector_entry_point=f"{_PLAYING}.vector_env:HackMatrixVectorEnv",
    )
if ROADSENSE not in gymnasium.registry:
    gymnasium.register(id=ROADSENSE, entry_point="plaudit.systems.roadsense.env:RoadSenseEnv")
