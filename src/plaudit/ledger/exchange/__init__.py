"""Records in and out of a ledger: files, backups, Arrow batches, imports."""
