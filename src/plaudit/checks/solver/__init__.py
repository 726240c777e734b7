"""How high an expression can get, and where: boxes first, z3 where they do not settle it."""
