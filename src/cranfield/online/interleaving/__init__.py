"""Interleaving and multileaving: combined lists of several rankings, and preferences of users."""
