"""Playing dull and simple policies in an environment that a reward pays: what earns most, and is it what is wanted."""
