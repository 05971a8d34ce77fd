"""Studies of significance tests: Type I errors, power, and consistency on other topics."""
