"""What is made of a release for other places than the index."""
