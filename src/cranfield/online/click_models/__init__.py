"""Click models: how users go through a list, and what makes them click."""
