"""How records lie in a ledger: blocks of packed numbers, chained by checksums, and the pen that writes them."""
