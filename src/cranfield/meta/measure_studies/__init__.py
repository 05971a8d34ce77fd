"""Studies of measures: power, swaps, concordance, predictions, correlations."""
