"""The game for people and for other libraries: drawn as text, played move by move, and as Gymnasium environments."""
