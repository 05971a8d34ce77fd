"""Click models: examination of results, clicks, and satisfaction of users."""
