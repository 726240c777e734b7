"""Tests in a real browser: one is started for all of them, as fixtures of a package are."""
