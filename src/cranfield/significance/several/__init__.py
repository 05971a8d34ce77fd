"""Several collections, or several measures, and what holds across them."""
