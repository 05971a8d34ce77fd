"""Pictures inside a page: beside numbers, which say the same."""
