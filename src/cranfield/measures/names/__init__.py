"""Names of measures in papers and other programs."""
