"""Studies of users: how many of them a comparison takes."""
