"""What is wrong with a reward, found by reading the definition that runs."""
