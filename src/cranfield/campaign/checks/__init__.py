"""What is wrong with a run, all of it at once."""
