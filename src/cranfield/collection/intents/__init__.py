"""Intents: which of the things that a query may mean a document answers."""
