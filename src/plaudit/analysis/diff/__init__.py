"""Comparing two versions of a reward: their definitions, and recorded steps under both."""
