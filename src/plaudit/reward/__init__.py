"""Rewards: terms over fields, scored into signals that say why."""
