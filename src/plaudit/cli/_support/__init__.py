"""Shared by several commands: errors, groups, options, findings, environments, outcomes."""
