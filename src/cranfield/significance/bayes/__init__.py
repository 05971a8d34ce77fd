"""Bayesian comparison of two systems."""
