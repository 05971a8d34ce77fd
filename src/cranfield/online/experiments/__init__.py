"""Controlled experiments: who gets what, and what difference it makes."""
