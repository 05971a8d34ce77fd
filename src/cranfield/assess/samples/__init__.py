"""Samples of a pool that estimates can be made from."""
