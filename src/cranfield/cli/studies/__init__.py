"""`cranfield study`: one module a group of studies."""
