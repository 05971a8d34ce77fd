"""Charts of studies."""
