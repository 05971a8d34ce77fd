"""Commands about runs as files."""
