"""What several commands need: exit codes, groups, options, findings, outcomes."""
