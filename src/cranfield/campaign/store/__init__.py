"""What is kept of a campaign: a registry, bytes as handed in, a chain of events."""
