"""Compare rewards: how far apart they are in what they make an agent want."""
