"""Hostile input of readers, with what a plain reading of the documentation makes of it."""
