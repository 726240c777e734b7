"""Explaining rewards: which term, branch, input or step made the difference."""
