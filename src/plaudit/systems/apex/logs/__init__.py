"""What a run leaves behind: three logs, their rows, and the way into a ledger and back."""
