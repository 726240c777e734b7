"""Where plaudit fits in: engines and frameworks that others wrote, each in the one module named after it."""
