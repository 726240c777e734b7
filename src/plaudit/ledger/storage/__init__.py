"""How records are stored: packed into blocks, chained by checksums, written in transactions."""
