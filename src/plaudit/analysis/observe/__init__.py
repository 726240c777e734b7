"""Learn a task from observed steps: ranges, relations, ends of episodes."""
