"""`plaudit train roadsense` and `plaudit experiment roadsense`."""
