"""Images too large to count: how values are distributed, with proved limits."""
