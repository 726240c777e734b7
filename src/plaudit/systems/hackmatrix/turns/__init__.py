"""The turns of the game: what an action does, and what the enemies do after it."""
