"""Off-policy estimates: what another ranking would have been worth to the users of a log."""
