"""Fusion of several rankings into one by ranks, scores or votes."""
