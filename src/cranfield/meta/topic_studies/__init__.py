"""Testing the topics: what more, fewer or others of them would have changed."""
