"""The rules of HackMatrix in plain Python, to hold the environment against, and games to compare on."""
