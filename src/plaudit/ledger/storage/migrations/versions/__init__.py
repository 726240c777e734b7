"""The revisions, oldest first; one that was released never changes."""
