"""Teams, and runs that they submit, replace and withdraw."""
