"""Checks of a reward, made by reading the definition that runs."""
