"""Probe an environment: play baseline and searched policies, and compare the best-paid one with the objective."""
