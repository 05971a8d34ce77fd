"""What a number of topics buys."""
