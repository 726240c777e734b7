"""Re-scoring: another reward for recorded steps, and what that changes."""
