"""The ledger: a durable record of every reward, from which each can be explained, recomputed and re-scored."""
