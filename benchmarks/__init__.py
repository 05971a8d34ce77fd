"""Benchmarks: cranfield against its peers, as whole processes on generated data."""
