"""Query logs: reading them, sessions, and what is odd about them."""
