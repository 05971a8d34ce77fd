"""What newcomers write: mistakes, inputs and tasks, and what the program answers."""
