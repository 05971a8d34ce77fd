"""Off-policy estimates of the value of a ranking from the log of another ranking."""
