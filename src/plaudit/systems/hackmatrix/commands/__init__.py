"""`plaudit play hackmatrix` and `plaudit train hackmatrix`."""
