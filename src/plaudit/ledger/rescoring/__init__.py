"""Another reward for recorded inputs."""
