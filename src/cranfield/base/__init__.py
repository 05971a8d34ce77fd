"""Foundations of all packages: errors, checks, escaping, files, scale types, random streams."""
