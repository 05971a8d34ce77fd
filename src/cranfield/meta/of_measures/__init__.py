"""Testing the measures: power, swaps, concordance, predictions, correlations."""
