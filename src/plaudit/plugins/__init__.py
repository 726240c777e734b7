"""What other packages add: systems by name, how a command finds a REWARD or a ledger, and options of their commands."""
