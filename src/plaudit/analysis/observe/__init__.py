"""Learning a task from steps that happened: what can be, what follows, what ends an episode."""
