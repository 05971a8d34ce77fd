"""Studies of test collections: effects of the pool on scores and rankings."""
