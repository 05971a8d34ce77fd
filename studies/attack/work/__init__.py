"""What kinds of attack share."""
