"""Reading: a plain Python function becomes a Program."""
