"""What really happened: the definition of a reward and its history joined, in the form of findings."""
