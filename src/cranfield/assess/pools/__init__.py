"""Pools: what runs retrieved, in which order it is judged, and what is judged next."""
