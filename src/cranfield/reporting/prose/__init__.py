"""What was found as a paragraph for a paper."""
