"""Summaries of a ledger: episodes, runs, totals, rankings and counts."""
