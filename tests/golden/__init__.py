"""What an earlier plaudit wrote, kept as it was written: later ones must read it and agree to the bit."""
