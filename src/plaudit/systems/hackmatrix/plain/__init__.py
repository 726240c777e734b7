"""The game in plain Python, for one game at a time: no compilation, no JAX, and the same games from the same seeds."""
