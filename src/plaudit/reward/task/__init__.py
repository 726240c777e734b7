"""Tasks: what is wanted and what can happen; as values, as files, and as a reward meets them."""
