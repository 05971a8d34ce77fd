"""The static site: made from releases alone, readable without scripts and without a server."""
