"""Commands about where judgments come from."""
