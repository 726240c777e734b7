"""Recompute records and check chains, to find what changed."""
