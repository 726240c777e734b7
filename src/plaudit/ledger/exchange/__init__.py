"""Records on their way to files and back."""
