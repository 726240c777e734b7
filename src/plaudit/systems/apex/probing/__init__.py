"""What is measured of a task while it runs: its tests, its tokens, its phase."""
