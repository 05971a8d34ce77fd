"""Charts: each a function of results that returns an Altair chart."""
