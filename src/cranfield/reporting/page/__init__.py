"""The report: a single HTML page that works offline and prints well."""
