"""Models of all systems: analyses of variance, and checks of their assumptions."""
