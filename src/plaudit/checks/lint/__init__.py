"""The rules, one subject a module; each is a function from an examination to what it found."""
