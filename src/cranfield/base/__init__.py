"""What every room needs: errors, checks, escaping, whole files, scale types, random streams."""
