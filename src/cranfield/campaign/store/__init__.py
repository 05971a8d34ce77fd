"""Storage of a campaign: a registry, submitted bytes, a chain of events."""
