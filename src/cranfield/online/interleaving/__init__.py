"""Interleaving and multileaving: lists made of several rankings, and which one users prefer."""
