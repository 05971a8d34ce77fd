"""Studies of topics: results with more, fewer or other topics."""
