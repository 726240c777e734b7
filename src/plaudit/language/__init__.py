"""The language of rewards: how a plain Python function becomes a Program, and how Programs are written down."""
