"""Releases with checksums, and a static site made from them."""
