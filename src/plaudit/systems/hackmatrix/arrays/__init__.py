"""What the game is computed with: sets of cells as bits, random words, and work on many environments at once."""
