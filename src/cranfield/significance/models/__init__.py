"""Models of all systems: analyses of variance, and what they assume."""
