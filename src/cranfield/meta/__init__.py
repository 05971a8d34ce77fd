"""Evaluating the evaluation: how good the tests, the measures and the collection are."""
