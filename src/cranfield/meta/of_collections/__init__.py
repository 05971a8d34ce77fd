"""Testing the collection: what judgments of other pools would have changed."""
