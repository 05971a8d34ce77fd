"""Orders of judged runs, total and partial, and what follows of differences."""
