"""Storage of a campaign: the registry, submitted bytes and the chain of events."""
